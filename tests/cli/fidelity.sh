#!/bin/bash
# Memory and network against the rows that other simulators measured: the short files, held to the
# bounds of analysis/fidelity_tables.py. With AHBM_LONG_TESTS=1 all of them.
set -u
command -v python3 >/dev/null || exit 77
build=$(dirname "$AHBM_PDES")
[ -x "$build/tests/fidelity_hbm" ] || exit 77
quick=--quick
[ -z "${AHBM_LONG_TESTS:-}" ] || quick=
python3 "$AHBM_SOURCE_DIR/analysis/fidelity_tables.py" --build "$build" $quick --check || exit 1

# A memory of one's own: timings in ns or clocks, rows in a file; what is not measured is not compared.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'name: mine\nhbm:\n  cl: 10 ns\n  trcd_rd: 12 ns\n  trp: 11 ns\n  controller: 3 ns\n  refresh: none\n' >"$work/mine.yaml"
printf 'config,tag,tag2,pat,n,mean_ns,eff,ticks\nmine_4,idle,hit,,,13.871,,1000\nmine_4,stream,,,1,,,\n' >"$work/rows.csv"
"$build/tests/fidelity_hbm" "$work/mine.yaml" "$work/rows.csv" >"$work/out" || exit 1
# a hit: CL and the way, and a burst of 8 transfers at 9.2 GT/s; the first of all opens its row
awk -F, '/^mine_4,idle/ { n++; error = $NF } END { exit !(n == 1 && error > -0.1 && error < 0.1) }' "$work/out" || {
    cat "$work/out"
    exit 1
}
! grep -q stream "$work/out" || { echo "a row without a figure was compared"; exit 1; }
for bad in "$work/nothing.csv" "$work/mine.yaml"; do
    "$build/tests/fidelity_hbm" "$work/mine.yaml" "$bad" >/dev/null 2>"$work/err"
    [ $? = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] || { echo "$bad: $(cat "$work/err")"; exit 1; }
done
