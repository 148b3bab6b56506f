# A user's tensors: every kernel pairs each query head with the KV head of its own request, held
# against NumPy; and a file that is damaged, bombs, or leads elsewhere is refused with one line.
source "$(dirname "$0")/common.bash"
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=python3
"$python" -c 'import h5py, numpy' || { echo "no Python with h5py"; exit 1; }
data=$(mktemp -d "${TMPDIR:-/tmp}/ahbm-data-XXXXXX") # `refused` wants nothing left in $work
trap 'finish; rm -rf "$data"' EXIT
cd "$data"

# ---- every kernel, every (request, head) ----
cat >pairs.py <<'PY'
"""pairs.py KERNEL REQUESTS Q_HEADS KV_HEADS KV_HEADS_OF_FILE BATCH GROUPS QUERIES CONTEXT ARGUMENTS"""
import os, subprocess, sys
import h5py, numpy as np

kernel = sys.argv[1]
requests, heads, kv_heads, in_file, batch, groups, queries, context = map(int, sys.argv[2:10])
dim = 16
random = np.random.default_rng(7)
q = random.standard_normal((requests, heads, queries, dim)).astype(np.float32)
k = random.standard_normal((requests, in_file, context, dim)).astype(np.float32)
v = random.standard_normal((requests, in_file, context, dim)).astype(np.float32)
with h5py.File("pairs.h5", "w") as file:
    file["Q"], file["K"], file["V"] = q, k, v
run = subprocess.run(
    [os.environ["AHBM_PDES"], "--quiet", "--kernel", kernel, "--context", str(context), "--tensors",
     "pairs.h5", "--write-output", "--output", "o.h5", "--set", f"model.query_heads={heads}",
     "--set", f"model.kv_heads={kv_heads}", "--set", f"model.head_dim={dim}", *sys.argv[10:]],
    capture_output=True, text=True)
assert run.returncode == 0, run.stderr
with h5py.File("o.h5") as file:
    outputs = [file["output"][name][...] for name in sorted(file["output"])]
rows = 0
for o in outputs:
    assert o.shape[0] == requests and o.shape[2:] == (queries, dim), o.shape
    assert o.shape[1] == min(groups, kv_heads) * (heads // kv_heads), o.shape
    for request in range(requests):
        for head in range(o.shape[1]):
            group = request // batch * kv_heads + head // (heads // kv_heads)
            if group >= groups:  # nobody works on it
                assert not o[request, head].any(), (request, head)
                continue
            own = head * in_file // heads
            for i in range(queries):
                seen = context - queries + i + 1
                s = k[request, own, :seen].astype(float) @ q[request, head, i] / np.sqrt(dim)
                p = np.exp(s - s.max())
                exact = p @ v[request, own, :seen] / p.sum()
                error = np.sqrt(np.mean((o[request, head, i] - exact) ** 2) / np.mean(exact ** 2))
                assert error < 0.02, (kernel, request, head, i, error)
                rows += 1
print(f"{kernel} {' '.join(sys.argv[2:])}: {rows} rows of {len(outputs)} points as in NumPy")
PY
pairs() {
    "$python" pairs.py "$@" 2>&1 | tail -1 >said || { fail "$1: $(cat said)"; return 0; }
    cat said
}
set -o pipefail
# kernel, requests, query heads, KV heads, KV heads in the file, batch, groups, queries, context
pairs decode 1 16 4 4 1 2 1 70
pairs decode 3 16 2 2 3 2 1 70 --batch 3
pairs decode 6 6 3 3 1 16 1 33 --cubes-per-group 1           # more groups than KV heads: batches
pairs decode 8 8 2 2 2 8 2 65 --batch 2 --config llama3-70b-4sip --query-len 2
pairs decode-mha 1 16 2 16 1 2 1 70                           # each query head has its own
pairs decode-mha 3 12 4 12 3 2 1 40 --batch 3
pairs decode-mha 6 6 3 6 1 16 1 33 --cubes-per-group 1
pairs decode-mha 1 8 8 8 1 2 1 40
pairs decode-fanout 2 16 4 4 2 2 1 70 --batch 2
pairs prefill 2 8 1 1 1 2 24 24
pairs prefill 2 16 2 2 2 2 24 24 --batch 2
pairs prefill-rotate 1 16 2 2 1 2 24 24
pairs prefill-fanout 1 16 2 2 1 2 24 24
pairs panel-single-decode 2 16 8 8 1 16 1 40
pairs panel-multi-decode 8 16 8 8 8 2 1 40
pairs panel-single-prefill 2 16 8 8 1 16 24 24
pairs panel-multi-prefill 8 64 8 8 8 2 24 24

echo "a file with the KV heads of a GQA model is refused by a kernel that has none"
"$python" - <<'PY'
import h5py, numpy as np
with h5py.File("gqa.h5", "w") as file:
    file["Q"] = np.ones((1, 64, 1, 128), np.float32)
    file["K"] = file["V"] = np.ones((1, 8, 40, 128), np.float32)
PY
refused 1 2 "dataset K is \[1, 8, 40, 128\], but this run needs .* \[1, 64, 40, 128\]" \
    --kernel decode-mha --context 40 --tensors "$data/gqa.h5"

# ---- what is not in the file, or is more than it seems ----
"$python" - <<'PY'
import zlib
import h5py, numpy as np

q = np.random.default_rng(1).standard_normal((1, 4, 1, 16)).astype("f4")
k = np.random.default_rng(2).standard_normal((1, 2, 24, 16)).astype("f4")

def make(name):
    file = h5py.File(name, "w")
    file["Q"], file["K"] = q, k
    return file

with make("plain.h5") as file:
    file["V"] = k
with make("gzip.h5") as file:
    file.create_dataset("V", data=k, chunks=(1, 1, 8, 16), compression="gzip", shuffle=True,
                        fletcher32=True)
open("secret", "wb").write(bytes(k.nbytes))
with make("external.h5") as file:
    file.create_dataset("V", shape=k.shape, dtype="f4", external=[("secret", 0, k.nbytes)])
with make("elsewhere.h5") as file:
    file["V"] = h5py.ExternalLink("plain.h5", "/V")
with make("soft.h5") as file:
    file["V"] = h5py.SoftLink("/K")
layout = h5py.VirtualLayout(shape=k.shape, dtype="f4")
layout[...] = h5py.VirtualSource("plain.h5", "V", shape=k.shape)
with make("virtual.h5") as file:
    file.create_virtual_dataset("V", layout)
with make("lzf.h5") as file:
    file.create_dataset("V", data=k, chunks=(1, 1, 8, 16), compression="lzf")
with make("large.h5") as file:
    file.create_dataset("V", shape=k.shape, maxshape=(None,) * 4, dtype="f4",
                        chunks=(1, 64, 131072, 16), compression="gzip")
with make("bomb.h5") as file:
    v = file.create_dataset("V", shape=k.shape, dtype="f4", chunks=(1, 1, 8, 16), compression="gzip")
    v[...] = k
    v.id.write_direct_chunk((0, 0, 0, 0), zlib.compress(bytes(1 << 29), 9))
whole = open("gzip.h5", "rb").read()
open("cut.h5", "wb").write(whole[: len(whole) // 2])
PY
model="--case 4 --context 24 --set model.query_heads=4 --set model.kv_heads=2 --set model.head_dim=16"
for good in plain gzip; do
    launch 1 $model --quiet --tensors "$data/$good.h5" --output "$data/x.h5" || fail "$good.h5"
done
tells() { # tells FILE PATTERN: alone, over ranks, and without running
    refused 1 2 "$2" $model --tensors "$data/$1.h5"
    refused 3 2 "$2" $model --tensors "$data/$1.h5"
    refused 1 2 "$2" --dry-run $model --tensors "$data/$1.h5"
}
tells external "dataset V: its numbers lie in other files \(external storage\)"
tells elsewhere "dataset V: it is a link"
tells soft "dataset V: it is a link"
tells virtual "dataset V: it is virtual"
tells lzf "dataset V: it has a filter that is not one of HDF5's own"
tells large "dataset V: a chunk of it is more than 64 MiB"
tells bomb "damaged"
tells cut "is no HDF5 file that can be read"
peak=$({ /usr/bin/env python3 - "$AHBM_PDES" $model --dry-run --tensors "$data/bomb.h5"; } <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PY
)
[ "$peak" -lt 200 ] || fail "half a megabyte of gzip takes $peak MiB"
conclude
