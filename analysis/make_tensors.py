#!/usr/bin/env python3
"""Makes the file that `ahbm-pdes --tensors` reads, from NumPy arrays of a model's attention.

    make_tensors.py --q q.npy --k k.npy --v v.npy --output tensors.h5

Q is [requests, query heads, positions, dim], K and V are [requests, KV heads, context, dim]; an array
without the first axis is one request. Types: float16, float32, float64, and uint16, taken as the bits
of bf16 (which NumPy has no type for). --bf16 rounds numbers to bf16 and stores their bits.
Exit status: 0 done; 2 bad usage or input.
"""

import os
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die, need_packages

need_packages("numpy", "h5py")
import h5py  # noqa: E402
import numpy  # noqa: E402

TYPES = ("float16", "float32", "float64", "uint16")


def to_bf16(array):
    """The bits of bf16, rounded to nearest even; a NaN is the quiet one."""
    bits = numpy.ascontiguousarray(array, dtype=numpy.float32).view(numpy.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
    return numpy.where((bits & 0x7FFFFFFF) > 0x7F800000, numpy.uint16(0x7FC0), rounded)


def read(name, path, bf16):
    try:
        array = numpy.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        die(f"--{name}: {path}: {error}")
    if array.dtype.name not in TYPES:
        die(f"--{name}: {path}: type {array.dtype} is not allowed (allowed: {', '.join(TYPES)})")
    if array.ndim == 3:
        array = array[None]
    if array.ndim != 4 or 0 in array.shape:
        die(f"--{name}: {path}: shape {array.shape} is not [requests, heads, tokens, dim]")
    return to_bf16(array) if bf16 and array.dtype != numpy.uint16 else array


def check(q, k, v):
    if k.shape != v.shape:
        die(f"K is {k.shape} and V {v.shape}: they must be alike")
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        die(f"Q is {q.shape} and K {k.shape}: requests and dim must be alike")
    if q.shape[1] % k.shape[1] != 0:
        die(f"{q.shape[1]} query heads are no multiple of {k.shape[1]} KV heads")
    if q.shape[2] > k.shape[2]:
        die(f"{q.shape[2]} query positions in a context of {k.shape[2]} tokens")


def write(path, arrays):
    temporary = path + ".tmp"
    try:
        with h5py.File(temporary, "w") as file:
            for name, array in arrays.items():
                file.create_dataset(name, data=array)
        os.replace(temporary, path)
    except OSError as error:
        die(f"cannot write {path}: {error}", 1)


def main():
    parser = Parser(description=__doc__.split("\n")[0])
    for name in ("q", "k", "v"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE.npy")
    parser.add_argument("--output", default="tensors.h5", metavar="FILE.h5")
    parser.add_argument("--bf16", action="store_true", help="round to bf16, store the bits")
    arguments = parser.parse_args()
    q, k, v = (read(name, getattr(arguments, name), arguments.bf16) for name in ("q", "k", "v"))
    check(q, k, v)
    write(arguments.output, {"Q": q, "K": k, "V": v})
    print(f"{arguments.output}: {q.shape[0]} requests, {q.shape[1]} query heads, {k.shape[1]} KV "
          f"heads, {q.shape[2]} positions, {k.shape[2]} tokens, dim {q.shape[3]}")


if __name__ == "__main__":
    main()
