#!/usr/bin/env python3
"""Runs golden cases of the command line: what dfsim prints, byte by byte, and its exit code.

A case is a folder below tests/golden/cases (at any depth) with these files:
  command    arguments of dfsim, quoted as for a shell; may span lines; {tmp} is an empty folder,
             {scratch} is another one, whose files are not compared
  before     commands of dfsim that run first, one a line; each must succeed
  masks      regular expressions, one a line: what they match reads {masked} in stdout and stderr
  exit_code  the expected exit code; absent means 0
  stdout, stderr   expected output; absent means none
  files/     files that the command is expected to leave in {tmp}; absent means none

dfsim runs in the root of the sources, so that paths in its output are relative to it. A page of
`--html` shows {report/html/FILE} where it contains that file of the sources. An output
that names the folder of the sources or of the build fails: it would differ on another machine.

usage: run_golden.py DFSIM [CASE...]                check all cases or some
       run_golden.py --regenerate DFSIM [CASE...]   write the expected files anew: read the diff!
       run_golden.py --list                         names of the cases
"""

import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "golden" / "cases"
TIMEOUT_S = 120
MAX_DIFF_LINES = 60
PAGE_FILES = ("report/html/style.css", "report/html/echarts.min.js", "report/html/app.js")


def case_names():
    return sorted(p.parent.relative_to(CASES).as_posix() for p in CASES.rglob("command"))


def clean_environment():
    """The caller's environment without what could change an output."""
    dropped = ("DFSIM_", "LC_", "LANG", "CLICOLOR", "COLUMNS", "LINES")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return kept | {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TZ": "UTC"}


def lines_of(case, name):
    """The lines of an optional file of a case, without comments."""
    path = CASES / case / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def dfsim(program, line, folders):
    """Runs dfsim with the arguments in `line`, in which {name} is a folder of `folders`."""
    arguments = shlex.split(line, comments=True)
    for name, folder in folders.items():
        arguments = [a.replace("{" + name + "}", folder) for a in arguments]
    return subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def mark(name):
    return b"{%s}" % name.encode()


def shortened(page):
    """An HTML page without the files that every page contains."""
    for name in PAGE_FILES:
        file = ROOT / name
        if file.exists():
            text = file.read_bytes()
            # As html_page.cc writes what could end a script.
            in_script = text.replace(b"</", b"<\\/").replace(b"<!", b"<\\u0021")
            page = page.replace(text, mark(name)).replace(in_script, mark(name))
    return page


def outputs_of(program, case):
    """Runs a case; {file name in its folder: expected bytes}, empty outputs left out."""
    command = (CASES / case / "command").read_text(encoding="utf-8")
    # Not in $TMPDIR: lines are wrapped, and where depends on the length of the paths in them.
    with tempfile.TemporaryDirectory(prefix="dfsim_golden_", dir="/tmp") as base:
        folders = {name: f"{base}/{name}" for name in ("tmp", "scratch")}
        for folder in folders.values():
            os.mkdir(folder)
        for line in lines_of(case, "before"):
            first = dfsim(program, line, folders)
            if first.returncode != 0:
                raise RuntimeError(f"{case}: '{line}' failed: {first.stderr.decode()}")
        result = dfsim(program, command, folders)
        outputs = {"stdout": result.stdout, "stderr": result.stderr}
        for file in pathlib.Path(folders["tmp"]).rglob("*"):
            if file.is_file():
                name = "files/" + file.relative_to(folders["tmp"]).as_posix()
                outputs[name] = file.read_bytes()
        for name, folder in folders.items():
            outputs = {k: v.replace(folder.encode(), mark(name)) for k, v in outputs.items()}
    outputs = {k: shortened(v) if v.startswith(b"<!DOCTYPE html>") else v
               for k, v in outputs.items()}
    for mask in lines_of(case, "masks"):
        for name in ("stdout", "stderr"):
            outputs[name] = re.sub(mask.encode(), b"{masked}", outputs[name], flags=re.MULTILINE)
    if result.returncode != 0:
        outputs["exit_code"] = b"%d\n" % result.returncode
    return {name: data for name, data in outputs.items() if data or name.startswith("files/")}


def expected_of(case):
    folder = CASES / case
    files = [p for p in folder.rglob("*") if p.is_file()]
    names = {p.relative_to(folder).as_posix(): p for p in files}
    # A folder inside a case's folder may be a case of its own.
    known = ("stdout", "stderr", "exit_code")
    return {n: p.read_bytes() for n, p in names.items() if n in known or n.startswith("files/")}


def machine_paths(program, outputs):
    """One line per output that holds a path of this machine."""
    build = str(pathlib.Path(program).resolve().parent)
    for name, data in outputs.items():
        for path in (build, str(ROOT)):
            if path.encode() in data:
                yield f"{name} names a folder of this machine: {path}"
                break


def differences(expected, actual):
    for name in sorted(expected.keys() | actual.keys()):
        want = expected.get(name, b"")
        have = actual.get(name, b"")
        if name not in actual and name.startswith("files/"):
            yield f"{name} was not written"
        elif name not in expected and name.startswith("files/"):
            yield f"{name} was written and is not expected"
        elif want != have:
            lines = difflib.unified_diff(
                want.decode(errors="backslashreplace").splitlines(),
                have.decode(errors="backslashreplace").splitlines(),
                f"expected {name}",
                f"actual {name}",
                lineterm="",
            )
            lines = list(lines) or [f"{name} differs in its line ends only"]
            yield "\n".join(lines[:MAX_DIFF_LINES])
            if len(lines) > MAX_DIFF_LINES:
                yield f"({len(lines) - MAX_DIFF_LINES} more lines differ)"


def check(program, case):
    """The problems of a case as text lines; none when it passes."""
    actual = outputs_of(program, case)
    problems = list(machine_paths(program, actual))
    return problems + list(differences(expected_of(case), actual))


def regenerate(program, case):
    """Writes the expected files of a case; returns problems that writing cannot solve."""
    actual = outputs_of(program, case)
    problems = list(machine_paths(program, actual))
    if problems:
        return problems
    expected = expected_of(case)
    for name in expected.keys() - actual.keys():
        (CASES / case / name).unlink()
    for name, data in actual.items():
        path = CASES / case / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if expected != actual:
        print(f"{case}: written")
    return []


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("program", nargs="?", metavar="DFSIM")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    names = case_names()
    if options.list:
        print("\n".join(names))
        return 0
    if options.program is None:
        parser.error("which dfsim? Give the path of the program")
    unknown = sorted(set(options.cases) - set(names))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; valid: {', '.join(names)}")
    action = regenerate if options.regenerate else check
    program = str(pathlib.Path(options.program).resolve())
    chosen = options.cases or names
    failed = 0
    for case in chosen:
        problems = action(program, case)
        failed += bool(problems)
        for problem in problems:
            print(f"{case}: {problem}", file=sys.stderr)
    print(f"{len(chosen)} cases, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
