#!/usr/bin/env bash
# The kernels from nothing: installs what is missing, builds, runs prefill, decode and the panels, and
# draws the figures of docs/kernels.md. Usage: jobs/kernels.sh [RESULTS]
# RESULTS (default kernels-results in the current folder) receives the result files, their summaries
# and figures/. The 32K prefills take most of the time.
set -euo pipefail
[ $# -le 1 ] || { echo "usage: $0 [RESULTS]" >&2; exit 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
results=${1:-kernels-results}
ranks=$(($(nproc) < 16 ? $(nproc) : 16))

install_packages "${packages[@]}"
python=$(find_python)
configure "$source_dir/build"
cmake --build "$source_dir/build" --target ahbm-pdes --parallel "$(nproc)"
allow_root
mkdir -p "$results"

# run NAME OPTION...: NAME.h5 and its summary, which is also printed
run() {
    local name=$1
    shift
    mpirun --oversubscribe -q -np "$ranks" "$source_dir/build/ahbm-pdes" "$@" \
        --output "$results/$name.h5" </dev/null | tee "$results/$name.txt"
}

# Short context: the panels beside the cases.
run panels --kernel panels --shards zigzag --context 1K
run short --kernel decode,prefill --shards zigzag --context 1K
run short-batch --kernel decode,prefill --shards zigzag --context 1K --batch 8 --trace none
# Long context: decode alone and in batches, prefill with its ways of dealing query positions.
run decode --context 8K,128K --trace commands
run decode-batch --context 128K --batch 8 --trace none
run decode-batch-16 --context 128K --batch 16 --trace none
run prefill --phase prefill --context 8K
for shards in striped zigzag; do
    run "prefill-$shards" --phase prefill --case 1,2 --shards $shards --context 8K
done
run prefill-32k --phase prefill --case 1,2,3,4 --shards zigzag --context 32K --trace none
run prefill-32k-striped --phase prefill --case 1,2 --shards striped --context 32K --trace none

"$python" "$source_dir/analysis/plot_kernels.py" "$results"/*.h5 --output-dir "$results/figures"
