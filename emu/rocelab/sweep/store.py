"""Finished points on disk. A point is there entirely or not at all, whatever ends the process that writes it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rocelab.errors import RocelabError
from rocelab.files import explained, remove_parts, write_whole
from rocelab.model import Array
from rocelab.sweep.points import Point
from rocelab.sweep.work import ARRAYS, PointResult


class PointStore:
    """A folder with KEY.json and KEY.flows.npz per point; the former comes last and makes the point count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_parts(folder)
        except OSError as e:
            raise explained(e, folder) from e

    def __contains__(self, point: Point) -> bool:
        return self._run(point) is not None

    def run(self, point: Point) -> dict[str, Any]:
        """The point's entry for summary.json, under the label and seed that it has here."""
        found = self._run(point)
        if found is None:
            raise RocelabError(f"{self.folder}: {point.name} is not there")
        return {**found, "label": point.label, "seed": point.seed}

    def flows(self, point: Point) -> dict[str, Array]:
        with np.load(self._flows_file(point.key), allow_pickle=False) as columns:
            return {name: columns[name] for name in columns.files if not name.startswith(ARRAYS)}

    def arrays(self, point: Point) -> dict[str, Array]:
        """What the point's measure kept for figures."""
        with np.load(self._flows_file(point.key), allow_pickle=False) as columns:
            kept = [name for name in columns.files if name.startswith(ARRAYS)]
            return {name.removeprefix(ARRAYS): columns[name] for name in kept}

    def put(self, point: Point, result: PointResult) -> None:
        columns = io.BytesIO()
        np.savez_compressed(columns, **result.flows)
        write_whole(self._flows_file(point.key), columns.getvalue())
        text = json.dumps({"key": point.key, "run": result.run}, allow_nan=True)
        write_whole(self._file(point.key), text.encode())

    def _run(self, point: Point) -> dict[str, Any] | None:
        """None: absent, or damaged (a file system may lose what it acknowledged): then it is run again."""
        try:
            found = json.loads(self._file(point.key).read_text())
            intact = found["key"] == point.key and zipfile.is_zipfile(self._flows_file(point.key))
            run: dict[str, Any] | None = found["run"] if intact else None
            return run
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _flows_file(self, key: str) -> Path:
        return self.folder / f"{key}.flows.npz"
