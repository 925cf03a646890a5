"""`./rocelab paper NAME`: runs what a paper's report needs and lacks, on all cores, judges, writes, prints. A paper is a module of rocelab.papers with a PAPER."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocelab import native, paths
from rocelab.errors import UsageError
from rocelab.files import write_whole
from rocelab.paper.experiment_filter import choose
from rocelab.paper.choices import Alternative, Choice, merged
from rocelab.paper.claims import Claim, Spread
from rocelab.paper.results import Results
from rocelab.sweep.points import Point, parse_seeds, points_of

if TYPE_CHECKING:
    from rich.console import Console
    from rocelab.paper.sensitivity import Finding
    from rocelab.paper.tables import Figure, Table


SCENARIOS = paths.ROOT / "scenarios"
NUMBERS = paths.ROOT / "results" / "paper"


@dataclass(frozen=True)
class Experiment:
    """A scenario of a paper. `measure`: "module:function" that makes a rocelab.sweep.work.Found of a run with its traces; empty: the metrics of summary.json are
    all that is asked. `fast`, `fast_seeds`: of the default variant; `full`, `full_seeds`: of --full."""

    name: str
    file: Path
    measure: str = ""
    fast: tuple[str, ...] = ()
    fast_seeds: tuple[int, ...] = ()
    full: tuple[str, ...] = ()
    full_seeds: tuple[int, ...] = ()

    def points(self, full: bool, alternative: Alternative = Alternative("ours")) -> list[Point]:
        """`alternative`'s seeds, where it names any, stand in place of the variant's."""
        overrides, seeds = (self.full, self.full_seeds) if full else (self.fast, self.fast_seeds)
        return points_of(
            self.file,
            merged(overrides, alternative.overrides),
            alternative.seeds or seeds,
            self.measure,
        )[1]


def _nothing(results: Results) -> list[Table]:
    return []


def _no_figures(results: Results) -> list[Figure]:
    return []


@dataclass(frozen=True)
class Paper:
    """`claims` and `tables` are asked once for all seeds, and once for each seed alone: that gives the intervals."""

    title: str  # for example "RoCC (D. Menikkumbura's thesis, chapter 3)"
    note: str  # what is measured and how it is judged
    experiments: tuple[Experiment, ...]
    claims: Callable[[Results], list[Claim]]
    names: Mapping[str, str] = field(default_factory=dict)  # of quantities, for figures
    tables: Callable[[Results], list[Table]] = _nothing
    figures: Callable[[Results], list[Figure]] = _no_figures
    choices: tuple[Choice, ...] = ()  # that the paper leaves open, for --sensitivity
    metrics: tuple[
        str, ...
    ] = ()  # of summary.json, that the CSV beside the report has of each run; none: no CSV

    @property
    def has_full(self) -> bool:
        return any(e.fast or e.fast_seeds or e.full or e.full_seeds for e in self.experiments)

    def chosen(self, only: str | None) -> list[Experiment]:
        """ "table4.2,figure4.9": those; None: all."""
        known = {e.name: e for e in self.experiments}
        return [known[name] for name in choose(only, list(known), "experiment", ",".join([*known][:2]))]


@dataclass(frozen=True)
class Findings:
    paper: Paper
    full: bool
    claims: Sequence[Claim]
    tables: Sequence[Table]
    figures: Sequence[Figure]
    experiments: Sequence[str]
    failed: Sequence[str]  # points that did not finish, each with its reason
    sensitivity: Sequence[Finding] = ()


def find(name: str) -> Paper:
    paper: Paper = importlib.import_module(f"rocelab.papers.{name}").PAPER
    return paper


def spread_of(samples: Sequence[float]) -> Spread:
    if len(samples) < 2:
        return Spread(len(samples))
    return Spread(len(samples), float(native.runner.estimate(list(samples))["ci95"]))


def claims_of(paper: Paper, results: Results, seeds: Sequence[Results]) -> list[Claim]:
    """With the interval of each number over `seeds`, results of one seed each."""
    alone = [{claim.key: claim for claim in paper.claims(part)} for part in seeds]

    def spread(claim: Claim, name: str) -> Spread:
        values = [part[claim.key].ours.get(name) for part in alone if claim.key in part]
        return spread_of([value for value in values if value is not None])

    return [
        claim.with_spreads(
            {n: spread(claim, n) for n, value in claim.ours.items() if value is not None},
            [part[claim.key].holds for part in alone if claim.key in part],
        )
        for claim in paper.claims(results)
    ]


def tables_of(paper: Paper, results: Results, seeds: Sequence[Results]) -> list[Table]:
    """As claims_of()."""
    alone = [table.cells() for part in seeds for table in paper.tables(part)]

    def spread(key: tuple[str, str, int]) -> Spread:
        values = [cells[key].ours for cells in alone if key in cells]
        return spread_of([value for value in values if isinstance(value, float)])

    return [table.with_spreads(spread) for table in paper.tables(results)]


def evaluate(paper: Paper, results: Results, full: bool, failed: Sequence[str]) -> Findings:
    from rocelab.report import style  # matplotlib: only now that there is something to draw

    seeds = [results.only(seed) for seed in results.seeds]
    with style.looks():
        figures = paper.figures(results)
    return Findings(
        paper=paper,
        full=full,
        claims=claims_of(paper, results, seeds),
        tables=tables_of(paper, results, seeds),
        figures=figures,
        experiments=list(results.points),
        failed=failed,
    )


def publish(findings: Findings, folder: Path, stem: str, console: Console) -> None:
    """Writes the report as STEM.json and STEM.html and prints its tables."""
    from rocelab.paper import report

    text = json.dumps(report.as_json(findings), indent=1, allow_nan=False) + "\n"
    write_whole(folder / f"{stem}.json", text.encode())
    write_whole(folder / f"{stem}.html", report.page(findings).encode())
    for table in report.terminal(findings):
        console.print(table)
    console.print(f"report: [bold]{folder / stem}.html[/], .json", soft_wrap=True)


def _having(where: str | None, points: list[Point]) -> list[Point]:
    return [p for p in points if where is None or where in p.label]


def run(
    name: str,
    full: bool,
    only: str | None,
    cluster: str | None,
    jobs: int,
    out: Path | None,
    with_sensitivity: bool = False,
    seeds: str | None = None,
    where: str | None = None,
) -> int:
    """Exit status 0 when all runs could be made; a claim that is missed is a finding, and no error. `seeds`, for example "1-3", stand in
    place of each experiment's. `where`: of the chosen experiments only the runs whose label has this text, for example "load=0.7".
    """
    from rocelab.paper import sensitivity
    from rocelab.sweep.run import failures, make_console, run_points
    from rocelab.sweep.store import PointStore

    paper = find(name)
    if full and not paper.has_full:
        raise UsageError(f"paper {name} is run at full length always: it has no --full")
    if with_sensitivity and not paper.choices:
        raise UsageError(f"paper {name} declares no open choices: run it without --sensitivity")
    if with_sensitivity and (seeds or where):
        raise UsageError("--sensitivity chooses runs and seeds itself: leave --seeds and --where out")
    console = make_console()
    chosen = paper.chosen(only)
    folder = out or Path("out") / f"paper-{name}"
    store = PointStore(folder / "points")
    mine = Alternative("ours", seeds=parse_seeds(seeds) if seeds else ())
    points = {e.name: _having(where, e.points(full, mine)) for e in chosen}
    if not any(points.values()):
        labels = ", ".join(dict.fromkeys(p.label for e in chosen[:1] for p in e.points(full)))
        raise UsageError(f"--where {where}: no run's label has this text; {chosen[0].name} has {labels}")
    plans = sensitivity.plans_of(paper, chosen, full, points) if with_sensitivity else []
    every = [*points.values(), *(each for plan in plans for each in plan.mine.values())]
    outcome = run_points([point for some in every for point in some], store, console, jobs, cluster)
    failed = [f"{e.point.name}: {e.error}" for e in outcome.failed]
    results = Results(points, store, whole=where is None)
    findings = replace(
        evaluate(paper, results, full, failed),
        sensitivity=[sensitivity.compare(paper, plan, points, store) for plan in plans],
    )
    stem = (
        "report"
        + ("-full" if full else "")
        + ("-sensitivity" if with_sensitivity else "")
        + (f"-{'-'.join(e.name for e in chosen)}" if only else "")
        + (f"-{re.sub('[^A-Za-z0-9=.]+', '_', where)}" if where else "")
    )
    publish(findings, folder, stem, console)
    if paper.metrics:
        from rocelab.paper.recorded import csv_of

        write_whole(folder / f"{stem}.csv", csv_of(results, paper.metrics).encode())
    if outcome.failed:
        raise failures(outcome)
    return 0
