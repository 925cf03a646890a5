"""`./rocelab paper escape`: the experiments of Escape's chapter (seed 000, 4.6) from scenarios/escape, its numbers beside ours."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocelab import __version__, deadlock, paths
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError, UsageError
from rocelab.model import RunOutcome
from rocelab.paper import rocc_traces as traces
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.run import make_console
from rocelab.sweep.store import write_whole

SCENARIOS = paths.ROOT / "scenarios" / "escape"
NUMBERS = paths.ROOT / "results" / "paper" / "escape.csv"
CLOSENESS = 0.1  # rates and utilization: |ours / paper - 1|; a paper's 0 is 0
LEAST_PS = 10_000_000_000  # a circle of paused links for so long is a deadlock: 10 ms
_FCS_PREAMBLE_GAP = 24
_ADDED_S = 20e-3  # scenarios/escape/ring_congestion.toml: when flows are added
_END_S = 60e-3

Values = Mapping[tuple[str, str], float]  # (case, quantity) -> ours


@dataclass(frozen=True)
class Run:
    """What one run shows, whatever the paper says of it."""

    label: str
    seed: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Row:
    experiment: str
    case: str
    quantity: str
    unit: str
    paper: float | None  # None: the paper has no number
    source: str
    ours: float | None  # None: not built, or not run

    @property
    def holds(self) -> bool | None:
        if self.ours is None or self.paper is None:
            return None
        if self.paper == 0:
            return self.ours == 0
        return abs(self.ours / self.paper - 1) <= CLOSENESS


def utilization(outcome: RunOutcome) -> float:
    """Per cent of the time until the run's end in which the links of the ring carry something; those the other way round have CNPs at most."""
    busy = []
    for port in outcome.plan.ports:
        counters = outcome.port_counters.get(port.interface, {})
        on_wire = counters.get("tx_bytes", 0) + _FCS_PREAMBLE_GAP * counters.get("tx_frames", 0)
        if not port.peer_is_host:
            busy.append(100 * 8e12 * on_wire / (port.rate_bps * outcome.end_ps))
    return float(np.mean([share for share in busy if share > 0.1 * max(busy)]))


def _common(outcome: RunOutcome) -> dict[str, float]:
    ports, nics = outcome.port_counters.values(), outcome.nic_counters.values()
    return {
        "deadlocks": 0.0 if deadlock.find(outcome, LEAST_PS) is None else 100.0,
        "drops": float(sum(c["drops"] for c in ports)),
        "out_of_order": float(sum(c["out_of_sequence"] for c in nics)),
        "xoff": float(sum(c["xoff_sent_prio3"] for c in ports)),
        "escaped": float(sum(c["escaped_frames"] for c in ports)),
        "tokens": float(sum(c["escape_tokens_sent"] for c in ports)),
        "end_ms": outcome.end_ps / 1e9,
        "utilization": utilization(outcome),
    }


def _ring(outcome: RunOutcome) -> dict[str, float]:
    return _common(outcome)


def _ring_congestion(outcome: RunOutcome) -> dict[str, float]:
    """Rates on the wire of the flows that were there from the start, over the second half of the time before and after flows are added."""
    first = [f.id for f in outcome.plan.flows if f.group == "first"]
    everybody = [f.id for f in outcome.plan.flows]
    before = traces.flow_rates(outcome, _ADDED_S / 2, _ADDED_S)
    after = traces.flow_rates(outcome, (_ADDED_S + _END_S) / 2, _END_S)
    rates = {}
    for name, flows, found in (("rate_before", first, before), ("rate_after", everybody, after)):
        if all(f in found for f in flows):
            rates[name] = traces.mean_of(found, flows)
    return _common(outcome) | rates


EXPERIMENTS: Mapping[str, Callable[[RunOutcome], dict[str, float]]] = {
    "ring": _ring,
    "pool": _ring,
    "ring_congestion": _ring_congestion,
}
# The paper's case of a label; another label of its scenario is a case of its own.
_CASES = {
    "roce+pfc": "pfc",
    "roce+pfc+escape": "escape",
}


def case_of(label: str) -> str:
    return _CASES.get(label, label.removeprefix("roce+"))


def choose(only: str | None) -> list[str]:
    if only is None:
        return list(EXPERIMENTS)
    chosen = list(dict.fromkeys(name.strip() for name in only.split(",") if name.strip()))
    for name in chosen:
        if name not in EXPERIMENTS:
            raise UsageError(f"--only {name}: no such experiment; there are {', '.join(EXPERIMENTS)}")
    if not chosen:
        raise UsageError("--only is empty: name for example ring,pool")
    return chosen


def measure(name: str) -> list[Run]:
    """All labels and seeds of the experiment's scenario, with their traces. A run that ends at its limit is a finding: deadlocks do."""
    scenario = read_scenario(SCENARIOS / f"{name}.toml", ())
    runs = []
    for label in scenario.labels:
        for seed in scenario.seeds:
            outcome = DesEngine().execute(plan_of(scenario, label, seed))
            if outcome.error is not None and "not finished after" not in outcome.error:
                raise RocelabError(f"{name}, {label}, seed {seed}: {outcome.error}")
            runs.append(Run(label, seed, EXPERIMENTS[name](outcome)))
    return runs


def means(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """Over the seeds; drops and reordering are sums, since one is one too many."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for quantity, value in run.values.items():
            found.setdefault((case_of(run.label), quantity), []).append(value)
    return {
        key: float(np.sum(values) if key[1] in ("drops", "out_of_order") else np.mean(values))
        for key, values in found.items()
    }


def rows_of(measured: Mapping[str, Values]) -> list[Row]:
    """The paper's numbers, also of experiments that are not built; then, of those that are, the cases that it has not."""
    with NUMBERS.open(newline="") as file:
        paper = list(csv.DictReader(file))
    rows = []
    for r in paper:
        ours = measured.get(r["experiment"], {}).get((r["case"], r["quantity"]))
        rows.append(
            Row(
                r["experiment"],
                r["case"],
                r["quantity"],
                r["unit"],
                float(r["number"]),
                r["source"],
                ours,
            )
        )
    units = {r["quantity"]: r["unit"] for r in paper}
    known = {(r.experiment, r.case, r.quantity) for r in rows}
    for name, values in measured.items():
        for (case, quantity), ours in values.items():
            if quantity in units and (name, case, quantity) not in known:
                rows.append(Row(name, case, quantity, units[quantity], None, "", ours))
    return sorted(rows, key=lambda row: list(dict.fromkeys(r.experiment for r in rows)).index(row.experiment))


def run_escape(only: str | None, out: Path | None) -> int:
    """Exit status 0 when all runs could be made; a number that is missed is a finding, and no error."""
    from rocelab.paper import escape_report as report

    console = make_console()
    runs: dict[str, list[Run]] = {}
    for name in choose(only):
        with console.status(f"scenarios/escape/{name}.toml"):
            runs[name] = measure(name)
    rows = rows_of({name: means(mine) for name, mine in runs.items()})
    folder = out or Path("out") / "paper-escape"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.as_json(rows, runs, __version__), indent=1, allow_nan=False) + "\n"
    write_whole(folder / "report.json", text.encode())
    write_whole(folder / "report.html", report.page(rows, runs, __version__).encode())
    console.print(report.terminal_table(rows))
    console.print(f"report: [bold]{folder / 'report.html'}[/], .json", soft_wrap=True)
    return 0
