#!/usr/bin/env python3
"""Rules about scripts, tests and documents. Usage: test_scripts.py [ROOT]

mpirun's -q and --quiet, which leave out that there are no slots or no such program, stand nowhere;
a Python file that imports from its own or another folder of the tree first tells Python to write no
__pycache__ there. Each broken rule prints `file:line: rule: what`. First the rules are tried on known
violations. Only the standard library.
"""

import os
import re
import sys

FOLDERS = [".ci", "analysis", "docs", "jobs", "tests"]
LAUNCHER = r"\b(?:mpirun|mpiexec|orterun|prterun|srun)\b"
# The launcher's word, then its options up to the program: the option that silences.
QUIET = re.compile(LAUNCHER + r"""["']?[^|;&#\n]*?[\s"'(]-(?:q|-quiet)\b""")
PROGRAM = re.compile(r"ahbm-pdes|AHBM_PDES|\$program|\$<TARGET")
LOCAL = re.compile(r"^\s*(?:from|import) (?:_\w+)\b(?<!__future__)")
SILENT = "sys.dont_write_bytecode = True"


def silences(line):
    """Whether a launcher's option hides errors: an option after the program is the program's own."""
    found = QUIET.search(line)
    return bool(found) and not PROGRAM.search(found.group()) and "`-q`" not in line


def broken_rules(name, text):
    told = False
    for number, line in enumerate(text.splitlines(), 1):
        if silences(line):
            yield f"{name}:{number}: hides errors: {line.strip()}"
        told = told or SILENT in line
        if name.endswith(".py") and not os.path.basename(name).startswith("_") and not told \
                and LOCAL.match(line):
            yield f"{name}:{number}: writes __pycache__: {line.strip()}"


VIOLATIONS = {
    "a.sh": ["mpirun -q -np 2 ahbm-pdes", "(cd x && mpirun --oversubscribe -q -np 16 \"$AHBM_PDES\")",
             "mpiexec --quiet -np 2 ahbm-pdes", "launch=(mpirun -q -np \"$SLURM_NTASKS\")"],
    "b.py": ['command = ["mpirun", "-q", *launcher]', "from _program import mpi_environment",
             "import _common"],
    "C.txt": ["add_test(NAME x COMMAND mpirun --oversubscribe -q -np 16 $<TARGET_FILE:y>)"],
}
ALLOWED = {
    "a.sh": ["mpirun -np 2 ahbm-pdes --quiet", "mpirun --version | grep -q Open", "launch 2 --case 3 \\",
             'mpirun --oversubscribe -np 3 "$AHBM_PDES" --quiet'],
    "b.py": ["sys.dont_write_bytecode = True\nfrom _common import die", "from __future__ import x"],
}


def try_rules():
    for name, lines in VIOLATIONS.items():
        for line in lines:
            if not list(broken_rules(name, line)):
                sys.exit(f"the rules do not see: {line}")
    for name, lines in ALLOWED.items():
        for line in lines:
            for found in broken_rules(name, line):
                sys.exit(f"the rules see what is allowed: {found}")


def files(root):
    yield os.path.join(root, "README.md")
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(root, folder)):
            yield from (os.path.join(place, name) for name in names)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    try_rules()
    seen, broken = 0, 0
    for path in files(root):
        if os.path.abspath(path) == os.path.abspath(__file__):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        seen += 1
        for line in broken_rules(os.path.relpath(path, root), text):
            print(line)
            broken += 1
    print(f"{seen} files, {broken} broken rules")
    sys.exit(1 if broken or seen < 50 else 0)


if __name__ == "__main__":
    main()
