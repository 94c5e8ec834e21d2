#!/usr/bin/env python3
"""Checks what people read: links, style and spelling of the documentation.

usage: check_docs.py links                       links and anchors of *.md lead somewhere
       check_docs.py style [--sources] [TREE...] no phrase of scripts/docs_style.py is used
       check_docs.py spelling                    aspell knows every word, or scripts/docs_words.txt does
       check_docs.py readme --program DFSIM      README.md is short and lists every command

Every finding is one line, FILE:LINE: what was found; what to write. Exit 0: nothing found, 1:
something found, 2: bad usage, 77: a tool is missing (CTest reports the test as skipped).
TREE limits a check to files below it. --sources also reads comments and strings of the sources;
--count prints how many findings each folder has instead of the findings.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

import docs_style

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = 77
MAX_README_LINES = 250
SKIPPED_FOLDERS = {"build", ".git", "node_modules", "venv", "__pycache__", "third_party"}
SOURCE_SUFFIXES = {".cc", ".h", ".py", ".sh", ".cmake"}
# The list of forbidden phrases contains them, and so does the text that explains the rules.
STYLE_EXEMPT = {"scripts/docs_style.py", "tests/scripts/check_docs_test.py"}
# Written from the help texts: their style is checked where they are, in the sources.
GENERATED = {"docs/reference/options.md"}
FENCE = re.compile(r"^\s*(```|~~~)")
EXAMPLE = re.compile(r"^> Before: ")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
INLINE_CODE = re.compile(r"`[^`]*`")


def files_below(root, suffixes, trees):
    wanted = [root / tree for tree in trees] or [root]
    found = []
    for tree in wanted:
        candidates = [tree] if tree.is_file() else sorted(tree.rglob("*"))
        for path in candidates:
            relative = path.relative_to(root)
            if path.suffix in suffixes and path.is_file() and not SKIPPED_FOLDERS & set(relative.parts):
                found.append(path)
    return found


def prose_lines(text):
    """(line number, line) of Markdown outside of fenced and indented blocks; code becomes empty."""
    fenced = False
    previous_blank = True
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
            yield number, ""
            continue
        code = fenced or (previous_blank and line.startswith("    "))
        if not code:
            previous_blank = not line.strip()
        elif line.strip() and not line.startswith("    "):
            previous_blank = False
        yield number, "" if code else line


# ---- links -------------------------------------------------------------------------------------


def anchor_of(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors_in(text):
    seen = collections.Counter()
    anchors = set()
    for _, line in prose_lines(text):
        match = re.match(r"#{1,6} +(.*?)#*$", line)
        if match:
            name = anchor_of(match.group(1))
            anchors.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
            seen[name] += 1
        anchors.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return anchors


def broken_links(root, trees=()):
    problems = []
    for page in files_below(root, {".md"}, trees):
        text = page.read_text(encoding="utf-8")
        place = page.relative_to(root)
        for number, line in prose_lines(text):
            for target in LINK.findall(INLINE_CODE.sub(lambda m: "x" * len(m.group(0)), line)):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                path, _, anchor = target.partition("#")
                other = (page.parent / path).resolve() if path else page
                if not other.is_relative_to(root) or not other.exists():
                    problems.append(f"{place}:{number}: link to {target}: there is no such file")
                elif anchor and other.suffix == ".md" and anchor not in anchors_in(
                        other.read_text(encoding="utf-8")):
                    problems.append(f"{place}:{number}: link to {target}: no heading has that anchor")
    return problems + dead_mentions(root, trees) + unstartable_scripts(root, trees)


def unstartable_scripts(root, trees):
    """Scripts that a page calls by their own name (`folder/x.py`, not `python3 folder/x.py`) without the right to run."""
    called = re.compile(r"(?:^|[;&|(`])\s*(?:\d+\s+)?((?:[\w.-]+/)+[\w-]+\.(?:py|sh))(?=[\s`;)]|$)")
    problems = []
    for page in files_below(root, {".md"}, trees):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for name in called.findall(line):
                script = next((s for s in (root / name, page.parent / name) if s.is_file()), None)
                starts = script and script.read_bytes()[:2] == b"#!"
                if starts and not os.access(script, os.X_OK):
                    problems.append(f"{page.relative_to(root)}:{number}: {name} cannot run: chmod +x {name}")
    return problems


def dead_mentions(root, trees):
    """Sources that name a page of docs/, and pages that name a source in `code`, which do not exist.

    Names in capitals stand for something (`tests/FOLDER/x.cc`), and so does `*`.
    """
    folders = "|".join(re.escape(p.name) for p in sorted(root.iterdir()) if p.is_dir() and p.name != "build")
    in_pages = re.compile(r"`((?:" + (folders or "-") + r")/[\w./-]*\.[a-z]{1,5})`")
    in_sources = re.compile(r"(?<![\w/.])(docs/[\w/-]+\.md)")
    problems = []
    for path in files_below(root, SOURCE_SUFFIXES | {".md", ".yaml", ".txt"}, trees):
        if "malformed" in path.parts or path.relative_to(root).as_posix() in STYLE_EXEMPT:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        pattern = in_pages if path.suffix == ".md" else in_sources
        for number, line in enumerate(text.splitlines(), 1):
            for name in pattern.findall(line):
                placeholder = re.search(r"(?:^|[/_.])[A-Z]{3,}(?:[/_.]|$)", name.replace("README", ""))
                if not placeholder and not (root / name).exists():
                    problems.append(f"{path.relative_to(root)}:{number}: names {name}: there is no such file")
    return problems


# ---- style -------------------------------------------------------------------------------------


def paragraphs(numbered_lines):
    """Lists of (line number, text): a paragraph, a list item, a heading or a table cell each."""
    block = []
    for number, line in numbered_lines:
        stripped = line.strip()
        starts = re.match(r"\s*([-*+]|\d+\.)\s+|\s*#{1,6} |\s*>", line)
        if not stripped or starts or stripped.startswith("|"):
            if block:
                yield block
            block = []
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                if cell.strip(" -:"):
                    yield [(number, cell.strip())]
        elif stripped and not EXAMPLE.match(stripped):
            if starts:
                stripped = re.sub(r"^([-*+]|\d+\.|#{1,6}|>+)\s*", "", stripped)
            block.append((number, stripped))
    if block:
        yield block


def sentences(block):
    """(line number of its start, sentence) of one paragraph; code is replaced by `_`."""
    text, starts = "", []
    for number, line in block:
        starts.append((len(text), number))
        text += line + " "
    text = INLINE_CODE.sub(lambda m: "`" + "_" * (len(m.group(0)) - 2) + "`", text)
    text = re.sub(r"\]\([^)]*\)", lambda m: "]" + " " * (len(m.group(0)) - 1), text)
    position = 0
    for match in re.finditer(r"[.?!:](?=[*_)\"']*\s)|$", text):
        sentence = text[position:match.end()]
        lead = len(sentence) - len(sentence.lstrip(" *_(\"'"))
        if sentence.strip():
            begin = position + lead
            yield begin, sentence[lead:], starts
        position = match.end()


def line_at(starts, offset):
    return max((start, number) for start, number in starts if start <= offset)[1]


def style_of_lines(place, numbered_lines):
    problems = []
    for block in paragraphs(numbered_lines):
        for begin, sentence, starts in sentences(block):
            for offset, found, advice in docs_style.findings(sentence):
                number = line_at(starts, begin + offset)
                problems.append(f"{place}:{number}: '{found}': write {advice}")
    return problems


def source_prose(path, text):
    """(line number, text) of comments and string literals that read like prose."""
    hash_comments = path.suffix in {".py", ".sh", ".cmake"}
    comment = re.compile(r"(?:^|\s)#\s?(.*)$" if hash_comments else r"(?:^|\s)//+\s?(.*)$")
    for number, line in enumerate(text.splitlines(), 1):
        match = comment.search(line)
        code = line[:match.start()] if match else line
        literals = [s for s in re.findall(r'"((?:[^"\\]|\\.)*)"', code) if " " in s]
        for literal in literals:
            yield number, literal
            yield number, ""
        yield number, match.group(1) if match else ""


def style_of_source(place, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    problems = style_of_lines(place, source_prose(path, text))
    for number, line in enumerate(text.splitlines(), 1):
        name = docs_style.TEST_NAME.match(line)
        if name and not docs_style.TEST_NAME_FORM.match(name.group(1)):
            problems.append(f"{place}:{number}: test '{name.group(1)}': write 'Subject: behaviour'")
    return problems


def bad_style(root, trees=(), sources=False):
    problems = []
    for page in files_below(root, {".md"}, trees):
        place = page.relative_to(root).as_posix()
        if place in GENERATED and not sources:
            continue
        problems += style_of_lines(place, prose_lines(page.read_text(encoding="utf-8")))
    if sources:
        for path in files_below(root, SOURCE_SUFFIXES, trees):
            place = path.relative_to(root).as_posix()
            if place not in STYLE_EXEMPT:
                problems += style_of_source(place, path)
    return problems


# ---- spelling ----------------------------------------------------------------------------------


def words_of(text):
    """(line number, word) of Markdown prose: no code, no links, no names with digits or capitals inside."""
    for number, line in prose_lines(text):
        line = INLINE_CODE.sub(" ", line)
        line = re.sub(r"\]\([^)]*\)|https?://\S+|<[^>]*>|\b[\w.-]+\.(?:md|h|cc|py|yaml|onnx|csv|gz)\b",
                      " ", line)
        for word in re.findall(r"(?<![\w/.-])[A-Za-z]+(?:'[a-z]+)?(?![\w/])", line):
            if len(word) > 2 and not re.search(r"[a-z][A-Z]|[A-Z]{2}", word):
                yield number, word


def misspelled(root, trees=()):
    """Problems, or None where aspell or its English dictionary is missing."""
    if not shutil.which("aspell"):
        return None
    known = {w.lower() for w in (root / "scripts/docs_words.txt").read_text(encoding="utf-8").split()}
    places = collections.defaultdict(list)
    for page in files_below(root, {".md"}, trees):
        if page.relative_to(root).as_posix() in GENERATED:
            continue
        for number, word in words_of(page.read_text(encoding="utf-8")):
            if word.lower() not in known and word.removesuffix("'s").lower() not in known:
                places[word].append(f"{page.relative_to(root)}:{number}")
    result = subprocess.run(["aspell", "list", "--lang=en_GB", "--encoding=utf-8"],
                            input="\n".join(places), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return None
    unknown = sorted(set(result.stdout.split()))
    return [f"{places[word][0]}: unknown word '{word}': correct it, or add it to scripts/docs_words.txt"
            for word in unknown if word in places]


# ---- README ------------------------------------------------------------------------------------


def commands_in_help(text):
    """Names of the commands in what `dfsim --help` prints."""
    names, inside = [], False
    for line in text.splitlines():
        if re.match(r"(sub)?commands:", line, re.IGNORECASE):
            inside = True
        elif inside and re.match(r"\S", line):
            inside = False
        elif inside and re.match(r"  [a-z]", line):
            names.append(line.split()[0])
    return names


def readme_problems(readme, help_text):
    problems = []
    lines = readme.splitlines()
    if len(lines) >= MAX_README_LINES:
        problems.append(f"README.md:{len(lines)}: {len(lines)} lines; keep it under {MAX_README_LINES}")
    commands = commands_in_help(help_text)
    if not commands:
        problems.append("README.md:1: `dfsim --help` lists no command; adapt commands_in_help()")
    rows = "\n".join(line for line in lines if line.startswith("|"))
    for command in commands:
        if f"`{command}`" not in rows:
            problems.append(f"README.md:1: its table of commands lacks `{command}`; add a row")
    return problems


def report(problems, count):
    if count:
        folders = collections.Counter(problem.split(":")[0].split("/")[0] for problem in problems)
        for folder, number in sorted(folders.items()):
            print(f"{folder}: {number}")
    else:
        for problem in problems:
            print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description="Checks links, style and spelling of the documentation.")
    parser.add_argument("check", choices=["links", "style", "spelling", "readme"])
    parser.add_argument("trees", nargs="*", help="files or folders; default: the whole project")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--sources", action="store_true", help="style: comments and strings as well")
    parser.add_argument("--count", action="store_true", help="numbers by folder instead of findings")
    parser.add_argument("--program", help="readme: the dfsim whose commands must be listed")
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    if options.check == "links":
        problems = broken_links(root, options.trees)
    elif options.check == "style":
        problems = bad_style(root, options.trees, options.sources)
    elif options.check == "spelling":
        problems = misspelled(root, options.trees)
        if problems is None:
            print("skipped: aspell with an English dictionary is missing; "
                  "apt-get install aspell aspell-en")
            return SKIPPED
    else:
        if not options.program:
            parser.error("readme needs --program")
        shown = subprocess.run([options.program, "--help"], capture_output=True, text=True, check=True)
        problems = readme_problems((root / "README.md").read_text(encoding="utf-8"), shown.stdout)
    return report(problems, options.count)


if __name__ == "__main__":
    sys.exit(main())
