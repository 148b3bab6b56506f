/* Damaged files of tensors: whatever byte of one is wrong, it is refused or read, and nothing
 * crashes this process. With --every-byte not a sample of them but all (minutes). */
#include "tensors/tensors_probe.h"

#include <hdf5.h>
#include <string.h>

#include "../check.h"
#include "tensors/tensors.h"
#include "support/memory.h"

enum { SAMPLE = 120 /* bytes of a file */, TOKENS = 8, DIM = 4, ELEMENTS = 2 * TOKENS * DIM };

static char folder[] = "/tmp/ahbm-probe-XXXXXX";
static char path[64];
static bool every_byte;

struct kind {
    bool chunked, deflate, latest;
};

static void add_dataset(hid_t file, const char *name, const struct kind *kind)
{
    const hsize_t dims[4] = {1, 2, TOKENS, DIM}, chunk[4] = {1, 1, TOKENS / 2, DIM};
    float numbers[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        numbers[i] = (float)(i % 7) - 3;
    hid_t space = H5Screate_simple(4, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    if (kind->chunked)
        H5Pset_chunk(creation, 4, chunk);
    if (kind->deflate)
        H5Pset_deflate(creation, 6);
    hid_t dataset =
        H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CU_ASSERT_TRUE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >=
                   0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
}

static void make_file(const struct kind *kind)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (kind->latest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    add_dataset(file, "Q", kind);
    add_dataset(file, "K", kind);
    add_dataset(file, "V", kind);
    H5Fclose(file);
    H5Pclose(access);
}

static size_t read_file(unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(bytes, 1, room, file) : 0;
    if (file != NULL)
        fclose(file);
    CU_ASSERT_TRUE_FATAL(count > 500 && count < room);
    return count;
}

static void write_file(const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* As a run does: what the probe lets pass is read here. */
static bool reads(void)
{
    struct error err = {ERROR_NONE, ""};
    if (!tensors_probe(path, &err)) {
        CU_ASSERT_EQUAL(err.code, ERROR_USAGE);
        CU_ASSERT_TRUE(strncmp(err.text, "--tensors: ", 11) == 0);
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
        return false;
    }
    struct tensors *tensors = tensors_open(path, &err);
    bool good = tensors != NULL;
    const struct tensors_shape shape = {1, 2, 2, TOKENS, TOKENS, DIM};
    good = good && tensors_check(tensors, &shape, &err);
    for (uint32_t i = 0; good && i < TENSORS_IN_FILE; i++)
        good = tensors_check_finite(tensors, i, 0, 1, &err);
    if (tensors != NULL)
        tensors_close(tensors);
    return good;
}

static void flip(const struct kind *kind)
{
    static unsigned char bytes[1 << 16];
    make_file(kind);
    CU_ASSERT_TRUE(reads());
    size_t count = read_file(bytes, sizeof bytes), refused = 0;
    size_t step = every_byte ? 1 : count / SAMPLE;
    for (size_t i = 0; i < count; i += step) {
        size_t at = i;
        while (!every_byte && at + 1 < i + step && bytes[at] == 0) /* padding, mostly */
            at++;
        unsigned char kept = bytes[at];
        bytes[at] = (unsigned char)(kept ^ (at % 2 ? 0xff : 0x01 << (at / 2 % 8)));
        write_file(bytes, count);
        refused += !reads();
        bytes[at] = kept;
    }
    CU_ASSERT_TRUE(refused > 3);
    for (size_t cut = 0; cut < count; cut += count / 8) {
        write_file(bytes, cut);
        CU_ASSERT_FALSE(reads());
    }
}

static void test_contiguous(void)
{
    flip(&(struct kind){false, false, false});
}

static void test_chunked(void)
{
    flip(&(struct kind){true, false, false});
}

static void test_deflate(void)
{
    flip(&(struct kind){true, true, false});
}

static void test_latest(void)
{
    flip(&(struct kind){true, true, true});
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"a wrong byte, contiguous", test_contiguous},
        {"a wrong byte, chunked", test_chunked},
        {"a wrong byte, compressed", test_deflate},
        {"a wrong byte, newest format", test_latest},
        CU_TEST_INFO_NULL,
    };
    every_byte = argc > 1 && strcmp(argv[1], "--every-byte") == 0;
    if (mkdtemp(folder) == NULL)
        return 2;
    snprintf(path, sizeof path, "%s/t.h5", folder);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    int status = check_run("tensors/tensors_probe", tests);
    unlink(path);
    rmdir(folder);
    return status;
}
