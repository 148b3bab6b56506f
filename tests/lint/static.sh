#!/bin/sh
# clang-tidy and cppcheck over src/ and kernels/. Usage: static.sh SOURCE BUILD [JOBS]
# BUILD holds compile_commands.json. Exit status: 0 clean, 1 findings, 77 tools missing (skipped).
# The analyser gives a function up after so many steps: nine tenths of the time are in the few that
# go on. With AHBM_LONG_TESTS in the environment it goes as far as it would by itself.
set -u
source_dir=$(cd "${1:?usage: static.sh SOURCE BUILD}" && pwd) || exit 2
build_dir=$(cd "${2:?usage: static.sh SOURCE BUILD}" && pwd) || exit 2
jobs=${3:-$(nproc)}
steps=20000
[ -z "${AHBM_LONG_TESTS:-}" ] || steps=225000

for tool in clang-tidy cppcheck; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
if [ ! -f "$build_dir/compile_commands.json" ]; then
    echo "skipped: no $build_dir/compile_commands.json (configure with cmake first)"
    exit 77
fi

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM

# The files that the build compiles, without the tests and without flags that clang does not know.
sed 's/ -flto=*[a-z0-9]*//g; s/ -fno-fat-lto-objects//g; s/ -ffat-lto-objects//g' \
    "$build_dir/compile_commands.json" >"$work/compile_commands.json"
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$work/compile_commands.json" | sort -u |
    SOURCE=$source_dir awk 'BEGIN { src = ENVIRON["SOURCE"] "/src/"; kernels = ENVIRON["SOURCE"] "/kernels/" }
        index($0, src) == 1 || index($0, kernels) == 1' >"$work/files"
echo "$(wc -l <"$work/files") files, $jobs jobs"
[ -s "$work/files" ] || { echo "no file of $source_dir is built in $build_dir"; exit 1; }

# One file at a time: clang-tidy 14 remembers of a file what misleads it in the next.
status=0
xargs -d '\n' -P "$jobs" -n 1 clang-tidy --quiet -p "$work" \
    --extra-arg=-Xclang --extra-arg=-analyzer-config \
    --extra-arg=-Xclang --extra-arg=max-nodes=$steps \
    <"$work/files" >"$work/tidy" 2>"$work/tidy.err" || status=1
if [ "$status" != 0 ]; then
    cat "$work/tidy"
    grep -v ' warnings* generated\.$\|^Suppressed\|^Use -header-filter' "$work/tidy.err"
fi

# ucontext is how kernels record (obsolescent, not gone); va_end() cannot follow a call that does not
# return. cppcheck knows `noreturn` only as an attribute; a -D alone would check one configuration.
# It cannot expand a list of rows within a list of rows (src/study/summary_list.h); compilers can.
xargs -d '\n' cppcheck --enable=warning,performance,portability --error-exitcode=1 --inline-suppr \
    --quiet --std=c11 --library=posix,gnu --template=gcc \
    "-D_Noreturn=__attribute__((noreturn))" \
    --suppress=missingIncludeSystem --suppress=getcontextCalled --suppress=makecontextCalled \
    --suppress=swapcontextCalled --suppress=va_end_missing \
    --suppress=normalCheckLevelMaxBranches --suppress=preprocessorErrorDirective:*summary_list.h --force -j "$jobs" \
    -I "$source_dir/src" -I "$source_dir/include" -I "$source_dir" <"$work/files" || status=1
exit $status
