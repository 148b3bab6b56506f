#!/usr/bin/env python3
"""Compares HDF5 files with a first one where h5diff does not look, and where it does.

Usage: h5same.py A.h5 B.h5... [--exclude PATH]...     (default: --exclude /run)

Types, shapes, largest shapes, chunks, filters, attributes (with types and shapes) and values of all
groups and datasets. Prints the first differences. Exit status: 0 same, 1 different, 2 unreadable,
77 no h5py.
"""

import argparse
import sys

try:
    import h5py
    import numpy
except ImportError:
    print("h5same.py: h5py is not installed", file=sys.stderr)
    sys.exit(77)

SHOWN = 20


def dtype_text(h5type):
    """The type as stored, which tells apart more than its numpy form."""
    if isinstance(h5type, h5py.h5t.TypeCompoundID):
        members = [(h5type.get_member_name(i).decode(), h5type.get_member_offset(i),
                    dtype_text(h5type.get_member_type(i))) for i in range(h5type.get_nmembers())]
        return f"compound of {h5type.get_size()}: {members}"
    kind = type(h5type).__name__
    details = [h5type.get_size()]
    for call in ("get_order", "get_sign", "get_strpad", "get_cset"):
        if hasattr(h5type, call):
            details.append(getattr(h5type, call)())
    if isinstance(h5type, h5py.h5t.TypeVlenID):
        details.append(dtype_text(h5type.get_super()))
    return f"{kind}{tuple(details)}"


def plain(file, value):
    """The value as text and numbers; a reference is the name of what it leads to."""
    if isinstance(value, h5py.Reference):
        return file[value].name
    if isinstance(value, numpy.ndarray) and (value.dtype.hasobject or value.dtype.names):
        return [plain(file, item) for item in value.ravel()]
    if isinstance(value, numpy.void):
        return [plain(file, item) for item in value]
    return value.tobytes() if hasattr(value, "tobytes") else value


def same_bytes(a, b):
    if a.dtype.hasobject:
        return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def attribute_facts(item):
    for name in sorted(item.attrs):
        attribute = item.attrs.get_id(name)
        value = numpy.asarray(item.attrs[name])
        yield (f"attribute {name}",
               (dtype_text(attribute.get_type()), attribute.shape, plain(item.file, value)))


def filters(dataset):
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[:3] for i in range(plist.get_nfilters())]


def facts(item):
    """What must be equal, as (what, value) pairs; the values of a dataset come apart."""
    yield "kind", type(item).__name__
    yield from attribute_facts(item)
    if isinstance(item, h5py.Dataset):
        plist = item.id.get_create_plist()
        yield "type", dtype_text(item.id.get_type())
        yield "shape", item.shape
        yield "largest shape", item.maxshape
        yield "chunk", item.chunks
        yield "filters", filters(item)
        yield "fill time", plist.get_fill_time()
    else:
        yield "members", sorted(item.keys())


def excluded(path, excludes):
    return any(path == e or path.startswith(e.rstrip("/") + "/") for e in excludes)


def paths(file, excludes):
    found = {"/": file["/"]}
    file.visititems(lambda name, item: found.__setitem__("/" + name, item))
    return {p: i for p, i in found.items() if not excluded(p, excludes)}


def differences(a, b, excludes):
    items_a, items_b = paths(a, excludes), paths(b, excludes)
    for path in sorted(items_a.keys() ^ items_b.keys()):
        yield f"{path}: only in {'the first' if path in items_a else 'the second'}"
    for path in sorted(items_a.keys() & items_b.keys()):
        yield from compare(path, items_a[path], items_b[path], excludes)


def compare(path, a, b, excludes):
    facts_a, facts_b = dict(facts(a)), dict(facts(b))
    for facts_ in (facts_a, facts_b):
        if "members" in facts_:
            facts_["members"] = [m for m in facts_["members"]
                                 if not excluded(path.rstrip("/") + "/" + m, excludes)]
    for what in sorted(facts_a.keys() | facts_b.keys()):
        if facts_a.get(what) != facts_b.get(what):
            yield f"{path}: {what}: {facts_a.get(what)} and {facts_b.get(what)}"
    if isinstance(a, h5py.Dataset) and isinstance(b, h5py.Dataset):
        if a.shape == b.shape and not same_bytes(a[()], b[()]):
            yield f"{path}: values differ"


def same(first, other, excludes):
    """Whether they are; prints the first differences."""
    with h5py.File(first, "r") as a, h5py.File(other, "r") as b:
        found = list(differences(a, b, excludes))
    for line in found[:SHOWN]:
        print(f"{other}: {line}")
    if len(found) > SHOWN:
        print(f"and {len(found) - SHOWN} more")
    return not found


def main():
    parser = argparse.ArgumentParser(description="Compares HDF5 files with a first one.")
    parser.add_argument("a")
    parser.add_argument("b", nargs="+")
    parser.add_argument("--exclude", action="append", metavar="PATH")
    options = parser.parse_args()
    excludes = options.exclude if options.exclude is not None else ["/run"]
    try:
        return 0 if all([same(options.a, other, excludes) for other in options.b]) else 1
    except OSError as error:
        print(f"h5same.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
