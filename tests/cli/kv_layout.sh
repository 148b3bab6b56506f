# K and V striped over a CUBE's stack (--kv-layout stack): what lies in each share, and what is read
# from there, is what another program counts; nothing is read that was not read before; the values are
# right with every kernel that reads K and V; a working PE is no longer held to its own share.
source "$(dirname "$0")/common.bash"

cd "$work"
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=python3
cat >count.py <<'E2'
"""Bytes of K and V in each share of the north-western CUBE from the rule in words: byte b of what PE p has of a request
lies in share (p + b / 4096) mod 8, of K and of V each."""
import sys

import h5py

path, phase, case, context, batch, tile = sys.argv[1:3] + [int(word) for word in sys.argv[3:7]]
PES, CUBES, CUBE, ROW, UNIT = 8, 8, 5, 256, 4096  # rows of CUBEs: 5 7 3 1 and 4 6 2 0
split, shared = case in (1, 4), case in (3, 4)  # over CUBEs, over PEs


def decode_tokens(request, pe):
    """Tokens of a request on PE `pe` of the CUBE."""
    worker = (request if split else request // CUBES) % PES
    if not shared and pe != worker:
        return 0
    ranks = (CUBES if split else 1) * (PES if shared else 1)
    rank = (CUBE if split else 0) * (PES if shared else 1) + (pe if shared else 0)
    return sum((request + i) % ranks == rank for i in range(context))


def runs():
    """(request, pe, first byte, end) of K."""
    for request in range(batch):
        for pe in range(PES):
            if phase == "decode":
                yield request, pe, 0, decode_tokens(request, pe) * ROW
                continue
            mine = context // CUBES if split else context
            for number, first in enumerate(range(0, mine, tile)):
                if number % PES == pe:
                    at = number // PES * tile * ROW
                    yield request, pe, at, at + min(tile, mine - first) * ROW


held, read = [0] * PES, [0] * PES
for request, pe, first, end in runs():
    works = split or request % CUBES == CUBE
    while first < end:
        stop = min(end, (first // UNIT + 1) * UNIT)
        share = (pe + first // UNIT) % PES
        held[share] += 2 * (stop - first)
        read[share] += 2 * (stop - first) * works
        first = stop
if phase == "decode":
    for request in range(batch):  # Q
        for pe in range(PES):
            worker = (request if split else request // CUBES) % PES
            if (split or request % CUBES == CUBE) and (shared or pe == worker):
                read[pe] += 8 * ROW
with h5py.File(path) as file, h5py.File("share.h5") as other:
    told = file["points/kv_bytes_pe"][0, 0].tolist()
    served = file["points/hbm_read_bytes"][0, 0].tolist()
    if told != held or (phase == "decode" and served != read):
        sys.exit(f"counted {held} and {read}, told {told} and {served}")
    for name in ("hbm_read_bytes", "read_bytes", "kv_bytes_pe", "commands"):
        new, old = file["points/" + name][0].sum(axis=1), other["points/" + name][0].sum(axis=1)
        if (new != old).any():
            sys.exit(f"{name} of each CUBE: {new.tolist()}, in the PEs' shares {old.tolist()}")
E2

counted() { # counted PHASE CASE CONTEXT BATCH TILE
    local phase=$1 case=$2 context=$3 batch=$4 tile=$5 layout
    echo "counted: $*"
    for layout in share stack; do
        "$AHBM_PDES" --phase "$phase" --case "$case" --context "$context" --batch "$batch" --tile "$tile" \
            --kv-layout "$layout" --trace none --quiet --output "$layout.h5" || fail "$layout"
    done
    "$python" count.py stack.h5 "$phase" "$case" "$context" "$batch" "$tile" || fail "$*"
}
if "$python" -c 'import h5py' 2>/dev/null; then
    for case in 1 2 3 4; do
        counted decode "$case" 3001 3 1024
        counted decode "$case" 777 10 96
        counted prefill "$case" 712 2 48
    done
else
    echo "no h5py"
fi

verified() { # verified ARGUMENTS
    echo "verified: $*"
    "$AHBM_PDES" --verify --kv-layout stack --trace none "$@" --output values.h5 >out || fail "$(tail -3 out)"
}
verified --case all --context 1001 --batch 3
verified --case all --context 700 --gemm dot --tile 200 --set dma.request_bytes=1000
verified --case 1,4 --context 2100 --form softmax_merge --tile 130
verified --phase prefill --case all --context 203 --tile 24
verified --kernel decode-pipelined,decode-fanout,allreduce-ring --context 517
verified --kernel prefill-rotate,panels --context 257
verified --case 2,3 --context 515 --set scheduler.tile_k=48 --set scheduler.tile_n=40

latency() {
    "$AHBM_PDES" --case 2 --context 8K --trace none --format json --output x.h5 "$@" |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["points"][0]["latency_ps"])'
}
rm -f ./*.h5 ./*.py out
deep=(--set scheduler.pipeline_depth=16) # covers a request to the far corner of the CUBE
share=$(latency) stack=$(latency --kv-layout stack) far=$(latency --kv-layout stack "${deep[@]}")
echo "case 2, 8K: $share ps, striped $stack, with more sub-tiles in flight $far"
[ "$stack" -lt "$share" ] || fail "striped is not faster"
[ $((far * 3 / 2)) -lt "$share" ] || fail "no more than one share's bandwidth"

rm -f ./*.h5
refused 1 2 "--kv-layout: 'foo' is not allowed \(allowed: share, stack\)" --kv-layout foo
refused 1 2 "--kv-layout: would change nothing" --kernel reduce --message 64 --kv-layout stack
conclude
