/* Every part of the machine, through its own description: what its servers promise is never later
 * than what they then do; its keys and columns are complete and unlike all others'. A new part is
 * tested here without a line more. */
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "machine/machine.h"
#include "rig.h"

static uint64_t hash_next(uint64_t *seed)
{
    return hash_finish(*seed = hash_word(*seed, 1));
}

/* Small and odd numbers, so that fractions carry and refreshes interfere. */
static struct machine_params random_params(uint64_t *seed)
{
    struct machine_params params = rig_params(2, 1);
    params.hbm.rate = (struct rate){1 + hash_next(seed) % 50, 1 + hash_next(seed) % 9};
    params.hbm.refresh_interval_ps = 1000 + hash_next(seed) % 9000;
    params.hbm.refresh_busy_ps = hash_next(seed) % 1000;
    params.hbm.interleave_bytes = 32 << hash_next(seed) % 4;
    params.gemm.clock = (struct rate){1 + hash_next(seed) % 50, 1 + hash_next(seed) % 9};
    params.math.clock = (struct rate){1 + hash_next(seed) % 50, 1 + hash_next(seed) % 9};
    params.math.startup_ps = hash_next(seed) % 100;
    for (int level = 0; level < LEVELS; level++)
        params.link[level] = (struct link_params){
            {1 + hash_next(seed) % 50, 1 + hash_next(seed) % 9}, 1 + hash_next(seed) % 1000};
    params.network.cut_through = hash_next(seed) % 2;
    for (int level = 0; level < LEVELS; level++) {
        params.network.router_ps[level] = hash_next(seed) % 1000;
        params.network.width_bytes[level] = 1 + hash_next(seed) % 300;
    }
    params.network.virtual_channels = params.network.buffer_flits = 2;
    if (hash_next(seed) % 2 == 0)
        rig_random_dram(&params.hbm, seed);
    return params;
}

/* A thousand pieces of work, some back to back, some after a pause. */
static uint64_t drive(const struct part *part, const struct part_server *server, struct cube *cube,
                      uint64_t *seed)
{
    uint64_t now = 0, late = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t work = 1 + hash_next(seed) % 5000;
        uint64_t least = server->least(cube, &cube->pe[0], now, work);
        uint64_t end = server->serve(cube, &cube->pe[0], now, work);
        if (least > end || end < now) {
            printf("%s, %s: %llu at %llu: promised %llu, done %llu\n", part->name, server->name,
                   (unsigned long long)work, (unsigned long long)now, (unsigned long long)least,
                   (unsigned long long)end);
            late++;
        }
        uint64_t pause = hash_next(seed) % 4;
        now = pause == 0 ? end : pause == 1 ? end + hash_next(seed) % 9000 : now + pause;
    }
    return late;
}

static void test_promises(void)
{
    uint64_t seed = 11, driven = 0;
    for (int machine = 0; machine < 50; machine++)
        for (const struct part *const *part = machine_parts(); *part != NULL; part++)
            for (uint32_t i = 0; i < (*part)->servers_count; i++, driven++) {
                struct machine_params params = random_params(&seed);
                struct rig rig;
                rig_init(&rig, &params);
                rig_start(&rig);
                EQUAL(drive(*part, &(*part)->servers[i], rig.cubes[0], &seed), 0);
                rig_fini(&rig);
            }
    CU_ASSERT_TRUE(driven >= 50 * 4); /* share, array, vector unit, link */
}

static bool has_origin(const char *origin)
{
    static const char *const kinds[] = {"seed: ", "public fact: ", "assumption: ", "fitted: "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(origin, kinds[i], strlen(kinds[i])) == 0)
            return origin[strlen(kinds[i])] != '\0';
    return false;
}

static void test_keys(void)
{
    const struct key_row *row, *other;
    for (size_t i = 0; (row = machine_key(i)) != NULL; i++) {
        CU_ASSERT_TRUE(has_origin(row->origin));
        CU_ASSERT_TRUE(row->description[0] != '\0' && row->initial[0] != '\0');
        CU_ASSERT_TRUE(row->type == KEY_TEXT ||
                       row->offset + row->size <= sizeof(struct machine_params));
        for (size_t k = 0; k < i && (other = machine_key(k)) != NULL; k++)
            CU_ASSERT_TRUE(strcmp(row->key, other->key) != 0);
    }
}

static void test_columns(void)
{
    const struct column *column, *other;
    for (size_t i = 0; (column = machine_column(i)) != NULL; i++) {
        size_t bytes =
            column->of == COLUMN_CUBE ? sizeof(struct cube_result) : sizeof(struct pe_result);
        CU_ASSERT_TRUE(column->offset + column->width * sizeof(uint64_t) <= bytes);
        CU_ASSERT_TRUE(column->description[0] != '\0' && column->units[0] != '\0');
        CU_ASSERT_TRUE((column->width > 1) == (column->last_axis != NULL));
        for (size_t k = 0; k < i && (other = machine_column(k)) != NULL; k++)
            CU_ASSERT_TRUE(strcmp(column->name, other->name) != 0);
    }
}

CHECK_MAIN("machine/parts", CHECK_TEST(test_promises), CHECK_TEST(test_keys),
           CHECK_TEST(test_columns))
