"""What of the IRN paper (Mittal, chapter 4) is run: a scenario of scenarios/irn for each table and figure, and how the default variant shortens it."""

from __future__ import annotations

from rocelab import native
from rocelab.paper import irn_cells, irn_chart, irn_claims, irn_figures, irn_trace, open_choices
from rocelab.paper.claims import Claim
from rocelab.paper.harness import SCENARIOS, Experiment, Paper
from rocelab.paper.irn_labels import CCS, DIAGNOSTICS, METRICS, as_shown, with_cc
from rocelab.paper.results import Results
from rocelab.paper.tables import Cell, Figure, Table, plain

# 4 ms of flows after 1 ms, about 4,000 at 70 % load, in place of 100 ms after 20 ms: the network has less time to fill.
_SHORT = ("workload.poisson.duration=5ms", "engine.warmup=1ms")
_FIGURES = ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.10", "4.11", "4.12")
_PERCENTILES = (90.0, 95.0, 99.0, 99.9)
_NOTE = """The fast variant measures the flows of 4 ms after 1 ms of warm-up; the full one those of 100 ms after 20 ms. Queues and backlogs of a network at 70 % load are
still growing after 5 ms, so absolute values and the advantage of IRN over RoCE come out smaller than in the full one."""


def _experiment(name: str, short: tuple[str, ...] = _SHORT, seeds: tuple[int, ...] = ()) -> Experiment:
    return Experiment(name, SCENARIOS / "irn" / f"{name}.toml", fast=short, fast_seeds=seeds)


EXPERIMENTS = (
    *(_experiment(f"table{number}") for number in irn_cells.TABLES),
    *(_experiment(f"figure{number}", seeds=(1, 2, 3)) for number in _FIGURES),
    _experiment("window_based"),
    _experiment("reads"),
    _experiment(
        "migration",
        ("workload.roce.duration=5ms", "workload.irn.duration=5ms", "engine.warmup=1ms"),
        (1, 2, 3),
    ),
    _experiment("spraying", _SHORT, (1, 2, 3)),
    _experiment("figure4.9", (), (1, 2, 3)),
    _experiment("incast_variants", (), (1, 2, 3)),
    Experiment(
        irn_trace.EXPERIMENT,
        SCENARIOS / "irn" / f"{irn_trace.EXPERIMENT}.toml",
        "rocelab.paper.irn_trace:measure",
    ),
    # The incast at its true size, which lasts some 40 ms: a tenth of it is over while the background still fills the network.
    _experiment("incast_cross_traffic", ("workload.poisson.duration=60ms",), (1, 2, 3)),
)


def claims(results: Results) -> list[Claim]:
    return [*irn_cells.claims(results), *irn_claims.claims(results), *irn_trace.claims(results)]


def tables(results: Results) -> list[Table]:
    return [*irn_cells.tables(results), *_tails(results), *_diagnostics(results)]


def figures(results: Results) -> list[Figure]:
    cells = irn_cells.cells(results, irn_cells.tables_of(results))
    return [*irn_chart.figures(cells), *irn_figures.figures(results)]


def _tails(results: Results) -> list[Table]:
    rows = {}
    for cc in CCS:
        for transport in ("irn", "irn+pfc", "roce+pfc"):
            label = with_cc(transport, cc)
            fct = results.fct("figure4.8", label, most_packets=1)
            if fct is not None and len(fct):
                rows[label] = [
                    Cell(1e6 * float(native.runner.percentile(list(fct), p))) for p in _PERCENTILES
                ]
    columns = tuple(f"{p:g} %, us" for p in _PERCENTILES)
    title = "Figure 4.8: tail latency of single-packet messages"
    return [Table(title, columns, rows, "figure4.8")] if rows else []


def _diagnostics(results: Results) -> list[Table]:
    """What happened in the runs, for whoever asks why a number is what it is."""
    found = []
    for experiment in results.points:
        rows = {}
        for label in results.labels(experiment):
            if results.runs(experiment, label) is not None:
                values = {name: results.mean(experiment, label, name) for name in (*METRICS, *DIAGNOSTICS)}
                rows[label] = {
                    name: as_shown(name, value) for name, value in values.items() if value is not None
                }
        columns = {**METRICS, **DIAGNOSTICS}
        note = "Means over seeds. Spurious: packets that were retransmitted and had arrived."
        found.append(plain(f"{experiment}: what happened in the runs", columns, rows, experiment, note))
    return found


PAPER = Paper(
    "IRN (R. Mittal's thesis, chapter 4)",
    _NOTE,
    EXPERIMENTS,
    claims,
    tables=tables,
    figures=figures,
    choices=open_choices.IRN,
    metrics=(*METRICS, *DIAGNOSTICS),
    names=irn_trace.NAMES,
)
