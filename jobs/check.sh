#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors and runs every test. The unit tests also
# run under the address and undefined-behaviour sanitizers, first, so that ctest's closing lines of
# the full run come last; it follows whatever they end with. Usage: jobs/check.sh
# AHBM_LONG_TESTS=1 in the environment: several tests do more of the same (docs/adr/0018).
set -euo pipefail
[ $# -eq 0 ] || { echo "usage: $0" >&2; exit 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=jobs/packages.sh
. "$source_dir/jobs/packages.sh"
jobs=$(nproc)

install_packages "${packages[@]}" "${packages_lint[@]}" "${packages_readers[@]}"
configure "$build_dir" -DCMAKE_BUILD_TYPE=Release -DAHBM_WERROR=ON -DBUILD_TESTING=ON
build "$build_dir"
configure "$build_dir-sanitize" -DCMAKE_BUILD_TYPE=Debug -DAHBM_WERROR=ON \
    -DAHBM_SANITIZE=address,undefined -DBUILD_TESTING=ON
build "$build_dir-sanitize" --target unit_tests
allow_root

# What a test takes of the processors is told in tests/CMakeLists.txt.
run_tests() {
    ctest --test-dir "$1" --output-on-failure --parallel "$jobs" "${@:2}" </dev/null
}
sanitized=0 status=0
say "the unit tests with sanitizers"
run_tests "$build_dir-sanitize" -R '^unit\.' || sanitized=$?
say "all tests"
run_tests "$build_dir" || status=$?
if [ "$sanitized" != 0 ]; then
    echo "$0: the unit tests with sanitizers failed, see above" \
        "($build_dir-sanitize/Testing/Temporary/LastTestsFailed.log)" >&2
    status=$sanitized
fi
exit "$status"
