"""What a point's time was spent on: the parts of its critical path, summed by stage.

Decode: the sweep is what a PE does before it receives; then come copies of (m, l, O) and merges, in
the CUBE or between CUBEs by where the message came from; the last store belongs with the division
and the cast before it. Prefill: by the operation that held the path. Everything from a command's
issue to its end, as far as it is on the path, is the command's; a message's way is its sender's."""

import collections

import numpy

from _critical_path import Trace, TraceError, Walk
from _figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, YELLOW

DECODE_STAGES = (("sweep: Q, K, V and GEMM", BLUE), ("sweep: softmax", SKY),
                 ("copies in the CUBE", ORANGE), ("merges in the CUBE", YELLOW),
                 ("copies between CUBEs", RED), ("merges between CUBEs", PURPLE),
                 ("division, cast, store", GREY))
SWEEP_GEMM, SWEEP_MATH, COPY, MERGE, COPY_FAR, MERGE_FAR, FINAL = range(7)
PREFILL_STAGES = (("GEMM composites, with operand streams and epilogues", BLUE),
                  ("softmax and merges (MATH)", SKY), ("loads and stores (HBM)", GREEN),
                  ("IPCQ in the CUBE", ORANGE), ("IPCQ between CUBEs", RED))
GEMM, MATH, HBM, IPCQ, IPCQ_FAR = range(5)
UNKNOWN, NEAR, FAR = range(3)


def _spread(level, members, units):
    """Gives members of unknown level that of the nearest member of their PE before, or after, them."""
    for order in (members, members[::-1]):
        known = {}
        for record in order:
            unit = units[record]
            if level[record] == UNKNOWN:
                level[record] = known.get(unit, UNKNOWN)
            known[unit] = level[record]


def message_levels(trace):
    """Of each send and recv: NEAR or FAR, by the messages that a recv waited for."""
    columns = trace.columns
    level = numpy.zeros(len(trace.units), dtype=int)
    waited = columns["cause"] == trace.names["cause"].index("message")
    for record in numpy.flatnonzero(waited):
        far = columns["cube"][record] != columns["cause_cube"][record]
        level[record] = level[trace.cause(record)] = FAR if far else NEAR
    for ops in (("send",), ("recv", "recv_async")):
        _spread(level, numpy.flatnonzero(trace.ops(*ops)), trace.units)
    return level


class DecodeStages:
    stages = DECODE_STAGES

    def __init__(self, trace):
        self.trace, self.level = trace, message_levels(trace)
        self.last_recv = self.latest(trace.ops("recv", "recv_async"))
        self.last_load = self.latest(trace.ops("load"))
        self.final = self.finals()

    def latest(self, wanted):
        """Per record the last one of its PE, up to it, that is wanted; -1: none."""
        at = numpy.where(wanted, numpy.arange(len(wanted)), -1)
        at = numpy.maximum.accumulate(at)
        first = numpy.array([self.trace.first[int(unit)] for unit in self.trace.units])
        return numpy.where(at >= first, at, -1)

    def finals(self):
        found = set()
        for record in numpy.flatnonzero(self.trace.ops("store")):
            found.add(int(record))
            before = int(record) - 1
            while self.trace.name("op", before) == "math" and \
                    self.trace.name("fn", before) in ("div", "cast"):
                found.add(before)
                before -= 1
        return found

    def stage(self, record):
        op = self.trace.name("op", record)
        if record in self.final:
            return FINAL
        if op in ("send", "recv", "recv_async"):
            return COPY_FAR if self.level[record] == FAR else COPY
        received = self.last_recv[record]
        if received < 0 or received < self.last_load[record]:
            return SWEEP_MATH if op == "math" else SWEEP_GEMM
        return MERGE_FAR if self.level[received] == FAR else MERGE


class PrefillStages:
    stages = PREFILL_STAGES
    by_op = {"composite": GEMM, "dot": GEMM, "math": MATH, "load": HBM, "store": HBM}

    def __init__(self, trace):
        self.trace, self.level = trace, message_levels(trace)

    def stage(self, record):
        op = self.trace.name("op", record)
        if op in self.by_op:
            return self.by_op[op]
        return IPCQ_FAR if self.level[record] == FAR else IPCQ


def _last_store(trace, cubes):
    stores = numpy.flatnonzero(trace.ops("store") & numpy.isin(trace.columns["cube"], cubes))
    if len(stores) == 0:
        raise TraceError("no store")
    return int(stores[numpy.argmax(trace.columns["end_ps"][stores])])


def times(point):
    """Picoseconds per stage, which sum to the latency of the point's slowest group. TraceError when
    they do not."""
    trace = Trace(*point.trace())
    stages = (PrefillStages if point.phase == "prefill" else DecodeStages)(trace)
    spent = collections.Counter()
    for part in Walk(trace, _last_store(trace, point.slowest_cubes())).run():
        spent[stages.stage(part.record)] += part.end_ps - part.start_ps
    if sum(spent.values()) != point.latency_ps:
        raise TraceError(f"the stages take {sum(spent.values())} ps, the point {point.latency_ps}")
    return [spent[stage] for stage in range(len(stages.stages))]
