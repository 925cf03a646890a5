"""`./rocelab paper irn`: runs what the report needs and lacks, judges, writes, prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rocelab import native
from rocelab.files import write_whole
from rocelab.paper import cells, sentences
from rocelab.paper.experiments import Experiment, all_points, choose
from rocelab.paper.measured import CCS, Measured, with_cc
from rocelab.paper.report import Findings, as_json, page, terminal_checks, terminal_tables
from rocelab.sweep.run import failures, make_console, run_points
from rocelab.sweep.store import PointStore

_PERCENTILES = (90, 95, 99, 99.9)


def run_paper(full: bool, only: str | None, cluster: str | None, jobs: int, out: Path | None) -> int:
    """Exit status 0 when all runs completed; a check that is missed is a finding, and no error."""
    console = make_console()
    chosen = choose(only)
    folder = out or Path("out") / "paper-irn"
    store = PointStore(folder / "points")
    points = all_points(chosen, full)
    everything = [p for mine in points.values() for p in mine]
    outcome = run_points(everything, store, console, jobs, cluster)
    findings = _findings(
        full, chosen, Measured(points, store), [f"{e.point.name}: {e.error}" for e in outcome.failed]
    )
    stem = f"report-{findings.variant}" + (f"-{'-'.join(e.name for e in chosen)}" if only else "")
    text = json.dumps(as_json(findings), indent=1, allow_nan=False) + "\n"
    write_whole(folder / f"{stem}.json", text.encode())
    write_whole(folder / f"{stem}.html", page(findings).encode())
    for table in terminal_tables(findings.cells):
        console.print(table)
    console.print(terminal_checks(findings))
    console.print(f"report: [bold]{folder / stem}.html[/], .json", soft_wrap=True)
    if outcome.failed:
        raise failures(outcome)
    return 0


def _findings(
    full: bool, chosen: Sequence[Experiment], measured: Measured, failed: Sequence[str]
) -> Findings:
    tables = [e.name.removeprefix("table") for e in chosen if e.name.startswith("table")]
    all_cells = cells.cells(measured, tables)
    return Findings(
        full=full,
        cells=all_cells,
        verdict=cells.judge(all_cells),
        sentences=sentences.judge(measured),
        tails=_tails(measured),
        diagnostics={e.name: measured.diagnostics(e.name) for e in chosen},
        failed=failed,
    )


def _tails(measured: Measured) -> dict[str, dict[str, float]]:
    rows = {}
    for cc in CCS:
        for transport in ("irn", "irn+pfc", "roce+pfc"):
            label = with_cc(transport, cc)
            fct = measured.fct("figure4.8", label, most_packets=1)
            if fct is not None and len(fct):
                rows[label] = {
                    f"{p:g} %": float(native.module().percentile(list(fct), p)) for p in _PERCENTILES
                }
    return rows
