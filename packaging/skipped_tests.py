#!/usr/bin/env python3
"""Lists what a run of CTest did not test, with the reason and the command that enables it.

usage: skipped_tests.py BUILD-FOLDER

Two kinds of tests do not run: whole ones, which exit with their skip code and print a line that
begins with "skipped:", and cases inside of a program, which warn with such a line and pass. Both are
read from the log that CTest leaves. Prints nothing when everything ran.
"""

import collections
import pathlib
import re
import sys

# Reason (regular expression) -> the one command that enables such tests.
ENABLED_BY = [
    (r"DFSIM_SHARED", "DFSIM_SHARED=FOLDER ./test"),
    (r"'torch'", "build/test-venv/bin/pip install torch && ./test"),
    (r"", "./test --setup"),
]
TEST = re.compile(r"^\d+/\d+ Test(?:ing)?: (\S+)\n(.*?)(?=^\d+/\d+ Test(?:ing)?: |\Z)", re.M | re.S)
REASON = re.compile(r"^\s*skipped: (.+)$", re.M)


def skipped(log):
    """(test, reason) -> how often the log of CTest says so."""
    found = collections.Counter()
    for match in TEST.finditer(log):
        for reason in REASON.findall(match.group(2)):
            found[match.group(1), reason.strip()] += 1
    return found


def command_for(reason):
    return next(command for pattern, command in ENABLED_BY if re.search(pattern, reason))


def report(found):
    lines = []
    by_command = collections.defaultdict(list)
    for (test, reason), times in sorted(found.items()):
        cases = f" ({times} cases)" if times > 1 else ""
        by_command[command_for(reason)].append(f"  {test}{cases}: {reason}")
    for command, tests in by_command.items():
        lines += [f"Not tested; to enable: {command}"] + tests
    return lines


def main():
    log = pathlib.Path(sys.argv[1]) / "Testing" / "Temporary" / "LastTest.log"
    if not log.is_file():
        print(f"{log}: no log of CTest", file=sys.stderr)
        return 2
    for line in report(skipped(log.read_text(encoding="utf-8", errors="replace"))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
