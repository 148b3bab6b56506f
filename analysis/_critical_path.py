"""The critical path of a point, from the trace of its commands (docs/output-format.md).

Every record says what held it. Followed back from the last store, these causes lead to the
launch; the time between is charged, without gap or overlap, to the commands on the way."""

import collections

import numpy

OWN, WAY = "own", "way"  # a command itself; what a message or credit took after its command's end

# A stretch of time on the path. `other` of a way: the command that it led to.
Part = collections.namedtuple("Part", "kind record other start_ps end_ps")


class TraceError(Exception):
    """A trace that does not lead back to its launch."""


class Trace:
    """The commands of a point in the order of CUBE, PE and command; a record is a number."""

    def __init__(self, records, names):
        order = numpy.lexsort((records["command"], records["pe"], records["cube"]))
        records = records[order]
        self.columns = {name: records[name].astype(numpy.int64) for name in records.dtype.names}
        self.names = names  # {"op": [...], "fn": [...], "cause": [...]}
        self.pes = 1 + int(self.columns["pe"].max())
        self.units = self.columns["cube"] * self.pes + self.columns["pe"]
        self.first = {int(unit): int(at) for unit, at in zip(*numpy.unique(self.units, True))}
        self.ends = {}

    def value(self, name, record):
        return int(self.columns[name][record])

    def name(self, what, record):
        return self.names[what][self.value(what, record)]

    def ops(self, *wanted):
        """Which records have one of these operations."""
        codes = [self.names["op"].index(op) for op in wanted]
        return numpy.isin(self.columns["op"], codes)

    def at(self, cube, pe, command):
        record = self.first.get(cube * self.pes + pe, len(self.units)) + command - 1
        if record >= len(self.units) or self.value("command", record) != command:
            raise TraceError(f"no record of command {command} of CUBE {cube} PE {pe}")
        return record

    def cause(self, record):
        return self.at(*(self.value(f"cause_{part}", record) for part in ("cube", "pe", "command")))

    def ended_at(self, record, time):
        """The last command before `record` of its PE that ended at `time`; None: none did."""
        unit = int(self.units[record])
        if unit not in self.ends:
            found = collections.defaultdict(list)
            for i in numpy.flatnonzero(self.units == unit):
                found[self.value("end_ps", i)].append(int(i))
            self.ends[unit] = found
        earlier = [i for i in self.ends[unit].get(time, ()) if i < record]
        return earlier[-1] if earlier else None


class Walk:
    """Goes back in time from the end of a record."""

    def __init__(self, trace, record):
        self.trace, self.record = trace, record
        self.time = trace.value("end_ps", record)
        self.issued = False  # of `record` only the issue counts, not its work
        self.parts = []

    def charge(self, kind, record, start, other=None):
        if start > self.time:
            raise TraceError(f"command {self.trace.value('command', record)} began after its effect")
        if start < self.time:
            self.parts.append(Part(kind, record, other, start, self.time))
        self.time = start

    def before_start(self):
        """From the start of a command to what its engine, message or credit came from."""
        trace, record = self.trace, self.record
        self.charge(OWN, record, trace.value("start_ps", record))
        self.record = trace.cause(record)
        end = trace.value("end_ps", self.record)
        if trace.name("cause", record) != "engine" and end < self.time:
            self.charge(WAY, self.record, end, record)

    def before_issue(self):
        """From the issue of a command to what the CPU waited for. False: it was the first one."""
        trace, record = self.trace, self.record
        issue = trace.value("issue_ps", record)
        self.charge(OWN, record, issue)
        if trace.value("command", record) == 1:
            return False
        ended = self.stall(record, issue)
        self.record, self.issued = (record - 1, True) if ended is None else (ended, False)
        return True

    def stall(self, record, issue):
        """The command whose end let the CPU issue `record`; None: it only issued the one before."""
        trace, cause = self.trace, self.trace.name("cause", record)
        if cause in ("operand", "queue"):
            return trace.cause(record)
        if trace.value("end_ps", record - 1) == issue:
            return record - 1
        return None if cause == "program" else trace.ended_at(record, issue)

    def run(self):
        """The parts from the last to the first."""
        going = True
        while going:
            held = self.trace.name("cause", self.record) in ("engine", "message", "credit")
            if held and not self.issued:
                self.before_start()
            else:
                going = self.before_issue()
        return self.parts
