#!/usr/bin/env bash
# The decode study from nothing: installs what is missing, builds, runs the four cases and a sweep
# over the context on 16 ranks, and draws the figures. Usage: jobs/study.sh [RESULTS]
# RESULTS (default study-results in the current folder) receives study.h5, study.txt, sweep.h5,
# sweep.txt and figures/.
set -euo pipefail
case $#${1-} in 1-* | [2-9]* | 1) echo "usage: $0 [RESULTS]" >&2; exit 2 ;; esac
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
results=${1:-study-results}
ranks=16

prepare_study

run_study study --case all
run_study sweep --case all --context 8K..1M
# The sweep has the first file's context among others: the bars of that one, and latency over context.
say "figures"
"$python" "$source_dir/analysis/plot_study.py" "$results/sweep.h5" --context 8192 \
    --output-dir "$results/figures"
say "done: $results"
