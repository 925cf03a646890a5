"""Scenarios as text: Python's values as TOML, changes as the `key=value` of `--set`, and a whole scenario with its changes as one file."""

from __future__ import annotations

import json
import numbers
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from rocelab import native
from rocelab.errors import RocelabError, ScenarioError


def overrides_of(changes: Mapping[str, Any]) -> tuple[str, ...]:
    """`{"topology.rate": "100Gb/s"}` as `--set` has it. A Path is taken from the current folder; a text that names a file, from the scenario's."""
    for key in changes:
        if not isinstance(key, str) or not key or "=" in key:
            raise RocelabError(f"set: {key!r} is not a dotted key such as topology.rate")
    return tuple(f"{key}={_value(key, value)}" for key, value in changes.items())


def seeds_override(seeds: int | Iterable[int]) -> str:
    """Of one seed or several."""
    chosen = [seeds] if isinstance(seeds, numbers.Integral) else list(seeds)  # type: ignore[arg-type]
    return f"seeds={_value('seeds', chosen)}"


def _value(key: str, value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy and pandas
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Path):
        return _value(key, str(value.absolute()))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_value(key, v)}" for k, v in value.items()) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(key, item) for item in value) + "]"
    raise RocelabError(f"set: {key} = {value!r} is not a text, number, truth value, list or table")


def text_of(data: Mapping[str, Any]) -> str:
    """As TOML."""
    try:
        return tomli_w.dumps(_native(data))
    except (TypeError, ValueError) as e:
        raise RocelabError(f"the scenario cannot be written as TOML: {e}") from None


def _native(value: Any) -> Any:
    """What tomli_w knows, of what looks like it."""
    if isinstance(value, Mapping):
        return {str(key): _native(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_native(item) for item in value]
    if isinstance(value, Path):
        return str(value.absolute())
    return value.tolist() if hasattr(value, "tolist") else value


def whole(text: str, name: str, overrides: tuple[str, ...], scenario: str, same: Any) -> str:
    """A scenario that stands alone: with what it extends and its overrides. `same` (a native Scenario) is what it has to come to: a label or
    a case may set the key of an override itself, and would win in a file."""
    data = native.runner.document(text, name, [split(o) for o in overrides])
    data.setdefault("name", scenario)
    written = text_of(data)
    try:
        read = native.runner.parse_scenario(written, name, [])
    except native.runner.ScenarioError as e:
        raise ScenarioError(str(e)) from None
    if other := _difference(same, read):
        raise RocelabError(
            f"{name}: a label, case or axis sets {other}, too, and would win over the changed value in a file: change it there"
        )
    return written


def _difference(a: Any, b: Any) -> str | None:
    """A key that has another value. Files are the same whether named from here or from the root."""
    files = {Path(file).name for settings in a.settings for file in settings["files"]}

    def plain(value: str) -> str:
        name = Path(value.strip('"')).name
        return name if name in files else value

    for one, other in zip(a.settings, b.settings):
        theirs = dict(other["parameters"])
        for key, value in one["parameters"]:
            if plain(value) != plain(theirs.get(key, "")):
                return str(key)
    return None


def split(override: str) -> tuple[str, str]:
    """Key and value of a `key=value`."""
    key, equals, value = override.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise RocelabError(f"--set {override}: write it as key=value, for example topology.rate=100Gb/s")
    return key.strip(), value.strip()
