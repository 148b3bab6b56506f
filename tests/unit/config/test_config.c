/* Configurations that are right: defaults, files, --set, exact values, and printing them back. */
#include "config/config.h"

#include <dirent.h>
#include <string.h>

#include "../check.h"
#include "machine/params.h"
#include "config/config_schema.h"
#include "support/memory.h"

static struct config *config_with(const char *yaml, const char *const *sets, size_t count)
{
    struct error err = {0};
    struct config *config = config_new();
    bool fine = config_load_text(config, "t.yaml", yaml, strlen(yaml), &err);
    for (size_t i = 0; fine && i < count; i++)
        fine = config_set(config, sets[i], &err);
    if (!fine || !config_finish(config, &err))
        CU_FAIL_FATAL("refused"); /* the message: run under a debugger, or print err.text */
    return config;
}

static struct config *config_default(void)
{
    struct error err = {0};
    struct config *config = config_new();
    CU_ASSERT_TRUE_FATAL(config_finish(config, &err));
    return config;
}

static char *printed(const struct config *config)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    config_print(config, out);
    fclose(out);
    return text;
}

static char *source_path(const char *name)
{
    size_t bytes = sizeof AHBM_SOURCE_DIR + strlen(name) + 10;
    char *path = memory_new(bytes, 1);
    snprintf(path, bytes, "%s/configs/%s", AHBM_SOURCE_DIR, name);
    return path;
}

static void expect_rate(struct rate rate, uint64_t num, uint64_t den)
{
    CU_ASSERT_EQUAL(rate.num, num);
    CU_ASSERT_EQUAL(rate.den, den);
}

/* ---- the schema ---- */

static bool starts_with_origin(const char *origin)
{
    return strncmp(origin, "seed: ", 6) == 0 || strncmp(origin, "public fact: ", 13) == 0 ||
           strncmp(origin, "assumption: ", 12) == 0 || strncmp(origin, "fitted: ", 8) == 0;
}

static bool ends_with(const char *key, const char *end)
{
    size_t a = strlen(key), b = strlen(end);
    return a >= b && strcmp(key + a - b, end) == 0;
}

/* A key ends in its unit, and its field is of the type that its values have. */
static bool type_fits(const struct key_row *row)
{
    switch (row->type) {
    case KEY_TEXT:
        return row->size == 0;
    case KEY_CHOICE:
        return row->size == sizeof(bool);
    case KEY_COUNT:
        return row->size == sizeof(uint32_t) || row->size == sizeof(uint64_t);
    case KEY_NS:
        return row->size == sizeof(uint64_t) && ends_with(row->key, "_ns");
    case KEY_GBPS:
        return row->size == sizeof(struct rate) && ends_with(row->key, "_gbps");
    case KEY_ENUM:
    case KEY_ORDER:
        return row->size == sizeof(uint32_t);
    case KEY_TIMING:
        return row->size == sizeof(struct timing);
    default:
        return row->size == sizeof(struct rate) && ends_with(row->key, "_ghz");
    }
}

static bool of_words(const struct key_row *row)
{
    return row->type == KEY_CHOICE || row->type == KEY_ENUM || row->type == KEY_ORDER;
}

static void test_schema(void)
{
    for (size_t i = 0; i < config_schema_size(); i++) {
        const struct key_row *row = config_schema_row(i);
        size_t index;
        CU_ASSERT_TRUE(config_schema_find(row->key, &index));
        CU_ASSERT_EQUAL(index, i);
        CU_ASSERT_TRUE(type_fits(row));
        CU_ASSERT_TRUE(starts_with_origin(row->origin));
        CU_ASSERT_TRUE(strlen(row->key) < CONFIG_KEY_BYTES);
        CU_ASSERT_PTR_NULL(strchr(row->description, '\n'));
        if (!of_words(row) && row->type != KEY_TEXT)
            CU_ASSERT_STRING_NOT_EQUAL(row->min, row->max);
    }
}

/* No two rows share a byte of struct machine_params. */
static void test_fields_are_apart(void)
{
    unsigned char used[sizeof(struct machine_params)] = {0};
    for (size_t i = 0; i < config_schema_size(); i++) {
        const struct key_row *row = config_schema_row(i);
        for (size_t byte = row->offset; byte < row->offset + row->size; byte++)
            CU_ASSERT_EQUAL(used[byte]++, 0);
    }
}

static bool set_text(const struct key_row *row, const char *value)
{
    char assignment[256];
    struct error err = {0};
    struct config *config = config_new();
    snprintf(assignment, sizeof assignment, "%s=%s", row->key, value);
    bool fine = config_set(config, assignment, &err);
    config_free(config);
    return fine;
}

/* Of a time the unit is needed, but not for 0; its number has a range. */
static void check_timing_range(const struct key_row *row)
{
    char text[64];
    snprintf(text, sizeof text, "%s ns", row->max);
    CU_ASSERT_TRUE(set_text(row, text));
    snprintf(text, sizeof text, "%sck", row->max);
    CU_ASSERT_TRUE(set_text(row, text));
    CU_ASSERT_FALSE(set_text(row, row->max));
    snprintf(text, sizeof text, "%llu ns", strtoull(row->max, NULL, 10) + 1);
    CU_ASSERT_FALSE(set_text(row, text));
}

/* Values of words: each one of its list and no other; an order has each word once. */
static void test_words(void)
{
    static const struct {
        const char *assignment;
        uint32_t stored;
        bool fine;
    } cases[] = {
        {"hbm.refresh=none", 0, true},
        {"hbm.refresh=per_bank", 3, true},
        {"hbm.refresh=per", 0, false},
        {"hbm.refresh=none|all_bank", 0, false},
        {"hbm.refresh=", 0, false},
        {"hbm.mapping=row bank group column", 0x3210, true},
        {"hbm.mapping= column  group bank row ", 0x0123, true},
        {"hbm.mapping=row bank group", 0, false},
        {"hbm.mapping=row bank group group", 0, false},
        {"hbm.mapping=row bank group column row", 0, false},
        {"hbm.mapping=row|bank|group|column", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config *config = config_new();
        struct error err = {0};
        bool fine = config_set(config, cases[i].assignment, &err);
        CU_ASSERT_EQUAL(fine, cases[i].fine);
        if (fine && config_finish(config, &err)) {
            const struct dram_params *dram = &config_params(config)->hbm.dram;
            bool refresh = strncmp(cases[i].assignment, "hbm.refresh", 11) == 0;
            CU_ASSERT_EQUAL(refresh ? dram->refresh : dram->mapping, cases[i].stored);
        }
        config_free(config);
    }
}

static void test_timings(void)
{
    static const struct {
        const char *text, *canonical;
        uint64_t ps, milliclocks;
    } cases[] = {
        {"14 ns", "14 ns", 14000, 0},
        {"14ns", "14 ns", 14000, 0},
        {"16.25  ns", "16.25 ns", 16250, 0},
        {"14 ck", "14 ck", 0, 14000},
        {"2.5ck", "2.5 ck", 0, 2500},
        {"0", "0 ns", 0, 0},
        {"14", NULL, 0, 0},
        {"14 us", NULL, 0, 0},
        {"ns", NULL, 0, 0},
        {"1.0001 ns", NULL, 0, 0},
        {"-1 ns", NULL, 0, 0},
        {"14 nsx", NULL, 0, 0},
        {"1e3 ns", NULL, 0, 0},
        {"", NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char assignment[64], line[64];
        struct config *config = config_new();
        struct error err = {0};
        snprintf(assignment, sizeof assignment, "hbm.cl=%s", cases[i].text);
        bool fine = config_set(config, assignment, &err);
        CU_ASSERT_EQUAL(fine, cases[i].canonical != NULL);
        if (fine && config_finish(config, &err)) {
            CU_ASSERT_EQUAL(config_params(config)->hbm.dram.cl.ps, cases[i].ps);
            CU_ASSERT_EQUAL(config_params(config)->hbm.dram.cl.milliclocks, cases[i].milliclocks);
            char *text = config_text(config);
            snprintf(line, sizeof line, "\n  cl: %s\n", cases[i].canonical);
            CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
            memory_free(text);
        }
        config_free(config);
    }
}

/* Both ends of every range are allowed, and what lies a step outside is not. */
static void test_range_ends(void)
{
    for (size_t i = 0; i < config_schema_size(); i++) {
        const struct key_row *row = config_schema_row(i);
        char outside[64];
        if (row->type == KEY_TIMING) {
            check_timing_range(row);
            continue;
        }
        if (row->type == KEY_TEXT || row->type == KEY_ENUM || row->type == KEY_ORDER)
            continue;
        CU_ASSERT_TRUE(set_text(row, row->min));
        CU_ASSERT_TRUE(set_text(row, row->max));
        if (row->type == KEY_CHOICE)
            continue;
        snprintf(outside, sizeof outside, "%llu", strtoull(row->max, NULL, 10) + 1);
        CU_ASSERT_FALSE(set_text(row, outside));
        snprintf(outside, sizeof outside, "%s.001", row->max);
        CU_ASSERT_FALSE(set_text(row, outside));
        if (strcmp(row->min, "0") != 0)
            CU_ASSERT_FALSE(set_text(row, "0"));
    }
}

/* ---- values ---- */

static void test_defaults(void)
{
    struct config *config = config_default();
    const struct machine_params *hw = config_params(config);
    CU_ASSERT_STRING_EQUAL(config_name(config), "ahbm-sip");
    CU_ASSERT_EQUAL(geometry_cubes(&hw->geometry), 16);
    CU_ASSERT_EQUAL(grid_size(hw->geometry.pes), 8);
    CU_ASSERT_FALSE(hw->geometry.cube_torus);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_COMPOSITE], 40000);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_RECV], 4000);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_RECV_ASYNC], 4000);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_WAIT], 1000);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_FAIL], 0);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_END], 0);
    CU_ASSERT_EQUAL(hw->hbm.capacity_bytes, UINT64_C(24) << 30);
    expect_rate(hw->hbm.rate, 5, 6);
    expect_rate(hw->gemm.clock, 1000, 1);
    expect_rate(hw->link[LEVEL_CUBE].rate, 125, 32);
    CU_ASSERT_EQUAL(hw->link[LEVEL_SIP].latency_ps, 300000);
    CU_ASSERT_EQUAL(hw->ipcq.copy_ps[LEVEL_PE], 639700);
    config_free(config);
}

static void test_file(void)
{
    struct config *config = config_with("# a machine\n"
                                        "name: 'my \"chip\"'\n"
                                        "topology: {cubes_x: 2, cube_network: torus}\n"
                                        "cpu:\n"
                                        "  issue_recv_ns: 0.5\n"
                                        "hbm:\n"
                                        "  bandwidth_gbps: \"37.50\"\n"
                                        "cube_link:\n"
                                        "  latency_ns: 0.001\n",
                                        NULL, 0);
    const struct machine_params *hw = config_params(config);
    CU_ASSERT_STRING_EQUAL(config_name(config), "my \"chip\"");
    CU_ASSERT_EQUAL(hw->geometry.cubes.columns, 2);
    CU_ASSERT_EQUAL(hw->geometry.cubes.rows, 4);
    CU_ASSERT_TRUE(hw->geometry.cube_torus);
    CU_ASSERT_EQUAL(hw->cpu.issue_ps[OP_RECV_ASYNC], 500);
    expect_rate(hw->hbm.rate, 80, 3);
    CU_ASSERT_EQUAL(hw->link[LEVEL_CUBE].latency_ps, 1);
    config_free(config);
}

/* Later assignments win, and --set wins over the file. */
static void test_set(void)
{
    const char *sets[] = {"hbm.bandwidth_gbps=2", "hbm.bandwidth_gbps=53.6870912", "name=a=b",
                          "topology.cube_network=torus", "topology.cube_network=mesh"};
    struct config *config = config_with("hbm: {bandwidth_gbps: 1, latency_ns: 7}\n", sets, 5);
    const struct machine_params *hw = config_params(config);
    expect_rate(hw->hbm.rate, 9765625, 524288);
    CU_ASSERT_EQUAL(hw->hbm.latency_ps, 7000);
    CU_ASSERT_STRING_EQUAL(config_name(config), "a=b");
    CU_ASSERT_FALSE(hw->geometry.cube_torus);
    config_free(config);
}

/* ---- printing ---- */

static void test_round_trip(void)
{
    const char *sets[] = {"hbm.bandwidth_gbps=37.50", "name=a \"b\" \\ # c: d",
                          "topology.cube_network=torus", "cube_link.latency_ns=0.001"};
    struct config *config = config_with("topology:\n  sips_x: 2\n", sets, 4);
    char *text = printed(config), *plain = config_text(config);
    struct config *again = config_with(text, NULL, 0);
    char *plain_again = config_text(again);
    CU_ASSERT_STRING_EQUAL(plain, plain_again);
    CU_ASSERT_EQUAL(
        memcmp(config_params(config), config_params(again), sizeof(struct machine_params)), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "set by t.yaml:2 (default 1)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "set by --set (default 1200)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(plain, "\n  bandwidth_gbps: 37.5\n"));
    CU_ASSERT_PTR_NULL(strstr(plain, "t.yaml"));
    CU_ASSERT_PTR_NULL(strstr(plain, "--set"));
    memory_free(text);
    memory_free(plain);
    memory_free(plain_again);
    config_free(config);
    config_free(again);
}

/* The text depends on the values, not on how they were given. */
static void test_text_is_canonical(void)
{
    const char *sets[] = {"hbm.bandwidth_gbps=1200.00", "ipcq.slots=4"};
    struct config *plain = config_default(), *set = config_with("name: ahbm-sip\n", sets, 2);
    char *a = config_text(plain), *b = config_text(set);
    CU_ASSERT_STRING_EQUAL(a, b);
    memory_free(a);
    memory_free(b);
    config_free(plain);
    config_free(set);
}

/* A name of a file that is not UTF-8 may not spoil the comment that it stands in. */
static void test_odd_label(void)
{
    struct error err = {0};
    struct config *config = config_new();
    const char *yaml = "name: x\n";
    CU_ASSERT_TRUE(config_load_text(config, "\xff\n.yaml", yaml, strlen(yaml), &err));
    char *text = printed(config);
    config_free(config_with(text, NULL, 0));
    memory_free(text);
    config_free(config);
}

static void test_default_file(void)
{
    struct error err = {0};
    struct config *config = config_default();
    char *path = source_path("ahbm-sip.yaml"), *file, *text = printed(config);
    size_t bytes;
    CU_ASSERT_TRUE_FATAL(config_read(path, &file, &bytes, &err));
    CU_ASSERT_STRING_EQUAL(file, text); /* else: ahbm-pdes --print-config > configs/ahbm-sip.yaml */
    CU_ASSERT_EQUAL(bytes, strlen(text));
    memory_free(path);
    memory_free(file);
    memory_free(text);
    config_free(config);
}

static void load_shipped(const char *name)
{
    struct error err = {0};
    struct config *config = config_new();
    char *path = source_path(name);
    if (!config_load(config, path, &err) || !config_finish(config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        CU_FAIL("a shipped machine does not load");
    } else {
        CU_ASSERT_EQUAL(strncmp(name, config_name(config), strlen(name) - strlen(".yaml")), 0);
    }
    memory_free(path);
    config_free(config);
}

/* Every file in configs/ loads, and is named after its machine. */
static void test_shipped_files(void)
{
    unsigned files = 0;
    DIR *folder = opendir(AHBM_SOURCE_DIR "/configs");
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!ends_with(entry->d_name, ".yaml"))
            continue;
        load_shipped(entry->d_name);
        files++;
    }
    closedir(folder);
    CU_ASSERT_TRUE(files >= 3);
}

static void test_four_sips(void)
{
    struct error err = {0};
    struct config *config = config_new();
    char *path = source_path("llama3-70b-4sip.yaml");
    CU_ASSERT_TRUE_FATAL(config_load(config, path, &err) && config_finish(config, &err));
    CU_ASSERT_EQUAL(geometry_cubes(&config_params(config)->geometry), 64);
    memory_free(path);
    config_free(config);
}

/* The memories that are shipped: each has its standard's peak, by this sum: pins x transfers. The
 * defaults are those of hbm3e. */
static void test_memories(void)
{
    static const struct {
        const char *name;
        double gbps;
    } memories[] = {
        {"hbm2", 256}, {"hbm2e", 460.8}, {"hbm3", 819.2}, {"hbm3e", 1177.6}, {"hbm4", 2048}};
    struct config *defaults = config_default();
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        char path[512];
        struct error err = {0};
        struct config *config = config_new();
        snprintf(path, sizeof path, "%s/configs/memory/%s.yaml", AHBM_SOURCE_DIR, memories[i].name);
        CU_ASSERT_TRUE_FATAL(config_load(config, path, &err) && config_finish(config, &err));
        const struct hbm_params *hbm = &config_params(config)->hbm;
        const struct dram_params *dram = &hbm->dram;
        double pins = (double)(hbm->pseudo_channels * dram->width_bits);
        double transfers = 1000.0 * (double)dram->data_rate.den / (double)dram->data_rate.num;
        CU_ASSERT_DOUBLE_EQUAL(pins / 8 * transfers, memories[i].gbps, memories[i].gbps * 1e-4);
        /* a burst takes as long as two columns at least, within a picosecond of rounding */
        double burst = (double)dram->burst_length * 1000 / transfers;
        CU_ASSERT_TRUE(2 * (double)dram->tck_ps > burst - 2 && (double)dram->tck_ps < burst + 2);
        CU_ASSERT_EQUAL(hbm->model, HBM_BANKS);
        CU_ASSERT_STRING_EQUAL(config_name(config), memories[i].name);
        if (strcmp(memories[i].name, "hbm3e") == 0) {
            struct dram_params wanted = config_params(defaults)->hbm.dram;
            CU_ASSERT_EQUAL(memcmp(dram, &wanted, sizeof wanted), 0);
            CU_ASSERT_EQUAL(hbm->capacity_bytes, config_params(defaults)->hbm.capacity_bytes);
        }
        config_free(config);
    }
    config_free(defaults);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the schema is whole", test_schema},
        {"fields do not overlap", test_fields_are_apart},
        {"range ends", test_range_ends},
        {"the memories", test_memories},
        {"words", test_words},
        {"timings", test_timings},
        {"defaults", test_defaults},
        {"a machine file", test_file},
        {"--set", test_set},
        {"print and load again", test_round_trip},
        {"the text is canonical", test_text_is_canonical},
        {"a label that is not UTF-8", test_odd_label},
        {"configs/ahbm-sip.yaml is the default", test_default_file},
        {"shipped machine files", test_shipped_files},
        {"four SIPs are 64 CUBEs", test_four_sips},
        CU_TEST_INFO_NULL,
    };
    return check_run("config/config", tests);
}
