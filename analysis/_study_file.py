"""Reads a result file of ahbm-pdes (docs/output-format.md)."""

import os

from _common import die, need_packages, read_machine

need_packages("h5py", "numpy")
import h5py  # noqa: E402
import numpy  # noqa: E402

SCHEMA_VERSION = 1
GROUP_GRIDS = {1: (1, 1), 4: (2, 2), 8: (4, 2)}  # CUBEs per group: columns, rows


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
    if file.attrs.get("program") != b"ahbm-pdes" or version is None:
        die(f"{path}: not a result file of ahbm-pdes")
    if version != SCHEMA_VERSION:
        die(f"{path}: schema version {version}, but this script reads version {SCHEMA_VERSION}")


class StudyFile:
    """The arrays over points, and what follows from the machine."""

    def __init__(self, path):
        self.path = path
        with _open(path) as file:
            _check_schema(file, path)
            try:
                self.machine = read_machine(file["config/machine"][0].decode())
                self.points = {name: values[()] for name, values in file["points"].items()}
                self.kinds = [k.decode() for k in file["points/commands"].attrs["last_axis"]]
            except (KeyError, OSError, AttributeError):
                die(f"{path}: incomplete: /config/machine or /points cannot be read")

    def text(self, name, point):
        return self.points[name][point].decode()

    def cube_groups(self, point):
        """The group of each CUBE, -1 for left-over ones, as src/study/problem.c deals them out."""
        sips, columns, rows = (int(self.machine[f"topology.{key}"])
                               for key in ("sips_x", "cubes_x", "cubes_y"))
        sips *= int(self.machine["topology.sips_y"])
        wide, high = GROUP_GRIDS[int(self.points["cubes_per_group"][point])]
        across, down = columns // wide, rows // high
        sip, y, x = numpy.indices((sips, rows, columns))
        group = (sip * down + y // high) * across + x // wide
        return numpy.where((x // wide < across) & (y // high < down), group, -1).ravel()

    def group_counts(self, point, group=0):
        """{kind: commands} of the CUBEs of one group."""
        counts = self.points["commands"][point][self.cube_groups(point) == group]
        return dict(zip(self.kinds, counts.sum(axis=(0, 1)).tolist()))
