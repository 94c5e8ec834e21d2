#!/usr/bin/env python3
"""Checks that nobody has to read much at a time: the sizes of files, functions and folders.

- a source file (.h, .cc, .py) has at most 450 lines;
- a function (C++ or Python) has at most 80 lines, from its first line to its last;
- a folder has at most 25 source files, those of its subfolders not counted.

EXCEPTIONS lists by name what may be larger, and why. An exception that is no longer needed is a
failure, too. Runs as the CTest test `sizes`, prints one line per violation and exits with 1.
"""

import argparse
import ast
import collections
import pathlib
import re
import sys

FOLDERS = ("base", "hardware", "graphs", "opmodel", "datasets", "partition", "schedulers", "sim",
           "serving", "study", "report", "cli", "python", "scripts", "tests", "bench", "examples")
SUFFIXES = {".h", ".cc", ".py"}
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 80
MAX_FOLDER_FILES = 25

# "file", "file:function" or "folder/" -> why it may be larger.
EXCEPTIONS = {}

# Comments, literals and preprocessor lines become blanks, so that a brace in them is not counted.
# Newlines stay. A ' between digits separates them (1'000) and begins no character.
BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
# Text in front of a brace that opens no function: a namespace, a type, or a list of values.
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b(?![^;{]*\)\s*(?:const|noexcept)?\s*$)")
NAME = re.compile(r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\w+(?:\s*[*&])?)|~?\w+(?:\s*::\s*~?\w+)*)\s*(?:<[^<>()]*>)?\s*\(")


def blanked(text):
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) or " ", text)


def functions_of(text):
    """(first line, last line, name) of the functions that are defined at namespace or class level."""
    text = blanked(text)
    stack = []  # one entry per open brace: "scope", "inner", or (first line, name) of a function
    begin, line, depth = 0, 1, 0  # begin of the declaration, current line, open parentheses
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "{":
            outer = all(entry == "scope" for entry in stack) and depth == 0
            head = text[begin:position]
            if not outer:
                stack.append("inner")
            elif re.search(r"\bnamespace\b|\bextern\s*$", head) or (
                    SCOPE.search(head) and "(" not in re.sub(r"alignas\([^)]*\)", "", head)):
                stack.append("scope")
            else:
                function = NAME.search(head)
                # `: member_{value}` of a constructor belongs to its head: the body is still to come.
                initialiser = re.search(r"\)\s*(?:noexcept\s*)?:(?!:).*\w\s*$", head, re.DOTALL)
                if function and not initialiser and not re.search(r"=\s*$", head):
                    first = line - head[len(head) - len(head.lstrip()):].count("\n")
                    stack.append((first, re.sub(r"\s", "", function[1])))
                else:
                    stack.append("value")
        elif char == "}" and stack:
            closed = stack.pop()
            if isinstance(closed, tuple):
                yield closed[0], line, closed[1]
            if closed != "value" and closed != "inner":
                begin = position + 1
        elif char == ";" and depth == 0 and all(entry == "scope" for entry in stack):
            begin = position + 1
        elif char == ":" and re.search(r"\b(?:public|private|protected)\s*$", text[begin:position]):
            begin = position + 1


def python_functions_of(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno, node.name


def large_parts(root):
    """(number of files, {name: (place, what is too large)})."""
    count, found = 0, {}
    in_folder = collections.Counter()
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            count += 1
            path = file.relative_to(root).as_posix()
            in_folder[path.rsplit("/", 1)[0] + "/"] += 1
            text = file.read_text(encoding="utf-8", errors="replace")
            lines = text.count("\n")
            if lines > MAX_FILE_LINES:
                found[path] = (f"{path}:1", f"{lines} lines, at most {MAX_FILE_LINES} are allowed; "
                               "divide the file")
            functions = python_functions_of if file.suffix == ".py" else functions_of
            for first, last, name in functions(text):
                if last - first + 1 > MAX_FUNCTION_LINES:
                    found[f"{path}:{name}"] = (
                        f"{path}:{first}", f"{name}() has {last - first + 1} lines, at most "
                        f"{MAX_FUNCTION_LINES} are allowed; divide the function")
    for path, files in sorted(in_folder.items()):
        if files > MAX_FOLDER_FILES:
            found[path] = (path, f"{files} source files, at most {MAX_FOLDER_FILES} are allowed; "
                           "group them into subfolders")
    return count, found


def check_tree(root, exceptions):
    """(number of files, violations)."""
    count, found = large_parts(root)
    lines = [f"{place}: {message}" for name, (place, message) in found.items() if name not in exceptions]
    lines += [f"{name}: is small enough now; remove it from EXCEPTIONS in scripts/check_sizes.py"
              for name in exceptions if name not in found]
    return count, lines


def main():
    parser = argparse.ArgumentParser(description="Check the sizes of files, functions and folders.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root
    count, lines = check_tree(root, EXCEPTIONS)
    for line in lines:
        print(line, file=sys.stderr)
    if count == 0:
        print(f"{root}: no sources found", file=sys.stderr)
        return 1
    print(f"{count} files checked, {len(lines)} too large")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
