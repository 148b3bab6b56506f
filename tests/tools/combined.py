#!/usr/bin/env python3
"""What the JSON summary says of each point against the arrays of the file, combined here anew.

Usage: combined.py RUN.h5 SUMMARY.json LIST (of --list-results)
"""

import json
import sys

import h5py
import numpy

# Rows that combine arrays of another name, or axes that are no CUBE's or PE's.
ARRAYS = {"gemm_steps_total": "gemm_steps", "kv_bytes_per_cube": "kv_bytes",
          "kv_bytes_per_cube_all_layers": "kv_bytes_all_layers"}
COMBINE = {"sum": numpy.sum, "max": numpy.max, "min": numpy.min}


def rows(path):
    """(name, combined, where) of the table's rows."""
    with open(path, encoding="utf-8") as file:
        for line in list(file)[2:]:
            cells = [cell.strip() for cell in line.split("|")]
            yield cells[1].strip("`"), cells[5], cells[6]


def differences(points, summary, table):
    arrays = {name: data[()] for name, data in points.items()}
    for name, combined, where in table:
        rule, _, of = combined.partition(", ")
        for index, point in enumerate(summary):
            mine = arrays["group"][index] == 0 if of else slice(None)
            if rule in COMBINE and "json" in where:
                expected = COMBINE[rule](arrays[ARRAYS.get(name, name)][index][mine])
            elif "file" in where and "json" in where:
                expected = arrays[name][index]
                if isinstance(expected, bytes):  # a text
                    expected = expected.decode()
            else:
                continue
            told = int(point[name], 16) if name == "digest" else point[name]
            if told != expected:
                yield f"{name} of point {index}: {told}, but the file gives {expected}"


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        summary = json.load(file)["points"]
    with h5py.File(sys.argv[1], "r") as file:
        table = list(rows(sys.argv[3]))
        found = list(differences(file["points"], summary, table))
    for line in found:
        print(line)
    if sum(row[1].partition(", ")[0] in COMBINE for row in table) < 5:
        found.append("too few rows")
        print("there are hardly any rows that combine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
