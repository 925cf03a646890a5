"""The run that is under way, for a program that shows its network while it lasts: `./rocelab run --watch FILE`.

The file holds the run's nodes and ports, as run.sqlite will have them, and the folder in which its event files grow. Whoever shows the run reads
those (docs/tutorial/ui.md); the run itself computes nothing more than without a reader.
"""

from __future__ import annotations

import json
from pathlib import Path

from rocelab import store
from rocelab.files import write_whole
from rocelab.progress import Progress


class UnderWay:
    def __init__(self, path: Path) -> None:
        """RocelabError: the file cannot be made."""
        self._path = path
        self._shown: tuple[str, int] | None = None
        self._run = -1
        write_whole(path, b"{}")

    def report(self, progress: Progress) -> None:
        """Of the run that it is about; the file is written once a run."""
        plan = progress.plan
        if progress.traces is None or self._shown == (plan.label, plan.seed):
            return
        self._shown = (plan.label, plan.seed)
        self._run += 1
        found = {
            "run": self._run,
            "label": plan.label,
            "seed": plan.seed,
            "sample_ps": plan.sample_interval_ps,
            "limit_ps": plan.limit_ps,
            "traces": str(progress.traces.absolute()),
            "nodes": store.node_rows(self._run, plan),
            "ports": store.port_rows(self._run, plan),
        }
        write_whole(self._path, json.dumps(found).encode())
