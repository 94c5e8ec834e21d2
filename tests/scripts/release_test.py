#!/usr/bin/env python3
"""packaging/release.py on a copy of the files that it changes. usage: release_test.py"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("CMakeLists.txt", "pyproject.toml", "CHANGELOG.md")


def run(folder, *arguments):
    return subprocess.run([sys.executable, ROOT / "packaging/release.py", "--root", folder,
                           *arguments], capture_output=True, text=True)


def main():
    assert run(ROOT, "--check").returncode == 0, run(ROOT, "--check").stderr
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in FILES:
            shutil.copy(ROOT / file, folder / file)
        assert run(folder, "99.1").returncode == 2
        assert "before" in run(folder, "0.0.1").stderr
        done = run(folder, "99.1.2", "--date", "2030-01-02")
        assert done.returncode == 0, done.stderr
        assert "VERSION 99.1.2" in (folder / "CMakeLists.txt").read_text()
        assert 'version = "99.1.2"' in (folder / "pyproject.toml").read_text()
        changelog = (folder / "CHANGELOG.md").read_text()
        assert "## [99.1.2] - 2030-01-02" in changelog
        assert changelog.index("## [Unreleased] - unreleased") < changelog.index("## [99.1.2]")
        assert run(folder, "--check").stdout.strip() == "99.1.2"
        # Nothing new has been written down since.
        assert "no line says what changed" in run(folder, "99.2.0").stderr
        changed = (folder / "pyproject.toml").read_text().replace("99.1.2", "99.1.3")
        (folder / "pyproject.toml").write_text(changed)
        assert "versions differ" in run(folder, "--check").stderr
    print("releases are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
