# docs/extending.md: one more part, option and result, each written in one place. All patches are
# applied to one copy of the sources, which is compiled once; each does what the document says, and
# the document shows every patch that there is.
source "$(dirname "$0")/common.bash"
# shellcheck source=tests/cli/one_place_result.bash
source "$(dirname "$0")/one_place_result.bash"

for tool in cmake ninja patch; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
cd "$work"
mkdir source
for name in CMakeLists.txt cmake configs include kernels src; do
    cp -r "$AHBM_SOURCE_DIR/$name" source/
done
for patch in "$AHBM_SOURCE_DIR"/docs/examples/new-*.patch; do
    grep -q "$(basename "$patch")" "$AHBM_SOURCE_DIR/docs/extending.md" || fail "$patch: not in the document"
    patch -s -p1 -d source <"$patch" || fail "$patch does not apply"
done
cmake -S source -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DAHBM_WERROR=ON -DBUILD_TESTING=OFF >log 2>&1 &&
    ninja -C build >>log 2>&1 || fail "$(tail -20 log)"
program=$work/build/ahbm-pdes

latency_of() { # latency_of ARGUMENTS: in ns
    "$program" --case 4 --format json "$@" | sed -n 's/.*"latency_ps": \([0-9]*\)[0-9]\{3\},*$/\1/p'
}

# The part: off by default; a walk of 500 ns shows once in the latency.
[ "$(latency_of)" = 34201 ] || fail "the part changes what it should not: $(latency_of)"
[ "$(latency_of --set tlb.walk_ns=500)" = 34701 ] || fail "the part: $(latency_of --set tlb.walk_ns=500)"
h5dump -d /points/tlb_misses ahbm-pdes.h5 >dump || fail "the part's column"
grep -q "(0,0,0): 2, 2, 2" dump || fail "the part's column: $(sed -n 5,8p dump)"

# The option: other times, the same values; it is in the help, the file and JSON, refused where nothing
# looks at it, and its words are checked.
[ "$(latency_of --verify --scale queries)" -ne 34201 ] || fail "the option changes nothing"
"$program" --case 4 --context 2K --verify --scale queries --format json >option.json || fail "the option: values"
grep -q '"scale": "queries"' option.json || fail "the option: not in JSON"
h5dump -d /points/scale ahbm-pdes.h5 >dump || fail "the option: not in the file"
grep -q '"queries"' dump || fail "the option: another word in the file"
"$program" --help >help
grep -q -- '--scale=WORD' help || fail "the option: no help"
"$program" --scale both 2>err && fail "the option: a word that is none"
grep -q "scores.*queries" err || fail "the option: $(cat err)"
"$program" --phase prefill --scale queries --dry-run 2>err && fail "the option: without effect"
grep -q -- "--scale: would change nothing" err || fail "the option: $(cat err)"

check_new_result "$program"
conclude
