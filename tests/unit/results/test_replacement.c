/* Only a file of our own is ever written, replaced or removed: whatever stands under the temporary
 * name, before the run or put there during it; what a dead run left is cleaned up; access rights
 * are those of the file that is replaced. */
#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "results/replacement.h"
#include "support/memory.h"

static char folder[] = "/tmp/ahbm-replacement-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][PATH_MAX];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_folder(name), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    chmod(in_folder(name), mode);
}

static bool holds(const char *name, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(in_folder(name), "r");
    if (file == NULL)
        return false;
    size_t bytes = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}

static bool is_there(const char *name)
{
    struct stat status;
    return lstat(in_folder(name), &status) == 0;
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    return lstat(in_folder(name), &status) == 0 ? status.st_mode & 07777 : 0;
}

static bool empty_folder(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s/* %s/.[!.]*", folder, folder);
    return system(command) == 0;
}

static bool begin(struct replacement *file, const char *name, struct error *err)
{
    struct replacement_token token;
    *err = (struct error){ERROR_NONE, ""};
    return replacement_begin(file, in_folder(name), &token, err);
}

static void write_new(const struct replacement *file)
{
    CU_ASSERT_EQUAL(ftruncate(file->fd, 0), 0);
    CU_ASSERT_EQUAL(pwrite(file->fd, "new", 3, 0), 3);
}

static void replace(const char *name)
{
    struct replacement file;
    struct error err;
    CU_ASSERT_TRUE(begin(&file, name, &err));
    write_new(&file);
    CU_ASSERT_TRUE(replacement_publish(&file, &err));
    replacement_end(&file);
    CU_ASSERT_TRUE(holds(name, "new"));
}

/* It does not begin, says `why`, and leaves all as it is. */
static void is_refused(const char *name, const char *why)
{
    struct replacement file;
    struct error err;
    CU_ASSERT_FALSE(begin(&file, name, &err));
    replacement_end(&file);
    CU_ASSERT_EQUAL(err.code, ERROR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
}

static void test_names(void)
{
    static const size_t lengths[] = {1, 200, 250, 251, 252, 255};
    CU_ASSERT_TRUE(empty_folder());
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char name[256];
        memset(name, 'n', lengths[i]);
        name[lengths[i]] = '\0';
        replace(name);
        replace(name);
        CU_ASSERT_EQUAL(unlink(in_folder(name)), 0);
    }
    CU_ASSERT_EQUAL(rmdir(folder), 0); /* nothing is left */
    CU_ASSERT_EQUAL(mkdir(folder, 0755), 0);
}

static void test_impossible_names(void)
{
    char name[300];
    memset(name, 'n', 256);
    name[256] = '\0';
    is_refused(name, strerror(ENAMETOOLONG));
    is_refused("nothing/x", strerror(ENOENT));
    is_refused("", strerror(EISDIR));
    CU_ASSERT_EQUAL(mkdir(in_folder("sub"), 0755), 0);
    is_refused("sub", strerror(EISDIR));
    is_refused("sub/", strerror(EISDIR));
    CU_ASSERT_EQUAL(symlink("nowhere", in_folder("link")), 0);
    is_refused("link", "a link that leads nowhere");
    CU_ASSERT_EQUAL(mkfifo(in_folder("fifo"), 0666), 0);
    is_refused("fifo", "not a regular file");
}

static void test_in_the_way(void)
{
    static const char why[] = "'x.tmp' is in the way";
    CU_ASSERT_TRUE(empty_folder());
    put("precious", "precious", 0666);
    CU_ASSERT_EQUAL(symlink("precious", in_folder("x.tmp")), 0);
    is_refused("x", why);
    CU_ASSERT_EQUAL(unlink(in_folder("x.tmp")), 0);
    CU_ASSERT_EQUAL(symlink("nowhere", in_folder("x.tmp")), 0);
    is_refused("x", why);
    CU_ASSERT_FALSE(is_there("nowhere"));
    CU_ASSERT_EQUAL(unlink(in_folder("x.tmp")), 0);
    CU_ASSERT_EQUAL(link(in_folder("precious"), in_folder("x.tmp")), 0);
    is_refused("x", why);
    chmod(in_folder("precious"), 01600); /* even so: it has two names */
    is_refused("x", why);
    CU_ASSERT_EQUAL(unlink(in_folder("x.tmp")), 0);
    CU_ASSERT_EQUAL(mkfifo(in_folder("x.tmp"), 0666), 0);
    is_refused("x", why);
    CU_ASSERT_EQUAL(unlink(in_folder("x.tmp")), 0);
    CU_ASSERT_EQUAL(mkdir(in_folder("x.tmp"), 01777), 0);
    is_refused("x", why);
    CU_ASSERT_EQUAL(rmdir(in_folder("x.tmp")), 0);
    put("x.tmp", "notes", 0600);
    is_refused("x", why);
    CU_ASSERT_TRUE(holds("x.tmp", "notes"));
    put("x.tmp", "", 0666);
    is_refused("x", why);
    CU_ASSERT_TRUE(is_there("x.tmp"));
    CU_ASSERT_TRUE(holds("precious", "precious"));
    CU_ASSERT_FALSE(is_there("x"));
    if (geteuid() == 0 && chown(in_folder("x.tmp"), 65534, 65534) == 0) {
        chmod(in_folder("x.tmp"), 01600);
        is_refused("x", why);
    }
}

static void die_at_work(void)
{
    struct replacement file;
    struct error err;
    begin(&file, "x", &err);
    write_new(&file);
    raise(SIGKILL);
}

static void test_leftover(void)
{
    CU_ASSERT_TRUE(empty_folder());
    put("x", "old", 0644);
    CU_ASSERT_TRUE(check_dies(die_at_work, SIGKILL));
    CU_ASSERT_TRUE(is_there("x.tmp"));
    CU_ASSERT_TRUE(holds("x", "old"));
    replace("x");
    CU_ASSERT_FALSE(is_there("x.tmp"));
}

static int ending;

static void end_at_work(void)
{
    struct replacement file;
    struct error err;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    begin(&file, "x", &err);
    if (ending == SIGABRT)
        error_bug("meant");
    raise(ending);
}

static void test_endings(void)
{
    static const int endings[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT, SIGSEGV, SIGBUS, SIGXCPU};
    CU_ASSERT_TRUE(empty_folder());
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        ending = endings[i];
        CU_ASSERT_TRUE(check_dies(end_at_work, ending));
        CU_ASSERT_FALSE(is_there("x.tmp"));
    }
}

static void test_exit(void)
{
    CU_ASSERT_TRUE(empty_folder());
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct replacement file;
        struct error err;
        begin(&file, "x", &err);
        close(STDERR_FILENO);
        exit(255);
    }
    int status;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == ERROR_FAILED);
    CU_ASSERT_FALSE(is_there("x.tmp"));
}

static void test_handlers_stay(void)
{
    struct sigaction now;
    signal(SIGTERM, SIG_IGN);
    CU_ASSERT_TRUE(empty_folder());
    replace("x");
    sigaction(SIGTERM, NULL, &now);
    CU_ASSERT_TRUE(now.sa_handler == SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    replace("x");
    sigaction(SIGTERM, NULL, &now);
    CU_ASSERT_TRUE(now.sa_handler == SIG_DFL);
}

static void test_two(void)
{
    struct replacement first;
    struct error err;
    CU_ASSERT_TRUE(empty_folder());
    CU_ASSERT_TRUE(begin(&first, "x", &err));
    is_refused("x", "another run is writing it");
    CU_ASSERT_TRUE(is_there("x.tmp"));
    write_new(&first);
    CU_ASSERT_TRUE(replacement_publish(&first, &err));
    replacement_end(&first);
    CU_ASSERT_TRUE(holds("x", "new"));
}

/* One of many that start at once over what a dead run left gets it, and no two. */
static void test_crowd(void)
{
    enum { CROWD = 16 };
    CU_ASSERT_TRUE(empty_folder());
    CU_ASSERT_TRUE(check_dies(die_at_work, SIGKILL));
    fflush(NULL);
    for (int i = 0; i < CROWD; i++)
        if (fork() == 0) {
            struct replacement file;
            struct error err;
            bool got = begin(&file, "x", &err);
            usleep(200000);
            bool kept = got && replacement_publish(&file, &err);
            replacement_end(&file);
            _exit(!got ? 0 : kept ? 1 : 2);
        }
    int winners = 0, status;
    for (int i = 0; i < CROWD; i++) {
        wait(&status);
        CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        winners += WEXITSTATUS(status) == 1;
    }
    CU_ASSERT_EQUAL(winners, 1);
    CU_ASSERT_FALSE(is_there("x.tmp"));
}

/* What takes the temporary name during the run stays, and does not become the result. */
static void test_changed_name(void)
{
    struct replacement file;
    struct error err;
    CU_ASSERT_TRUE(empty_folder());
    put("x", "old", 0644);
    CU_ASSERT_TRUE(begin(&file, "x", &err));
    write_new(&file);
    CU_ASSERT_EQUAL(rename(in_folder("x.tmp"), in_folder("taken")), 0);
    put("x.tmp", "foreign", 0644);
    CU_ASSERT_FALSE(replacement_publish(&file, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "its temporary file was removed or replaced"));
    replacement_end(&file);
    CU_ASSERT_TRUE(holds("x", "old"));
    CU_ASSERT_TRUE(holds("x.tmp", "foreign"));
}

static void test_open_name(void)
{
    struct replacement file;
    struct error err;
    CU_ASSERT_TRUE(empty_folder());
    put("precious", "precious", 0644);
    CU_ASSERT_TRUE(begin(&file, "x", &err));
    CU_ASSERT_EQUAL(unlink(in_folder("x.tmp")), 0);
    CU_ASSERT_EQUAL(symlink("precious", in_folder("x.tmp")), 0);
    int fd = open(replacement_open_name(&file), O_RDWR | O_CREAT | O_TRUNC, 0666);
    CU_ASSERT_TRUE(fd >= 0);
    close(fd);
    replacement_end(&file);
    CU_ASSERT_TRUE(holds("precious", "precious"));
    CU_ASSERT_TRUE(is_there("x.tmp"));
}

static void test_join(void)
{
    struct replacement first, second;
    struct replacement_token token, other = {{0}};
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT_TRUE(empty_folder());
    CU_ASSERT_TRUE(replacement_begin(&first, in_folder("x"), &token, &err));
    CU_ASSERT_TRUE(replacement_join(&second, in_folder("x"), &token, &err));
    CU_ASSERT_EQUAL(pwrite(second.fd, "both", 4, 0), 4);
    replacement_end(&second);
    CU_ASSERT_TRUE(is_there("x.tmp"));
    CU_ASSERT_FALSE(replacement_join(&second, in_folder("x"), &other, &err));
    replacement_end(&second);
    error_clear(&err);
    CU_ASSERT_FALSE(replacement_join(&second, in_folder("y"), &token, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not all ranks find the same folder there"));
    replacement_end(&second);
    replacement_end(&first);
    CU_ASSERT_FALSE(is_there("x.tmp"));
}

static void test_rights(void)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0664, 0400, 0777};
    CU_ASSERT_TRUE(empty_folder());
    mode_t umask_before = umask(027);
    replace("x");
    CU_ASSERT_EQUAL(mode_of("x"), 0640);
    umask(0777);
    unlink(in_folder("x"));
    struct replacement file;
    struct error err;
    CU_ASSERT_TRUE(begin(&file, "x", &err));
    CU_ASSERT_EQUAL(mode_of("x.tmp"), 01600);
    CU_ASSERT_TRUE(replacement_publish(&file, &err));
    replacement_end(&file);
    CU_ASSERT_EQUAL(mode_of("x"), 0);
    umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CU_ASSERT_EQUAL(chmod(in_folder("x"), modes[i]), 0);
        CU_ASSERT_TRUE(begin(&file, "x", &err));
        CU_ASSERT_EQUAL(mode_of("x.tmp"), 01600);
        CU_ASSERT_TRUE(replacement_publish(&file, &err));
        replacement_end(&file);
        CU_ASSERT_EQUAL(mode_of("x"), modes[i]);
    }
    umask(umask_before);
}

static void test_owner(void)
{
    struct stat status;
    if (geteuid() != 0)
        return; /* only root may give files away */
    CU_ASSERT_TRUE(empty_folder());
    put("x", "old", 0640);
    CU_ASSERT_EQUAL(chown(in_folder("x"), 65534, 12345), 0);
    replace("x");
    CU_ASSERT_EQUAL(stat(in_folder("x"), &status), 0);
    CU_ASSERT_TRUE(status.st_uid == 65534 && status.st_gid == 12345);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0640);
}

/* As a user who may not give the file to the group: it gets no more than everybody. */
static void test_foreign_group(void)
{
    if (geteuid() != 0)
        return;
    CU_ASSERT_TRUE(empty_folder());
    CU_ASSERT_EQUAL(chown(folder, 65534, 65534), 0);
    put("x", "old", 0664);
    CU_ASSERT_EQUAL(chown(in_folder("x"), 65534, 12345), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        replace("x");
        _exit(mode_of("x") != 0644);
    }
    int status;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(chown(folder, 0, 0), 0);
}

static void test_sticky_folder(void)
{
    if (geteuid() != 0)
        return;
    CU_ASSERT_TRUE(empty_folder());
    CU_ASSERT_EQUAL(chmod(folder, 01777), 0);
    put("x", "old", 0666);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct replacement file;
        struct error err;
        bool refused = setuid(65534) == 0 && !begin(&file, "x", &err) &&
                       strstr(err.text, "in a folder with the sticky bit") != NULL;
        replacement_end(&file);
        replace("y");
        _exit(!refused || !holds("y", "new"));
    }
    int status;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_TRUE(holds("x", "old"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"names", test_names},
                           {"impossible names", test_impossible_names},
                           {"in the way", test_in_the_way},
                           {"leftover", test_leftover},
                           {"endings", test_endings},
                           {"exit", test_exit},
                           {"handlers stay", test_handlers_stay},
                           {"two", test_two},
                           {"crowd", test_crowd},
                           {"changed name", test_changed_name},
                           {"open name", test_open_name},
                           {"join", test_join},
                           {"rights", test_rights},
                           {"owner", test_owner},
                           {"foreign group", test_foreign_group},
                           {"sticky folder", test_sticky_folder},
                           CU_TEST_INFO_NULL};
    if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0)
        return 2;
    int status = check_run("replacement", tests);
    return empty_folder() && rmdir(folder) == 0 ? status : 2;
}
