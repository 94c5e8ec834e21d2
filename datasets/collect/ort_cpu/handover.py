#!/usr/bin/env python3
"""Leaves out measurements with two threads that were taken while the cores handed work over slowly.

usage: handover.py CAMPAIGN... -o FOLDER

A hypervisor moves virtual cores: two threads may share a last-level cache for a minute and not the next, and nothing
in /proc shows it. Operators of 10 to 60 us then take half as long again or more with two threads, and as long as before
with one. Samples and networks are measured with one thread and with two seconds apart, so the ratio of the two times
tells: of each short operator, less the usual ratio of its type, the median over the measurement and over those within
some seconds of it. Writes the campaigns' records without the slow ones, one folder per campaign, for collect.py export.
"""

import argparse
import collections
import datetime
import json
import math
import pathlib
import statistics

from results import RESULTS, read_results

SHORT_NS = (8_000, 60_000)  # with one thread
FEWEST_OPS = 3
SURE_OPS = 10  # a measurement of so many short operators speaks for itself
NEAR_SECONDS = 8
SLOW = 0.15  # ln of how much longer than usual; fast and slow states lie at 0 and 0.4


def identity(record):
    if record["kind"] == "ops":
        return record.get("family"), record.get("seed"), record["dtype"], record.get("level")
    return record["network"], record["batch"], record["shapes"], record.get("level")


def op_identity(row):
    return row["op_type"], row["inputs"], row["attributes"], row["name"]


def ratios_of(records):
    """For each measurement with two threads: (operator's type, ln of two threads' time over one's) of short operators."""
    alone = {}
    for record in records:
        if record["threads"] == 1 and "rows" in record:
            alone[identity(record)] = {op_identity(row): row["time_ns"] for row in record["rows"]}
    found = []
    for record in records:
        if record["threads"] != 2 or "rows" not in record:
            continue
        one = alone.get(identity(record), {})
        times = [(row["op_type"], row["time_ns"], one.get(op_identity(row), 0)) for row in record["rows"]]
        found.append((record, [(kind, math.log(two / single)) for kind, two, single in times
                               if SHORT_NS[0] < single < SHORT_NS[1]]))
    return found


def seconds(record):
    return datetime.datetime.fromisoformat(record["date"]).timestamp()


def scores(found):
    """Per measurement: (when, how much longer than usual, number of short operators)."""
    usual = collections.defaultdict(list)
    for _, ratios in found:
        for kind, ratio in ratios:
            usual[kind].append(ratio)
    # Most of the time is fast, so the lower quartile is: the median of an hour with many slow minutes is neither.
    usual = {kind: statistics.quantiles(values, n=8)[2] if len(values) > 8 else min(values)
             for kind, values in usual.items()}
    result = []
    for record, ratios in found:
        own = statistics.median(ratio - usual[kind] for kind, ratio in ratios) if len(ratios) >= FEWEST_OPS else None
        result.append((seconds(record), own, len(ratios)))
    return result


def slow_records(records):
    """The positions, among the measurements with two threads, of those of the slow state."""
    found = ratios_of(records)
    scored = scores(found)
    slow = set()
    for index, (when, own, ops) in enumerate(scored):
        near = [other for at, other, _ in scored if other is not None and abs(at - when) <= NEAR_SECONDS]
        value = own if own is not None and ops >= SURE_OPS else statistics.median(near) if near else 0
        if value > SLOW:
            slow.add(index)
    return {id(found[index][0]) for index in slow}, len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    campaigns = {folder: read_results(folder) for folder in options.campaigns}
    slow, measured = slow_records([record for records in campaigns.values() for record in records])
    for folder, records in campaigns.items():
        target = options.output / folder.name
        target.mkdir(parents=True, exist_ok=True)
        kept = [record for record in records if id(record) not in slow]
        (target / RESULTS).write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
        print(f"{target}: {len(records) - len(kept)} of {sum(r['threads'] == 2 for r in records)} measurements with two "
              "threads left out")


if __name__ == "__main__":
    main()
