"""`./rocelab paper timely`: table 3.1 of the TIMELY chapter (Mittal, 3.5.1) from scenarios/timely/incast.toml, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocelab import __version__, frames, paths
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.model import Array, RunOutcome
from rocelab.paper import numbers
from rocelab.paper import rocc_traces as traces
from rocelab.paper.numbers import Row, Values
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary
from rocelab.sweep.run import make_console

SCENARIO = paths.ROOT / "scenarios" / "timely" / "incast.toml"
NUMBERS = paths.ROOT / "results" / "paper" / "timely.csv"
# The paper's name of a label.
CASES = {"dctcp": "DCTCP", "roce+pfc": "PFC", "roce+pfc+timely": "TIMELY"}


@dataclass(frozen=True)
class Run:
    """`rtts_us`: of segments acknowledged in the measured half, sorted."""

    case: str
    seed: int
    values: Mapping[str, float]
    rtts_us: Array


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything."""
    x = np.asarray(rates, dtype=float)
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def measured_half(outcome: RunOutcome) -> traces.Span:
    """The second half of the time in which all flows are active."""
    posted = [f.posted_ps for f in outcome.flows if f.posted_ps is not None]
    placed = [f.placed_ps for f in outcome.flows if f.placed_ps is not None]
    begin, end = max(posted) / 1e12, min(placed) / 1e12
    return traces.Span((begin + end) / 2, end, len(outcome.flows))


def xoffs_within(outcome: RunOutcome, span: traces.Span) -> int:
    """XOFFs that switches sent to begin a pause."""
    count = 0
    for records in frames.by_node(outcome, frames.switches(outcome.plan)).values():
        at = records["time_ps"][records["kind"] == frames.KINDS.index("xoff")] / 1e12
        count += int(np.count_nonzero((at >= span.begin_s) & (at < span.end_s)))
    return count


def run_of(outcome: RunOutcome) -> Run:
    half = measured_half(outcome)
    rates = traces.flow_rates(outcome, half.begin_s, half.end_s)
    rtts = frames.rtts(outcome)
    inside = (rtts["time_ps"] >= half.begin_s * 1e12) & (rtts["time_ps"] < half.end_s * 1e12)
    micros = np.sort(rtts["bytes"][inside].astype(float) / 1e6)
    if len(micros) == 0:
        raise RocelabError(f"{outcome.plan.label}: no round trip was measured")
    values = {
        "throughput": sum(rates.values()),
        "average_rtt": float(micros.mean()),
        "p99_rtt": float(np.percentile(micros, 99, method="inverted_cdf")),
        "jain": jain(list(rates.values())),
        "pauses": float(xoffs_within(outcome, half)),
        "drops": float(run_summary(outcome)["drops"]),
    }
    return Run(CASES[outcome.plan.label], outcome.plan.seed, values, micros)


def measure(overrides: tuple[str, ...] = ()) -> list[Run]:
    scenario = read_scenario(SCENARIO, overrides)
    runs = []
    for label in scenario.labels:
        for seed in scenario.seeds:
            outcome = DesEngine().execute(plan_of(scenario, label, seed))
            if outcome.error is not None:
                raise RocelabError(f"{label}, seed {seed}: {outcome.error}")
            runs.append(run_of(outcome))
    return runs


def values_of(runs: Sequence[Run]) -> Values:
    """Means over the seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for quantity, value in run.values.items():
            found.setdefault((run.case, quantity), []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def rows_of(runs: Sequence[Run]) -> list[Row]:
    return numbers.rows_of(NUMBERS, {"table3.1": values_of(runs)})


def run_timely(out: Path | None) -> int:
    """Exit status 0 when all runs completed; a number that is missed is a finding, and no error."""
    from rocelab.paper import timely_report as report

    console = make_console()
    with console.status("scenarios/timely/incast.toml"):
        runs = measure()
    rows = rows_of(runs)
    folder = out or Path("out") / "paper-timely"
    numbers.save(folder, report.as_json(rows, runs, __version__), report.page(rows, runs, __version__))
    console.print(report.terminal_table(rows))
    console.print(report.terminal_statements(report.statements(values_of(runs))))
    console.print(f"report: [bold]{folder / 'report.html'}[/], .json", soft_wrap=True)
    return 0
