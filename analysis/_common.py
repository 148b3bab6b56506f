"""What the scripts of this folder share: errors in one line, packages, machine files."""

import argparse
import importlib
import os
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def warn(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)


def die(text, status=2):
    """Prints one line and ends. Status 2: bad usage or input; 1: the work failed."""
    warn(f"error: {text}")
    sys.exit(status)


class Parser(argparse.ArgumentParser):
    """Tells a wrong option in one line."""

    def error(self, message):
        die(f"{message} (see --help)")


def missing_packages(names):
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def need_packages(*names):
    """Goes on if `names` can be imported, here or, restarted, in the system's Python."""
    missing = missing_packages(names)
    if not missing:
        return
    test = [SYSTEM_PYTHON, "-c", "import " + ", ".join(names)]
    other = os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON)
    if other and os.access(SYSTEM_PYTHON, os.X_OK):
        if subprocess.run(test, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            sys.stdout.flush()
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    packages = " ".join("python3-" + name for name in missing)
    die(f"Python cannot import {', '.join(missing)} (Debian: apt-get install {packages})")


def read_machine(text):
    """The machine, written by the program as YAML text, as {"section.key": "value"}."""
    machine, section = {}, ""
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon or key.lstrip().startswith("#"):
            continue
        if line[0] == " ":
            machine[f"{section}.{key.strip()}"] = value.strip().strip('"')
        elif value.strip():
            machine[key] = value.strip().strip('"')
        else:
            section = key
    return machine
