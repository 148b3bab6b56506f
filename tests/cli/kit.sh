# The kit for kernels of one's own (cli.pages runs one): each header stands alone, and the program
# exports all that they declare and no function else.
source "$(dirname "$0")/common.bash"

compiler=$(command -v "${CC:-cc}") || exit 77
cd "$work"
for path in "$AHBM_SOURCE_DIR"/include/ahbm/kit/*.h; do
    header=ahbm/kit/$(basename "$path")
    echo "#include <$header>" >alone.c
    "$compiler" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I "$AHBM_SOURCE_DIR/include" \
        alone.c || fail "$header alone"
done
command -v nm >/dev/null || exit 77
nm -D --defined-only "$AHBM_PDES" >symbols
for name in $(grep -rhoE '\bkit_[a-z_]+\(' "$AHBM_SOURCE_DIR/include/ahbm/kit" | tr -d '(' | sort -u); do
    [[ $name == *_ ]] || grep -qw "T $name" symbols || fail "$name is not exported"
done
others=$(awk '$2 == "T" && $3 !~ /^(tl|kit)_/ {print $3}' symbols | grep -v '^_' || true)
[ -z "$others" ] || fail "exported, but no kernel's matter: $others"
conclude
