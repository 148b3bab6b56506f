#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "results/replacement_internal.h"
#include "support/memory.h"

enum { PERMISSIONS = 0777, GROUP = 0070, OTHERS = 0007 };

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* In a folder with the sticky bit only the owners of file and folder may replace a file. */
static bool sticky_forbids(const struct replacement *file, const struct stat *older)
{
    struct stat folder;
    uid_t user = geteuid();
    return fstat(file->folder, &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 && user != 0 &&
           user != folder.st_uid && user != older->st_uid;
}

/* NULL, or what keeps a rename from replacing the file. */
static const char *why_fixed(const struct replacement *file)
{
    struct statx status;
    if (statx(file->folder, replacement_name(file), AT_SYMLINK_NOFOLLOW, 0, &status) != 0)
        return NULL;
    uint64_t attributes = status.stx_attributes & status.stx_attributes_mask;
    if ((attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return "something is mounted there";
    if ((attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0)
        return "its attributes (chattr) forbid to replace it";
    return NULL;
}

/* NULL, or why what has the name may not be replaced. */
static const char *why_kept(const struct replacement *file, const struct stat *older)
{
    if (S_ISDIR(older->st_mode))
        return strerror(EISDIR);
    if (S_ISLNK(older->st_mode))
        return "a link that leads nowhere";
    if (!S_ISREG(older->st_mode))
        return "not a regular file";
    if (sticky_forbids(file, older))
        return "another user's file, in a folder with the sticky bit";
    return why_fixed(file);
}

/* The names of devices and open files are nothing to rename to, whatever they lead to. */
bool replacement_allowed(const struct replacement *file, struct error *err)
{
    struct stat older;
    const char *name = replacement_name(file), *why = NULL;
    bool device = starts_with(file->path, "/dev/") && !starts_with(file->path, "/dev/shm/");
    if (device || starts_with(file->path, "/proc/"))
        why = "not a regular file";
    else if (name[0] == '\0')
        why = strerror(EISDIR);
    else if (fstatat(file->folder, name, &older, AT_SYMLINK_NOFOLLOW) == 0)
        why = why_kept(file, &older);
    else if (errno != ENOENT)
        why = strerror(errno);
    return why == NULL || replacement_fail(file, why, err);
}

/* The list of further users and groups that have access is copied; where the older file has none,
 * one that came from the folder goes. */
static void inherit_list(const struct replacement *file)
{
    static const char list[] = "system.posix_acl_access";
    char path[512];
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", file->folder, replacement_name(file));
    char *value = memory_new(XATTR_SIZE_MAX, 1);
    ssize_t bytes = lgetxattr(path, list, value, XATTR_SIZE_MAX);
    if (bytes > 0)
        fsetxattr(file->fd, list, value, (size_t)bytes, 0);
    else if (bytes < 0 && errno == ENODATA)
        fremovexattr(file->fd, list);
    memory_free(value);
}

/* Group and owner as far as this user may set them: where the group is another one it may not do
 * more than everybody. */
static void inherit(const struct replacement *file, const struct stat *older)
{
    struct stat now;
    mode_t mode = older->st_mode & PERMISSIONS;
    if (fchown(file->fd, older->st_uid, older->st_gid) != 0 &&
        fchown(file->fd, (uid_t)-1, older->st_gid) != 0) {
        /* seen below */
    }
    inherit_list(file);
    if (fstat(file->fd, &now) != 0 || now.st_gid != older->st_gid)
        mode &= ~(mode_t)GROUP | (mode & OTHERS) << 3;
    fchmod(file->fd, mode);
}

static void set_rights(const struct replacement *file)
{
    struct stat older;
    if (fstatat(file->folder, replacement_name(file), &older, AT_SYMLINK_NOFOLLOW) == 0)
        inherit(file, &older);
    else
        fchmod(file->fd, file->mode);
}

/* Gives back what was reserved behind the end, and brings the file to the disk. */
static bool settle(const struct replacement *file, struct error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0 || ftruncate(file->fd, status.st_size) != 0 ||
        fsync(file->fd) != 0)
        return replacement_fail(file, strerror(errno), err);
    return true;
}

/* Brings rights and name to the disk. The file is there and whole, so nothing of this is a failure;
 * where the folder cannot be read or synced, most file systems sync the name with the file. */
static void sync_name(const struct replacement *file)
{
    int folder = openat(file->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fsync(file->fd);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

bool replacement_publish(struct replacement *file, struct error *err)
{
    const char *name = replacement_name(file);
    if (!settle(file, err) || !replacement_allowed(file, err))
        return false;
    if (!replacement_has(file, file->temporary))
        return replacement_fail(file, "its temporary file was removed or replaced", err);
    set_rights(file); /* with them goes the mark of a temporary file: as late as possible */
    if (renameat(file->folder, file->temporary, file->folder, name) != 0)
        return replacement_fail(file, strerror(errno), err);
    file->owner = false;
    replacement_unguard();
    if (!replacement_has(file, name))
        return replacement_fail(file, "its temporary file was replaced", err);
    sync_name(file);
    return true;
}
