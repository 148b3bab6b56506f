"""Reads a result file of ahbm-pdes (docs/output-format.md)."""

import os

from _common import die, need_packages, read_machine

need_packages("h5py")
import h5py  # noqa: E402

SCHEMA_VERSION = 2
NEEDED = {"batch", "case", "commands", "context", "cube_link_bytes", "cubes_per_group", "fits", "group",
          "group_latency_ps", "kernel", "kv_bytes", "latency_ps", "mlo", "pe_link_bytes", "phase",
          "query_len", "reduce_cube", "reduce_pe", "shards"}  # of /points
TRACE_NAMES = ("op", "fn", "cause")


def _open(path):
    if not os.path.exists(path):
        die(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        die(f"{path}: cannot be read")
    if os.path.isdir(path) or not h5py.is_hdf5(path):
        die(f"{path}: not an HDF5 file")
    try:
        return h5py.File(path, "r")
    except OSError:
        die(f"{path}: a damaged HDF5 file")


def _check_schema(file, path):
    version = file.attrs.get("schema_version")
    if file.attrs.get("program") not in (b"ahbm-pdes", "ahbm-pdes") or version is None:
        die(f"{path}: not a result file of ahbm-pdes")
    if version != SCHEMA_VERSION:
        die(f"{path}: schema version {version}, but this script reads version {SCHEMA_VERSION}")


def _values(dataset):
    """Texts as str."""
    return (dataset.asstr() if h5py.check_string_dtype(dataset.dtype) else dataset)[()]


class StudyFile:
    """The arrays over points, the machine, and the kinds of commands that are counted."""

    def __init__(self, path):
        self.path = path
        with _open(path) as file:
            _check_schema(file, path)
            try:
                self.machine = read_machine(file["config/machine"][0].decode())
                self.points = {name: _values(data) for name, data in file["points"].items()}
                self.kinds = list(self.points["kind"])
                self.traced = {int(name.rpartition("_")[2]) for name, trace
                               in file.get("trace", {}).items() if "commands" in trace}
            except (KeyError, OSError, AttributeError):
                die(f"{path}: incomplete: /config/machine or /points cannot be read")
        for name in sorted(NEEDED - set(self.points)):
            die(f"{path}: incomplete: there is no /points/{name}")

    def text(self, name, point):
        return self.points[name][point]

    def trace(self, point):
        """The records of a point, and the names of their codes."""
        try:
            with _open(self.path) as file:
                names = {name: list(file["trace"].attrs[name])
                         for name in TRACE_NAMES}
                return file[f"trace/point_{point:06d}/commands"][()], names
        except (KeyError, OSError, AttributeError):
            die(f"{self.path}: the trace of point {point} cannot be read")

    def group_counts(self, point, group=0):
        """{kind: commands} of the CUBEs of one group."""
        counts = self.points["commands"][point][self.points["group"][point] == group]
        return dict(zip(self.kinds, counts.sum(axis=(0, 1)).tolist()))
