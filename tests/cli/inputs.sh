# Files that the user names: request lists, machines, kernels, tensors. Read exactly, once, the same
# for all ranks, and never waited for without end.
source "$(dirname "$0")/common.bash"

# The inputs lie apart: refused() looks for files that the program left.
given=$(mktemp -d "${TMPDIR:-/tmp}/ahbm-given-XXXXXX")
trap 'finish; rm -rf "$given"' EXIT
wrong='is not allowed \(allowed: one length per line, 1 to 68719476736'

list() { # list FORMAT: the file of --requests
    printf "$1" >"$given/list"
}

# lengths TEXT ARGUMENTS: the batch and the longest context that the program makes of them
lengths() {
    local wanted=$1 found
    shift
    echo "lengths: $*"
    found=$(launch 1 --dry-run --case 1 "$@" 2>&1) || fail "status $?"
    [[ $found == "decode case 1 context ${wanted#* } batch ${wanted% *} kernel decode memory "* ]] ||
        fail "says: $found"
}

# ---- the lengths and what contradicts them, in any order ----
seq 1000 1004 >"$given/five"
for other in "--batch 6" "--batch 5" "--context 8192" "--context 1004"; do
    refused 1 2 "${other%% *}: --requests has the lengths" --requests "$given/five" $other
    refused 1 2 "${other%% *}: --requests has the lengths" $other --case 2 --requests "$given/five"
done
refused 1 2 "--message: a message has no requests" --kernel reduce --message 64 \
    --requests "$given/five"
refused 1 2 "are for decode" --requests "$given/five" --kernel panels
refused 3 2 "--batch: --requests has the lengths" --requests "$given/five" --batch 65536

# kv KERNEL RANKS: the KV bytes of a CUBE in case 2, which holds every token of every request
kv() {
    launch "$2" --case 2 --kernel "$1" --requests "$given/five" --verify --format json \
        --output "$work/kv.h5" >"$work/json" || fail "$1 on $2 ranks: status $?"
    grep -Eo '"kv_bytes_per_cube": [0-9]+' "$work/json" | grep -Eo '[0-9]+$'
    rm -f "$work/kv.h5" "$work/json"
}
echo "requests of their own lengths, also where each query head is a request of its own"
[ "$(kv decode 1)" = $((5010 * 2 * 128 * 2)) ] || fail "decode: the tokens of the five"
for ranks in 1 3; do
    [ "$(kv decode-mha $ranks)" = $((5010 * 8 * 2 * 128 * 2)) ] ||
        fail "decode-mha: the tokens of the five, of eight heads each"
done
digests() {
    launch 1 --quiet --kernel "$1" "${@:2}" --output "$work/d.h5" || fail "$*"
    # the value alone: attributes hold places in the file
    h5dump -d /points/digest "$work/d.h5" | awk '/DATA {/ { data = 1 } data && /\(0\)/ { print; exit }'
    rm -f "$work/d.h5"
}
printf '700\n700\n700\n' >"$given/equal"
for kernel in decode decode-mha decode-pipelined panel-multi-decode; do
    echo "equal lengths are a batch: $kernel"
    [ "$(digests $kernel --requests "$given/equal")" = \
        "$(digests $kernel --batch 3 --context 700)" ] || fail "the digests differ"
done

# ---- what a line may be ----
list '# all\r\n8K # first\r\n\r\n  100\t#second\r\n7'
lengths "3 8192" --requests "$given/list"
list '\357\273\2775\n6\n'
lengths "2 6" --requests "$given/list"
{ printf '#%70000s\n' 4096 | tr ' ' x; echo 5; } >"$given/list"
lengths "1 5" --requests "$given/list"
for spaces in 250 253 254 255 510; do
    { printf "#%${spaces}s\n" 4096; echo 5; } >"$given/list"
    lengths "1 5" --requests "$given/list"
done
seq 65536 >"$given/list"
lengths "65536 65536" --requests "$given/list"
seq 70000 >"$given/list"
refused 1 2 "list:65537: more than 65536 requests" --requests "$given/list" --dry-run
for line in '8192 garbage' '4096 100' '4096\t100' '4096\r100' '0' '-5' '1.5' '1e3' '8K..1M' '1,2' \
    '68719476737' '99999999999999999999' 'many'; do
    list "7\n# \n$line\n"
    refused 1 2 "list:3: '.*' $wrong" --dry-run --requests "$given/list"
done
list '7\n5\0006\n'
refused 1 2 "list:2: a NUL byte: this is no text" --requests "$given/list"
list '7 # \000\n'
refused 3 2 "list:1: a NUL byte: this is no text" --requests "$given/list"
printf '5\n6\n' | iconv -t UTF-16 >"$given/list"
refused 1 2 "list:1: a NUL byte: this is no text" --requests "$given/list"
for text in '' '# none\n\n' '\n\r\n' '\357\273\277'; do
    list "$text"
    refused 1 2 "list: has no lengths" --requests "$given/list" --dry-run
done
head -c 17000000 /dev/zero | tr '\0' '\n' >"$given/list"
refused 1 2 "list: is larger than 16777216 bytes" --requests "$given/list"
refused 1 2 "none: cannot be opened: No such file or directory" --requests "$given/none"

# ---- what a file may be ----
mkfifo "$given/pipe"
python=$(command -v python3 || true)
[ -z "$python" ] ||
    (cd "$given" && "$python" -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")')
for option in requests config kernel tensors; do
    refused 1 2 "$given: .*is a directory" --dry-run --$option "$given"
    refused 1 2 "/dev/zero: .*is a device" --dry-run --$option /dev/zero
    refused 1 2 "/dev/tty: .*is a device" --dry-run --$option /dev/tty
    refused 1 2 "pipe: .*is a pipe" --dry-run --$option "$given/pipe"
    refused 2 2 "pipe: .*is a pipe" --$option "$given/pipe"
    [ ! -S "$given/socket" ] || refused 1 2 "socket: .*is a socket" --dry-run --$option "$given/socket"
    refused 2 2 "none/x: .*cannot be opened: No such file" --$option "$given/none/x"
    refused 1 2 "/dev/fd/99: .*cannot be opened: the launcher does not hand" --dry-run \
        --$option /dev/fd/99
done

echo "a mode that forbids reading"
nobody=()
[ "$(id -u)" != 0 ] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
chmod 711 "$given" "$work"
cp "$given/five" "$given/secret"
chmod 0 "$given/secret"
if "${nobody[@]}" "$AHBM_PDES" --print-config >/dev/null 2>&1; then # and finds the machines
    for option in requests config kernel tensors; do
        status=0
        "${nobody[@]}" "$AHBM_PDES" --dry-run --$option "$given/secret" >"$given/out" \
            2>"$given/err" || status=$?
        [ "$status" = 2 ] && grep -Eq "^ahbm-pdes: error: .*secret: .*Permission denied" \
            "$given/err" || [ "$option" = kernel ] || fail "$option: $status, $(cat "$given/err")"
    done
fi

# ---- pipes with a writer, standard input ----
machine=$("$AHBM_PDES" --print-config --set ipcq.slots=7)
for ranks in 1 2; do
    echo "pipes, $ranks ranks"
    summary=$(seq 5 9 | launch $ranks --case 1 --requests /dev/stdin --output "$work/x.h5")
    grep -q "^decode *1 *9 *5 " <<<"$summary" || fail "standard input: $summary"
    summary=$(launch $ranks --case 1 --requests /dev/stdin --output "$work/x.h5" <"$given/five")
    grep -q "^decode *1 *1004 *5 " <<<"$summary" || fail "standard input from a file: $summary"
    (sleep 0.3; seq 5 9 >"$given/pipe") &
    summary=$(launch $ranks --case 1 --requests "$given/pipe" --output "$work/x.h5")
    grep -q "^decode *1 *9 *5 " <<<"$summary" || fail "a named pipe: $summary"
    wait
    launch $ranks --case 1 --quiet --config /dev/stdin --output "$work/x.h5" <<<"$machine" ||
        fail "a machine from standard input"
    h5dump -g /config "$work/x.h5" >"$given/config" # whole: grep -q would leave early
    grep -q "slots: 7" "$given/config" || fail "the machine of standard input"
    rm -f "$work/x.h5"
    refused $ranks 2 "/dev/stdin: has no lengths" --requests /dev/stdin < <(true)
done
lengths "5 5" --requests <(seq 5)
lengths "1 8192" --config <(cat <<<"$machine")
refused 1 2 "has no lengths" --requests <(true)
refused 1 2 "is larger than" --requests <(yes 7)
refused 1 2 "is larger than" --config <(yes 7)
refused 1 2 "is not written and closed within 10 s" --requests <(exec sleep 30)
refused 1 2 "is not written and closed within 10 s" --config <(while sleep 1; do echo; done)

# ---- ranks that see other files ----
cat >"$given/each.sh" <<END
cd "$given/\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" && exec "\$@"
END
mkdir "$given"/{0,1,2}
apart() { # apart STATUS PATTERN ARGUMENTS: three ranks, each in its own folder
    local wanted=$1 pattern=$2 status=0
    shift 2
    echo "apart: $*"
    patiently mpirun --oversubscribe -np 3 sh "$given/each.sh" "$AHBM_PDES" --quiet \
        --output "$given/x.h5" "$@" >"$given/out" 2>"$given/err" || status=$?
    only_ours "$given/err"
    [ "$status" = "$wanted" ] || fail "status $status: $(head -3 "$given/err")"
    if [ "$wanted" = 0 ]; then
        [ ! -s "$given/err" ] || fail "says: $(head -3 "$given/err")"
    else
        [ "$(wc -l <"$given/err")" = 1 ] || fail "not one line: $(head -5 "$given/err")"
        grep -Eq "^ahbm-pdes: error: .*$pattern" "$given/err" || fail "says: $(cat "$given/err")"
        [ ! -e "$given/x.h5" ] || fail "a file"
    fi
}
host="\(on rank [12], host $(hostname)\)"
cp "$given/five" "$given/0/list"
echo 77 >"$given/1/list"
apart 0 "" --case 1 --requests list
[ "$(h5dump -d /points/batch "$given/x.h5" | grep -c ': 5$')" = 1 ] || fail "not rank 0's list"
patiently "$AHBM_PDES" --case 1 --quiet --requests "$given/five" --output "$given/one.h5"
h5diff --exclude-path /run "$given/x.h5" "$given/one.h5" || fail "another result than rank 0's list"
rm -f "$given"/*.h5 "$given/0/list"
apart 2 "--requests: list: cannot be opened: No such file or directory$" --case 1 --requests list

compiler=$(command -v "${CC:-cc}" || true)
if [ -n "$compiler" ]; then
    build() { # build FOLDER OPTIONS
        "$compiler" -shared -fPIC "${@:2}" -I "$AHBM_SOURCE_DIR/include" \
            "$AHBM_SOURCE_DIR/docs/examples/mine.c" -o "$given/$1/mine.so" -lm
    }
    build 0 -O2
    cp "$given/0/mine.so" "$given/1"
    cp "$given/0/mine.so" "$given/2"
    apart 0 "" --context 100 --kernel mine.so
    rm -f "$given/x.h5"
    build 2 -O1
    apart 2 "--kernel: ./mine.so: is another file than that of rank 0 $host$" --kernel ./mine.so
    rm "$given/1/mine.so"
    apart 2 "mine.so: cannot be opened: No such file or directory $host$" --kernel decode,mine.so
    rm "$given/0/mine.so"
    apart 2 "--kernel: mine.so: cannot be opened: No such file or directory$" --kernel mine.so

    echo "objects that are cut off"
    bytes=$(wc -c <"$given/2/mine.so")
    for kept in 1 63 64 1000 4096 8192 12288 $((bytes - 100)); do
        head -c $kept "$given/2/mine.so" >"$given/cut.so"
        status=0
        launch 1 --dry-run --kernel "$given/cut.so" >"$given/out" 2>"$given/err" || status=$?
        [ "$status" = 0 ] || { [ "$status" = 2 ] && [ "$(wc -l <"$given/err")" = 1 ] &&
            grep -q "^ahbm-pdes: error: --kernel: " "$given/err"; } ||
            fail "$kept bytes: status $status, $(head -3 "$given/err")"
    done
    : >"$given/cut.so"
    refused 2 2 "cut.so: is empty" --kernel "$given/cut.so"
fi

python=
for candidate in "${PYTHON:-}" /usr/bin/python3 python3; do
    [ -z "$candidate" ] || ! "$candidate" -c "import h5py, numpy" 2>/dev/null ||
        { python=$candidate && break; }
done
if [ -n "$python" ]; then
    (cd "$given" && "$python" - <<'PY'
import h5py, numpy
values = numpy.random.default_rng(1)
with h5py.File("0/m.h5", "w") as file:
    for name, shape in ("Q", (1, 64, 1, 128)), ("K", (1, 8, 100, 128)), ("V", (1, 8, 100, 128)):
        file[name] = values.standard_normal(shape).astype("f4")
PY
    )
    cp "$given/0/m.h5" "$given/1"
    cp "$given/0/m.h5" "$given/2"
    apart 0 "" --context 100 --case 4 --tensors m.h5
    rm -f "$given/x.h5"
    "$python" -c 'import h5py, sys
h5py.File(sys.argv[1], "r+")["V"][0, 3, 77, 5] = 0.5' "$given/2/m.h5"
    apart 2 "--tensors: m.h5: is another file than that of rank 0 $host$" --context 100 --case 4 \
        --tensors m.h5
    rm "$given/1/m.h5"
    apart 2 "--tensors: m.h5: cannot be opened: No such file or directory $host$" --context 100 \
        --tensors m.h5
    rm "$given/0/m.h5"
    apart 2 "--tensors: m.h5: cannot be opened: No such file or directory$" --tensors m.h5
fi

conclude
