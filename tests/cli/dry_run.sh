# What cannot run is refused before anything runs: by --dry-run, and by a run in the same words, with
# status 2, naming the case; nothing is simulated and nothing written.
source "$(dirname "$0")/common.bash"

# impossible PATTERN ARGUMENTS: both refuse, and say the same.
impossible() {
    local pattern=$1
    shift
    refused 1 2 "$pattern" "$@" --dry-run
    launch 1 "$@" --dry-run 2>"$work/dry.yaml" || true
    launch 1 "$@" --progress 2>"$work/wet.yaml" || true # named so for refused()
    cmp -s "$work/dry.yaml" "$work/wet.yaml" || fail "a run says: $(head -2 "$work/wet.yaml")"
    [ -z "$(ls "$work" | grep -v '\.yaml$')" ] || fail "a run left: $(ls "$work")"
}

# ---- one impossible case among possible ones ----
impossible "case 2: context 8192: kernel decode, .*one-shot form takes one block" --form one-shot
impossible "case 3: context 65536: kernel decode, .*one-shot form" --form one-shot --case 3,4 \
    --context 8K,64K
refused 3 2 "case 2: context 8192: kernel decode, .*one-shot form takes one block" --form one-shot
# ... and one kernel of several
impossible "case 1: context 64: kernel prefill, .*cannot use dots" --kernel decode,prefill --gemm dot \
    --context 64

# ---- reductions and rings without the neighbours that they need ----
impossible "case 1: .*reduction chain does not fit the 4 x 4 grid of CUBEs" --cubes-per-group 16
impossible "case 3: .*reduction tree does not fit the 3 x 2 grid of PEs" --set topology.pes_x=3 \
    --set hbm.pseudo_channels=30 --reduce-pe tree --case 2,3
impossible "case 1: .*a grid of 5 x 1 PEs has no ring" --set topology.pes_x=5 --set topology.pes_y=1 \
    --set hbm.pseudo_channels=40 --phase prefill --context 64
impossible "kernel allreduce-ring, .*a grid of 3 x 3 CUBEs has no ring" --set topology.cubes_x=3 \
    --set topology.cubes_y=3 --cubes-per-group 9 --kernel allreduce-ring
# at the end of a program that is too long to be recorded whole
impossible "case 4: context 262144: kernel prefill, .*reduction tree does not fit" --phase prefill \
    --set topology.pes_x=3 --set hbm.pseudo_channels=30 --reduce-pe tree --case 4 --context 256K

# ---- forms, GEMMs, tiles ----
impossible "prefill, .*cannot use dots" --phase prefill --gemm dot --context 64
impossible "prefill-fanout, .*cannot use dots" --kernel prefill-fanout --gemm dot --context 64
impossible "a prefill is tiled" --phase prefill --form softmax_merge --context 64
impossible "requests overlap in the one-shot and the tiled form" --kernel decode-pipelined \
    --form softmax_merge
impossible "made of composites: it cannot use dots" --form softmax_merge --gemm dot
impossible "scratch is full" --tile 65536 --context 1M
impossible "case 1: context 8192: .*does not fit into 65536 bytes of scratch" --phase prefill \
    --set scratch.capacity_bytes=65536 --tile 1024
impossible "case 1: context 8192: kernel prefill: --ring-depth: 3 buffers .*ipcq.queue_commands" --phase prefill \
    --ring-depth 3 --set ipcq.queue_commands=1

# ---- queries ----
printf '8192\n5\n100\n' >"$work/requests.yaml"
impossible "--query-len: 6 positions at the end of request 2, whose context is 5" \
    --requests requests.yaml --query-len 6
impossible "--query-len: 9000 positions" --query-len 9000

echo "more ranks than CUBEs"
launch 3 --dry-run --set topology.cubes_x=2 --set topology.cubes_y=1 --cubes-per-group 1 \
    2>"$work/err" && fail "3 ranks for 2 CUBEs"
grep -q "3 ranks for 2 CUBEs" "$work/err" || fail "says: $(cat "$work/err")"
rm -f "$work"/err "$work"/*.yaml

echo "what can run passes, and quickly: the longest context in the study, and more"
for arguments in "--context 8K..16M" "--context 64G" "--phase prefill --context 16M --case 4" \
    "--kernel panels" "--kernel allreduce-hierarchical --message 64M"; do
    (cd "$work" && patiently "$AHBM_PDES" --dry-run $arguments >out 2>err) || fail "$arguments: $(cat "$work/err")"
done
rm -f "$work"/out "$work"/err

# ---- kernels of one's own ----
compiler=$(command -v "${CC:-cc}") || conclude
cat >"$work/late.c" <<'END'
#include <ahbm/kernel.h>
#ifndef COMMANDS
#define COMMANDS 10
#endif
static void late(struct tl *tl, const struct tl_launch *launch)
{
    struct tl_tensor a = tl_full(tl, 1, 1, TL_F32, 0);
    for (int i = 1; i < COMMANDS; i++)
        tl_full_to(tl, a, 0);
    if (launch->cube == 5 && launch->pe == 6)
        tl_fail(tl, "not %s", "here");
}
const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI, .name = "late", .summary = "", .run = late, .phase = TL_PHASE_DECODE};
END
build() { # build NAME FLAGS
    "$compiler" -shared -fPIC -I "$AHBM_SOURCE_DIR/include" "$work/late.c" -o "$work/$1" "${@:2}" || exit 1
}
build late.so
build later.so -DCOMMANDS=100000 # beyond what is recorded before a run
mkdir "$work/run"
status=0
(cd "$work/run" && "$AHBM_PDES" --kernel ../late.so --case 1 --dry-run) >"$work/out" 2>"$work/err" || status=$?
[ $status = 2 ] || fail "late.so: status $status"
grep -q "case 1: context 8192: kernel late, CUBE [0-9]* PE 6, command 11 (.*late.c:11): not here" "$work/err" ||
    fail "late.so: $(cat "$work/err")"
status=0
(cd "$work/run" && "$AHBM_PDES" --kernel ../later.so --case 1 --trace none --quiet) 2>"$work/err" || status=$?
[ $status = 1 ] || fail "later.so: status $status"
grep -q "error: kernel late, CUBE [0-9]* PE 6, command 100001" "$work/err" || fail "later.so: $(cat "$work/err")"
[ -z "$(ls "$work/run")" ] || fail "left: $(ls "$work/run")"

conclude
