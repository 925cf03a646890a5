"""What `run` and `sweep` show: errors as they are, and tables of many labels."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rocelab import display, metrics, runner
from rocelab.headline import Cell, Headline
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


def test_labels_that_do_not_fit_stand_in_a_table_of_their_own() -> None:
    """Of a narrow terminal; none of them is cut off."""
    labels = [f"roce+pfc+rocc+escape,{n}KB" for n in range(7)]
    cells = (Cell("13.30", "±0.01"), Cell("–"))
    found = Headline(metrics.table()[:2], tuple((label, "3", cells) for label in labels))
    made = runner.tables_of(found, "title", 80)
    assert [len(table.columns) - 1 for table in made] == [2, 2, 2, 1]
    narrow = Console(file=io.StringIO(), width=80)
    for table in made:
        narrow.print(table)
    assert all(label in _shown(narrow) for label in labels) and "…" not in _shown(narrow)
    assert len(runner.tables_of(found, "title", 300)) == 1
    assert len(runner.tables_of(found, "title", 20)) == len(labels), "each alone, where none fits"
