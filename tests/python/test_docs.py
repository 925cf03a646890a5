"""Documents keep what they promise: the code of docs/python.md runs from top to bottom, docs/tour.ipynb too, and the commands of docs/faq.md are ones that exist."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rocelab import native
from rocelab.privileges import is_root

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "docs" / "python.md"


@dataclass(frozen=True)
class Block:
    line: int
    words: str  # behind the three backticks
    text: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        yield Block(text.count("\n", 0, found.start()) + 2, found[1], found[2])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As the work tree for who reads scenarios and writes results."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def can_run_live() -> bool:
    return is_root() and (native.ovs_tree() / "vswitchd" / "ovs-vswitchd").exists()


def test_the_code_of_the_python_page_runs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    ran = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for block in blocks(PYTHON):
            assert block.words in ("python", "python as-root"), f"{PYTHON}:{block.line}: nobody runs this"
            if block.words.endswith("as-root") and not can_run_live():
                continue
            exec(compile("\n" * (block.line - 1) + block.text, PYTHON, "exec"), names)
            ran += 1
    said = capsys.readouterr().out
    assert ran >= 8
    for words in ("mean FCT (ms)", "topology.rate has no unit", "out/wrong.toml", "flow completion time"):
        assert words in said
    assert {path.name for path in (tree / "out").glob("*.*")} >= {
        "fct.pdf",
        "time.svg",
        "queue.png",
        "fast.toml",
    }
    assert (tree / "out" / "search" / "scenario.toml").exists()
    if can_run_live():
        assert "1000 iters in" in said
