#!/usr/bin/env python3
"""Proves that run_golden.py notices every kind of difference, with a stand-in for dfsim."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_golden  # noqa: E402

# Prints its arguments to stdout and to stderr what --err says; writes --file; exits with --exit.
STAND_IN = """#!/usr/bin/env python3
import pathlib, sys
code = 0
for word in sys.argv[1:]:
    kind, _, value = word.partition("=")
    if kind == "--err":
        print(value, file=sys.stderr)
    elif kind == "--exit":
        code = int(value)
    elif kind == "--file":
        pathlib.Path(value).write_text("written\\n")
    else:
        print(word)
sys.exit(code)
"""


class RunGolden(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name).resolve()
        self.program = root / "build" / "dfsim"
        self.program.parent.mkdir()
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.case = root / "cases" / "one"
        self.case.mkdir(parents=True)
        saved = run_golden.ROOT, run_golden.CASES
        run_golden.ROOT, run_golden.CASES = root, root / "cases"

        def restore():
            run_golden.ROOT, run_golden.CASES = saved

        self.addCleanup(restore)
        self.write(command="'a b' --err=oh --exit=2 --file={tmp}/f\n")
        self.write(stdout="a b\n", stderr="oh\n", exit_code="2\n")
        self.write(**{"files/f": "written\n"})

    def write(self, **files):
        for name, text in files.items():
            path = self.case / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def problems(self):
        return "\n".join(run_golden.check(str(self.program), "one"))

    def test_equal_outputs_pass(self):
        self.assertEqual(run_golden.case_names(), ["one"])
        self.assertEqual(self.problems(), "")

    def test_each_difference_is_told(self):
        for name, text in [("stdout", "a c\n"), ("stderr", "no\n"), ("exit_code", "1\n"),
                           ("files/f", "other\n")]:
            with self.subTest(differs=name):
                kept = (self.case / name).read_text()
                self.write(**{name: text})
                self.assertIn(f"expected {name}", self.problems())
                (self.case / name).unlink()
                self.assertIn(name, self.problems())
                self.write(**{name: kept})
        self.assertEqual(self.problems(), "")

    def test_a_line_end_counts(self):
        self.write(stdout="a b")
        self.assertIn("stdout differs in its line ends only", self.problems())

    def test_a_missing_file_is_told(self):
        self.write(**{"files/g": "x\n"})
        self.assertIn("files/g was not written", self.problems())

    def test_paths_of_this_machine_are_told_and_never_written(self):
        self.write(command=f"{run_golden.ROOT}/x\n", stdout=f"{run_golden.ROOT}/x\n")
        self.assertIn("stdout names a folder of this machine", self.problems())
        self.assertTrue(run_golden.regenerate(str(self.program), "one"))
        self.assertTrue((self.case / "stderr").exists())

    def test_regenerated_cases_pass(self):
        self.write(command="z\n")
        self.assertNotEqual(self.problems(), "")
        self.assertEqual(run_golden.regenerate(str(self.program), "one"), [])
        self.assertEqual(self.problems(), "")
        left = sorted(p.name for p in self.case.rglob("*") if p.is_file())
        self.assertEqual(left, ["command", "stdout"])


if __name__ == "__main__":
    unittest.main()
