"""Measurements: one line of JSON each, appended as soon as it is made. And which of them count:

A hypervisor moves virtual cores: two threads may share a last-level cache for a minute and not the next, and nothing
in /proc shows it. Operators of 10 to 60 us then take half as long again or more with several threads, and as long as before
with one. Samples and networks are measured with one thread and with several seconds apart, so the ratio of the two times
tells: of each short operator, less the usual ratio of its type, the median over the measurement and over those within
some seconds of it.
"""

import collections
import datetime
import json
import math
import os
import statistics

RESULTS = "results.jsonl"
MOST_DRIFT = 0.12
MOST_ATTEMPTS = 3
NETWORK_REPEATS = 3  # a machine's state lasts minutes: whole networks are measured again later, and again

SHORT_NS = (8_000, 60_000)  # with one thread
FEWEST_OPS = 3
ENOUGH_RATIOS = 9  # of a type, to know what is usual
SURE_OPS = 10  # a measurement of so many short operators speaks for itself
NEAR_SECONDS = 8
SLOW = 0.15  # ln of how much longer than usual; fast and slow states are near 0 and 0.4


class BadInput(Exception):
    """An error to report to the user without a traceback."""


def read_results(folder):
    """Records in the folder. A last line that was cut off by a stop is left out and removed."""
    path = folder / RESULTS
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            records.append(json.loads(line))
        except ValueError as error:
            if number == len(lines):
                with path.open("r+b") as file:
                    file.truncate(sum(len(l) + 1 for l in lines[:-1]))
                break
            raise BadInput(f"{path}:{number}: found a line that is not JSON ({error}), expected one record a line; "
                           "remove the line to go on without it") from error
    return records


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.records = read_results(folder)
        self.attempts = {}
        self.errors = set()
        for record in self.records:
            self._count(record)

    def _count(self, record):
        tries, done = self.attempts.get(record["task"], (0, False))
        self.attempts[record["task"]] = (tries + 1, done or not record.get("drifted", False))
        if "error" in record:
            self.errors.add(record["task"])

    def add(self, record):
        with (self.folder / RESULTS).open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)
        self._count(record)

    def wanted(self, task):
        tries, done = self.attempts.get(task["id"], (0, False))
        if task["kind"] == "network":
            return tries < NETWORK_REPEATS and not self.failed(task)
        return not done and tries < MOST_ATTEMPTS

    def tries(self, task):
        return self.attempts.get(task["id"], (0, False))[0]

    def failed(self, task):
        """The runtime refused it once: it will again."""
        return task["id"] in self.errors

    def baseline(self, threads):
        """Median reference times of all measurements, or None while they are few."""
        kept = [r["reference"] for r in self.records if "reference" in r and r["threads"] == threads]
        if len(kept) < 5:
            return None
        return {name: sorted(r[name]["us"] for r in kept)[len(kept) // 2] for name in kept[0]}


def has_drifted(reference, baseline):
    """The reference kernels ran at another speed than in most measurements, or changed within this one."""
    if any(item["spread"] > 2 * MOST_DRIFT for item in reference.values()):
        return True
    return baseline is not None and any(
        abs(item["us"] / baseline[name] - 1) > MOST_DRIFT for name, item in reference.items())


def identity(record):
    if record["kind"] == "ops":
        return record.get("family"), record.get("seed"), record["dtype"], record.get("level")
    return record["network"], record["batch"], record.get("shapes"), record.get("level")


def op_identity(row):
    return row["op_type"], row["inputs"], row["attributes"], row["name"]


def ratios_of(records, threads):
    """Per measurement with so many threads: (operator's type, ln of its time over that with one) of short operators."""
    alone = {}
    for record in records:
        if record["threads"] == 1 and "rows" in record:
            alone[identity(record)] = {op_identity(row): row["time_ns"] for row in record["rows"]}
    found = []
    for record in records:
        if record["threads"] != threads or "rows" not in record:
            continue
        one = alone.get(identity(record), {})
        times = [(row["op_type"], row["time_ns"], one.get(op_identity(row), 0)) for row in record["rows"]]
        found.append((record, [(kind, math.log(several / single)) for kind, several, single in times
                               if SHORT_NS[0] < single < SHORT_NS[1]]))
    return found


def seconds(record):
    return datetime.datetime.fromisoformat(record["date"]).timestamp()


def usual_ratio(ratios):
    """Most of the time is fast, so the lower half is: the median of an hour with many slow minutes is neither."""
    return statistics.quantiles(ratios, n=8)[2]


def scores(found):
    """Per measurement: (when, by how much longer than usual or None, number of short operators)."""
    by_kind = collections.defaultdict(list)
    for _, ratios in found:
        for kind, ratio in ratios:
            by_kind[kind].append(ratio)
    usual = {kind: usual_ratio(ratios) for kind, ratios in by_kind.items() if len(ratios) >= ENOUGH_RATIOS}
    result = []
    for record, ratios in found:
        over = [ratio - usual[kind] for kind, ratio in ratios if kind in usual]
        result.append((seconds(record), statistics.median(over) if len(over) >= FEWEST_OPS else None, len(over)))
    return result


def slow_of(found):
    """Identities of the records of the slow state."""
    scored = scores(found)
    slow = set()
    for (record, _), (when, own, ops) in zip(found, scored):
        near = [other for at, other, _ in scored if other is not None and abs(at - when) <= NEAR_SECONDS]
        value = own if own is not None and ops >= SURE_OPS else statistics.median(near) if near else 0
        if value > SLOW:
            slow.add(id(record))
    return slow


def without_slow(campaigns):
    """The campaigns (lists of records) without measurements of the slow state, and how many those are."""
    records = [record for records in campaigns for record in records]
    slow = set()
    for threads in sorted({record["threads"] for record in records} - {1}):
        slow |= slow_of(ratios_of(records, threads))
    return [[record for record in records if id(record) not in slow] for records in campaigns], len(slow)
