#!/usr/bin/env python3
"""Checks packaging/skipped_tests.py with logs as CTest writes them, and the launcher's estimates."""

import importlib.util
import pathlib
import subprocess
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
SPEC = importlib.util.spec_from_file_location("skipped_tests", PACKAGING / "skipped_tests.py")
skipped_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(skipped_tests)

LOG = """Start testing: Nov 23 08:00 UTC
----------------------------------------------------------
1/3 Testing: test_onnx
1/3 Test: test_onnx
Command: "/x/test_onnx"
Output:
----------------------------------------------------------
/x/networks_test.cc:68: warning:
  skipped: DFSIM_SHARED is not set

/x/shared_models_test.cc:42: warning:
  skipped: DFSIM_SHARED is not set
===============================================================================
All tests passed (12 assertions in 3 test cases)
<end of output>
2/3 Testing: html_in_browser
2/3 Test: html_in_browser
Output:
skipped: no Chromium (package chromium)
<end of output>
3/3 Testing: golden/version
3/3 Test: golden/version
Output:
nothing is skipped: all is well
<end of output>
"""


class SkippedTests(unittest.TestCase):
    def test_each_reason_is_listed_with_the_command_that_enables_it(self):
        self.assertEqual(skipped_tests.report(skipped_tests.skipped(LOG)), [
            "Not tested; to enable: ./test --setup",
            "  html_in_browser: no Chromium (package chromium)",
            "Not tested; to enable: DFSIM_SHARED=FOLDER ./test",
            "  test_onnx (2 cases): DFSIM_SHARED is not set",
        ])

    def test_nothing_is_listed_when_everything_ran(self):
        self.assertEqual(skipped_tests.report(skipped_tests.skipped("1/1 Test: a\nfine\n")), [])


class TimeLeft(unittest.TestCase):
    def left(self, done, total, seconds):
        result = subprocess.run(
            ["bash", "-c", 'source "$1"; time_left "$2" "$3" "$4"', "bash",
             str(PACKAGING / "launcher.sh"), str(done), str(total), str(seconds)],
            check=True, stdout=subprocess.PIPE)
        return result.stdout.decode()

    def test_the_estimate_grows_with_what_is_left(self):
        self.assertEqual(self.left(10, 60, 60), ", about 5 min left")
        self.assertEqual(self.left(50, 60, 60), ", about 20 s left")

    def test_there_is_no_estimate_before_some_steps_are_done(self):
        self.assertEqual(self.left(2, 60, 60), "")
        self.assertEqual(self.left(10, 60, 2), "")


if __name__ == "__main__":
    unittest.main()
