#!/usr/bin/env python3
"""Writes a Kineto trace that repeats another one's events, to time `dfsim analyze` on a large file.

usage: repeat_trace.py TRACE.json[.gz] COPIES OUT.json
Copies follow each other in time; ids that pair events (correlation, External id, flows) differ between them.
"""
import argparse
import gzip
import json
import pathlib
import sys

IDS = ("correlation", "External id", "Ev Idx")


def shifted(event, microseconds, ids):
    """The event, later by that time and with other ids."""
    event = dict(event)
    if "ts" in event:
        event["ts"] += microseconds
    if isinstance(event.get("id"), int):
        event["id"] += ids
    args = event.get("args")
    if isinstance(args, dict):
        event["args"] = {key: value + ids if key in IDS and isinstance(value, int) else value
                         for key, value in args.items()}
    return event


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("copies", type=int)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    source, copies, out = arguments.trace, arguments.copies, arguments.out
    try:
        data = source.read_bytes()
        trace = json.loads(gzip.decompress(data) if source.suffix == ".gz" else data)
    except (OSError, ValueError) as problem:
        parser.error(f"{source}: {problem}; TRACE is a Kineto trace, plain or gzip")
    events = trace["traceEvents"]
    timed = [event for event in events if "ts" in event and event.get("ph") != "M"]
    first = min(event["ts"] for event in timed)
    length = max(event["ts"] + event.get("dur", 0) for event in timed) - first + 1
    once = [event for event in events if event.get("ph") == "M"]
    head = json.dumps({key: value for key, value in trace.items() if key != "traceEvents"})[:-1]
    with open(out, "w", encoding="utf-8") as file:
        file.write(head + (", " if len(head) > 1 else "") + '"traceEvents": [')
        file.write(",\n".join(map(json.dumps, once)))
        for copy in range(copies):
            for event in timed:
                file.write(",\n" + json.dumps(shifted(event, copy * length, copy * 1_000_000)))
        file.write("]}")
    print(f"{out}: {len(once) + copies * len(timed)} events, {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
