# A run that dies leaves no file and harms none: a rank killed with the others waiting for it, and
# signals that ask a run to end.
source "$(dirname "$0")/common.bash"

long="--context 64M --case 2 --output x.h5" # runs for minutes
ulimit -St 3600 # of one that no signal ends

# Waits until the run, the last job, is under way: its temporary file is there.
await_start() {
    until ls "$work" | grep -q '^x\.h5\..*\|^x\.h5-\|\.tmp\|\.part'; do
        if ! kill -0 $! 2>/dev/null; then
            fail "the run ended before it was under way: $(ls "$work")"
            return
        fi
        sleep 0.1
    done
    sleep 0.3
}

# The processor time in ms of a process and its children, those that are over included.
used_by() { # used_by PID
    local pid
    for pid in "$1" $(pgrep -P "$1" || true); do
        cat "/proc/$pid/stat" 2>/dev/null || true
    done | awk -v ticks="$(getconf CLK_TCK)" '{ sum += $14 + $15 + $16 + $17 }
        END { printf "%d", 1000 * sum / ticks }'
}

# The same of all processes that this shell has waited for.
used_so_far() {
    awk -v ticks="$(getconf CLK_TCK)" '{ printf "%d", 1000 * ($16 + $17) / ticks }' /proc/$$/stat
}

# ends SIGNAL VICTIM PID: sends the signal, waits for the process, whose status goes to $status. What
# it may still take is time of a processor: on a loaded machine the clock says nothing. (A launcher
# that does not wait for its ranks takes theirs with it, and the difference is negative.)
ends() {
    local before spent
    before=$(($(used_so_far) + $(used_by "$3")))
    kill -"$1" "$2"
    status=0
    wait "$3" || status=$?
    spent=$(($(used_so_far) - before))
    echo "  ended after $spent ms of processor time with status $status"
    [ "$spent" -lt 10000 ] || fail "$spent ms of processor time after the signal"
}

# gone PID: whether the process ends; one that is killed may take a while to be gone.
gone() {
    for _ in $(seq 6000); do
        [ -n "$(readlink "/proc/$1/exe" || true)" ] || return 0 # no process, or a zombie
        sleep 0.1
    done
    return 1
}

expect_old_file() {
    [ "$(cat "$work/x.h5")" = "an older result" ] || fail "the older file was harmed"
}

expect_no_temporary() {
    [ -z "$(ls -A "$work" | grep '\.tmp$')" ] || fail "left: $(ls -A "$work")"
}

expect_nothing() {
    [ ! -e "$work/x.h5" ] || fail "there is a file of the final name"
}

# ---- a rank is killed ----
for older in yes no; do
    echo "one of 4 ranks is killed; an older file of that name: $older"
    rm -rf "$work"/*
    if [ $older = yes ]; then
        echo "an older result" >"$work/x.h5"
    fi
    (cd "$work" && exec mpirun --oversubscribe -np 4 "$AHBM_PDES" $long) >"$work/out" 2>&1 &
    launcher=$!
    await_start
    ranks=($(ranks_of "$launcher"))
    [ ${#ranks[@]} = 4 ] || fail "${#ranks[@]} ranks"
    ends KILL "${ranks[2]}" "$launcher"
    [ "$status" != 0 ] || fail "status 0"
    for rank in "${ranks[@]}"; do
        if ! gone "$rank"; then
            fail "rank $rank lives on"
            kill -KILL "$rank"
        fi
    done
    if [ $older = yes ]; then
        expect_old_file
    else
        expect_nothing
    fi
    expect_no_temporary
done

# ---- a run is asked to end ----
for signal in TERM INT HUP; do
    for older in yes no; do
        echo "SIG$signal to a run without mpirun; an older file of that name: $older"
        rm -rf "$work"/*
        if [ $older = yes ]; then
            echo "an older result" >"$work/x.h5"
        fi
        # A script's background jobs ignore SIGINT, and under nohup SIGHUP is ignored.
        (cd "$work" && exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$AHBM_PDES" $long) >"$work/out" 2>"$work/err" &
        run=$!
        await_start
        ends "$signal" "$run" "$run"
        [ "$status" = $((128 + $(kill -l $signal))) ] || fail "status $status"
        [ "$(wc -l <"$work/err")" = 1 ] || fail "says: $(head -5 "$work/err")"
        grep -q "^ahbm-pdes: error: stopped by a signal" "$work/err" || fail "$(cat "$work/err")"
        [ ! -s "$work/out" ] || fail "standard output: $(head -3 "$work/out")"
        rm -f "$work/out" "$work/err"
        if [ $older = yes ]; then
            expect_old_file
            rm "$work/x.h5"
        fi
        [ -z "$(ls -A "$work")" ] || fail "left: $(ls -A "$work")"
    done
done

echo "SIGHUP under nohup is ignored"
rm -rf "$work"/*
(cd "$work" && exec nohup "$AHBM_PDES" $long) >"$work/out" 2>"$work/err" </dev/null &
run=$!
await_start
before=$(used_by "$run")
kill -HUP "$run"
while kill -0 "$run" && [ "$(used_by "$run")" -lt $((before + 1000)) ]; do
    sleep 0.1
done
kill -0 "$run" || fail "it has ended"
ends TERM "$run" "$run"

echo "SIGTERM to mpirun with 4 ranks"
rm -rf "$work"/*
echo "an older result" >"$work/x.h5"
(cd "$work" && exec mpirun --oversubscribe -np 4 "$AHBM_PDES" $long) >"$work/out" 2>&1 &
launcher=$!
await_start
ends TERM "$launcher" "$launcher"
[ "$status" != 0 ] || fail "status 0"
expect_old_file
expect_no_temporary

# ---- two runs to one output ----
echo "a second run to the same output is refused, the first is not disturbed"
rm -rf "$work"/*
(cd "$work" && exec "$AHBM_PDES" $long) >"$work/out" 2>&1 &
first=$!
await_start
status=0
(cd "$work" && patiently "$AHBM_PDES" --output x.h5) >"$work/out2" 2>"$work/err2" || status=$?
[ "$status" = 1 ] || fail "status $status"
grep -q '^ahbm-pdes: error: cannot write x.h5: another run is writing it$' "$work/err2" ||
    fail "says: $(cat "$work/err2")"
[ -e "$work/x.h5.tmp" ] || fail "the first run's file is gone"
kill -0 "$first" || fail "the first run has ended"
ends TERM "$first" "$first"
expect_nothing

# ---- a scout that looks far ahead ----
echo "SIGTERM while the scouts look through a sweep of 64G tokens"
rm -rf "$work"/*
(cd "$work" && exec "$AHBM_PDES" --case 4 --context 64G --trace none --output x.h5) >"$work/out" 2>&1 &
scouting=$!
await_start
ends TERM "$scouting" "$scouting"
[ "$status" = 143 ] || fail "status $status"
expect_nothing

# ---- links ----
echo "an output that is a link: what it leads to is written, devices and dangling links are refused"
rm -rf "$work"/*
echo old >"$work/real.h5"
ln -s real.h5 "$work/link.h5"
ln -s nowhere "$work/dangling.h5"
launch 1 --case 3 --quiet --output link.h5 || fail "status $?"
[ -L "$work/link.h5" ] || fail "the link was replaced"
[ "$(head -c 3 "$work/real.h5")" != old ] || fail "the file that the link leads to is still the old one"
for name in dangling.h5 /dev/stdout; do
    status=0
    launch 1 --case 3 --quiet --output "$name" >"$work/out" 2>&1 || status=$?
    [ "$status" = 1 ] || fail "$name: status $status"
done

conclude
