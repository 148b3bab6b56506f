#!/usr/bin/env bash
# An installed program works from where it was moved: it finds its machine beside itself, and its
# headers compile a kernel.
set -euo pipefail
: "${AHBM_PDES:?the program, in its build folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$(dirname "$AHBM_PDES")" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
mkdir "$work/elsewhere"
cd "$work/elsewhere"

# A name that only the moved copy has: another one would mean that another file was read.
sed -i 's/^name: .*/name: "moved"/' "$work/moved/share/ahbm-pdes/configs/ahbm-sip.yaml"
program=$work/moved/bin/ahbm-pdes
"$program" --print-config >machine
grep -q '^name: "moved"$' machine || { echo "another machine was read" >&2; exit 1; }
"$program" --config llama3-70b-4sip --dry-run >points
[ "$(wc -l <points)" = 4 ] || { echo "--dry-run lists $(wc -l <points) points, not 4" >&2; exit 1; }
"$program" --case 4 --quiet --output study.h5
[ -s study.h5 ]

cat >kernel.c <<'KERNEL'
#include <ahbm/kernel.h>
#include <ahbm/kit/reduce.h>
#include <ahbm/kit/ring.h>
#include <ahbm/kit/state.h>
#include <ahbm/kit/tile.h>

tl_kernel twice;

void twice(struct tl *tl, const struct tl_launch *launch)
{
    TL_SCRATCH_SCOPE(tl)
    {
        struct tl_tensor q = tl_load(tl, tl_ref(tl, launch->pe, launch->q_base, 8, 128, TL_BF16));
        struct tl_tensor x = tl_scale(tl, tl_cast(tl, q, TL_F32), 2);
        tl_store(tl, tl_ref(tl, launch->pe, launch->o_base, 8, 128, TL_BF16),
                 tl_cast(tl, x, TL_BF16));
    }
}
KERNEL
for standard in c11 c17; do
    cc -std=$standard -Wall -Wextra -Werror -pedantic -c -I "$work/moved/include" kernel.c -o kernel.o
done
