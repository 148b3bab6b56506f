# The traffic example: what the links of the PE mesh carry is what another program counts, for each
# pattern, on mesh and torus, with both ways of switching; a PE that idles longer sends at a lower rate.
source "$(dirname "$0")/common.bash"

compiler=$(command -v "${CC:-cc}") || exit 77
cd "$work"
"$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" \
    "$AHBM_SOURCE_DIR/docs/examples/traffic.c" -o traffic.so || fail "the example does not compile"

python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=python3
cat >count.py <<'E2'
"""Bytes on all links of the first CUBE: a message there, 16 bytes of reply back, over the Manhattan
distance (round the grid on a torus). PEs lie as rows 5 7 3 1 and 4 6 2 0."""
import sys

import h5py

path, pattern, network, messages, size = sys.argv[1:4] + [int(word) for word in sys.argv[4:]]
PLACE = {pe: (x, y) for y, row in enumerate(([5, 7, 3, 1], [4, 6, 2, 0])) for x, pe in enumerate(row)}
AT = {place: pe for pe, place in PLACE.items()}
MASK = (1 << 64) - 1


def target(pe, number):
    x, y = PLACE[pe]
    if pattern == "uniform":
        z = (pe << 32 | number) * 0x9e3779b97f4a7c15 & MASK
        z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9 & MASK
        return (z >> 40) % 8
    if pattern == "neighbour":
        return AT[(x + 1) % 4, (y + 1) % 2]
    return AT[y, x % 2] if pattern == "transpose" else 0


def hops(a, b):
    apart = [abs(p - q) for p, q in zip(PLACE[a], PLACE[b])]
    if network == "torus":
        apart = [min(d, n - d) for d, n in zip(apart, (4, 2))]
    return sum(apart)


wanted = sum(hops(pe, target(pe, i)) * (size + 16) for pe in range(8) for i in range(messages))
with h5py.File(path) as file:
    got = int(file["points/pe_link_bytes"][0, 0].sum())
    latency = int(file["points/latency_ps"][0])
if got != wanted:
    sys.exit(f"{pattern}, {network}: {got} bytes, not {wanted}")
print(latency)
E2

if ! "$python" -c 'import h5py' 2>/dev/null; then
    echo "skipped: no h5py"
    exit 77
fi

# run PATTERN NETWORK SWITCHING IDLE: the latency, to the file of that name
run() {
    launch 1 --quiet --kernel ./traffic.so --set topology.cubes_x=1 --set topology.cubes_y=1 \
        --set "topology.pe_network=$2" --set "network.switching=$3" --kernel-option "pattern=$1" \
        --kernel-option messages=200 --kernel-option bytes=2048 --kernel-option "idle=$4" \
        --output traffic.h5 >/dev/null 2>err || fail "$1 $2 $3: $(cat err)"
    "$python" count.py traffic.h5 "$1" "$2" 200 2048 >latency 2>err || fail "$(cat err)"
}

for pattern in uniform neighbour transpose hot-spot; do
    for network in mesh torus; do
        for switching in store_and_forward cut_through; do
            run "$pattern" "$network" "$switching" 0
            echo "$pattern $network $switching $(cat latency)"
        done
    done
done
run uniform mesh cut_through 0
fast=$(cat latency)
run uniform mesh cut_through 500
slow=$(cat latency)
# 200 pauses of 500 cycles at 1 GHz
[ "$slow" -gt 100000000 ] && [ "$fast" -lt "$slow" ] || fail "idle: $fast, then $slow"
conclude
