#!/usr/bin/env bash
# How often ranks have to meet: rounds follow what leaves the CUBEs, not the context.
# shellcheck source=tests/cli/common.bash
. "$(dirname "$0")/common.bash"

facts() { # facts ARGUMENTS: "rounds digest" of a point
    launch 1 --trace none --output run.h5 --format json "$@" >"$work/summary" || fail "$*: status $?"
    sed -n 's/^    "rounds": \([0-9]*\).*/\1/p' "$work/summary"
    sed -n 's/.*"digest": "\(.*\)".*/\1/p' "$work/summary"
}

# A chain over 8 CUBEs of three copies each and their credits, in two groups; cases 2 and 3 send
# nothing between CUBEs.
echo "decode takes as many rounds at every context, and few"
for number in 1 2 3 4; do
    bound=8
    case $number in 1 | 4) bound=$((8 + 2 * 3 * 7 * 2)) ;; esac
    read -r short _ < <(facts --case $number --context 8K | xargs)
    read -r long _ < <(facts --case $number --context 1M | xargs)
    [ "$short" -le "$bound" ] || fail "case $number: $short rounds, bound $bound"
    [ "$short" = "$long" ] || fail "case $number: $short rounds at 8K, $long at 1M"
done

echo "the scout saves most rounds of a ring whose receives are posted ahead"
for number in 1 4; do
    read -r scout digest < <(facts --phase prefill --case $number --context 1K | xargs)
    read -r link other < <(facts --phase prefill --case $number --context 1K --lookahead link | xargs)
    [ "$digest" = "$other" ] || fail "case $number: another result without the scout"
    [ $((5 * scout)) -lt "$link" ] || fail "case $number: $scout rounds, $link without the scout"
done

# A fraction of a picosecond that reaches into a refresh does not wait for its end.
echo "promises hold when a channel is nearly always in refresh"
machine=(--set hbm.refresh_interval_ns=100 --set hbm.refresh_busy_ns=90
    --set hbm.bandwidth_gbps=102.394880 --set dma.request_bytes=128
    --set hbm.interleave_bytes=32 --set dma.queue_depth=1
    --set scheduler.pipeline_depth=1 --set hbm.latency_ns=0)
read -r scout digest < <(facts --case 1 "${machine[@]}" | xargs)
read -r link other < <(facts --case 1 "${machine[@]}" --lookahead link | xargs)
[ "${digest:-none}" = "$other" ] || fail "$scout $digest with the scout, $link $other"

conclude
