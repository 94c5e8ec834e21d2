#!/usr/bin/env python3
"""Makes a release: one version number goes into every file that has one, and the changelog.

usage: packaging/release.py VERSION [--date YYYY-MM-DD] [--root FOLDER]
       packaging/release.py --check [--root FOLDER]

The version is that of project() in CMakeLists.txt; the other files follow. Afterwards run `./test
--regenerate-golden version/plain`, look at the diff, commit, tag it vVERSION and run
packaging/make_packages.sh. --check says whether all files agree, and changes nothing.
"""

import argparse
import datetime
import pathlib
import re
import sys

# File -> what stands around its version.
PLACES = {
    "CMakeLists.txt": r'(project\(dfsim\s+VERSION\s+)([0-9.]+)',
    "pyproject.toml": r'(^version = ")([^"]+)',
}
NUMBER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
UNRELEASED = re.compile(r"^## \[([^\]]+)\] - unreleased$", re.M)
RELEASED = re.compile(r"^## \[([^\]]+)\] - \d{4}-\d{2}-\d{2}$", re.M)


def versions(root):
    """File -> version, or an error in words."""
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M)
        if match is None:
            raise ValueError(f"{name}: no version found; expected a match of {pattern}")
        found[name] = match.group(2)
    return found


def as_numbers(version):
    return tuple(map(int, version.split(".")))


def check(root):
    found = versions(root)
    if len(set(found.values())) != 1:
        listed = ", ".join(f"{name} {version}" for name, version in found.items())
        raise ValueError(f"versions differ: {listed}; run packaging/release.py VERSION")
    version = next(iter(found.values()))
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = UNRELEASED.findall(changelog)
    if len(heads) > 1:
        raise ValueError(f"CHANGELOG.md: {len(heads)} unreleased versions, at most 1 was expected")
    if heads and heads[0] not in ("Unreleased", version):
        raise ValueError(f"CHANGELOG.md: unreleased {heads[0]}, but the files say {version}")
    if not heads and version not in RELEASED.findall(changelog):
        raise ValueError(f"CHANGELOG.md: no section of {version}")
    return version


def release(root, version, date):
    before = check(root)
    if not NUMBER.fullmatch(version):
        raise ValueError(f"'{version}' is not a version; expected three numbers, as in 0.2.0")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if version in RELEASED.findall(text):
        raise ValueError(f"CHANGELOG.md: {version} is released already")
    if as_numbers(version) < as_numbers(before):
        raise ValueError(f"{version} is before {before}, the version of the files")
    head = UNRELEASED.search(text)
    if head is None:
        raise ValueError("CHANGELOG.md: nothing unreleased; expected '## [Unreleased] - unreleased'")
    following = text.find("\n## [", head.end())
    if not re.search(r"^- ", text[head.end():following if following >= 0 else None], re.M):
        raise ValueError("CHANGELOG.md: no line says what changed; write one first")
    new = f"## [Unreleased] - unreleased\n\n## [{version}] - {date}"
    changelog.write_text(text[:head.start()] + new + text[head.end():], encoding="utf-8")
    for name, pattern in PLACES.items():
        path = root / name
        content = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern, rf"\g<1>{version}", content, count=1, flags=re.M),
                        encoding="utf-8")
    check(root)


def main(arguments):
    parser = argparse.ArgumentParser(description="Makes a release of one version number")
    parser.add_argument("version", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[1])
    options = parser.parse_args(arguments)
    if options.check == (options.version is not None):
        parser.error("give either a version or --check")
    try:
        if options.check:
            print(check(options.root))
        else:
            release(options.root, options.version, options.date)
            print(f"released {options.version} of {options.date}: CHANGELOG.md, {', '.join(PLACES)}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
