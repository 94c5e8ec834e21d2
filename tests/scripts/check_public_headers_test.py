#!/usr/bin/env python3
"""Tests scripts/check_public_headers.py: a closed list passes, each planted violation is found."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_public_headers  # noqa: E402

CLEAN = {
    "cmake/public_headers.cmake": "set(DFSIM_PUBLIC_HEADERS\n  base/a.h  # units\n  sim/b.h\n)\n",
    "base/a.h": "// A: what it is for.\n#include <string>\n",
    "sim/b.h": '// B: what it is for.\n#include "base/a.h"\n',
    "sim/c.h": "// C is not public.\n",
    "examples/one/main.cc": '#include "sim/b.h"\n#include "own.h"\n',
    "examples/one/own.h": "",
}
# The planted error -> the beginning of the one line that must report it.
PLANTED = [
    ({"sim/b.h": '// B\n#include "sim/c.h"\n'}, 'sim/b.h:2: "sim/c.h" is not public'),
    ({"base/a.h": "// A\n#include <fmt/format.h>\n"}, "base/a.h:2: <fmt/format.h>"),
    ({"base/a.h": "#pragma once\n"}, "base/a.h:1: a public header must begin"),
    ({"examples/one/main.cc": '#include "sim/c.h"\n'}, 'examples/one/main.cc:1: "sim/c.h"'),
    ({"cmake/public_headers.cmake": "set(DFSIM_PUBLIC_HEADERS\n  base/a.h\n  sim/b.h\n  gone.h\n)\n"},
     "cmake/public_headers.cmake:4: gone.h is not a file"),
    ({"cmake/public_headers.cmake": "set(DFSIM_PUBLIC_HEADERS\n  base/a.h\n  sim/b.h\n  base/a.h\n)\n"},
     "cmake/public_headers.cmake:4: base/a.h is named twice"),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_public_headers.check_tree(pathlib.Path(folder))


class CheckPublicHeaders(unittest.TestCase):
    def test_a_closed_list_passes(self):
        self.assertEqual((2, []), check(CLEAN))

    def test_each_planted_violation_is_found_alone(self):
        for files, line in PLANTED:
            with self.subTest(line=line):
                found = check(CLEAN | files)[1]
                self.assertEqual(1, len(found), found)
                self.assertTrue(found[0].startswith(line), found[0])

    def test_internal_headers_cannot_be_public(self):
        files = CLEAN | {"sim/b_internal.h": "// Internal.\n", "cmake/public_headers.cmake":
                         "set(DFSIM_PUBLIC_HEADERS\n  base/a.h\n  sim/b.h\n  sim/b_internal.h\n)\n"}
        self.assertIn("is internal", check(files)[1][0])


if __name__ == "__main__":
    unittest.main()
