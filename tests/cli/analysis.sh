#!/bin/bash
# The scripts of analysis/ against the program: figures come out, the fit agrees with the machine
# file, and wrong files are told in one line. Exit status: 0 passed, 1 failed, 77 skipped.
set -u
: "${AHBM_PDES:?the program}" "${AHBM_SOURCE_DIR:?the repository}"
export AHBM_PDES MPLCONFIGDIR
work=$(mktemp -d) || exit 1
MPLCONFIGDIR=$work/matplotlib
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# On a copy, which shows what the scripts leave behind, whatever the user's Python is told.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX
mkdir "$work/tree" && cp -r "$AHBM_SOURCE_DIR/analysis" "$AHBM_SOURCE_DIR/configs" "$work/tree" || exit 1
rm -rf "$work/tree/analysis/__pycache__"
analysis=$work/tree/analysis

python=
for candidate in /usr/bin/python3 "$(command -v python3)"; do
    if [ -x "$candidate" ] && "$candidate" -c 'import h5py, matplotlib' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "skipped: no python3 with h5py and matplotlib"
    exit 77
fi

failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# expect_error STATUS TEXT COMMAND...: ends with STATUS and one line that has TEXT.
expect_error() {
    local want=$1 text=$2 got
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$want" ] || fail "status $got instead of $want: $*"
    if [ "$(wc -l <"$work/err")" != 1 ] || [ -s "$work/out" ] || ! grep -q "$text" "$work/err"; then
        fail "not one line about '$text': $*"
        cat "$work/out" "$work/err"
    fi
}

plot() {
    "$python" "$analysis/plot_study.py" "$@"
}

plot_kernels() {
    "$python" "$analysis/plot_kernels.py" "$@"
}

expect_figures() { # expect_figures FOLDER/STEM NAME...
    local stem=$1 name suffix
    shift
    for name in "$@"; do
        for suffix in png svg; do
            [ "$(stat -c %s "$stem-$name.$suffix" 2>/dev/null || echo 0)" -gt 5000 ] ||
                fail "no figure $stem-$name.$suffix"
        done
    done
}

cd "$work" || exit 1
"$AHBM_PDES" --quiet --output one.h5 || fail "a run"
"$AHBM_PDES" --quiet --trace none --context 1K,4K --case 3,4 --output two.h5 || fail "a run"

plot one.h5 --output-dir one >one.out || fail "figures of one context"
expect_figures one/study latency memory commands
[ ! -e one/study-context.svg ] || fail "latency over context from one context"
[ "$(wc -l <one.out)" = 6 ] || fail "the figures made are not listed"
plot two.h5 --output-dir two >/dev/null || fail "figures of two contexts"
expect_figures two/study latency memory commands context
plot one.h5 --output-dir again >/dev/null
diff -r one again || fail "figures differ between runs"
plot two.h5 --output-dir png --format png --context 4096 >/dev/null || fail "PNG alone"
[ "$(ls png)" = "$(printf 'study-%s.png\n' commands context latency memory)" ] || fail "PNG alone"

# The counts in the figures are those of the summary: from the file, group 0 alone.
"$AHBM_PDES" --quiet --cubes-per-group 4 --output four.h5 || fail "a run"
"$python" -B - "$analysis" >counts <<'EOF' || fail "counts of a group"
import sys
sys.path.insert(0, sys.argv[1])
from _study_file import StudyFile
for path in ("one.h5", "four.h5"):
    groups = [StudyFile(path).group_counts(point) for point in range(4)]
    print(*(group[kind] for group in groups for kind in ("ipcq_copy", "dma_read")))
EOF
printf '%s\n' "21 24 0 17 21 24 189 192" "9 20 0 17 21 24 93 96" | diff - counts ||
    fail "counts of a group"

echo text >text.h5
head -c 2000 one.h5 >cut.h5
"$python" -c "
import h5py
h5py.File('other.h5', 'w')['x'] = 1
with h5py.File('later.h5', 'w') as file:
    file.attrs['program'], file.attrs['schema_version'] = b'ahbm-pdes', 999
"
expect_error 2 'no such file' plot missing.h5
expect_error 2 'not an HDF5 file' plot text.h5
expect_error 2 'damaged' plot cut.h5
expect_error 2 'not a result file' plot other.h5
expect_error 2 'schema version 999' plot later.h5
expect_error 2 'not in one.h5' plot one.h5 --context 77
expect_error 2 'not a list of' plot one.h5 --format pdf
expect_error 2 'unrecognized' plot one.h5 --nonsense
expect_error 2 'no program' "$python" "$analysis/fit_ipcq.py" --program ./missing

# The figures of the kernels, each from runs; every picosecond of a latency is in one stage.
"$AHBM_PDES" --quiet --kernel panels --context 64 --output panels.h5 || fail "a run"
"$AHBM_PDES" --quiet --kernel decode,prefill --context 512,1K --output cases.h5 || fail "a run"
"$AHBM_PDES" --quiet --kernel prefill --case 1,2 --shards zigzag --context 1K --output zigzag.h5 ||
    fail "a run"
"$AHBM_PDES" --quiet --kernel decode --context 1K --batch 4 --trace none --output batch.h5 ||
    fail "a run"
plot_kernels panels.h5 cases.h5 zigzag.h5 batch.h5 --output-dir kernels >kernels.out ||
    fail "figures of the kernels"
expect_figures kernels/kernels decode-stages placement prefill-latency prefill-stages short-mapping
[ "$(wc -l <kernels.out)" = 10 ] || fail "the kernels' figures made are not listed"
plot_kernels panels.h5 cases.h5 zigzag.h5 batch.h5 --output-dir once-more >/dev/null
diff -r kernels once-more || fail "the kernels' figures differ between runs"
plot_kernels batch.h5 cases.h5 --output-dir some --format svg >/dev/null || fail "some figures"
[ ! -e some/kernels-short-mapping.svg ] || fail "a mapping without its run"

"$AHBM_PDES" --quiet --context 700,2100 --output many.h5 --kernel \
    decode,decode-pipelined,decode-fanout,prefill,prefill-rotate,prefill-fanout || fail "a run"
"$AHBM_PDES" --quiet --gemm dot --reduce-pe tree --mlo packed --tile 128 --context 5000 \
    --output dots.h5 || fail "a run"
"$python" -B - "$analysis" >sums <<'EOF' || fail "stages that sum to the latency"
import sys
sys.path.insert(0, sys.argv[1])
from _points import Points
from _stages import times
for path in ("many.h5", "dots.h5", "panels.h5"):
    for point in Points([path]).all.values():
        assert sum(times(point)) == point.latency_ps, point.name
        print(point.name)
cases = Points(["cases.h5"])
case_3, case_4 = (times(cases.find(kernel="decode", case=n, context=1024)[0]) for n in (3, 4))
assert all(case_4), case_4  # sweep, copies and merges both near and far, store
assert case_3[4:6] == [0, 0] and all(case_3[:4]), case_3  # nothing between CUBEs
EOF
[ "$(wc -l <sums)" = 44 ] || fail "stages of $(wc -l <sums) points"

"$AHBM_PDES" --quiet --reduce-pe tree --context 1K --output tree.h5 || fail "a run"
"$AHBM_PDES" --quiet --kernel reduce --message 64 --output message.h5 || fail "a run"
"$python" -c "
import h5py
with h5py.File('cases.h5') as good, h5py.File('lost.h5', 'w') as lost:
    for key in good:
        good.copy(key, lost)
    lost.attrs.update(good.attrs)
    records = lost['trace/point_000007/commands'][()]
    records['cause_pe'] = 99
    lost['trace/point_000007/commands'][...] = records
"
expect_error 2 'no such file' plot_kernels cases.h5 missing.h5
expect_error 2 'not an HDF5 file' plot_kernels text.h5
expect_error 2 'not a result file' plot_kernels other.h5
expect_error 2 'of different runs' plot_kernels cases.h5 tree.h5
expect_error 2 'nothing to draw: no points' plot_kernels message.h5
expect_error 2 'not a list of' plot_kernels cases.h5 --format pdf
expect_error 2 'arguments are required' plot_kernels
plot_kernels lost.h5 --output-dir lost >lost.out 2>lost.err
[ $? = 2 ] || fail "a trace that leads nowhere: status"
grep -q 'error: kernels-decode-stages: .* no path' lost.err && [ "$(wc -l <lost.err)" = 1 ] ||
    fail "a trace that leads nowhere: $(cat lost.err)"

# The fit's constants are the machine file's, and what it leaves free holds.
"$python" "$analysis/fit_ipcq.py" >fit.out || fail "the fit"
grep -q 'ipcq.copy_cube_ns.*agrees' fit.out || fail "the fit and the machine file"
[ "$failed" = 0 ] || cat fit.out

# One table from runs is the document's.
cp "$AHBM_SOURCE_DIR/docs/study.md" study.md
"$python" "$analysis/study_tables.py" --only cases --check study.md >/dev/null ||
    fail "docs/study.md: the four cases"
sed -i 's/| latency, µs |/| latency, µs | 1/' study.md
expect_error 1 'not those of the runs' "$python" "$analysis/study_tables.py" --only cases \
    --check study.md
"$python" "$analysis/kernel_tables.py" --only mixed --check "$AHBM_SOURCE_DIR/docs/kernels.md" \
    >/dev/null || fail "docs/kernels.md: mixed lengths"
expect_error 2 'unrecognized' "$python" "$analysis/study_tables.py" --fast

[ ! -e "$analysis/__pycache__" ] || fail "__pycache__ in $analysis"
exit "$failed"
