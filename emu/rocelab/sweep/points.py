"""What a sweep consists of. A point is one run; its key names everything that its result depends on, so that equal keys mean equal results,
whichever scenario file the point comes from, and a change of scenario, file that it names, or rocelab makes another key."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import __version__, native
from rocelab.errors import RocelabError, UsageError
from rocelab.model import Scenario
from rocelab.scenario import read_scenario

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Point:
    """One run of a scenario. `scenario` and `overrides` say how to read it again, in another process or on another machine."""

    scenario: str
    overrides: tuple[str, ...]
    label: str
    seed: int
    key: str
    measure: str = (
        ""  # "module:function" that makes a Found (work.py) of the run with its traces; empty: none
    )
    replays: bool = False  # another label, which is best run before it

    @property
    def name(self) -> str:
        return f"{self.label}, seed {self.seed}"


def points_of(
    path: Path, overrides: Sequence[str] = (), seeds: Iterable[int] = (), measure: str = ""
) -> tuple[Scenario, list[Point]]:
    """Seeds of the first label, then of the next. `seeds` stand in place of the scenario's."""
    chosen = ",".join(map(str, seeds))
    all_overrides = (*overrides, f"seeds=[{chosen}]") if chosen else tuple(overrides)
    scenario = read_scenario(path, all_overrides)
    found = []
    every = {settings["label"]: canonical(settings) for settings in scenario.native.settings}
    replayed = {settings["original"] for settings in scenario.native.settings}
    for settings in scenario.native.settings:
        label, original = settings["label"], settings["original"]
        text = every[label] if original is None else f"{every[label]}\n{every[original]}"
        text += "\nreplayed" if label in replayed else ""  # its flows start at whole nanoseconds
        for seed in scenario.seeds:
            parts = (text, str(seed), version(), *((measure, scenario.name) if measure else ()))
            key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
            found.append(
                Point(str(path.resolve()), all_overrides, label, seed, key, measure, original is not None)
            )
    return scenario, found


@functools.cache
def version() -> str:
    """Of everything that makes results: other code, other points."""
    digest = hashlib.sha256(__version__.encode())
    digest.update(Path(native.runner.__file__).read_bytes())
    digest.update(package_digest(_PACKAGE))
    return digest.hexdigest()


def package_digest(folder: Path) -> bytes:
    """Of all Python in it: a list of what decides would go stale without notice, and a point that is run again costs less than a wrong one."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.digest()


def canonical(settings: dict[str, Any]) -> str:
    """What of a label's settings makes its results."""
    parameters = dict(settings["parameters"])
    kept = {key: value for key, value in parameters.items() if _has_effect(key, parameters)}
    contents = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in settings["files"]]
    contents.append(hashlib.sha256(settings["policies"]).hexdigest())  # with what their programs `use`
    return json.dumps([kept, settings["lists"], contents], sort_keys=True)


def _has_effect(key: str, parameters: dict[str, str]) -> bool:
    """Timers that are off, IRN's settings for RoCE and PFC's without PFC change nothing: their points are shared."""
    if key == "engine.threads":  # how a run is computed
        return False
    if key.startswith("timers.rto_") and parameters.get("timers.timeouts") == '"off"':
        return False
    if key.startswith("irn.") and parameters["mode"] == '"roce"':
        return "nic.irn_hosts" in parameters  # hosts that do otherwise than the label says
    return not (key.startswith("switch.pfc.") and parameters["pfc"] == "false")


def parse_seeds(text: str) -> tuple[int, ...]:
    """ "1-5,9": 1, 2, 3, 4, 5 and 9."""
    seeds: list[int] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"--seeds {text}: write for example 1-5 or 1,2,7")
        low, high = int(first), int(last if dash else first)
        if high < low or high - low >= 10_000:
            raise UsageError(f"--seeds {text}: {part} is not a range of at most 10000 seeds")
        seeds += range(low, high + 1)
    if not seeds or len(set(seeds)) != len(seeds):
        raise UsageError(f"--seeds {text}: name each seed once, for example 1-5")
    return tuple(seeds)


def check_same(point: Point) -> None:
    """Of a point that another machine has sent: raises when this one would compute something else."""
    _, here = points_of(Path(point.scenario), point.overrides, measure=point.measure)
    if point.key not in {p.key for p in here if (p.label, p.seed) == (point.label, point.seed)}:
        raise RocelabError(
            f"this worker has another build of rocelab or another {point.scenario}; give all machines the same work tree"
        )
