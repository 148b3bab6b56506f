# A disk that fills: exit status 1, one line, no file under the final name, no process left waiting.
source "$(dirname "$0")/common.bash"

disk=$work/disk
mkdir "$disk"
if ! mount -t tmpfs -o size=4m tmpfs "$disk" 2>/dev/null; then
    echo "skipped: a file system of 4 MiB cannot be mounted here"
    exit 77
fi
finish() {
    umount "$disk"
    rm -rf "$work"
}

# full RANKS KIB ARGUMENTS: runs with that much space left, beside an older file of that name.
full() {
    local ranks=$1 kib=$2 status=0
    shift 2
    echo "$ranks ranks, $kib KiB: $*"
    rm -rf "$disk"/*
    echo "an older result" >"$disk/x.h5"
    head -c $(((4096 - 4 - kib) * 1024)) /dev/zero >"$disk/filler"
    launch "$ranks" "$@" --output "$disk/x.h5" >"$work/out" 2>"$work/err" || status=$?
    only_ours "$work/err"
    [ "$status" = 1 ] || fail "status $status"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "says: $(head -5 "$work/err")"
    grep -q "^ahbm-pdes: error: .*" "$work/err" || fail "$(head -3 "$work/err")"
    [ ! -s "$work/out" ] || fail "standard output: $(head -3 "$work/out")"
    [ "$(cat "$disk/x.h5")" = "an older result" ] || fail "the older file was harmed"
    [ "$(ls -A "$disk" | tr '\n' ' ')" = "filler x.h5 " ] || fail "left: $(ls -A "$disk")"
    sed 's/^/  /' "$work/err"
}

# The trace on its way; the file when it is opened, while it is written, at its end. 16 ranks take
# their time to start: the first two of these, or all in long tests.
for ranks in 1 4 16; do
    full "$ranks" 4000 --context 1M --case 4 --tile 32 --trace commands
    full "$ranks" 100 --trace none
    [ "$ranks" != 16 ] || [ -n "${AHBM_LONG_TESTS:-}" ] || continue
    full "$ranks" 0 --trace none
    full "$ranks" 40 --trace none
    full "$ranks" 160 --trace none
    full "$ranks" 400 --case 4 --trace commands
done

echo "what fits is written"
rm -rf "$disk"/*
launch 4 --case 4 --output "$disk/x.h5" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ -s "$disk/x.h5" ] || fail "no file"

conclude
