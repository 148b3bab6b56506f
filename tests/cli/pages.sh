# A user's kernel with a layout of its own, pages of KV dealt at random over the PEs: its values are
# right, and what lies in each PE, and what is read from there, is what another program counts.
source "$(dirname "$0")/common.bash"

compiler=$(command -v "${CC:-cc}") || exit 77
cd "$work"
"$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" \
    "$AHBM_SOURCE_DIR/docs/examples/pages.c" -o pages.so -lm || fail "the example does not compile"

python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=python3
cat >count.py <<'E2'
"""Bytes of KV per PE of the first CUBE, from the rule in words: page P of request R belongs to PE
(mix(R, P) >> 40) % 8."""
import sys

import h5py

context, batch = int(sys.argv[2]), int(sys.argv[3])
MASK = (1 << 64) - 1


def owner(request, page):
    x = (request << 32 | page) * 0x9e3779b97f4a7c15 & MASK
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9 & MASK
    return (x >> 40) % 8


held = [0] * 8
for request in range(batch):
    for page in range((context + 255) // 256):
        held[owner(request, page)] += min(256, context - 256 * page) * 2 * 128 * 2
with h5py.File(sys.argv[1]) as file:
    told = file["points/kv_bytes_pe"][0, 0].tolist()
    read = file["points/hbm_read_bytes"][0, 0].tolist()
read[0] -= batch * 8 * 128 * 2  # Q
if not (told == held == read and sum(held) == context * batch * 512):
    sys.exit(f"held {held}, told {told}, read {read}")
E2

for shape in "4096 1" "5001 3" "100 2" "70000 1"; do
    read -r context batch <<<"$shape"
    launch 1 --kernel ./pages.so --context "$context" --batch "$batch" --verify --output pages.h5 \
        >out 2>err || fail "$shape: $(tail -1 err)"
    if "$python" -c 'import h5py' 2>/dev/null; then
        "$python" count.py pages.h5 "$context" "$batch" || fail "$shape: another count"
    else
        echo "no h5py"
    fi
done
launch 1 --kernel ./pages.so --query-len 2 --dry-run >out 2>err && fail "two positions pass"
grep -q "kernel pages: --query-len: pages are not masked" err || fail "two positions: $(cat err)"

# A kernel made of the kit; and no more of the program can be called than tl_ and kit_.
"$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" \
    "$AHBM_SOURCE_DIR/docs/examples/split.c" -o split.so -lm || fail "the kit's example does not compile"
for shape in "--context 3001 --batch 3" "--context 777 --reduce-pe tree --reduce-cube centre --mlo packed"; do
    # shellcheck disable=SC2086
    launch 3 --kernel ./split.so $shape --verify --output split.h5 >out 2>err ||
        fail "the kit, $shape: $(tail -1 err)"
    [ "$(grep -c ' passed ' out)" = 4 ] || fail "the kit, $shape: $(cat out)"
done
if command -v nm >/dev/null; then
    others=$(nm -D --defined-only "$AHBM_PDES" | awk '{ print $3 }' | grep -v '^tl_\|^kit_' || true)
    [ -z "$others" ] || fail "exported: $others"
fi

# V that lies elsewhere than the layout says.
sed 's/launch->v_base + offset(launch, request, page);/launch->v_base + offset(launch, request, page ^ 1);/' \
    "$AHBM_SOURCE_DIR/docs/examples/pages.c" >wrong.c
"$compiler" -shared -fPIC -O2 -I "$AHBM_SOURCE_DIR/include" wrong.c -o wrong.so -lm
if launch 1 --kernel ./wrong.so --context 4096 --verify >out 2>err; then
    fail "a layout that is not the kernel's passes"
fi
conclude
