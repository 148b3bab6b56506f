# Memory: the estimate is right, what is too large is refused before it starts, and what runs out all
# the same ends in one line with status 1; nothing hangs and nothing dies of a signal.
source "$(dirname "$0")/common.bash"

# ---- the estimate against what runs took ----
measure() { # measure RANKS ARGUMENTS
    local ranks=$1 estimate peak
    shift
    estimate=$(launch "$ranks" --dry-run "$@" | tail -1 | sed 's/.* memory \([0-9]*\) MiB$/\1/')
    peak=$(launch "$ranks" --format json --output m.h5 "$@" |
        sed -n 's/.*"peak_rss_bytes": *\([0-9]*\).*/\1/p')
    peak=$((peak >> 20))
    echo "estimated $estimate MiB, measured $peak MiB: $ranks ranks, $*"
    [ $((2 * peak)) -le $((3 * estimate)) ] && [ $((2 * estimate)) -le $((3 * peak)) ] ||
        fail "estimated $estimate MiB, measured $peak MiB"
}
if ! nm -D "$AHBM_PDES" 2>/dev/null | grep -q __asan; then # it takes memory of its own
    measure 1 --case 4
    measure 1 --case 4 --context 1M --trace none
    measure 1 --case 4 --verify
    measure 1 --case 4 --verify --batch 8 --context 16K
    measure 1 --phase prefill --case 1 --context 512 --verify
    measure 1 --case 4 --set topology.cubes_x=16 --set topology.cubes_y=16
    measure 1 --case 2 --set topology.cubes_x=16 --set topology.cubes_y=16
    measure 1 --case 4 --set topology.cubes_x=16 --set topology.cubes_y=16 \
        --set ipcq.queue_commands=1024 --set dma.queue_commands=1024 \
        --set scheduler.pipeline_depth=200
    measure 1 --case 4 --set topology.pes_x=60 --set topology.pes_y=2 --set hbm.pseudo_channels=120
    measure 1 --case 4 --context 4M --record-ahead 4294967295 --trace none
    measure 4 --case 4 --set topology.cubes_x=16 --set topology.cubes_y=16
fi
rm -f "$work/m.h5"

# ---- refused ----
limited() { # limited MIB COMMAND...: under a limit on address space
    local mib=$1
    shift
    (ulimit -v $((mib * 1024)) && "$@")
}
too_large() { # too_large RANKS PATTERN ARGUMENTS
    limited 1000 refused "$@"
}
if ! nm -D "$AHBM_PDES" 2>/dev/null | grep -q __asan; then
    for dry in "" --dry-run; do
        too_large 1 2 "needs about [0-9]+ MiB .* is for CUBEs and PEs \(topology\.\*\)" $dry \
            --set topology.cubes_x=256 --set topology.cubes_y=256 --case 4
        too_large 1 2 "needs about [0-9]+ MiB .* is for recorded commands \(--record-ahead\)" $dry \
            --case 2 --context 16G --record-ahead 4294967295
        too_large 1 2 "needs about [0-9]+ MiB .* is for queues" $dry --case 4 \
            --set ipcq.queue_commands=1024 --set dma.queue_commands=1024 \
            --set topology.cubes_x=64 --set topology.cubes_y=64
    done
    too_large 4 2 "needs about [0-9]+ MiB .*topology" --set topology.cubes_x=256 \
        --set topology.cubes_y=256 --case 4

    # What was 9 GB takes what it needs.
    limited 1000 launch 1 --quiet --case 4 --set ipcq.slots=65536 --set topology.pes_x=60 \
        --set topology.pes_y=2 --set hbm.pseudo_channels=120 --set topology.cubes_y=2 \
        --output slots.h5 || fail "ipcq.slots=65536"
    limited 1000 launch 1 --quiet --case 4 --record-ahead 4294967295 --output ahead.h5 ||
        fail "--record-ahead 4294967295"
    rm -f "$work"/{slots,ahead}.h5

    # ---- however little there is: a run, or one line ----
    for mib in 60 100 120 140 150 160 180 200 250 300 350 400 800; do
        for verify in "" --verify; do
            status=0
            (ulimit -v $((mib * 1024)) && cd "$work" &&
                timeout -k 5 60 "$AHBM_PDES" --quiet --case 4 --output v.h5 $verify) \
                >"$work/out" 2>"$work/err" || status=$?
            lines=$(wc -l <"$work/err")
            echo "ulimit -v of $mib MiB $verify: $status $(head -1 "$work/err")"
            case $status in
            0) [ "$lines" = 0 ] || fail "$lines lines" ;;
            1 | 2)
                [ "$lines" = 1 ] && grep -q "^ahbm-pdes: error: " "$work/err" ||
                    fail "$lines lines: $(head -3 "$work/err")"
                ;;
            *) fail "status $status: $(head -3 "$work/err")" ;;
            esac
            [ "$mib" -lt 400 ] || [ "$status" = 0 ] || fail "that is enough"
            [ "$mib" -lt 200 ] || [ -n "$verify" ] || [ "$status" = 0 ] || fail "that is enough"
            rm -f "$work"/v.h5* "$work"/{out,err}
        done
    done
    limited 100 "$AHBM_PDES" --version >/dev/null || fail "--version under 100 MiB"
fi

# ---- simulated time that runs out is no bug ----
refused 1 1 "simulated time runs out: .*math\.\*" --case 2 --context 64M --set math.lanes=1 \
    --set math.exp_cycles=1000000 --set math.clock_ghz=0.01
refused 3 1 "simulated time runs out: .*math\.\*" --case 2 --context 64M --set math.lanes=1 \
    --set math.exp_cycles=1000000 --set math.clock_ghz=0.01
conclude
