#!/usr/bin/env bash
# Runs the README's examples: its code blocks marked `sh run` and `python run`, in order, in one
# empty folder, with the program on the PATH. In a block marked `text output` the lines that begin
# with "decode" must be in what the block before it printed.
set -euo pipefail
: "${AHBM_PDES:?the program}" "${AHBM_SOURCE_DIR:?the source tree}"
PATH=$(dirname "$AHBM_PDES"):$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/blocks" "$work/run"

awk -v folder="$work/blocks" '
    open && /^```$/ { open = 0; next }
    open { print > file; next }
    /^```(sh run|python run|text output)$/ {
        open = 1
        file = sprintf("%s/%02d.%s", folder, ++count, substr($1, 4))
    }' "$AHBM_SOURCE_DIR/README.md"

# A Python that reads result files.
python=
for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import h5py' 2>/dev/null && python=$candidate && break
done

fail() {
    echo "README.md: $*:" >&2
    cat "$block" "$work/output" >&2
    exit 1
}

cd "$work/run"
blocks=0
for block in "$work"/blocks/*; do
    case $block in
    *.sh)
        bash -euo pipefail "$block" </dev/null >"$work/output" 2>&1 || fail "this block failed"
        ;;
    *.python)
        [ -n "$python" ] || { echo "skipped: no python3 that has h5py"; exit 77; }
        "$python" "$block" </dev/null >"$work/output" 2>&1 || fail "this block failed"
        ;;
    *.text)
        while read -r line; do # words, whatever is between them
            [[ $line == decode* ]] || continue
            tr -s ' ' <"$work/output" | grep -qF -- "$(tr -s ' ' <<<"$line" | sed 's/ *$//')" ||
                fail "the line '$line' is not in the output"
        done <"$block"
        ;;
    esac
    blocks=$((blocks + 1))
done
[ "$blocks" -ge 8 ] || { echo "README.md: only $blocks blocks to run were found" >&2; exit 1; }
echo "$blocks blocks"
