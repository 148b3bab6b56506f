#!/usr/bin/env python3
"""Fits the two IPCQ costs to the two published latencies (docs/study.md), by runs.

Latencies are linear in the two costs, so three runs give the solution; a fourth, at the
rounded values, checks it. Exit status: 0 all is well; 1 the fit misses its targets, what it
leaves free does not hold, or the machine file has other values; 2 bad usage.
"""

import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die
from _program import Program, RunError, add_program_option, in_parallel, set_copy_costs, shapes

CASE_3_US = 20.2  # published: the fastest case
CASE_4_MORE_US = 14.0  # published: case 4 behind it
CASE_3_TOLERANCE, CASE_4_TOLERANCE = 0.01, 0.05
STEP_NS = 50.0
LAST_DIGIT_NS = 0.1  # of the constants
ITERATIONS_MAX = 5
KEYS = ("ipcq.copy_pe_ns", "ipcq.copy_cube_ns")


def latencies_us(program, shape, costs):
    cases = program.cases(*shapes(shape), *set_copy_costs(*costs))
    return {case: point["latency_ps"] / 1e6 for case, point in cases.items()}


def solve(program, shape, start):
    """The costs in ns, unrounded, at which both published latencies are met."""
    pe, cube = start
    base, by_pe, by_cube = in_parallel([
        lambda at=at: latencies_us(program, shape, at)
        for at in ((pe, cube), (pe + STEP_NS, cube), (pe, cube + STEP_NS))])

    def slope(moved, case):  # us per ns
        return (moved[case] - base[case]) / STEP_NS

    pe_change = (CASE_3_US - base[3]) / slope(by_pe, 3)
    wanted = CASE_3_US + CASE_4_MORE_US - base[4] - pe_change * slope(by_pe, 4)
    return pe + pe_change, cube + wanted / slope(by_cube, 4)


def fit(program, shape="chain"):
    """((copy_pe_ns, copy_cube_ns), {case: latency in us}) at the values rounded to 0.1 ns."""
    machine = program.machine()
    costs = tuple(float(machine[key]) for key in KEYS)
    for _ in range(ITERATIONS_MAX):  # from afar the first solution may be in another linear piece
        before = costs
        costs = tuple(round(max(cost, 0.0), 1) for cost in solve(program, shape, costs))
        if max(abs(new - old) for new, old in zip(costs, before)) < 1.5 * LAST_DIGIT_NS:
            break
    return costs, latencies_us(program, shape, costs)


def check(what, value, good):
    print(f"  {what:<42} {value:9.3f} us  {'ok' if good else 'OUTSIDE'}")
    return good


def report_latencies(us):
    print("latencies at these values, decode, S = 8192:")
    for case in sorted(us):
        print(f"  case {case}  {us[case]:8.3f} us")
    more = us[4] - us[3]
    print("targets:")
    good = [check(f"case 3 = {CASE_3_US} us within 1 %", us[3],
                  abs(us[3] / CASE_3_US - 1) <= CASE_3_TOLERANCE),
            check(f"case 4 - case 3 = {CASE_4_MORE_US:g} us within 5 %", more,
                  abs(more / CASE_4_MORE_US - 1) <= CASE_4_TOLERANCE)]
    print("what the fit leaves free:")
    for high, low, meaning in ((1, 3, "case 3 is first"), (2, 3, "case 3 is first"),
                               (4, 2, "case 2 is below")):
        good.append(check(f"case {high} - case {low} (above 0: {meaning})", us[high] - us[low],
                          us[high] > us[low]))
    return all(good)


def compare_with_machine(program, costs):
    machine = program.machine()
    good = True
    print("machine file:")
    for key, cost in zip(KEYS, costs):
        value = float(machine[key])
        agrees = abs(value - cost) < 1.5 * LAST_DIGIT_NS
        print(f"  {key}: {value:.1f}  {'agrees' if agrees else 'DIFFERS'} (fit: {cost:.1f})")
        good = good and agrees
    return good


def parse_options():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=("chain", "tree"), default="chain",
                        help="reduction at both levels; the machine file has the chain's fit")
    add_program_option(parser)
    return parser.parse_args()


def main():
    options = parse_options()
    program = Program(options.program)
    try:
        costs, us = fit(program, options.shape)
    except RunError as error:
        die(str(error), 1)
    print(f"fit to {options.shape}s of separate copies ({program.runs} runs):")
    for key, cost in zip(KEYS, costs):
        print(f"  {key}: {cost:.1f}")
    good = report_latencies(us)
    if options.shape == "chain":
        good = compare_with_machine(program, costs) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
