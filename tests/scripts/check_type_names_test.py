#!/usr/bin/env python3
"""Proves that scripts/check_type_names.py finds names taken twice, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_type_names  # noqa: E402


def named(namespace, text):
    return f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n"


def twice(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_type_names.check_tree(pathlib.Path(folder))[1]


class CheckTypeNames(unittest.TestCase):
    def test_one_name_in_two_places_is_found(self):
        for first, second in [("struct Roof {\n};", "struct Roof {\n};"),
                              ("class Roof {\n};", "struct Roof : Base {\n};"),
                              ("enum class Roof : uint8_t { kA };", "struct Roof {\n};"),
                              ("class Roof\n    : public Base {\n};", "class Roof {};")]:
            with self.subTest(first=first, second=second):
                found = twice({"base/a.h": named("dfsim", first), "report/b.cc": named("dfsim", second)})
                self.assertEqual(len(found), 1, found)

    def test_other_namespaces_unnamed_ones_and_declarations_pass(self):
        unnamed = "namespace dfsim {\nnamespace {\nstruct Roof {\n};\n}  // namespace\n}  // namespace dfsim\n"
        self.assertEqual([], twice({
            "base/a.h": named("dfsim", "struct Roof {\n};"),
            "base/a.cc": unnamed,
            "sim/a.cc": unnamed,
            "cli/a.h": named("dfsim::cli", "struct Roof {\n};"),
            "sim/b.h": named("dfsim", "struct Roof;\nclass Inner {\n  struct Roof {\n  };\n};"),
            "sim/b.cc": named("dfsim", "struct Inner::Roof {\n};"),
        }))

    def test_the_later_place_is_named(self):
        found = twice({"base/a.h": named("dfsim", "struct A {\n};"), "sim/a.h": named("dfsim", "\nstruct A {\n};")})
        self.assertEqual(1, len(found))
        self.assertTrue(found[0].startswith("sim/a.h:3: dfsim::A is defined in base/a.h:2"), found[0])


if __name__ == "__main__":
    unittest.main()
