#!/usr/bin/env bash
# --verify, --tensors and --write-output as a user meets them: summary, result file, exit status, and
# the one line of each error.
set -u
program=${AHBM_PDES:?}
source_dir=${AHBM_SOURCE_DIR:?}
python=/usr/bin/python3
"$python" -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: no h5py"; exit 77; }
# Without the launcher's notices (tests/cli/common.bash).
eval "$(sed -n '/^only_ours()/,/^}/p' "$source_dir/tests/cli/common.bash")"
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
failures=0

# expect STATUS TEXT OPTION...: the exit status, and one line on standard error that holds TEXT, or none
# when TEXT is empty.
expect() {
    local status=$1 text=$2
    shift 2
    "$program" --quiet --output run.h5 "$@" >out 2>err
    local got=$?
    local lines=1
    [ -n "$text" ] || lines=0
    if [ "$got" != "$status" ] || [ "$(grep -cF -- "$text" err)" != "$lines" ] ||
        [ "$(grep -c . err)" != "$lines" ]; then
        echo "wanted status $status and '$text', got $got and: $(cat err)  ($*)"
        failures=$((failures + 1))
    fi
}

"$python" - <<'PY' || exit 2
import numpy as np
rng = np.random.default_rng(1)
small = dict(q=rng.normal(size=(1, 64, 1, 128)), k=rng.normal(size=(1, 8, 300, 128)) + 0.1,
             v=rng.normal(size=(1, 8, 300, 128)) * 3)
for name, array in small.items():
    for kind in ("float16", "float32", "float64"):
        np.save(f"{name}-{kind}.npy", array.astype(kind))
broken = small["v"].copy()
broken[0, 1, 17, 5] = np.nan
np.save("v-nan.npy", broken)
broken[0, 1, 17, 5] = 3.4e38 # an f32, but bf16 rounds it to infinity
np.save("v-inf.npy", broken)
np.save("q-huge.npy", small["q"] * 1e30)
np.save("k-huge.npy", small["k"] * 1e30)
np.save("k-short.npy", small["k"][:, :, :299])
np.save("v-short.npy", small["v"][:, :, :299])
np.save("k-int.npy", small["k"].astype(np.int32))
PY

make_tensors() {
    "$python" "$source_dir/analysis/make_tensors.py" "$@" >made 2>&1 ||
        { echo "make_tensors $*: $(cat made)"; failures=$((failures + 1)); }
}
for kind in float16 float32 float64; do
    make_tensors --q "q-$kind.npy" --k "k-$kind.npy" --v "v-$kind.npy" --output "$kind.h5"
done
make_tensors --bf16 --q q-float32.npy --k k-float32.npy --v v-float32.npy --output bf16.h5
make_tensors --q q-float32.npy --k k-float32.npy --v v-nan.npy --output nan.h5
make_tensors --q q-float32.npy --k k-float32.npy --v v-inf.npy --output inf.h5
make_tensors --q q-huge.npy --k k-huge.npy --v v-float32.npy --output huge.h5
make_tensors --q q-float32.npy --k k-short.npy --v v-short.npy --output short.h5
if "$python" "$source_dir/analysis/make_tensors.py" --q q-float32.npy --k k-int.npy \
    --v v-float32.npy >made 2>&1 || [ "$(wc -l <made)" != 1 ]; then
    echo "make_tensors takes integers: $(cat made)"
    failures=$((failures + 1))
fi

# Right runs; O against numpy, in every type.
for kind in float16 float32 float64 bf16; do
    expect 0 "" --context 300 --tensors "$kind.h5" --write-output
    "$python" - "$kind" <<'PY' || failures=$((failures + 1))
import sys
import h5py, numpy as np
kind = sys.argv[1]
with h5py.File(f"{kind}.h5") as file:
    q, k, v = (file[n][...] for n in "QKV")
if kind == "bf16":
    q, k, v = ((a.astype(np.uint32) << 16).view(np.float32) for a in (q, k, v))
q, k, v = (a.astype(np.float64) for a in (q, k, v))
with h5py.File("run.h5") as file:
    states = file["points/verify_state"][:]
    assert (states == 1).all() and len(states) == 4, states
    assert (file["points/verify_rms_relative"][:] < 4e-3).all()
    for case in range(4):
        o = file[f"output/point_{case:06d}"][0, :, 0]
        assert o.shape == (16, 128)
        for head in range(16):
            s = k[0, head // 8] @ q[0, head, 0] / np.sqrt(128)
            p = np.exp(s - s.max())
            exact = p @ v[0, head // 8] / p.sum()
            error = np.sqrt(np.mean((o[head] - exact) ** 2) / np.mean(exact ** 2))
            assert error < 0.02, (kind, case, head, error)
PY
done

# --verify changes nothing but the verification.
"$program" --quiet --context 500 --case 4 --output with.h5 --verify &&
    "$program" --quiet --context 500 --case 4 --output without.h5 || failures=$((failures + 1))
"$python" "$source_dir/tests/tools/h5same.py" with.h5 without.h5 --exclude /run \
    --exclude /points/verify_state --exclude /points/verify_rms_relative \
    --exclude /points/verify_max_abs || { echo "--verify changes the file"; failures=$((failures + 1)); }
"$program" --context 500 --case 4 --format json --verify --output with.h5 >json &&
    "$python" - <<'PY' || failures=$((failures + 1))
import json
verify = json.load(open("json"))["points"][0]["verify"]
assert verify["passed"] is True and 1e-3 < verify["rms_relative"] < 4e-3 and verify["max_abs"] > 0
PY
[ "$("$program" --context 500 --case 4 --verify --output with.h5 | grep -c 'passed')" -ge 1 ] ||
    { echo "the table does not tell"; failures=$((failures + 1)); }

# Wrong results and wrong inputs.
expect 1 "verification failed at 4 of 4 points, first at decode case 1, context 300" \
    --context 300 --tensors huge.h5
"$python" -c 'import h5py; assert (h5py.File("run.h5")["points/verify_state"][:] == 2).all()' ||
    failures=$((failures + 1))
expect 2 "dataset K is [1, 8, 299, 128], but this run needs" --context 300 --tensors short.h5
expect 2 "dataset Q is [1, 64, 1, 128], but this run needs" --context 300 --batch 2 \
    --tensors float32.h5
for wrong in nan inf; do
    expect 2 "$wrong.h5: dataset V: element [0, 1, 17, 5] is not a finite number in bf16" \
        --context 300 --tensors $wrong.h5
done
echo text >text.h5
: >empty.h5
expect 2 "--tensors: text.h5: is no HDF5 file that can be read" --tensors text.h5
expect 2 "--tensors: empty.h5: is empty" --tensors empty.h5
expect 2 "--tensors: /nowhere.h5: cannot be opened: No such file or directory" --tensors /nowhere.h5
expect 2 "--tensors: .: is a directory; a file is expected" --tensors .

# --dry-run sees what is wrong with the file, too.
expect 0 "" --dry-run --context 300 --tensors float32.h5
expect 2 "dataset K is [1, 8, 299, 128], but this run needs" --dry-run --context 300 \
    --tensors short.h5
expect 2 "dataset K is [1, 8, 300, 128], but this run needs" --dry-run --context 300,600 \
    --tensors float32.h5
expect 2 "element [0, 1, 17, 5] is not a finite number" --dry-run --context 300 --tensors nan.h5
expect 2 "No such file or directory" --dry-run --tensors /nowhere.h5

# The output may not be the input, nor what is written first.
cp float32.h5 precious.h5
cp float32.h5 other.h5.tmp
expect 2 "--output: './precious.h5' is the file that --tensors reads" --context 300 \
    --tensors precious.h5 --output ./precious.h5
expect 2 "--output: 'other.h5' is written as 'other.h5.tmp' first, the file that --tensors reads" \
    --context 300 --tensors other.h5.tmp --output other.h5
cmp float32.h5 precious.h5 && cmp float32.h5 other.h5.tmp || failures=$((failures + 1))
"$python" - <<'PY'
import h5py
with h5py.File("float32.h5") as good, h5py.File("less.h5", "w") as less, h5py.File("int.h5", "w") as whole:
    for name in "QK":
        good.copy(name, less)
        good.copy(name, whole)
    whole["V"] = good["V"][...].astype("int32")
PY
expect 2 "dataset V: there is no such dataset" --context 300 --tensors less.h5
expect 2 "dataset V: its type is none of f16, f32, f64 and u16" --context 300 --tensors int.h5

# Over ranks the same line once, and the same status.
over_ranks() { # over_ranks STATUS TEXT FILE
    mpirun --oversubscribe -np 3 "$program" --quiet --context 300 --tensors "$3" \
        --output run.h5 2>err
    local status=$?
    only_ours err
    [ $status = "$1" ] && [ "$(grep -cF "$2" err)" = 1 ] && [ "$(grep -c . err)" = 1 ] ||
        { echo "on 3 ranks: $(cat err)"; failures=$((failures + 1)); }
}
over_ranks 1 "error: verification failed" huge.h5
over_ranks 2 "dataset V: element [0, 1, 17, 5] is not a finite number in bf16" nan.h5
over_ranks 2 "cannot be opened: No such file or directory" nowhere.h5

[ "$failures" = 0 ] && echo "verify: all as expected"
exit $((failures > 0))
