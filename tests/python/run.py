#!/usr/bin/env python3
"""Runs the tests of the Python package on the one in the build folder.

Exit code 77: skipped, as the package is not built or this Python lacks packages.

usage: run.py PACKAGE_FOLDER DFSIM
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys


def main():
    folder, program = (pathlib.Path(argument) for argument in sys.argv[1:])
    if not list((folder / "dfsim" / "_native").glob("_dfsim*.so")):
        print("skipped: the Python package is not built; cmake --preset release "
              "-DDFSIM_BUILD_PYTHON=ON builds it where nanobind is installed")
        return 77
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {sys.executable} lacks {', '.join(missing)}; ./test --setup installs them")
        return 77
    environment = dict(os.environ, PYTHONPATH=str(folder), DFSIM=str(program.resolve()),
                       PYTHONDONTWRITEBYTECODE="1")
    tests = pathlib.Path(__file__).resolve().parent
    # A shell in the background ignores SIGINT, and so would the tests of Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                           str(tests)], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
