#!/bin/bash
# A ring all-reduce on the ideal machine equals the closed form (analysis/allreduce_oracle.py).
set -u
command -v python3 >/dev/null || exit 77
exec python3 "$AHBM_SOURCE_DIR/analysis/allreduce_oracle.py" --nodes 8 16
