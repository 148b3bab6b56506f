# What others wrote (files, names, kernels) reaches the terminal as one line of printable text; what
# the program prints is lost only with a word or a status; and no file gets a standard descriptor.
source "$(dirname "$0")/common.bash"

# No control character, no byte that is no UTF-8. (grep reads lines: their ends do not count.)
clean() { # clean FILE
    if LC_ALL=C grep -q '[[:cntrl:]]' "$1" || ! iconv -f UTF-8 -t UTF-8 <"$1" >/dev/null 2>&1; then
        fail "raw: $(head -3 "$1" | cat -v)"
    fi
}

# told STATUS PATTERN ARGUMENTS: one clean line.
told() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    printf 'told: %q\n' "$*" | cut -c1-200
    (cd "$work" && patiently "$AHBM_PDES" "$@") >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$wanted" ] || fail "status $status"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "not one line: $(head -3 "$work/err" | cat -v)"
    grep -Eq -e "^ahbm-pdes: error: .*$pattern" "$work/err" || fail "says: $(cat -v "$work/err")"
    clean "$work/err"
    [ ! -s "$work/out" ] || fail "standard output: $(head -3 "$work/out" | cat -v)"
}

evil=$'x\e[2J\ny\x9b\xc2\x9b\xff\r'
shown='x\\x1b\[2J\\ny\\x9b\\xc2\\x9b\\xff\\r'

# ---- the command line ----
told 2 "'--$shown" "--$evil"
told 2 "'$shown' is not expected" "$evil"
for option in case context batch tile form phase seed message; do
    told 2 "--$option: '$shown' is not allowed" --$option "$evil"
done
told 2 "no kernel '$shown'" --kernel "$evil"
told 2 "--kernel: \./$shown: cannot be opened" --kernel "./$evil"
told 2 "'$shown,,'" --kernel "$evil,,"
told 2 "--set" --set "$evil"
told 2 "--set hbm.bandwidth_gbps" --set "hbm.bandwidth_gbps=$evil"
told 2 "--config" --config "$evil"
told 2 "/nowhere" --config "/nowhere/$evil"
told 2 "--requests: .*$shown" --requests "$evil"
told 2 "--tensors: $shown" --tensors "$evil" --context 64
told 1 "/nowhere/$shown" --output "/nowhere/$evil" --context 64 --case 2
# long ones: what is allowed is still told
long=$(printf '%05000d' 0)$evil
told 2 "allowed: 1 to" --context "$long"
told 2 "runs backwards" --context "16K..$(printf '%0300d' 8)"
told 2 "allowed: chain, tree, centre" --reduce-pe "$long"
told 2 "no kernel" --kernel "$long"
told 2 "" --set "$long"
told 2 "" --config "$long"

# ---- contents of files ----
printf 'hbm:\n  \e[2J%s: 1\n' "$evil" >"$work/machine.yaml"
told 2 "machine.yaml:" --config machine.yaml
printf 'name: "\\e[31m\\n"\n' >"$work/machine.yaml"
told 2 "machine.yaml:1" --config machine.yaml
printf '\e[2J\x9b\xff\n' >"$work/requests"
told 2 "--requests: .*\\\\x1b\[2J" --requests requests
printf '\e[2J no object\n' >"$work/$evil.so"
told 2 "--kernel: cannot open '$shown.so'" --kernel "$evil.so"
printf '\e[2J no tensors\n' >"$work/$evil"
told 2 "--tensors: $shown" --tensors "$evil" --context 64
rm -f "$work"/{machine.yaml,requests,out,err} "$work/$evil"*

echo "a file of such a name is named in one clean line, too"
(cd "$work" && "$AHBM_PDES" --case 2 --context 64 --output "$evil") >"$work/out" || fail "a run"
grep -Eq "^result file: $shown$" "$work/out" || fail "says: $(tail -1 "$work/out" | cat -v)"
clean "$work/out"
[ -f "$work/$evil" ] || fail "no such file"
rm -f "$work/$evil" "$work/out"

# ---- kernels ----
if compiler=$(command -v "${CC:-cc}"); then
    cat >"$work/evil.c" <<'END'
#include <ahbm/kernel.h>
static void evil(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->context == 13)
        tl_fail(tl, "bad\x1b[2J\nnews\xff");
}
const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI, .name = "e\x1b[2J\n\x9b\xff", .summary = "", .run = evil,
    .phase = TL_PHASE_DECODE, .placement = TL_PLACE_FIXED};
END
    "$compiler" -shared -fPIC -I "$AHBM_SOURCE_DIR/include" "$work/evil.c" -o "$work/evil.so" || exit 1
    name='e\\x1b\[2J\\n\\x9b\\xff'
    told 2 "kernel $name, .*: bad\\\\x1b\[2J\\\\nnews\\\\xff" --kernel ./evil.so --context 13
    told 2 "--reduce-pe.*kernel $name, .*bad|--phase: kernel $name" --kernel ./evil.so --phase prefill
    (cd "$work" && "$AHBM_PDES" --kernel ./evil.so,decode --case 2 --context 64 --dry-run) >"$work/out"
    grep -q "kernel $name memory [0-9]* MiB$" "$work/out" || fail "dry run: $(cat -v "$work/out")"
    clean "$work/out"
    (cd "$work" && "$AHBM_PDES" --kernel ./evil.so,decode --case 2 --context 64 --progress) \
        >"$work/out" 2>"$work/err" || fail "a run: $(cat -v "$work/err")"
    grep -q "^$name " "$work/out" || fail "table: $(cat -v "$work/out")"
    clean "$work/out"
    clean "$work/err"
    (cd "$work" && "$AHBM_PDES" --kernel ./evil.so --context 64 --format json) >"$work/out" || fail "JSON"
    grep -q '"kernel": "e' "$work/out" && grep -q '"latency_ps"' "$work/out" || fail "JSON: $(cat -v "$work/out")"
    clean "$work/out"
fi
rm -rf "$work"/*

# ---- standard descriptors that are closed ----
# closed STATUS TEXT REDIRECTIONS ARGUMENTS: `TEXT` on standard error where that is open.
closed() {
    local wanted=$1 text=$2 redirections=$3 status=0
    shift 3
    echo "closed: $redirections $*"
    (cd "$work" && eval "patiently \"\$AHBM_PDES\" $* 2>err $redirections") >"$work/out" || status=$?
    [ $status = "$wanted" ] || fail "status $status"
    [ -z "$text" ] || grep -q -- "$text" "$work/err" || fail "says: $(head -3 "$work/err")"
}
lost="cannot write standard output: Bad file descriptor"
for action in --version --help --list-kernels --print-config "--dry-run --case 2"; do
    closed 1 "$lost" ">&-" "$action"
    closed 1 "$lost" "<&- >&-" "$action"
    closed 1 "" ">&- 2>&-" "$action"
    closed 0 "" "<&-" "$action"
done
run="--case 2 --context 64 --output a.h5"
"$AHBM_PDES" --case 2 --context 64 --output "$work/whole.h5" >/dev/null
for redirections in ">&-" "<&- >&-"; do
    closed 1 "$lost" "$redirections" "$run"
    h5diff --exclude-path /run "$work/a.h5" "$work/whole.h5" || fail "the file is not whole"
    rm -f "$work/a.h5"
done
closed 1 "" "<&- >&- 2>&-" "$run"
closed 0 "" "<&- 2>&-" "$run"
closed 0 "" "<&- >&- 2>&-" "$run --quiet"
closed 2 "" "<&- >&- 2>&-" "--frobnicate"
closed 2 "frobnicate" "<&- >&-" "--frobnicate"
rm -f "$work/a.h5"
[ "$(ls "$work" | tr '\n' ' ')" = "err out whole.h5 " ] || fail "left: $(ls "$work")"

conclude
