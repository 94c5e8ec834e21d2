"""Every Python block of the guide runs, one after the other."""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guides/use-python.md"


def test_the_blocks_of_the_guide_run(tmp_path, capsys, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 6
    for name in ("graphs", "examples"):
        os.symlink(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)  # pylint: disable=exec-used
    shown = capsys.readouterr().out
    assert "unknown hardware 'a1000'" in shown
    assert (tmp_path / "timeline.json").exists()
