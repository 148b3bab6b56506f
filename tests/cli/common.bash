# What the scripts of this folder share. Sourced.
#   AHBM_PDES        the program
#   check TEXT ...   runs a function and prints what it checked
set -euo pipefail

: "${AHBM_PDES:?names the program}"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Ranks outnumber cores here.
export OMPI_MCA_mpi_yield_when_idle=1

work=$(mktemp -d "${TMPDIR:-/tmp}/ahbm-cli-XXXXXX")
failures=0
trap 'finish' EXIT

finish() {
    rm -rf "$work"
}

# Time on the clock tells nothing of a hang where the machine may be loaded. A process that goes on
# for so much time of a processor hangs; one that waits for ever is ended after an hour.
patiently() { # patiently COMMAND...
    (ulimit -St 600 && exec timeout 3600 "$@")
}

launch() { # launch RANKS ARGUMENTS: in the working folder
    local ranks=$1
    shift
    if [ "$ranks" = 1 ]; then
        (cd "$work" && patiently "$AHBM_PDES" "$@")
    else
        (cd "$work" && patiently mpirun --oversubscribe -np "$ranks" "$AHBM_PDES" "$@")
    fi
}

# Leaves out what the launcher adds of its own when ranks leave with a status: notices between two
# lines of dashes (mpirun of Open MPI 4, prterun of 5) or of equals signs (MPICH), words of Open MPI's
# event library, empty lines.
only_ours() { # only_ours FILE
    # Open MPI 5's launcher also writes bytes of 0 when a rank ends early.
    tr -d '\000' <"$1" | awk '/^--------------------+$/ || /^====================+$/ { notice = !notice; next }
         notice || /^\[warn\] Epoll / || /^$/ { next }
         { print }' >"$1.ours"
    mv "$1.ours" "$1"
}

# ranks_of LAUNCHER: the ids of the processes that run the program for it; MPICH's has one of its own
# between.
ranks_of() {
    local child
    for child in $(pgrep -P "$1" || true); do
        if [ "$(readlink "/proc/$child/exe")" = "$(readlink -f "$AHBM_PDES")" ]; then
            echo "$child"
        else
            ranks_of "$child"
        fi
    done
}

fail() {
    echo "  FAILED: $*"
    failures=$((failures + 1))
}

# refused RANKS STATUS PATTERN ARGUMENTS: one line on standard error that begins with our name and
# matches the pattern, nothing on standard output, the status, no file left.
refused() {
    local ranks=$1 wanted=$2 pattern=$3 status=0 lines
    shift 3
    echo "refused ($wanted, $ranks ranks): $*"
    launch "$ranks" "$@" >"$work/out" 2>"$work/err" || status=$?
    only_ours "$work/err"
    lines=$(wc -l <"$work/err")
    [ "$status" = "$wanted" ] || fail "status $status"
    [ ! -s "$work/out" ] || fail "standard output: $(head -3 "$work/out")"
    [ "$lines" = 1 ] || fail "$lines lines: $(head -5 "$work/err")"
    grep -Eq "^ahbm-pdes: error: .*$pattern" "$work/err" || fail "says: $(head -1 "$work/err")"
    rm -f "$work/out" "$work/err"
    [ -z "$(ls "$work" | grep -v '\.yaml$')" ] || fail "left: $(ls "$work")"
}

conclude() {
    echo "$failures failures"
    [ "$failures" = 0 ]
}
