"""Runs ahbm-pdes and reads its summary."""

import json
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from _common import die, read_machine

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def mpi_environment():
    """For mpirun: Open MPI refuses to run as root unless told twice that it is meant."""
    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return environment


class RunError(Exception):
    """The program's own line about a run that failed."""


def find_program(path=None):
    """`path`, else $AHBM_PDES, else the one built in build/, else the installed one."""
    if path is None:
        built = os.path.join(REPOSITORY, "build", "ahbm-pdes")
        path = os.environ.get("AHBM_PDES") or (built if os.path.exists(built) else "ahbm-pdes")
    found = shutil.which(path)
    if found is None:
        die(f"there is no program '{path}' (build it, or name it with --program)")
    return found


def add_program_option(parser):
    parser.add_argument("--program", metavar="PATH",
                        help="ahbm-pdes (default: $AHBM_PDES, build/ahbm-pdes, or installed)")


def _error_line(result):
    for line in result.stderr.splitlines():
        if "error: " in line:
            return line.partition("error: ")[2]
    return f"ended with status {result.returncode} and no message"


class Program:
    """The program on one rank. Answers are kept: no run is done twice."""

    def __init__(self, path=None):
        self.path = find_program(path)
        self.runs = 0
        self._kept = {}

    def _call(self, arguments):
        return subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)

    def machine(self):
        """The default machine as {"section.key": "value"}."""
        result = self._call(["--print-config"])
        if result.returncode != 0:
            die(f"{self.path} --print-config: {_error_line(result)}", 1)
        return read_machine(result.stdout)

    def points(self, *arguments):
        """The list "points" of the JSON summary. RunError when the run fails."""
        if arguments not in self._kept:
            self._kept[arguments] = self._simulate(arguments)
        return self._kept[arguments]

    def _simulate(self, arguments):
        self.runs += 1
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "run.h5")
            result = self._call(["--format", "json", "--trace", "none", "--output", output,
                                 *arguments])
        if result.returncode != 0:
            raise RunError(_error_line(result))
        return json.loads(result.stdout)["points"]

    def cases(self, *arguments):
        """The four cases at one context: {case: point}."""
        return {point["case"]: point for point in self.points("--case", "all", *arguments)}


def in_parallel(jobs):
    """The results of functions without arguments, as many at a time as there are cores."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def set_copy_costs(pe_ns, cube_ns):
    return ("--set", f"ipcq.copy_pe_ns={pe_ns:.1f}", "--set", f"ipcq.copy_cube_ns={cube_ns:.1f}")


def shapes(shape, packed=False):
    """The same reduction at both levels."""
    return ("--reduce-pe", shape, "--reduce-cube", shape, "--mlo",
            "packed" if packed else "separate")
