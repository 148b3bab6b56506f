#!/usr/bin/env bash
# The kernels from nothing: installs what is missing, builds, runs prefill, decode and the panels, and
# draws the figures of docs/kernels.md. Usage: jobs/kernels.sh [RESULTS]
# RESULTS (default kernels-results in the current folder) receives the result files, their summaries
# and figures/. The 32K prefills take most of the time.
set -euo pipefail
case $#${1-} in 1-* | [2-9]* | 1) echo "usage: $0 [RESULTS]" >&2; exit 2 ;; esac
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
results=${1:-kernels-results}
ranks=$(($(nproc) < 16 ? $(nproc) : 16))

prepare_study

# Short context: the panels beside the cases.
run_study panels --kernel panels --shards zigzag --context 1K
run_study short --kernel decode,prefill --shards zigzag --context 1K
run_study short-batch --kernel decode,prefill --shards zigzag --context 1K --batch 8 --trace none
# Long context: decode alone and in batches, prefill with its ways of dealing query positions.
run_study decode --context 8K,128K --trace commands
run_study decode-batch --context 128K --batch 8 --trace none
run_study decode-batch-16 --context 128K --batch 16 --trace none
run_study prefill --phase prefill --context 8K
for shards in striped zigzag; do
    run_study "prefill-$shards" --phase prefill --case 1,2 --shards $shards --context 8K
done
run_study prefill-32k --phase prefill --case 1,2,3,4 --shards zigzag --context 32K --trace none
run_study prefill-32k-striped --phase prefill --case 1,2 --shards striped --context 32K --trace none

say "figures"
"$python" "$source_dir/analysis/plot_kernels.py" "$results"/*.h5 --output-dir "$results/figures"
say "done: $results"
