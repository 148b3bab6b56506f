#!/bin/bash
# Kernels by name and by file: every one listed runs, a user's own one is compiled and run, and what
# is wrong is refused in one line.
set -u
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

run() {
    "$AHBM_PDES" --output "$work/out.h5" --trace none "$@" >"$work/stdout" 2>"$work/stderr"
}

# expect STATUS TEXT ARGUMENT...: that exit status and that text on standard error
expect() {
    local status=$1 text=$2
    shift 2
    run "$@"
    local got=$?
    [ "$got" = "$status" ] || fail "$*: exit $got, not $status: $(cat "$work/stderr")"
    grep -qF -- "$text" "$work/stderr" || fail "$*: no '$text' in: $(cat "$work/stderr")"
}

"$AHBM_PDES" --list-kernels >"$work/list" || fail "--list-kernels"
for phase in decode prefill; do
    grep -q "^$phase " "$work/list" || fail "$phase is not listed"
done
while read -r name _; do
    for context in 1 777; do
        run --kernel "$name" --context $context --verify || fail "$name, $context: $(cat "$work/stderr")"
    done
done <"$work/list"

# States that pass through HBM; positions at the end of a context; requests of their own lengths.
run --phase prefill --case 4 --context 2K --verify || fail "spilling: $(cat "$work/stderr")"
run --kernel prefill-rotate --case 1,4 --context 2K --verify || fail "rotating: $(cat "$work/stderr")"
run --phase prefill --context 600 --query-len 100 --verify || fail "chunk: $(cat "$work/stderr")"
run --context 600 --query-len 3 --verify || fail "several positions: $(cat "$work/stderr")"
for shards in striped zigzag; do
    run --phase prefill --case 1,2 --context 500 --shards $shards --verify ||
        fail "$shards: $(cat "$work/stderr")"
done
printf '300\n1\n\n# none\n1K\n77\n' >"$work/requests"
for name in decode decode-pipelined; do
    run --kernel $name --requests "$work/requests" --verify --format json ||
        fail "requests: $(cat "$work/stderr")"
    grep -q '"batch": 4' "$work/stdout" || fail "four requests"
done
printf '300\nmany\n' >"$work/requests"
expect 2 "--requests: 'many' is not allowed" --requests "$work/requests"
expect 2 "cannot read" --requests "$work/none"
echo 300 >"$work/requests"
expect 2 "are for decode" --requests "$work/requests" --phase prefill
expect 2 "is no collective" --message 64
expect 2 "no attention to compare with" --kernel reduce --message 64 --verify

expect 2 "there is no kernel 'nothing'" --kernel nothing
expect 2 "kernel prefill does prefill, not decode" --kernel prefill --phase decode
expect 2 "has a placement of its own" --kernel decode-one-pe --case 2
expect 2 "works on groups of 1" --kernel decode-one-pe --cubes-per-group 8
expect 2 "would span SIPs" --cubes-per-group 32
expect 2 "cannot open './none.so'" --kernel ./none.so
expect 2 "101 positions at the end of a context of 100" --context 100 --query-len 101 --phase prefill
expect 2 "does not fit into 65536 bytes of scratch" --phase prefill --set scratch.capacity_bytes=65536 \
    --tile 1024

compiler=$(command -v "${CC:-cc}") || exit 77
build() {
    "$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" "$@"
}

build "$AHBM_SOURCE_DIR/docs/examples/mine.c" -o "$work/mine.so" -lm || fail "the example does not compile"
run --kernel "$work/mine.so" --context 3000 --batch 2 --format json || fail "$(cat "$work/stderr")"
grep -q '"kernel": "mine"' "$work/stdout" || fail "the example's name"
grep -q '"dma_read": 14,' "$work/stdout" || fail "2 requests of Q and 3 tiles: $(cat "$work/stdout")"
(cd "$work" && "$AHBM_PDES" --kernel mine.so --quiet) || fail "a name without a folder"
expect 1 "kernel mine, CUBE 0 PE 0, command 1" --kernel "$work/mine.so" --query-len 2

echo 'int nothing;' >"$work/empty.c"
build "$work/empty.c" -o "$work/empty.so"
expect 2 "defines no 'ahbm_kernel'" --kernel "$work/empty.so"
sed 's/TL_KERNEL_ABI,/TL_KERNEL_ABI + 1,/' "$AHBM_SOURCE_DIR/docs/examples/mine.c" >"$work/old.c"
build "$work/old.c" -o "$work/old.so" -lm
expect 2 "was built for kernel interface" --kernel "$work/old.so"

[ $failures = 0 ]
