"""What results there are, and the runs of one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rocelab.errors import RocelabError
from rocelab.ui.database import DATABASE, Database, opened
from rocelab.ui.places import NoSuchPlace

_DEPTH = 3  # folders below the results' folder
_THUMB_POINTS = 48


class Results:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}

    def entries(self) -> list[dict[str, Any]]:
        """The newest first."""
        found = []
        for name in self._names():
            file = self._folder / name / DATABASE
            try:
                stamp = file.stat().st_mtime_ns
                if self._known.get(name, (0, {}))[0] != stamp:
                    self._known[name] = stamp, _describe(self._folder, name)
            except (OSError, NoSuchPlace, RocelabError):
                continue
            found.append({**self._known[name][1], "written_at": stamp / 1e9, "bytes": file.stat().st_size})
        return sorted(found, key=lambda entry: float(entry["written_at"]), reverse=True)

    def _names(self) -> list[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self._folder):
            depth = len(Path(folder).relative_to(self._folder).parts)
            if depth >= _DEPTH:
                folders.clear()
            if DATABASE in files and depth > 0:
                found.append(Path(folder).relative_to(self._folder).as_posix())
        return found


def _describe(folder: Path, name: str) -> dict[str, Any]:
    with opened(folder, name) as db:
        rows = db.rows("SELECT run, label, seed, complete FROM runs ORDER BY run")
        watchable = db.has("overview")
        thumb = {label: _quantiles(db, run) for label, run in _first_runs(rows).items()}
    try:
        summary = json.loads((folder / name / "summary.json").read_text())
    except (OSError, ValueError):
        summary = {}
    return {
        "name": name,
        "scenario": summary.get("scenario", ""),
        "title": summary.get("title", ""),
        "engine": summary.get("engine", ""),
        "labels": list(dict.fromkeys(label for _, label, _, _ in rows)),
        "seeds": sorted({seed for _, _, seed, _ in rows}),
        "complete": bool(summary.get("complete", all(complete for _, _, _, complete in rows))),
        "watchable": watchable,
        "thumb": thumb,
    }


def _first_runs(rows: list[tuple[Any, ...]]) -> dict[str, int]:
    return {label: run for run, label, _, _ in reversed(rows)}


def _quantiles(db: Database, run: int) -> list[float]:
    """Of FCT, for a thumbnail."""
    sql = """
        WITH done AS (SELECT fct_s, NTILE(:n) OVER (ORDER BY fct_s) AS part FROM flows WHERE run = :run AND fct_s IS NOT NULL)
        SELECT MAX(fct_s) FROM done GROUP BY part ORDER BY part
    """
    return [row[0] for row in db.rows(sql, n=_THUMB_POINTS, run=run)]


def runs(db: Database) -> list[dict[str, Any]]:
    """Each with what can be seen of it: older results keep events of the first seed of each label only."""
    sql = "SELECT run FROM runs" if db.has("traces") else "SELECT MIN(run) FROM runs GROUP BY label"
    with_events = {row[0] for row in db.rows(sql)}
    return [
        {
            "run": run,
            "label": label,
            "seed": seed,
            "complete": bool(complete),
            "error": error,
            "events": run in with_events,
            "flows": flows,
        }
        for run, label, seed, complete, error, flows in db.rows(
            """SELECT run, label, seed, complete, error, (SELECT COUNT(*) FROM flows WHERE flows.run = runs.run)
            FROM runs ORDER BY run"""
        )
    ]
