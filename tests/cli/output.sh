# The output's file: nothing but it is written, replaced or removed, whatever has its temporary name;
# it keeps its access rights; where it cannot be written whole, an older one stays, one line says so
# and nothing waits. Faults come from a preloaded library (tests/tools/fault.c).
source "$(dirname "$0")/common.bash"

small="--case 3 --context 1K --quiet --output"
out=$work/out err=$work/err dir=$work/dir
mkdir "$dir"

# run RANKS OUTPUT ARGUMENTS: a small run in $dir; its status goes to $status.
run() {
    local ranks=$1 name=$2 launcher=()
    shift 2
    [ "$ranks" = 1 ] || launcher=(mpirun --oversubscribe -np "$ranks")
    status=0
    (cd "$dir" && patiently "${launcher[@]}" env "${fault[@]}" "$AHBM_PDES" $small "$name" "$@") \
        >"$out" 2>"$err" || status=$?
    only_ours "$err"
}
fault=()

failed_with() { # failed_with PATTERN: status 1, one line
    [ "$status" = 1 ] || fail "status $status: $(head -3 "$err")"
    [ "$(wc -l <"$err")" = 1 ] || fail "$(wc -l <"$err") lines: $(head -5 "$err")"
    grep -Eq "^ahbm-pdes: error: .*$1" "$err" || fail "says: $(head -1 "$err")"
}

succeeded() { # succeeded NAME: status 0, and all of the file can be read
    [ "$status" = 0 ] || fail "status $status: $(head -3 "$err")"
    h5dump "$dir/$1" >/dev/null 2>"$work/dump" || fail "cannot be read: $(head -3 "$work/dump")"
    [ ! -s "$work/dump" ] || fail "cannot be read: $(head -3 "$work/dump")"
}

only() { # only NAMES: they are all that is in the folder
    [ "$(ls -A "$dir" | tr '\n' ' ')" = "$* " ] || fail "there are: $(ls -A "$dir" | tr '\n' ' ')"
}

clean() {
    rm -rf "$dir"
    mkdir "$dir"
}

# ---- what has the temporary name ----
for what in link hardlink fifo notes empty folder foreign; do
    echo "$what under the temporary name"
    clean
    echo precious >"$dir/precious"
    case $what in
    link) ln -s precious "$dir/x.h5.tmp" ;;
    hardlink) ln "$dir/precious" "$dir/x.h5.tmp" ;;
    fifo) mkfifo "$dir/x.h5.tmp" ;;
    notes) echo notes >"$dir/x.h5.tmp" ;;
    empty) : >"$dir/x.h5.tmp" ;;
    folder) mkdir "$dir/x.h5.tmp" ;;
    foreign)
        echo foreign >"$dir/x.h5.tmp"
        chmod 666 "$dir/x.h5.tmp"
        [ "$(id -u)" != 0 ] || chown 65534 "$dir/x.h5.tmp" ;;
    esac
    before=$(stat -c '%i %F %s %Y %a %u' "$dir/x.h5.tmp")
    run 1 x.h5
    failed_with "'x.h5.tmp' is in the way"
    [ "$(cat "$dir/precious")" = precious ] || fail "another file was written"
    [ "$(stat -c '%i %F %s %Y %a %u' "$dir/x.h5.tmp")" = "$before" ] || fail "it was changed"
    only precious x.h5.tmp
done

# start: a run that takes a while, stopped once it is under way: its temporary file and the unlinked
# one for traces are open. Its id is $run.
start() {
    (cd "$dir" && exec "$AHBM_PDES" --case 2 --context 1M --quiet --output x.h5) >"$out" 2>"$err" &
    run=$!
    for _ in $(seq 1000); do
        ! ls -l "/proc/$run/fd" 2>/dev/null | grep -q "$dir/.*(deleted)" || break
        sleep 0.01
    done
    kill -STOP "$run" || fail "it did not start: $(cat "$err")"
    [ -e "$dir/x.h5.tmp" ] || fail "there is no temporary file"
}

end() {
    status=0
    kill -CONT "$run" || true
    wait "$run" || status=$?
}

echo "a file is put in the place of the temporary one during the run"
clean
echo old >"$dir/x.h5"
start
mv "$dir/x.h5.tmp" "$dir/moved"
echo foreign >"$dir/x.h5.tmp"
end
failed_with "its temporary file was removed or replaced"
[ "$(cat "$dir/x.h5")" = old ] || fail "it became the result"
[ "$(cat "$dir/x.h5.tmp")" = foreign ] || fail "it was removed"

echo "the folder is removed during the run"
clean
start
rm -rf "$dir"
end
failed_with "cannot write x.h5"
mkdir "$dir"

echo "what a killed run leaves is removed by the next"
start
kill -KILL "$run"
wait "$run" 2>/dev/null || true
[ -e "$dir/x.h5.tmp" ] || fail "nothing was left to clean up"
run 1 x.h5
succeeded x.h5
only x.h5

ulimit -c 0
for signal in ABRT SEGV XCPU; do
    echo "SIG$signal: the temporary file is removed"
    start
    kill -"$signal" "$run"
    kill -CONT "$run"
    wait "$run" 2>/dev/null || true
    only x.h5
    # Open MPI's own handler allocates, and so may wait for ever where the signal struck.
    ! grep -q 'Process received signal' "$err" || fail "a library's handler: $(head -3 "$err")"
done

# ---- names and rights ----
for length in 250 251 252 255; do
    echo "a name of $length bytes"
    clean
    name=$(printf "%0${length}d" 0)
    run 1 "$name"
    succeeded "$name"
    only "$name"
done
run 1 "$(printf "%0256d" 0)"
failed_with "File name too long"

echo "an older file's rights stay, a new one follows the umask"
clean
(umask 027 && run 1 x.h5 && succeeded x.h5)
[ "$(stat -c %a "$dir/x.h5")" = 640 ] || fail "mode $(stat -c %a "$dir/x.h5")"
for mode in 600 660 444; do
    chmod $mode "$dir/x.h5"
    run 1 x.h5
    succeeded x.h5
    [ "$(stat -c %a "$dir/x.h5")" = $mode ] || fail "mode $(stat -c %a "$dir/x.h5"), not $mode"
done
if [ "$(id -u)" = 0 ]; then
    chown 65534:12345 "$dir/x.h5"
    run 1 x.h5
    [ "$(stat -c %u:%g "$dir/x.h5")" = 65534:12345 ] || fail "owner $(stat -c %u:%g "$dir/x.h5")"
fi

# ---- locks ----
for value in TRUE 1 BEST_EFFORT FALSE 0; do
    echo "HDF5_USE_FILE_LOCKING=$value"
    clean
    fault=(HDF5_USE_FILE_LOCKING=$value)
    run 1 x.h5
    succeeded x.h5
done
fault=(HDF5_USE_FILE_LOCKING=TRUE)
run 16 x.h5
succeeded x.h5
only x.h5

# ---- folders that allow little ----
as_user=()
if [ "$(id -u)" = 0 ]; then
    as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/ TMPDIR=/tmp)
    chmod 755 "$work"
    chown 65534 "$dir"
fi
if "${as_user[@]}" "$AHBM_PDES" --version >/dev/null 2>&1; then
    for mode in 300 500; do
        echo "a folder of mode $mode"
        chmod 700 "$dir"
        rm -f "$dir"/*
        chmod $mode "$dir"
        status=0
        (cd / && patiently "${as_user[@]}" "$AHBM_PDES" $small "$dir/x.h5") >"$out" 2>"$err" || status=$?
        if [ $mode = 300 ]; then
            succeeded x.h5
        else
            failed_with "Permission denied"
        fi
    done
    chmod 700 "$dir"
else
    echo "another user cannot run the program here"
fi
rm -rf "$dir"
mkdir "$dir"

# ---- limits ----
echo "a limit on the size of files"
for ranks in 1 4; do
    clean
    echo old >"$dir/x.h5"
    fault=(sh -c 'ulimit -f 65536; exec "$@"' sh) # 32 MiB: Open MPI's own files are smaller
    run $ranks x.h5 --case 2 --context 8M --tile 32 --trace commands
    failed_with "File too large"
    [ "$(cat "$dir/x.h5")" = old ] || fail "the older file was harmed"
    only x.h5
done

# ---- faults ----
if ldd "$AHBM_PDES" | grep -q 'libasan\|libtsan'; then
    echo "no faults with a sanitizer: it must be the first library"
    conclude
    exit
fi
${CC:-cc} -O1 -shared -fPIC "$(dirname "$0")/../tools/fault.c" -o "$work/fault.so" -ldl

# strike RANKS NAME=VALUE ...: a run in which calls fail, over an older file; $struck tells how many.
strike() {
    local ranks=$1
    shift
    clean
    echo old >"$dir/x.h5"
    rm -f "$work/log"
    fault=("FAULT_LOG=$work/log" "$@" "LD_PRELOAD=$work/fault.so")
    run "$ranks" x.h5
    struck=0
    [ ! -e "$work/log" ] || struck=$(wc -l <"$work/log")
}

# Either the file is whole, or the older one is there and one line says why.
whole_or_old() {
    if [ "$status" = 0 ]; then
        succeeded x.h5
    else
        failed_with "cannot write x.h5|a library ended the process|out of memory"
        [ "$(cat "$dir/x.h5")" = old ] || fail "the older file was harmed"
    fi
    only x.h5
}

echo "memory runs out in a filter"
refusals=0
for skip in 0 60 120 180 200 220 260 300; do
    strike 1 FAULT_CALL=alloc FAULT_CALLER=libz FAULT_BYTES=16384 FAULT_COUNT=1 FAULT_SKIP=$skip
    # how often it allocates depends on the version
    [ "$struck" = 1 ] || [ "$skip" -gt 200 ] || fail "nothing failed after $skip"
    whole_or_old
    [ "$status" = 0 ] || refusals=$((refusals + 1))
done
[ $refusals -gt 0 ] || fail "no fault had consequences"

echo "memory runs out in HDF5"
for skip in 5 40 75 110 130; do
    strike 1 FAULT_CALL=alloc FAULT_CALLER=libhdf5 FAULT_BYTES=16384 FAULT_COUNT=1 FAULT_SKIP=$skip
    whole_or_old
done
for skip in $(seq 5200 1300 27500); do # earlier ones end in H5Fcreate, where HDF5 itself crashes at some
    strike 1 FAULT_CALL=alloc FAULT_CALLER=libhdf5 FAULT_BYTES=1 FAULT_COUNT=1 FAULT_SKIP=$skip
    whole_or_old
done

echo "the folder cannot be synced: the file is there, and that is success"
strike 1 FAULT_CALL=fsync "FAULT_PATH=/dir$"
[ "$struck" -gt 0 ] || fail "nothing failed"
succeeded x.h5
only x.h5

for call in fsync rename ftruncate fallocate pwrite; do
    echo "$call fails"
    strike 1 FAULT_CALL=$call FAULT_PATH=x.h5 FAULT_ERRNO=122
    [ "$struck" -gt 0 ] || fail "nothing failed"
    failed_with "cannot write x.h5: (Disk quota exceeded|writing to the file failed)"
    whole_or_old
done

echo "one of 16 ranks cannot open the file"
strike 16 FAULT_CALL=open FAULT_PATH=x.h5 FAULT_RANK=8 FAULT_ERRNO=24
[ "$struck" -gt 0 ] || fail "nothing failed"
failed_with "cannot write x.h5: Too many open files"
whole_or_old

echo "one of 16 ranks fails in HDF5, where the others wait for it"
strike 16 FAULT_CALL=pread FAULT_PATH=x.h5 FAULT_RANK=0 FAULT_COUNT=1
[ "$struck" = 1 ] || fail "nothing failed"
failed_with "cannot write x.h5"
whole_or_old

conclude
