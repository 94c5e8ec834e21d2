"""The start of tests that look at pages in Chromium: arguments, the browser, and the reason to skip."""

import argparse
import pathlib
import shutil
import sys

SKIPPED = 77  # for CTest
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(test, said):
    """Calls test(program, browser, folder for screenshots or None) and prints `said`; the exit code.

    The command line is DFSIM [--screenshots FOLDER].
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("dfsim", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("skipped: the Python package playwright is not installed")
        return SKIPPED
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        print("skipped: no Chromium (package chromium)")
        return SKIPPED
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        test(str(options.dfsim.resolve()), browser, options.screenshots)
        browser.close()
    print(said)
    return 0


if __name__ == "__main__":
    sys.exit("run browser_test.py or ../server/explorer_test.py")
