#!/bin/bash
# With banks and rows nothing locks to the refresh: the latency at 128K tokens moves with each of ten
# parameters of the machine, each made slower, and back with each made faster.
set -u
command -v python3 >/dev/null || exit 77
exec python3 - <<'PYTHON'
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.environ["AHBM_PDES"]
# key: slower, faster, the least change of the latency of case 2 and of case 4, in percent
KEYS = {
    "cpu.issue_composite_ns": ("80", "20", 0.2, 0.1),
    "math.startup_ns": ("60", "15", 0.1, 2.0),
    "math.exp_cycles": ("8", "2", 0.03, 0.2),
    "dma.setup_ns": ("60", "5", 0.2, 0.1),
    "gemm.macs_per_cycle": ("2048", "8192", 0.5, 0.3),
    "hbm.data_rate_ghz": ("8.5", "10", 2.0, 0.5),
    "hbm.trfc": ("450 ns", "250 ns", 1.0, 0.1),
    "hbm.trefi": ("3000 ns", "5000 ns", 1.0, 0.3),
    "hbm.trcd_rd": ("30 ns", "10 ns", 0.2, 0.05),
    "hbm.controller": ("30 ns", "0", 0.1, 0.05),
}


def latency(case, *changes):
    command = [PROGRAM, "--case", str(case), "--context", "128K", "--trace", "none", "--format", "json",
               "--set", "hbm.model=banks"]
    for change in changes:
        command += ["--set", change]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--output", os.path.join(folder, "x.h5")],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["points"][0]["latency_ps"]


failures = 0
for column, case in enumerate((2, 4)):
    base = latency(case)
    for key, (slower, faster, *least) in KEYS.items():
        up = 100 * (latency(case, f"{key}={slower}") / base - 1)
        down = 100 * (latency(case, f"{key}={faster}") / base - 1)
        right = up >= least[column] and down <= 0.02
        print(f"case {case}, {key}: {slower}: {up:+.2f} %, {faster}: {down:+.2f} %{'' if right else '  FAILED'}")
        failures += not right
sys.exit(1 if failures else 0)
PYTHON
