# Others' readers open the result file as it is: xarray finds labelled arrays, netCDF does not stumble.
# What the summary says of a point is what the file's arrays give when they are combined.
source "$(dirname "$0")/common.bash"

cd "$work"
"$AHBM_PDES" --case all --context 1K --format json --output run.h5 >summary.json || fail "no run"
"$AHBM_PDES" --list-results >list || fail "--list-results"
sed -n '/^<!-- --list-results -->$/,/^<!-- end -->$/p' "$AHBM_SOURCE_DIR/docs/output-format.md" |
    grep '^|' >documented
diff list documented || fail "docs/output-format.md: its table is not what --list-results prints"

python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=python3
if ! "$python" -c 'import h5py' 2>/dev/null; then
    echo "no h5py"
else
    "$python" "$(dirname "$0")/../tools/combined.py" run.h5 summary.json list || fail "combined values"
fi

if command -v ncdump >/dev/null; then
    ncdump run.h5 >dump || fail "ncdump"
    grep -q 'string kernel(point)' dump || fail "ncdump does not see the texts"
    grep -q 'commands(point, cube, pe, kind)' dump || fail "ncdump does not see the axes"
else
    echo "no ncdump"
fi

if "$python" -c 'import xarray, netCDF4' 2>/dev/null; then
    "$python" - <<'END' || fail "xarray"
import json
import xarray
points = xarray.open_dataset("run.h5", group="points")
summary = json.load(open("summary.json"))["points"]
assert list(points.commands.dims) == ["point", "cube", "pe", "kind"], points.commands.dims
copies = points.commands.sel(kind="ipcq_copy").sum(["cube", "pe"]).values
assert copies.tolist() == [point["commands_total"]["ipcq_copy"] for point in summary], copies
assert points.phase.values.tolist() == ["decode"] * 4, points.phase
assert all(name in points.coords for array in points.values() for name in array.dims)
END
else
    echo "no xarray"
fi
conclude
