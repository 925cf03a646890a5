"""Numbers of runs that take hours, kept as a table: `./rocelab paper` writes one beside its report, results/measured/ has those that are worth keeping,
and `--recorded` judges and reports them without running anything."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocelab import paths
from rocelab.errors import RocelabError, UsageError
from rocelab.model import Array
from rocelab.paper import harness
from rocelab.paper.results import Results
from rocelab.sweep.points import Point

FOLDER = paths.ROOT / "results" / "measured"
_NAMES = ("experiment", "label", "seed", "trace_hash")


def csv_of(results: Results, metrics: Sequence[str]) -> str:
    """A row for each run that is there, experiment by experiment: its name, its trace_hash, and `metrics` of summary.json in full precision."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*_NAMES, *metrics))
    for experiment, points in results.points.items():
        for point in points:
            if point in results.store:
                run = results.store.run(point)
                rows.writerow(
                    (experiment, point.label, point.seed, run["trace_hash"], *(run[name] for name in metrics))
                )
    return text.getvalue()


class _Rows:
    """In the place of a PointStore."""

    def __init__(self, runs: Mapping[str, dict[str, Any]]) -> None:
        self._runs = runs

    def __contains__(self, point: Point) -> bool:
        return point.key in self._runs

    def run(self, point: Point) -> dict[str, Any]:
        return self._runs[point.key]

    def flows(self, point: Point) -> dict[str, Array]:
        raise RocelabError(f"{point.name}: its flows are not recorded")

    arrays = flows


class _Kept(Results):
    """Of which some experiments may have more seeds than others: what claims ask of all of them is asked of each seed, and missing where it was not run.
    Flows, and metrics without a column, are as if they had not been run."""

    def only(self, seed: int) -> Results:
        points = {name: [p for p in ps if p.seed == seed] for name, ps in self.points.items()}
        return _Kept(points, self.store)

    def mean(self, experiment: str, label: str, metric: str, group: str | None = None) -> float | None:
        runs = self.runs(experiment, label)
        if group is not None or runs is None or any(metric not in run for run in runs):
            return None
        return super().mean(experiment, label, metric)

    def fct(
        self, experiment: str, label: str, least_packets: int = 1, most_packets: int | None = None
    ) -> Array | None:
        return None


def read(file: Path) -> Results:
    """What csv_of() wrote; a file that is something else is a RocelabError with the line."""
    points: dict[str, list[Point]] = {}
    runs: dict[str, dict[str, Any]] = {}
    try:
        with file.open(newline="") as opened:
            table = csv.DictReader(opened)
            metrics = list(table.fieldnames or ())[len(_NAMES) :]
            if tuple(table.fieldnames or ())[: len(_NAMES)] != _NAMES or not metrics:
                raise RocelabError(f"{file}:1: the columns are not {', '.join(_NAMES)} and metrics")
            for row in table:
                try:
                    numbers = {name: float(row[name]) for name in metrics}
                    point = _point(row["experiment"], row["label"], int(row["seed"]))
                except (TypeError, ValueError) as e:
                    raise RocelabError(f"{file}:{table.line_num}: {e}") from e
                if point.key in runs:
                    raise RocelabError(f"{file}:{table.line_num}: {point.key} is there twice")
                points.setdefault(row["experiment"], []).append(point)
                runs[point.key] = {"trace_hash": row["trace_hash"], **numbers}
    except (OSError, UnicodeDecodeError) as e:
        raise RocelabError(f"{file}: cannot be read: {e.strerror if isinstance(e, OSError) else e}") from e
    return _Kept(points, _Rows(runs))


def _point(experiment: str, label: str, seed: int) -> Point:
    return Point("", (), label, seed, key=f"{experiment} {label}, seed {seed}")


def findings_of(stem: str, only: str | None = None) -> harness.Findings:
    """Of the runs at full length in results/measured/STEM.csv, where STEM is the paper's name and what is told apart: "irn_full"."""
    name, file = stem.partition("_")[0], FOLDER / f"{stem}.csv"
    if not file.exists():
        kept = ", ".join(sorted(f.stem.removesuffix("_full") for f in FOLDER.glob("*_full.csv")))
        raise UsageError(
            f"no runs of paper {name} are recorded (there are some of {kept}): leave --recorded out"
        )
    paper = harness.find(name)
    results = read(file)
    if only is not None:
        chosen = {e.name for e in paper.chosen(only)}
        results.points = {name: points for name, points in results.points.items() if name in chosen}
        if not results.points:
            raise UsageError(f"--only {only}: nothing of that is in {file}")
    return harness.evaluate(paper, results, full=True, failed=[])


def run(name: str, only: str | None, out: Path | None) -> int:
    """`./rocelab paper NAME --recorded`."""
    from rocelab.sweep.run import make_console

    stem = "report-recorded" + (f"-{only.replace(',', '-')}" if only else "")
    harness.publish(
        findings_of(f"{name}_full", only), out or Path("out") / f"paper-{name}", stem, make_console()
    )
    return 0
