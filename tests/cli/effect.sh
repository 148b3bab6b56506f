# An option that would change nothing is refused, with the option and what leaves it alone; what has an
# effect somewhere in the run passes.
source "$(dirname "$0")/common.bash"

idle() { # idle OPTION KERNEL ARGUMENTS
    local option=$1 kernel=$2
    shift 2
    refused 1 2 "--$option: would change nothing.*\\(.*kernel $kernel" "$@"
}
idle shards "decode in case 1, 2, 3, 4" --shards striped
idle shards "prefill in case 3, 4" --shards striped --phase prefill --case 3,4
idle shards "panel-multi-prefill" --shards zigzag --kernel panel-multi-prefill
idle ring-depth "decode in case 4" --ring-depth 3 --case 4
idle ring-depth "prefill in case 2, 3" --ring-depth 3 --phase prefill --case 2,3
idle mlo "prefill in case 1, 2" --mlo packed --phase prefill --case 1,2
idle mlo "decode in case 2" --mlo packed --case 2
idle mlo "reduce" --mlo packed --kernel reduce
idle tp-idle "prefill in case 2" --tp-idle redundant --phase prefill --case 2
idle tp-idle "decode in case 3, 4" --tp-idle redundant --case 3,4
idle reduce-pe "decode in case 1, 2" --reduce-pe tree --case 1,2
idle reduce-pe "decode-fanout" --reduce-pe tree --kernel decode-fanout
idle reduce-pe "allreduce-hierarchical" --reduce-pe tree --kernel allreduce-hierarchical
idle reduce-pe "allreduce-ring" --reduce-pe tree --kernel allreduce-ring --config ideal-collective
idle reduce-cube "allreduce-ring" --reduce-cube tree --kernel allreduce-ring
idle reduce-cube "decode in case 1, 4" --reduce-cube tree --case 1,4 --cubes-per-group 1
for option in "context 16K" "batch 2" "query-len 2" "tile 64" "form tiled" "gemm dot"; do
    idle "${option% *}" "reduce" --${option% *} ${option#* } --kernel reduce --message 64
done
refused 3 2 "--shards: would change nothing" --shards striped
refused 1 2 "--shards: would change nothing" --shards striped --dry-run

refused 1 2 "--seed: would change nothing: without --verify" --seed 2
refused 1 2 "--seed: would change nothing: --tensors brings" --seed 2 --tensors none.h5
refused 1 2 "--stats: would change nothing: --quiet" --quiet --stats
refused 1 2 "--format: would change nothing: --quiet" --format json --quiet

effective() {
    echo "has an effect: $*"
    (cd "$work" && "$AHBM_PDES" --dry-run "$@") >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
}
effective --kernel decode,prefill --shards zigzag --context 1K
effective --kernel panels --shards zigzag --ring-depth 3 --reduce-pe tree --context 256
effective --phase prefill --case 1,3 --mlo packed --ring-depth 3 --shards striped --context 256
effective --tp-idle redundant --reduce-cube tree --mlo packed --gemm dot --form tiled --tile 512
effective --kernel allreduce-ring --reduce-pe tree --message 64K
effective --seed 3 --verify
effective --transport shared --lookahead link --record-ahead 3 --trace none
for action in --help --version --list-kernels --print-config; do
    effective $action --shards zigzag --seed 3
done

conclude
