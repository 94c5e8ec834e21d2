#!/usr/bin/env python3
"""Tests scripts/check_cycles.py: it finds circles of headers and of modules, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_cycles  # noqa: E402


def including(*headers):
    return "#pragma once\n" + "".join(f'#include "{header}"\n' for header in headers)


def found(files, exceptions=()):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_cycles.check_tree(pathlib.Path(folder), exceptions)[1]


CHAIN = {
    "base/a.h": "",
    "base/a.cc": including("base/a.h"),
    "sim/b.h": including("base/a.h"),
    "sim/b.cc": including("sim/b.h", "base/a.h"),
    "cli/c.cc": including("sim/b.h", "base/a.h"),
}


class CheckCycles(unittest.TestCase):
    def test_a_tree_without_circles_passes(self):
        self.assertEqual([], found(CHAIN))

    def test_headers_that_include_each_other_are_found(self):
        lines = found({"base/a.h": including("base/b.h"), "base/b.h": including("sim/c.h"),
                       "sim/c.h": including("base/a.h")})
        self.assertEqual(2, len(lines), lines)  # as headers and as modules
        self.assertIn("base/a.h -> base/b.h -> sim/c.h -> base/a.h", lines[0])

    def test_a_circle_through_a_source_file_is_found(self):
        lines = found(CHAIN | {"base/a.cc": including("base/a.h", "sim/b.h")})
        self.assertEqual(["module"], [line.split("s include")[0] for line in lines])
        self.assertIn("base/a -> sim/b -> base/a", lines[0])

    def test_a_header_that_includes_itself_is_found(self):
        self.assertEqual(1, len(found({"base/a.h": including("base/a.h")})))

    def test_two_circles_are_two_lines_each(self):
        circle = {"base/a.h": including("base/b.h"), "base/b.h": including("base/a.h")}
        other = {"sim/a.h": including("sim/b.h"), "sim/b.h": including("sim/a.h")}
        self.assertEqual(4, len(found(circle | other)))

    def test_an_exception_passes_as_long_as_it_is_needed(self):
        files = CHAIN | {"base/a.cc": including("base/a.h", "sim/b.h")}
        self.assertEqual([], found(files, {"base/a": "reason"}))
        self.assertEqual(1, len(found(CHAIN, {"base/a": "reason"})))

    def test_includes_of_other_projects_do_not_count(self):
        self.assertEqual([], found({"base/a.h": including("elsewhere/b.h") + "#include <vector>\n"}))


if __name__ == "__main__":
    unittest.main()
