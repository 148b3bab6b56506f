#!/usr/bin/env bash
# The decode study from nothing: installs what is missing, builds, runs the four cases and a sweep
# over the context on 16 ranks, and draws the figures. Usage: jobs/study.sh [RESULTS]
# RESULTS (default study-results in the current folder) receives study.h5, study.txt, sweep.h5,
# sweep.txt and figures/.
set -euo pipefail
[ $# -le 1 ] || { echo "usage: $0 [RESULTS]" >&2; exit 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
results=${1:-study-results}

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
    mpirun --oversubscribe -q -np 16 "$source_dir/build/ahbm-pdes" "$@" \
        --output "$results/$name.h5" </dev/null | tee "$results/$name.txt"
}

run study --case all
run sweep --case all --context 8K..1M
# The second file has the first one's context among others: the same bars, and latency over context.
for name in study sweep; do
    "$python" "$source_dir/analysis/plot_study.py" "$results/$name.h5" \
        --output-dir "$results/figures"
done
