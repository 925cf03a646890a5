"""What the commands of the command line have in common: arguments, checks of them, the late import of what a command does."""

from __future__ import annotations

import difflib
import importlib
from enum import Enum
from pathlib import Path
from typing import Any, List

import typer

from rocelab import paths
from rocelab.errors import UsageError


class Clock(str, Enum):
    """lockstep: exact, as slow as the machine is. wall: for peers with clocks of their own."""

    lockstep = "lockstep"
    wall = "wall"


SCENARIO = typer.Argument(
    ..., show_default=False, metavar="SCENARIO", help="A TOML file, e.g. scenarios/incast.toml."
)
SET = typer.Option(
    [], "--set", metavar="KEY=VALUE", help="Overrides a value of the scenario; may be repeated."
)
NO_INSTALL = typer.Option(
    False, "--no-install", help="Do not install Debian packages: name those that are missing, and fail."
)
CLOCK = typer.Option(None, show_default=False, help="Clock of the live engine; default: the scenario's.")


def example(text: str) -> str:
    return f"Example: ./rocelab {text}"


def call(module: str, function: str, *arguments: Any, **options: Any) -> int:
    return int(getattr(importlib.import_module(module), function)(*arguments, **options) or 0)


def check_scenario(path: Path) -> None:
    if path.is_file():
        return
    ours = paths.ROOT / "scenarios"
    known = sorted(file.name for file in ours.glob("*.toml"))
    close = difflib.get_close_matches(path.name, known, n=1)
    if Path.cwd() == paths.ROOT:  # else a path that is right from where the user is
        ours = Path("scenarios")
    hint = f"did you mean {ours / close[0]}?" if close else f"{ours}/ holds those that come with rocelab"
    raise UsageError(f"no scenario file {path}: {hint}")


def check_overrides(overrides: List[str]) -> None:
    for text in overrides:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            raise UsageError(f"--set {text}: write it as KEY=VALUE, e.g. --set topology.rate=100Gb/s")
