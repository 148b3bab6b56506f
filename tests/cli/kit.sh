# A user's kernel made of the installed kit: it compiles as others do, verifies in each shape of the
# reduction, and finds what it calls, because the program exports that and nothing else of its own.
source "$(dirname "$0")/common.bash"

compiler=$(command -v "${CC:-cc}") || exit 77
cd "$work"
"$compiler" -std=c11 -pedantic -shared -fPIC -O2 -Wall -Wextra -Werror -I "$AHBM_SOURCE_DIR/include" \
    "$AHBM_SOURCE_DIR/docs/examples/kit.c" -o kit.so || fail "the example does not compile"
for shape in "4096 1 chain" "5001 3 tree" "5 2 centre" "20000 1 chain --mlo packed --gemm dot"; do
    read -r context batch reduce more <<<"$shape"
    # shellcheck disable=SC2086 # several words
    launch 1 --kernel ./kit.so --context "$context" --batch "$batch" --reduce-pe "$reduce" $more \
        --verify >out 2>err || fail "$shape: $(tail -1 err)"
done

# Each header stands alone, and what it declares is there.
for header in state reduce ring tile; do
    echo "#include <ahbm/kit/$header.h>" >alone.c
    "$compiler" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I "$AHBM_SOURCE_DIR/include" \
        alone.c || fail "ahbm/kit/$header.h alone"
done
nm -D --defined-only "$AHBM_PDES" >symbols || fail "nm"
for name in $(grep -rhoE '\bkit_[a-z_]+\(' "$AHBM_SOURCE_DIR/include/ahbm/kit" | tr -d '(' | sort -u); do
    [[ $name == *_ ]] || grep -qw "T $name" symbols || fail "$name is not exported"
done
others=$(awk '$2 == "T" && $3 !~ /^(tl|kit)_/ {print $3}' symbols | grep -v '^_' || true)
[ -z "$others" ] || fail "exported, but no kernel's matter: $others"
conclude
