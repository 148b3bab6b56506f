#!/bin/bash
# Kernels by name and by file: every one listed runs, a user's own one is compiled and run, and what
# is wrong is refused in one line.
set -u
work=$(mktemp -d) || exit 2
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
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
# A context that is no multiple of anything; the panels together come below.
long=${AHBM_LONG_TESTS:+777}
while read -r name _; do
    for context in 1 ${long:-333}; do
        [ "$name" != panels ] || continue
        run --kernel "$name" --context $context --verify || fail "$name, $context: $(cat "$work/stderr")"
    done
done <"$work/list"

# Several in one run: each point is what its kernel gives alone, whatever the number of ranks.
facts() { # facts NAME ARGUMENT...: kernel, latency and digests of each point, to $work/NAME
    local name=$1
    shift
    "$@" --output "$work/$name.h5" --trace none --format json --context 300,64 >"$work/json" ||
        fail "$*"
    grep -E '"(kernel|case|context|latency_ps|digest)"' "$work/json" >"$work/$name"
}
names="panel-single-prefill panel-single-decode panel-multi-prefill panel-multi-decode"
for name in $names; do
    facts "$name" "$AHBM_PDES" --kernel "$name"
done
(cd "$work" && cat $names) >"$work/apart"
facts together "$AHBM_PDES" --kernel panels
facts listed "$AHBM_PDES" --kernel "${names// /,}"
facts ranks mpirun --oversubscribe -np 4 "$AHBM_PDES" --kernel panels
for name in together listed ranks; do
    diff "$work/apart" "$work/$name" || fail "panels $name differ from panels apart"
done
[ "$(grep -c '"digest"' "$work/apart")" = 8 ] || fail "eight points of panels"
h5diff --exclude-path /run "$work/together.h5" "$work/ranks.h5" || fail "panels: files differ between ranks"

# A case is for the kernels that take one; the table says which kernel a point ran.
run --kernel decode,panel-single-decode --case 3,4 --context 64 || fail "$(cat "$work/stderr")"
[ "$(grep -c '^decode  *decode  *[34]  *64' "$work/stdout")" = 2 ] || fail "two cases of decode"
[ "$(grep -c '^panel-single-decode  *decode  *0  *64' "$work/stdout")" = 1 ] || fail "the panel once"
run --kernel decode,decode --context 64 || fail "a kernel twice"
grep -q '^phase' "$work/stdout" || fail "a column for one kernel"
expect 2 "kernel nothing of the list: --kernel: there is no kernel 'nothing'" --kernel decode,nothing
expect 2 "'decode,,prefill' has an empty name" --kernel decode,,prefill
expect 2 "kernel prefill of the list: --phase: kernel prefill does prefill" \
    --kernel decode,prefill --phase decode

# States that pass through HBM (from 1.25K); positions at the end of a context; requests of their own
# lengths.
run --phase prefill --case 4 --context 1280 --verify || fail "spilling: $(cat "$work/stderr")"
run --kernel prefill-rotate --case 1,4 --context 1280 --verify || fail "rotating: $(cat "$work/stderr")"
run --phase prefill --context 600 --query-len 100 --verify || fail "chunk: $(cat "$work/stderr")"
run --context 600 --query-len 3 --verify || fail "several positions: $(cat "$work/stderr")"
run --context 600 --query-len 33 --tile 32 --form softmax_merge --verify ||
    fail "softmax_merge, several positions: $(cat "$work/stderr")"
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
expect 2 "requests:2: 'many' is not allowed" --requests "$work/requests"
expect 2 "cannot be opened" --requests "$work/none"
echo 300 >"$work/requests"
expect 2 "are for decode" --requests "$work/requests" --phase prefill
expect 2 "is no collective" --message 64
expect 2 "no attention to compare with" --kernel reduce --message 64 --verify

expect 2 "there is no kernel 'nothing'" --kernel nothing
expect 2 "kernel prefill does prefill, not decode" --kernel prefill --phase decode
expect 2 "has a placement of its own" --kernel decode-one-pe --case 2
expect 2 "works on groups of 1" --kernel decode-one-pe --cubes-per-group 8
expect 2 "would span SIPs" --cubes-per-group 32
expect 2 "./none.so: cannot be opened: No such file" --kernel ./none.so
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
run --kernel "decode,$work/mine.so" --case 4 --context 64 || fail "a file in a list: $(cat "$work/stderr")"
grep -q '^mine ' "$work/stdout" || fail "a file in a list"
expect 2 "context 8192: kernel mine, CUBE 0 PE 0, command 1" --kernel "$work/mine.so" --query-len 2

expect 2 "--reduce-pe: would change nothing" --kernel "$work/mine.so" \
    --reduce-pe tree
expect 2 "--requests: would change nothing" --kernel "$work/mine.so" --requests "$work/requests"

echo 'int nothing;' >"$work/empty.c"
build "$work/empty.c" -o "$work/empty.so"
expect 2 "defines no 'ahbm_kernel'" --kernel "$work/empty.so"
sed 's/TL_KERNEL_ABI,/TL_KERNEL_ABI + 1,/' "$AHBM_SOURCE_DIR/docs/examples/mine.c" >"$work/old.c"
build "$work/old.c" -o "$work/old.so" -lm
expect 2 "was built for kernel interface" --kernel "$work/old.so"

[ $failures = 0 ]
