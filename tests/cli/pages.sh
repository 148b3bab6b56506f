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

context, batch, page_tokens = (int(word) for word in sys.argv[2:])
MASK = (1 << 64) - 1


def owner(request, page):
    x = (request << 32 | page) * 0x9e3779b97f4a7c15 & MASK
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9 & MASK
    return (x >> 40) % 8


held = [0] * 8
for request in range(batch):
    for page in range((context + page_tokens - 1) // page_tokens):
        held[owner(request, page)] += min(page_tokens, context - page_tokens * page) * 2 * 128 * 2
with h5py.File(sys.argv[1]) as file:
    told = file["points/kv_bytes_pe"][0, 0].tolist()
    read = file["points/hbm_read_bytes"][0, 0].tolist()
read[0] -= batch * 8 * 128 * 2  # Q
if not (told == held == read and sum(held) == context * batch * 512):
    sys.exit(f"held {held}, told {told}, read {read}")
E2

for shape in "4096 1 256" "5001 3 256" "100 2 256" "70000 1 256" "4096 1 64" "5001 3 48"; do
    read -r context batch page <<<"$shape"
    given=(--kernel-option "page=$page")
    [ "$page" = 256 ] && given=() # the default
    launch 1 --kernel ./pages.so --context "$context" --batch "$batch" --verify --output pages.h5 \
        "${given[@]}" >out 2>err || fail "$shape: $(tail -1 err)"
    if "$python" -c 'import h5py' 2>/dev/null; then
        "$python" count.py pages.h5 "$context" "$batch" "$page" || fail "$shape: another count"
    else
        echo "no h5py"
    fi
done
launch 1 --kernel ./pages.so --query-len 2 --dry-run >out 2>err && fail "two positions pass"
grep -q "kernel pages: --query-len: pages are not masked" err || fail "two positions: $(cat err)"

# A kernel made of the kit (what the program exports: cli.kit).
"$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" \
    "$AHBM_SOURCE_DIR/docs/examples/split.c" -o split.so -lm || fail "the kit's example does not compile"
for shape in "--context 3001 --batch 3" "--context 777 --reduce-pe tree --reduce-cube centre --mlo packed"; do
    # shellcheck disable=SC2086
    launch 3 --kernel ./split.so $shape --verify --output split.h5 >out 2>err ||
        fail "the kit, $shape: $(tail -1 err)"
    [ "$(grep -c ' passed ' out)" = 4 ] || fail "the kit, $shape: $(cat out)"
done

# Options of its own: what is not allowed is told with what is, before anything runs.
refused() { # refused TEXT ARGUMENTS
    launch 1 --dry-run "${@:2}" >out 2>err && fail "passes: ${*:2}"
    grep -qF -- "$1" err || fail "${*:2}: $(cat err)"
}
refused "--kernel-option: page: '8' is not allowed (allowed: 16 to 1024)" \
    --kernel ./pages.so --kernel-option page=8
refused "--kernel-option: 'pages' is no option of a kernel that is to run (kernel pages: page = 16 to 1024 (default 256): tokens of a page)" \
    --kernel ./pages.so --kernel-option pages=64
refused "(kernel decode has none)" --kernel-option page=64
refused "--kernel-option: 'page' is not NAME=VALUE" --kernel ./pages.so --kernel-option page
launch 1 --kernel decode,./pages.so --case 4 --kernel-option page=64 --dry-run >out 2>err ||
    fail "beside a kernel without it: $(cat err)"

# A layout that shows what is not there, and a phase that is none: told before anything runs, with --verify
# or without.
# broken NAME TEXT SED: pages.c with one thing wrong
broken() {
    sed "$3" "$AHBM_SOURCE_DIR/docs/examples/pages.c" >broken.c
    cmp -s broken.c "$AHBM_SOURCE_DIR/docs/examples/pages.c" && fail "$1: nothing was broken"
    "$compiler" -shared -fPIC -O2 -I "$AHBM_SOURCE_DIR/include" broken.c -o broken.so -lm
    refused "$2" --kernel ./broken.so --context 1000
}
broken phase "has a phase that is none: 77" 's/^    .phase = TL_PHASE_DECODE/    .phase = (enum tl_phase)77/'
broken tensor "no such tensor: tensor 99" 's/region.tensor = TL_TENSOR_V/region.tensor = (enum tl_tensor_name)99/'
broken request "no such request" 's/.request = request,/.request = request + 7,/'
broken rows "no rows" 's/.rows_per_head = 1,/.rows_per_head = 0,/'
broken head "no such head" 's/.head_step = 1,/.head_step = 9,/'
broken token "no such token" 's/.token = page \* /.token = 1 + page * /'
broken address "no such address" 's/.addr = launch->q_base/.addr = UINT64_MAX - 1 + launch->q_base/'
grep -q "kernel pages, layout of PE 0 of CUBE 0 of a group: region 0: no such address: tensor 0" err || fail "$(cat err)"

# V that lies elsewhere than the layout says.
sed 's/launch->v_base + offset(launch, request, page);/launch->v_base + offset(launch, request, page ^ 1);/' \
    "$AHBM_SOURCE_DIR/docs/examples/pages.c" >wrong.c
"$compiler" -shared -fPIC -O2 -I "$AHBM_SOURCE_DIR/include" wrong.c -o wrong.so -lm
if launch 1 --kernel ./wrong.so --context 4096 --verify >out 2>err; then
    fail "a layout that is not the kernel's passes"
fi
conclude
