#!/usr/bin/env python3
"""Checks that no files include each other in a circle.

Two graphs are searched: headers by their includes, and modules by those of their files. A module is
a path without its suffix, so `ops/work.h` and `ops/work.cc` are one: when `work.cc` includes
`registry.h` and `registry.cc` includes `work.h`, neither can be read, tested or moved without the
other, although every header compiles. A header's own folder and others count alike.

EXCEPTIONS lists circles that are known, by their first module; one that is gone is a failure, too.
Runs as the CTest test `cycles`, prints one shortest circle for each group of files that
include each other, and exits with 1 when there is one.
"""

import argparse
import collections
import pathlib
import re
import sys

FOLDERS = ("base", "hardware", "graphs", "opmodel", "datasets", "partition", "schedulers", "sim",
           "serving", "study", "report", "cli", "python", "tests", "bench", "examples")
SUFFIXES = {".h", ".cc"}
# The first name of a circle that may stay -> why.
EXCEPTIONS = {}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.MULTILINE)


def includes_of(root):
    """path -> the project's headers that it includes, sorted."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                path = file.relative_to(root).as_posix()
                found[path] = sorted({h for h in INCLUDE.findall(text) if (root / h).is_file()})
    return found


def header_graph(includes):
    return {path: [h for h in headers if h.endswith(".h")]
            for path, headers in includes.items() if path.endswith(".h")}


def module_of(path):
    return path.rsplit(".", 1)[0]


def module_graph(includes):
    graph = collections.defaultdict(set)
    for path, headers in includes.items():
        graph[module_of(path)] |= {module_of(header) for header in headers} - {module_of(path)}
    return {module: sorted(targets) for module, targets in graph.items()}


def components(graph):
    """Tarjan's strongly connected components (1972, doi:10.1137/0201010), with a stack of its own."""
    index, low, on_stack, stack, result = {}, {}, set(), [], []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    result.append(component)
    return result


def shortest_circle(graph, component):
    """A circle through the first name of `component`, found breadth first."""
    start = min(component)
    before, queue = {start: None}, collections.deque([start])
    while queue:
        node = queue.popleft()
        for target in graph[node]:
            if target == start:
                circle = [start]
                while node is not None:
                    circle.append(node)
                    node = before[node]
                return circle[::-1]
            if target in component and target not in before:
                before[target] = node
                queue.append(target)
    raise AssertionError(f"{start} is in no circle")


def circles(graph):
    """One circle per component that has one; a file that includes itself is one, too."""
    return [shortest_circle(graph, component) for component in components(graph)
            if len(component) > 1 or min(component) in graph[min(component)]]


def check_tree(root, exceptions):
    """(number of files, one line per circle)."""
    includes = includes_of(root)
    found = [(kind, circle) for kind, graph in (("header", header_graph(includes)),
                                                ("module", module_graph(includes)))
             for circle in circles(graph)]
    lines = [f"{kind}s include each other in a circle: {' -> '.join(circle)}; move what both need "
             f"into a {kind} below them" for kind, circle in found if circle[0] not in exceptions]
    known = {circle[0] for _, circle in found}
    lines += [f"{name}: is in no circle any more; remove it from EXCEPTIONS in scripts/check_cycles.py"
              for name in exceptions if name not in known]
    return len(includes), lines


def main():
    parser = argparse.ArgumentParser(description="Check that no files include each other in a circle.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root
    count, lines = check_tree(root, EXCEPTIONS)
    for line in lines:
        print(line, file=sys.stderr)
    if count == 0:
        print(f"{root}: no sources found", file=sys.stderr)
        return 1
    print(f"{count} files checked, {len(lines)} circles")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
