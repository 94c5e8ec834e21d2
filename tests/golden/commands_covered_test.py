#!/usr/bin/env python3
"""Counts that golden cases cover every command that `dfsim --help` lists, and `dfsim help`.

Every command needs a case of each kind that applies to it:
  success     it ends with 0 and does what it is for
  json        it ends with 0 and prints JSON, where it has --json
  bad usage   it ends with 2 and points at its --help
  bad input   it ends with 2 for what it was given to read
  failure     it ends with 1: the work failed, where it writes files (-o)

usage: commands_covered_test.py DFSIM
"""

import re
import shlex
import subprocess
import sys

from run_golden import CASES, ROOT, case_names, clean_environment

# Why a kind is not there. An exception that a case contradicts fails, too.
EXCEPTIONS = {
    ("version", "bad input"): "version reads nothing",
}


def printed(program, *arguments):
    return subprocess.run([program, *arguments], cwd=ROOT, env=clean_environment(), check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def commands_of(program):
    listed = printed(program, "--help").split("Subcommands:\n")[1]
    return re.findall(r"^  ([a-z]+) ", listed, flags=re.MULTILINE) + ["help"]


def options_of(program, command):
    """The names of a command's options, and of those of its own commands."""
    text = printed(program, command, "--help")
    names = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, flags=re.MULTILINE))
    if "Subcommands:\n" in text:
        for inner in re.findall(r"^  ([a-z]+) ", text.split("Subcommands:\n")[1], re.MULTILINE):
            more = printed(program, command, inner, "--help")
            names |= set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", more, flags=re.MULTILINE))
    return names


def kinds_needed(options):
    needed = {"success", "bad usage", "bad input"}
    needed |= {"json"} if "--json" in options else set()
    return needed | ({"failure"} if "--output" in options else set())


def read(case, name):
    path = CASES / case / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def kinds_of(case):
    """(command, kinds) of a case; the command is None for cases of the program itself."""
    words = shlex.split(read(case, "command"), comments=True)
    while words and words[0].startswith("-"):
        words = words[2 if words[0] == "--log-level" else 1:]
    if not words or "--help" in words:
        return None, set()
    code = int(read(case, "exit_code") or 0)
    if code == 1:
        return words[0], {"failure"}
    if code == 2:
        usage = "for its arguments" in read(case, "stderr")
        return words[0], {"bad usage" if usage else "bad input"}
    return words[0], {"success", "json"} if "--json" in words else {"success"}


def problems_of(commands, needed, covered, exceptions):
    """One line for each kind of case that is missing and for each exception without need."""
    for command in commands:
        for kind in sorted(needed[command]):
            found = kind in covered.get(command, set())
            reason = exceptions.get((command, kind))
            if not found and reason is None:
                yield f"{command}: found no golden case of kind '{kind}'; add one"
            elif found and reason is not None:
                yield f"{command}: there is a case of kind '{kind}'; remove its exception"
    for command, kind in exceptions:
        if command not in commands or kind not in needed[command]:
            yield f"{command}: no case of kind '{kind}' is needed; remove its exception"


def selftest():
    """A missing kind, a needless exception and an unknown command are each reported."""
    needed = {"a": {"success", "json"}}
    assert not list(problems_of(["a"], needed, {"a": {"success", "json"}}, {}))
    assert not list(problems_of(["a"], needed, {"a": {"success"}}, {("a", "json"): "why"}))
    assert "'json'; add" in "".join(problems_of(["a"], needed, {"a": {"success"}}, {}))
    full = {"a": {"success", "json"}}
    assert "remove" in "".join(problems_of(["a"], needed, full, {("a", "json"): "why"}))
    assert "remove" in "".join(problems_of(["a"], needed, full, {("b", "json"): "why"}))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    selftest()
    program = sys.argv[1]
    commands = commands_of(program)
    needed = {command: kinds_needed(options_of(program, command)) for command in commands}
    covered = {}
    for case in case_names():
        command, kinds = kinds_of(case)
        if command is not None:
            covered.setdefault(command, set()).update(kinds)
    problems = list(problems_of(commands, needed, covered, EXCEPTIONS))
    print("\n".join(problems), end="\n" if problems else "")
    print(f"{len(commands)} commands, {sum(map(len, needed.values()))} kinds of cases, "
          f"{len(problems)} missing or needless; {len(EXCEPTIONS)} exceptions")
    return 1 if problems or len(commands) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
