#!/usr/bin/env python3
"""Ring all-reduces on ideal-collective.yaml against the closed form of another simulator.

Nineteen measurements of ASTRA-sim's analytical backend (2c98a701) obey, with c = bytes / N,

    T = 1 + 2 (N - 1) (L + floor(c / BW)) + (N - 1) (2 + 3 floor(c / 3300))   [ns; BW in GiB/s]

Two comparisons per point. "links": our machine has no cost but its links, so it is held against
2 (N - 1) (L + c / BW), unrounded. "reduce": the vector unit is given the other tool's cost of a local
reduction, 2 ns and 3 accesses at 3300 bytes/ns; it is held against T, up to T's own rounding. Both
leave room for what our machine cannot do in no time: the load and the store of the vector at 100
TB/s and the way of each piece through scratch at 1000 TB/s. Exit status 1 when a point is outside.
"""

import argparse
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _program import Program, add_program_option

KIB, MIB = 1 << 10, 1 << 20
LINKS = ((50, 500), (1000, 10))
SIZES = (4 * KIB, MIB, 64 * MIB)
# 128 lanes of f32 at 1100 / 512 GHz read, add and write 1100 bytes of a piece per ns.
REDUCTION = ("math.startup_ns=2", "math.clock_ghz=2.1484375", "math.simple_cycles=1")


def oracle(nodes, gib_per_s, latency, size):
    piece = size // nodes
    per_ns = gib_per_s * 2**30 / 1e9
    return (1 + 2 * (nodes - 1) * (latency + int(piece / per_ns))
            + (nodes - 1) * (2 + 3 * (piece // 3300)))


def links_only(nodes, gib_per_s, latency, size):
    return 2 * (nodes - 1) * (latency + size / nodes / (gib_per_s * 2**30 / 1e9))


def memory(nodes, size):
    """Load and store of the vector; each piece out of scratch and into it; a few ps per event."""
    return 2 * size / 1e5 + 4 * (nodes - 1) * (size / nodes / 1e6) + 0.05 * nodes


def measured(program, nodes, gib_per_s, latency, size, settings=()):
    arguments = ["--config", "ideal-collective", "--kernel", "allreduce-ring", "--cubes-per-group",
                 str(nodes), "--message", str(size)]
    for setting in (f"topology.cubes_x={nodes}", f"cube_link.latency_ns={latency}",
                    f"cube_link.bandwidth_gbps={gib_per_s * 2**30 / 1e9!r}", *settings):
        arguments += ["--set", setting]
    return program.points(*arguments)[0]["latency_ps"] / 1000


def check(program, nodes, gib_per_s, latency, size):
    slack = memory(nodes, size)
    plain, wanted = measured(program, nodes, gib_per_s, latency, size), links_only(
        nodes, gib_per_s, latency, size)
    good = -0.01 <= plain - wanted <= slack
    priced = measured(program, nodes, gib_per_s, latency, size, REDUCTION)
    theirs = oracle(nodes, gib_per_s, latency, size)
    # They drop less than 1 ns per step and less than 3 per reduction, and begin with 1.
    dropped = 2 * (nodes - 1) + 3 * (nodes - 1)
    good &= -1.01 <= priced - theirs <= dropped + slack
    print(f"{nodes:5} {gib_per_s:5} {latency:5} {size:9} {plain:14.3f} {wanted:14.3f} "
          f"{priced:14.3f} {theirs:12} {priced - theirs:9.3f}  {'ok' if good else 'OUTSIDE'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--nodes", type=int, nargs="+", default=[8, 16, 64])
    options = parser.parse_args()
    program = Program(options.program)
    print(f"{'nodes':>5} {'GiB/s':>5} {'L ns':>5} {'bytes':>9} {'links':>14} {'closed form':>14} "
          f"{'reduce':>14} {'other tool':>12} {'apart':>9}")
    good = [check(program, nodes, *link, size) for nodes in options.nodes for link in LINKS
            for size in SIZES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
