"""Sweeps of a results' folder: what each consists of, how far it is, and its metrics by label, case and axis."""

from __future__ import annotations

import io
import json
import math
import os
import re
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rocelab import metrics, native
from rocelab.errors import RocelabError
from rocelab.sweep.index import FILE, is_under_way
from rocelab.ui import places

_DEPTH = 3  # folders below the results' folder
_MOST_POINTS = 20_000
_KEY = re.compile(r"[0-9a-f]{32}")
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zA-Z%/_]*)")
_PREFIXES = {
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
}
_UNITS = ("b/s", "bit/s", "bps", "B", "s")
_MOST_CDF = 400  # points of a curve


class Sweeps:
    def __init__(self, folder: Path, scenarios: Path) -> None:
        self._folder, self._scenarios = folder, scenarios.resolve()
        self._lock = threading.Lock()
        self._runs: dict[Path, dict[str, Any]] = {}  # of finished points, which do not change

    def entries(self) -> list[dict[str, Any]]:
        """The newest first."""
        found = []
        for folder, folders, files in os.walk(self._folder):
            here = Path(folder)
            if len(here.relative_to(self._folder).parts) >= _DEPTH:
                folders.clear()
            if FILE not in files:
                continue
            try:
                index = _index(here)
                entry = {key: index[key] for key in ("scenario", "title")} | _progress(here, index)
            except (OSError, ValueError, KeyError, TypeError):
                continue
            name = here.relative_to(self._folder).as_posix()
            found.append({"name": name, **entry, "began_at": (here / FILE).stat().st_mtime})
        return sorted(found, key=lambda entry: float(entry["began_at"]), reverse=True)

    def sweep(self, name: str) -> dict[str, Any]:
        """All of one: `axes` with their values in the file's order, `labels` with their place on each, means and intervals."""
        folder, index = self._open(name)
        points = index["points"]
        axes = axes_of([p["label"] for p in points])
        by_label: dict[str, list[dict[str, Any]]] = {}
        for point in points:
            by_label.setdefault(point["label"], []).append(point)
        labels = [self._label(folder, label, mine, axes) for label, mine in by_label.items()]
        return {
            "name": name,
            **{key: index[key] for key in ("scenario", "title", "file", "overrides")},
            **_progress(folder, index),
            "axes": axes,
            "metrics": _metrics(labels),
            "labels": labels,
            "failed": _failed(folder),
        }

    def cell(self, name: str, label: str) -> dict[str, Any]:
        """A label's points: metrics of each seed, and the completion times of their flows."""
        folder, index = self._open(name)
        points = [p for p in index["points"] if p["label"] == label]
        if not points:
            raise RocelabError(f"{name} has no label {label}")
        seeds = []
        for point in points:
            run = self._run(folder, point["key"])
            seeds.append(
                {
                    "seed": point["seed"],
                    "key": point["key"],
                    "finished": run is not None,
                    "metrics": run["metrics"] if run else {},
                    "trace_hash": run["trace_hash"] if run else None,
                    "cdf": _cdf(folder, point["key"]) if run else {"fct_s": [], "share": []},
                }
            )
        found = [{"metrics": {k: {"mean": v} for k, v in s["metrics"].items()}} for s in seeds]
        return {
            "name": name,
            "label": label,
            "path": self._path(index["file"]),
            **{key: index[key] for key in ("scenario", "title", "file", "overrides")},
            "metrics": _metrics(found),
            "seeds": seeds,
            "parameters": next(
                (run["parameters"] for p in points if (run := self._run(folder, p["key"]))), {}
            ),
        }

    def _path(self, file: str) -> str | None:
        """Of the scenario, as the gallery names it; None: it is in another folder."""
        path = Path(file)
        return path.relative_to(self._scenarios).as_posix() if path.is_relative_to(self._scenarios) else None

    def _open(self, name: str) -> tuple[Path, dict[str, Any]]:
        file = places.file(self._folder, f"{name}/{FILE}", ".json")
        try:
            return file.parent, _index(file.parent)
        except (OSError, ValueError, KeyError, TypeError):
            raise RocelabError(f"{name}/{FILE} cannot be read: run the sweep again") from None

    def _label(
        self, folder: Path, label: str, points: Sequence[Mapping[str, Any]], axes: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        runs = [(p["seed"], run) for p in points if (run := self._run(folder, p["key"])) is not None]
        base, at = split_label(label, [axis["name"] for axis in axes])
        return {
            "label": label,
            "series": base,
            "axes": at,
            "seeds": [seed for seed, _ in runs],
            "planned": len(points),
            "metrics": {
                m.name: _estimate([run["metrics"].get(m.name) for _, run in runs]) for m in metrics.table()
            },
        }

    def _run(self, folder: Path, key: str) -> dict[str, Any] | None:
        """Of a finished point: its metrics, parameters and trace hash."""
        file = folder / "points" / f"{key}.json"
        with self._lock:
            known = self._runs.get(file)
        if known is not None and file.exists():
            return known
        try:
            run = json.loads(file.read_text())["run"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        kept = {
            "metrics": {m.name: _finite(run.get(m.name)) for m in metrics.table()},
            "parameters": run.get("parameters", {}),
            "trace_hash": run.get("trace_hash"),
        }
        with self._lock:
            if len(self._runs) >= _MOST_POINTS:
                self._runs.clear()
            self._runs[file] = kept
        return kept


def _index(folder: Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((folder / FILE).read_text())
    points = [p for p in index["points"] if _KEY.fullmatch(p["key"])][:_MOST_POINTS]
    return {**index, "points": points}


def _progress(folder: Path, index: Mapping[str, Any]) -> dict[str, Any]:
    try:
        there = {name.removesuffix(".json") for name in os.listdir(folder / "points")}
    except OSError:
        there = set()
    keys = {p["key"] for p in index["points"]}
    return {
        "points": len(keys),
        "finished": len(keys & there),
        "running": is_under_way(folder),
        "failures": len(_failed(folder)),
    }


def _failed(folder: Path) -> list[dict[str, Any]]:
    """As the summary of the last call says, which is written at its end."""
    try:
        summary = folder / "summary.json"
        if summary.stat().st_mtime < (folder / FILE).stat().st_mtime:
            return []
        found: list[dict[str, Any]] = json.loads(summary.read_text()).get("failed", [])
        return found
    except (OSError, ValueError, AttributeError):
        return []


def split_label(label: str, axes: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Label and case, and the value on each axis: "irn,fair,load=0.5" is "irn,fair" at load 0.5."""
    words = label.split(",")
    at = {
        word.partition("=")[0]: word.partition("=")[2]
        for word in words[1:]
        if word.partition("=")[0] in axes and "=" in word
    }
    base = [words[0], *(w for w in words[1:] if not ("=" in w and w.partition("=")[0] in at))]
    return ",".join(base), at


def axes_of(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Of all labels together: `name`, `values` as they are written, `numbers` in the unit of the first where all of them are quantities, and that `unit`."""
    values: dict[str, list[str]] = {}
    for label in labels:
        for word in label.split(",")[1:]:
            name, equals, value = word.partition("=")
            if equals and value not in values.setdefault(name, []):
                values[name].append(value)
    found = []
    for name, texts in values.items():
        unit, numbers = quantities(texts)
        found.append({"name": name, "values": texts, "numbers": numbers, "unit": unit})
    return found


def quantities(texts: Sequence[str]) -> tuple[str, list[float] | None]:
    """In the unit of the first; None: one of them is no number, or of another kind."""
    parts = [_NUMBER.fullmatch(text) for text in texts]
    if not all(parts):
        return "", None
    units = [part[2].replace("_", "/") for part in parts if part]  # labels have no slashes
    if len(set(units)) == 1:
        return units[0], [float(part[1]) for part in parts if part]
    factors = [_factor(unit) for unit in units]
    if None in factors or len({base for base, _ in filter(None, factors)}) > 1:
        return "", None
    first = factors[0][1] if factors[0] else 1.0
    return units[0], [
        round(float(part[1]) * factor[1] / first, 9)
        for part, factor in zip(parts, factors)
        if part and factor
    ]


def _factor(unit: str) -> tuple[str, float] | None:
    for base in _UNITS:
        if unit.endswith(base) and unit[: -len(base)] in _PREFIXES:
            return base, _PREFIXES[unit[: -len(base)]]
    return None


def _finite(value: Any) -> float | None:
    """Points keep NaN, which JSON has not."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def _estimate(values: Sequence[Any]) -> dict[str, Any]:
    found = native.module().estimate([float(v) for v in values if v is not None])
    return {
        key: None if isinstance(found[key], float) and not math.isfinite(found[key]) else found[key]
        for key in ("mean", "ci95", "n")
    }


def _metrics(labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those that some label has: how they are called and shown; `usual`: unasked."""
    any_not_0 = {
        name
        for each in labels
        for name, estimate in each["metrics"].items()
        if estimate and estimate.get("mean")
    }
    taken = {
        name
        for each in labels
        for name, estimate in each["metrics"].items()
        if estimate and estimate.get("mean") is not None
    }
    keys = ("name", "title", "unit", "scale", "better", "text", "counted")
    return [
        {key: getattr(m, key) for key in keys}
        | {"usual": m.shown == "always" or (m.shown == "if any" and m.name in any_not_0)}
        for m in metrics.table()
        if m.name in taken
    ]


def _cdf(folder: Path, key: str) -> dict[str, list[float]]:
    """FCT in seconds and the share of flows that took no longer."""
    try:
        content = (folder / "points" / f"{key}.flows.npz").read_bytes()
        with np.load(io.BytesIO(content), allow_pickle=False) as flows:
            placed, posted = flows["placed_ps"], flows["posted_ps"]
            timed = (placed >= 0) & (posted >= 0) & (flows["alone_ps"] > 0)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return {"fct_s": [], "share": []}
    fct = np.sort((placed - posted)[timed]) / 1e12
    if len(fct) == 0:
        return {"fct_s": [], "share": []}
    at = np.unique(np.linspace(0, len(fct) - 1, min(len(fct), _MOST_CDF)).astype(int))
    return {"fct_s": fct[at].tolist(), "share": ((at + 1) / len(fct)).tolist()}
