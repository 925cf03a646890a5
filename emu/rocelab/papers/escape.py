"""The experiments of Escape's chapter (Menikkumbura, 4.6) from scenarios/escape, its numbers beside ours."""

from __future__ import annotations

from rocelab.paper import escape_queues, open_choices
from rocelab.paper.claims import AT_LEAST, Claim, Values, below, each, number, numbers
from rocelab.paper.escape_measures import EXPERIMENTS, P99_OVER, XOFF_OVER, Run
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results, mean_of
from rocelab.paper.tables import Table, plain

FILE = NUMBERS / "escape.csv"
# The paper's case of a scheme; another scheme of its scenario is a case of its own.
_CASES = {
    "roce+pfc": "pfc",
    "roce+pfc+escape": "escape",
    "roce+pfc+escape+announce": "escape+announce",
    "irn+pfc+hpcc": "pfc+hpcc",
    "irn+pfc+hpcc+escape": "escape+hpcc",
    "roce+pfc+loopbreaker": "loopbreaker",
    "roce+pfc+watchdog": "watchdog",
}
NAMES = {
    "deadlocks": "runs that deadlock",
    "utilization": "links busy",
    "drops": "drops",
    "out_of_order": "out of order",
    "rate_before": "rate before",
    "rate_after": "rate after",
    "p99_fct_ms": "99th percentile FCT",
    "unfinished": "flows that never end",
    "p99_over_escape": "99th percentile FCT / Escape's",
    "p99_over_announced": "99th percentile FCT / Escape's with announcements",
    "fct_without_over_with": "mean FCT without / with Escape",
    "fct_bound": "its bound: mean FCT without Escape / without heavy flows",
    "of_ideal": "links busy, of buffers that never fill",
    "busy": "links busy under load",
    "mean_over_rocc": "mean FCT / RoCC's alone",
    "short_over_rocc": "mean FCT of flows below 1 MB / RoCC's alone",
    "p99_over_rocc": "99th percentile FCT / RoCC's alone",
    "escaped_percent": "frames that escaped, of all that ports sent",
}
# Quantities for which the paper has no number.
_UNITS = {
    "p99_fct_ms": "ms",
    "unfinished": "flows",
    "fct_bound": "ratio",
    "p99_over_announced": "ratio",
    "mean_over_rocc": "ratio",
    "short_over_rocc": "ratio",
    "p99_over_rocc": "ratio",
    "escaped_percent": "%",
}
# Goals of RoCC (5.4) that have no number: less than with PFC alone.
_LESS = {XOFF_OVER: "minimize PFC activation", P99_OVER: "reduce tail latency"}
_NOTE = """Numbers hold within 10 % of the paper's, and where the paper's is 0 ours must be. The tables have means over the runs of a label: how busy the links that carry the
experiment's data are, from its start to its end; XOFF frames sent, refreshes included; tokens sent and frames that left paused queues by them; flows that had not ended
when the run did. A deadlock is a circle of links paused for 10 ms or more, over none of which a frame escapes."""
_COLUMNS = {
    "deadlocks": "deadlocks, % of runs",
    "deadlock_ms": "since, ms",
    "utilization": "busy, %",
    "busy": "under load, %",
    "xoff": "XOFF",
    "tokens": "tokens",
    "escaped": "escaped",
    "loops": "loops broken",
    "drops": "drops",
    "out_of_order": "out of order",
    "left": "flows left",
    "end_ms": "end, ms",
}


def case_of(run: Run) -> str:
    """ "roce+pfc+escape,delay=2us": "escape,delay=2us"."""
    scheme = _CASES.get(run.scheme, run.scheme.removeprefix("roce+"))
    return f"{scheme},{run.case}" if run.case else scheme


def runs_of(results: Results, name: str) -> list[Run]:
    return [
        Run(
            found.label, found.seed, {q: value for (_, q), value in found.values.items() if value is not None}
        )
        for found in results.found(name)
    ]


def values_of(name: str, runs: list[Run]) -> Values:
    """Means over the seeds. There is no tail where a seed has none."""
    seen: dict[tuple[str, str], list[float | None]] = {}
    for run in runs:
        for quantity in run.values if "p99_fct_ms" in run.values else (*run.values, "p99_fct_ms"):
            seen.setdefault((case_of(run), quantity), []).append(run.values.get(quantity))
    means = {key: mean_of(values) for key, values in seen.items()}
    return {key: value for key, value in means.items() if value is not None} | EXPERIMENTS[name].of_runs(runs)


def claims(results: Results) -> list[Claim]:
    """The paper's numbers; then, of each experiment, cases that it has not."""
    measured = {name: values_of(name, runs_of(results, name)) for name in results.points}
    found = numbers(FILE, measured, NAMES, {"fct_without_over_with": AT_LEAST})
    units = _UNITS | {c.quantity: c.unit for c in numbers(FILE, {}, NAMES, only_run=False)}
    known = {(c.experiment, c.case, c.quantity) for c in found}
    for name, values in measured.items():
        for (case, quantity), ours in values.items():
            if quantity in units and (name, case, quantity) not in known:
                found.append(number(name, case, quantity, NAMES[quantity], units[quantity], None, ours))
        found += goals(name, values)
    return sorted(found, key=lambda c: list(results.points).index(c.experiment))


def goals(name: str, values: Values) -> list[Claim]:
    """RoCC's (5.4, I), for RoCC alone and beside Escape (5.4, III)."""
    found = []
    for quantity, goal in _LESS.items():
        ours = {case: value for (case, q), value in values.items() if q == quantity}
        if ours:
            what = "XOFF frames" if quantity == XOFF_OVER else NAMES["p99_fct_ms"]
            text = f"{goal}: {what} over those of PFC alone"
            source = "thesis 5.4, I and III, pages 106 and 107: goals, no numbers"
            found.append(each(name, text, "below 1", ours, below(1), source=source, unit="ratio"))
    return found


def tables(results: Results) -> list[Table]:
    found = []
    for name in results.points:
        rows: dict[str, dict[str, list[float]]] = {}
        for run in runs_of(results, name):
            for quantity, value in run.values.items():
                rows.setdefault(run.label, {}).setdefault(quantity, []).append(value)
        means = {
            label: {quantity: sum(v) / len(v) for quantity, v in values.items()}
            for label, values in rows.items()
        }
        found.append(plain(f"{name}: what happened in the runs", _COLUMNS, means, name))
    return found


PAPER = Paper(
    title="Escape (D. Menikkumbura's thesis, chapter 4)",
    note=_NOTE,
    experiments=tuple(
        Experiment(name, SCENARIOS / "escape" / f"{name}.toml", "rocelab.paper.escape_measures:measure")
        for name in EXPERIMENTS
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=escape_queues.figures,
    choices=open_choices.ESCAPE,
)
