/* Every fault of a machine file or of --set: one line that names place, key, value and remedy. */
#include "config/config.h"

#include <string.h>
#include <sys/stat.h>

#include "../check.h"
#include "config/config_schema.h"
#include "support/memory.h"

/* `text` as file t.yaml gives exactly the message `expected`. */
static void expect_bytes(const char *text, size_t bytes, const char *expected)
{
    struct error err = {0};
    struct config *config = config_new();
    bool fine =
        config_load_text(config, "t.yaml", text, bytes, &err) && config_finish(config, &err);
    if (fine || err.code != ERROR_USAGE || strcmp(err.text, expected) != 0) {
        fprintf(stderr, "\nexpected: %s\ngot:      %s\n", expected, err.text);
        CU_FAIL("another message");
    } else {
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    }
    config_free(config);
}

static void expect(const char *text, const char *expected)
{
    expect_bytes(text, strlen(text), expected);
}

/* The assignments, separated by spaces, give exactly the message `expected`. */
static void expect_set(const char *assignments, const char *expected)
{
    struct error err = {0};
    struct config *config = config_new();
    char *list = memory_copy_text(assignments), *rest = NULL;
    bool fine = true;
    for (char *at = strtok_r(list, " ", &rest); fine && at; at = strtok_r(NULL, " ", &rest))
        fine = config_set(config, at, &err);
    fine = fine && config_finish(config, &err);
    if (fine || err.code != ERROR_USAGE || strcmp(err.text, expected) != 0) {
        fprintf(stderr, "\nexpected: %s\ngot:      %s\n", expected, err.text);
        CU_FAIL("another message");
    }
    memory_free(list);
    config_free(config);
}

static void test_not_yaml(void)
{
    expect("", "t.yaml: the file is empty; a machine file has groups of keys");
    expect("# only this\n", "t.yaml: the file is empty; a machine file has groups of keys");
    expect("\nhello\n", "t.yaml:2: a mapping (groups of keys) is expected, not a value");
    expect("- a\n", "t.yaml:1: a mapping (groups of keys) is expected, not a sequence");
    expect("name: a\nhbm: b: c\n",
           "t.yaml:2: not valid YAML: mapping values are not allowed in this context");
    expect("name: a\n\tb: c\n",
           "t.yaml:2: not valid YAML: found a tab character that violates indentation");
    expect("name: a\n---\nname: b\n",
           "t.yaml:2: a second document starts here; a machine file has one");
    expect("name: \xff\n", "t.yaml:1: not valid YAML: invalid leading UTF-8 octet");
    expect_bytes("name: a\n\0\n", 10,
                 "t.yaml:2: not valid YAML: control characters are not allowed");
    expect("name: \"a\\0b\"\n", "t.yaml:1: name: a NUL character is not allowed");
}

static void test_refused_yaml(void)
{
    expect("hbm:\n  latency_ns: &x 4\n",
           "t.yaml:2: the anchor 'x' is not allowed in a machine file");
    expect("hbm:\n  latency_ns: *x\n", "t.yaml:2: the alias 'x' is not allowed in a machine file");
    expect("hbm: {latency_ns: !!int 4}\n",
           "t.yaml:1: the tag 'tag:yaml.org,2002:int' is not allowed in a machine file");
    expect("? [a]\n: b\n", "t.yaml:1: a key is expected, not a sequence");
    expect("hbm: {latency_ns: {a: 1}}\n",
           "t.yaml:1: hbm.latency_ns: a value is expected, not a mapping");
    expect("hbm:\n  latency_ns: [1, 2]\n",
           "t.yaml:2: hbm.latency_ns: a value is expected, not a sequence");
    expect("hbm: 4\n", "t.yaml:1: hbm: is a group of keys, such as hbm.capacity_bytes");
    expect("hbm:\n", "t.yaml:1: hbm: is a group of keys, such as hbm.capacity_bytes");
    expect("hbm: [1]\n", "t.yaml:1: hbm: is a group of keys, such as hbm.capacity_bytes");
    expect("name: {a: 1}\n", "t.yaml:1: name: a value is expected, not a mapping");
}

static void test_duplicates(void)
{
    expect("hbm:\n  latency_ns: 1\n  latency_ns: 1\n",
           "t.yaml:3: hbm.latency_ns: given twice, first on line 2");
    expect("hbm: {latency_ns: 1}\nhbm: {bandwidth_gbps: 1}\n",
           "t.yaml:2: hbm: given twice, first on line 1");
    expect("name: a\nname: a\n", "t.yaml:2: name: given twice, first on line 1");
}

static void test_unknown_keys(void)
{
    expect("hbm:\n  bandwidth_gibps: 4\n",
           "t.yaml:2: unknown key 'hbm.bandwidth_gibps' (did you mean hbm.bandwidth_gbps?)");
    expect("hmb:\n  latency_ns: 4\n", "t.yaml:1: unknown key 'hmb' (did you mean hbm?)");
    expect("hbm:\n  xyzzy: 4\n", "t.yaml:2: unknown key 'hbm.xyzzy' (--print-config shows all keys)");
    expect("<<: {a: 1}\n", "t.yaml:1: unknown key '<<' (--print-config shows all keys)");
    expect("\"a\\nb\": 1\n", "t.yaml:1: unknown key 'a?b' (--print-config shows all keys)");
    expect("hbm.latency_ns: 4\n",
           "t.yaml:1: hbm.latency_ns: in a file this is written as a group with the key under it");
    expect_set("dma.setup_us=4", "--set: unknown key 'dma.setup_us' (did you mean dma.setup_ns?)");
    expect_set("hbm=4", "--set hbm: is a group of keys, such as hbm.capacity_bytes");
    expect_set("abc", "--set 'abc': KEY=VALUE is expected, such as hbm.bandwidth_gbps=1200");
    expect_set("=4", "--set '=4': KEY=VALUE is expected, such as hbm.bandwidth_gbps=1200");
}

static void test_not_numbers(void)
{
    static const char *const values[] = {"12ns", "nan", "inf", "1e3", "-4",  "+4", "0x10",
                                         "",     "4.",  ".5",  "1_0", "4 4", "~",  "null"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[128], expected[128];
        snprintf(text, sizeof text, "hbm:\n\n  bandwidth_gbps: '%s'\n", values[i]);
        snprintf(expected, sizeof expected,
                 "t.yaml:3: hbm.bandwidth_gbps: '%s' is not a number (allowed: 1 to 100000)",
                 values[i]);
        expect(text, expected);
    }
    expect("hbm:\n  latency_ns:\n",
           "t.yaml:2: hbm.latency_ns: '' is not a number (allowed: 0 to 1000000)");
}

static void test_bad_values(void)
{
    expect_set("dma.channels=65", "--set dma.channels: '65' is out of range (allowed: 1 to 64)");
    expect_set("dma.channels=0", "--set dma.channels: '0' is out of range (allowed: 1 to 64)");
    expect_set("dma.channels=4.5",
               "--set dma.channels: '4.5' is not a whole number (allowed: 1 to 64)");
    expect_set("dma.channels=010",
               "--set dma.channels: '010' has leading zeros (allowed: 1 to 64)");
    expect_set("cube_link.latency_ns=0",
               "--set cube_link.latency_ns: '0' is out of range (allowed: "
               "0.001 to 1000000)");
    expect_set("cube_link.latency_ns=1.0005",
               "--set cube_link.latency_ns: '1.0005' is finer than a "
               "picosecond (allowed: 0.001 to 1000000)");
    expect_set("gemm.clock_ghz=1.0123456789",
               "--set gemm.clock_ghz: '1.0123456789' has more than 9 decimals (allowed: 0.01 to "
               "100)");
    expect_set("dma.channels=99999999999999999999999",
               "--set dma.channels: '99999999999999999999999' has too many digits (allowed: 1 to "
               "64)");
    expect_set("topology.cube_network=ring",
               "--set topology.cube_network: 'ring' is not a choice (allowed: mesh or torus)");
    expect("name: ''\n",
           "t.yaml:1: name: '' is empty (allowed: 1 to 63 printable ASCII characters)");
    expect("name: \"a\\nb\"\n", "t.yaml:1: name: 'a?b' has a character that is not allowed "
                                "(allowed: 1 to 63 printable ASCII characters)");
}

static void test_clashes(void)
{
    expect("model:\n  query_heads: 63\n",
           "t.yaml:2: model.query_heads: '63': model.query_heads is not a multiple of "
           "model.kv_heads");
    expect_set("model.kv_heads=7", "--set model.kv_heads: '7': model.query_heads is not a multiple "
                                   "of model.kv_heads");
    expect_set("topology.sips_x=256 topology.sips_y=17",
               "--set topology.sips_x: '256': the system has more than 65536 CUBEs (sips_x * "
               "sips_y * cubes_x * cubes_y)");
    expect_set("topology.pes_x=120", "--set topology.pes_x: '120': a CUBE has more than 120 PEs "
                                     "(pes_x * pes_y)");
    expect_set("topology.pes_y=3", "--set topology.pes_y: '3': hbm.pseudo_channels is not a "
                                   "multiple of the PEs in a CUBE (pes_x * pes_y)");
    expect_set("hbm.refresh_busy_ns=3900", "--set hbm.refresh_busy_ns: '3900': hbm.refresh_busy_ns "
                                           "is not below hbm.refresh_interval_ns");
    expect_set("ipcq.slot_bytes=1002", "--set ipcq.slot_bytes: '1002': a slot holds whole f32 "
                                       "elements: a multiple of 4 is expected");
    expect_set("scratch.capacity_bytes=4096",
               "--set scratch.capacity_bytes: '4096': scratch.capacity_bytes "
               "does not hold pipeline_depth * tile_k * tile_n bf16");
    expect_set("ipcq.slot_bytes=2097152",
               "--set ipcq.slot_bytes: '2097152': ipcq.slot_bytes is above "
               "scratch.capacity_bytes");
    expect_set("scheduler.tile_n=65536", "--set scheduler.tile_n: '65536': scratch.capacity_bytes "
                                         "does not hold pipeline_depth * tile_k * tile_n bf16");
}

/* A file that says everything, as the shipped ones do, and one key of --set: that one is named. In
 * a file, the key that was changed. */
static void test_who_is_blamed(void)
{
    static const char file[] = "scheduler:\n  pipeline_depth: 8\n  tile_n: 32\n"
                               "scratch:\n  capacity_bytes: 1048576\n";
    struct error err = {0};
    struct config *config = config_new();
    CU_ASSERT_TRUE(config_load_text(config, "t.yaml", file, sizeof file - 1, &err));
    CU_ASSERT_TRUE(config_set(config, "scheduler.tile_n=65536", &err));
    CU_ASSERT_FALSE(config_finish(config, &err));
    CU_ASSERT_STRING_EQUAL(err.text,
                           "--set scheduler.tile_n: '65536': scratch.capacity_bytes does not hold "
                           "pipeline_depth * tile_k * tile_n bf16");
    config_free(config);
    expect("scheduler:\n  pipeline_depth: 8\n  tile_n: 65536\n",
           "t.yaml:3: scheduler.tile_n: '65536': scratch.capacity_bytes does not hold "
           "pipeline_depth * tile_k * tile_n bf16");
    expect_set("scheduler.pipeline_depth=8 scheduler.tile_n=65536",
               "--set scheduler.tile_n: '65536': scratch.capacity_bytes does not hold "
               "pipeline_depth * tile_k * tile_n bf16");
}

/* The system at its limits is allowed. */
static void test_largest_system(void)
{
    static const char *const sets[] = {
        "topology.sips_x=16",      "topology.sips_y=16", "topology.cubes_x=16",
        "topology.cubes_y=16",     "topology.pes_x=60",  "topology.pes_y=2",
        "hbm.pseudo_channels=240",
    };
    struct error err = {0};
    struct config *config = config_new();
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        CU_ASSERT_TRUE(config_set(config, sets[i], &err));
    CU_ASSERT_TRUE(config_finish(config, &err));
    config_free(config);
}

/* Size and depth that a file may not have; all are refused in no time. */
static void test_hostile_files(void)
{
    size_t bytes = CONFIG_FILE_BYTES + 1;
    char *text = memory_new(bytes + 1, 1);
    memset(text, '#', bytes);
    expect_bytes(text, bytes, "t.yaml: the machine file is larger than 1048576 bytes");
    expect_bytes(text, bytes - 1, "t.yaml: the file is empty; a machine file has groups of keys");
    memset(text, '[', bytes);
    expect_bytes(text, bytes - 1,
                 "t.yaml:1: nested too deeply: a file has groups, and groups have keys");
    memset(text, 'x', bytes);
    memcpy(text, "name: ", 6);
    expect_bytes(
        text, bytes - 1,
        "t.yaml:1: name: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is "
        "too long (allowed: 1 to 63 printable ASCII characters)");
    memory_free(text);
}

static void expect_path(const char *path, const char *expected)
{
    struct error err = {0};
    struct config *config = config_new();
    CU_ASSERT_FALSE(config_load(config, path, &err));
    CU_ASSERT_EQUAL(err.code, ERROR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text, expected);
    config_free(config);
}

static void test_paths(void)
{
    expect_path("/nowhere/x.yaml", "/nowhere/x.yaml: the machine file cannot be opened: No such "
                                   "file or directory");
    expect_path("/tmp", "/tmp: the machine file is a directory; a file is expected");
    expect_path("no\nfile",
                "no?file: the machine file cannot be opened: No such file or directory");
    char path[4000];
    struct error err = {0};
    struct config *config = config_new();
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    CU_ASSERT_FALSE(config_load(config, path, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "xxx: the machine file cannot be opened: "));
    config_free(config);
}

/* Root reads what it likes, so this one tells nothing under root. */
static void test_unreadable_file(void)
{
    char path[] = "/tmp/test_config_XXXXXX", expected[128];
    int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    chmod(path, 0);
    snprintf(expected, sizeof expected, "%s: the machine file cannot be opened: Permission denied",
             path);
    if (geteuid() != 0)
        expect_path(path, expected);
    unlink(path);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"not YAML, or not a mapping", test_not_yaml},
        {"YAML that is refused", test_refused_yaml},
        {"duplicate keys", test_duplicates},
        {"unknown keys", test_unknown_keys},
        {"not numbers", test_not_numbers},
        {"bad values", test_bad_values},
        {"keys that clash", test_clashes},
        {"who is blamed for a clash", test_who_is_blamed},
        {"the largest system", test_largest_system},
        {"hostile files", test_hostile_files},
        {"paths", test_paths},
        {"an unreadable file", test_unreadable_file},
        CU_TEST_INFO_NULL,
    };
    return check_run("config/errors", tests);
}
