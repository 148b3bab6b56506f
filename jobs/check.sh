#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors and runs every test. The unit tests also
# run under the address and undefined-behaviour sanitizers, first, so that ctest's closing lines of
# the full run come last. Usage: jobs/check.sh
set -euo pipefail
[ $# -eq 0 ] || { echo "usage: $0" >&2; exit 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
jobs=$(nproc)

install_packages "${packages[@]}" "${packages_lint[@]}"
configure "$source_dir/build" -DCMAKE_BUILD_TYPE=Release -DAHBM_WERROR=ON -DBUILD_TESTING=ON
build "$source_dir/build"
configure "$source_dir/build-sanitize" -DCMAKE_BUILD_TYPE=Debug -DAHBM_WERROR=ON \
    -DAHBM_SANITIZE=address,undefined -DBUILD_TESTING=ON
build "$source_dir/build-sanitize"
allow_root

# A test that takes its time alone marks itself RUN_SERIAL (tests/CMakeLists.txt).
run_tests() {
    ctest --test-dir "$1" --output-on-failure --parallel "$jobs" "${@:2}" </dev/null
}
run_tests "$source_dir/build-sanitize" -R '^unit\.'
run_tests "$source_dir/build"
