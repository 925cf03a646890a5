"""What `run` and `sweep` show of runs that fail: the text as it is."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rocelab import display
from rocelab.sweep import run as sweep
from rocelab.sweep.local import Ended
from rocelab.sweep.points import Point

# The last words of a program may look like Rich's markup: a closing tag without its opening one was an exception.
_ERROR = "h1: exit status 1: [Errno 2] no file [/dev/x] [bold]"


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def _shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_error_of_a_run_is_shown_as_it_is(console: Console) -> None:
    outcome: Any = SimpleNamespace(
        plan=SimpleNamespace(label="irn", seed=1), end_ps=0, wall_s=0.0, processes=(), error=_ERROR
    )
    display.RunDisplay(console, 1).outcome(outcome)
    assert f"irn, seed 1: {_ERROR}" in _shown(console)


def test_the_error_of_a_point_is_shown_as_it_is(console: Console) -> None:
    sweep._Display(console, 1, 0).ended(Ended(Point("a.toml", (), "irn", 1, "key"), _ERROR))
    assert f"irn, seed 1: {_ERROR}" in _shown(console)
