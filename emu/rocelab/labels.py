"""A scenario by one of its labels, as `--label` names it, and what is said of a name that it does not have."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from rocelab.errors import UsageError
from rocelab.model import Scenario
from rocelab.scenario import read_scenario

_TRANSPORT = re.compile(r"\s*transport\s*=")
_EXTENDS = re.compile(r'\s*extends\s*=\s*"([^"\n]+)"')
_MOST_FILES = 8  # that extend one another


def read_label(path: Path | str, overrides: Sequence[str], label: str | None) -> Scenario:
    """The scenario, with this label: one of those that it runs, or any other that its `transport` might have named. UsageError: it has none
    of this name."""
    scenario = read_scenario(path, overrides)
    if label is None or label in scenario.labels:
        return scenario
    transport = label.partition(",")[0]
    if transport in scenario.native.known_labels and transport not in _transports(scenario):
        scenario = read_scenario(path, (*overrides, f'transport="{transport}"'))
        if label in scenario.labels:
            return scenario
    raise UsageError(unknown(scenario, label, Path(path)))


def only_label(scenario: Scenario, label: str) -> Scenario:
    """The same with one of its labels, so that nothing else is run."""
    return dataclasses.replace(scenario, labels=(label,))


def unknown(scenario: Scenario, label: str, path: Path | None = None) -> str:
    """Where the labels are named, the nearest name, and which there are."""
    known = list(scenario.native.known_labels)
    own = _transports(scenario)
    names = [name for name in (*scenario.labels, *known) if name != label]
    longer = [
        name for name in scenario.labels if name.startswith(f"{label},")
    ]  # a case or an axis is missing
    near = longer or difflib.get_close_matches(label, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    others = [name for name in known if name not in own] if path is not None and not near else []
    more = f"; other transports that may be named are {', '.join(others)}" if others else ""
    return f"{_place(path or Path(scenario.file))}: no label {label}; {hint}It has {', '.join(scenario.labels)}{more}"


def _transports(scenario: Scenario) -> set[str]:
    return {name.partition(",")[0] for name in scenario.labels}  # cases and values of axes come after it


def _place(path: Path) -> str:
    """File and line of `transport`, in the file or the one that it extends; the file alone where neither has it."""
    file = path
    for _ in range(_MOST_FILES):
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            break
        head = lines[: next((i for i, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))]
        for number, line in enumerate(head, start=1):
            if _TRANSPORT.match(line):
                return f"{file}:{number}"
        base = next((found[1] for line in head if (found := _EXTENDS.match(line))), None)
        if base is None:
            break
        file = file.parent / base
    return str(path)
