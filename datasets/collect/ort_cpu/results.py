"""Measurements: one line of JSON each, appended as soon as it is made."""

import json
import os

RESULTS = "results.jsonl"
MOST_DRIFT = 0.12
MOST_ATTEMPTS = 3
NETWORK_REPEATS = 3  # a machine's state lasts minutes: whole networks are measured again later, and again


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
