"""Table 3.1 and the figures of the TIMELY chapter (Mittal, 3.1, 3.3.4, 3.5.1) from scenarios/timely, their numbers beside ours."""

from __future__ import annotations

from rocelab.paper import open_choices, timely_figures, timely_statements
from rocelab.paper.claims import AT_MOST, Claim, Rule, numbers
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.tables import Table, of_values, plain
from rocelab.paper.timely_measures import PERCENTILES
from rocelab.paper.timely_statements import TABLE

FILE = NUMBERS / "timely.csv"
MEASURE = "rocelab.paper.timely_measures:measure"
NAMES = {
    "throughput": "total throughput",
    "average_rtt": "average RTT",
    "p99_rtt": "99th percentile of RTT",
    "jain": "Jain's fairness index",
    "pauses": "pauses",
    "offered": "RPCs offered",
    "accepted": "RPCs accepted",
    "rpc_median": "median RPC latency",
    "rpc_p99": "99th percentile of RPC latency",
    "ping_median": "median RTT of pingers",
    "ping_p99": "99th percentile of pingers' RTT",
    "drops": "drops",
    "to_1500": "time to 1.5 Gb/s",
    "fixed_to_1500": "time to 1.5 Gb/s",
    "to_share": "time to the new fair share",
}
_SOON = Rule(AT_MOST.demand, AT_MOST.holds, never=False)
RULES = {"to_1500": _SOON, "to_share": _SOON}
_FIGURES = ("3.2", "3.3", "3.7", "3.10", "3.13", "3.14", "3.15", "3.16", "3.17", "3.20")
_VALUES = (
    TABLE,
    "figure3.3",
    "figure3.7",
    "figure3.10",
    "figure3.13",
    "figure3.14",
    "figure3.15",
    "figure3.16",
    "figure3.17",
    "figure3.20",
    "patched",
)
_NOTE = """An incast of 40 connections, scenarios/timely/incast.toml, and what the figures change of it; of the second half of the time in which all connections are active. An
RTT is a segment's, without its own serialisation; of DCTCP, whose host is not modelled, a packet's. Numbers hold within 10 % of the paper's, times when they are not above it."""


def claims(results: Results) -> list[Claim]:
    found = numbers(FILE, {name: results.values(name) for name in results.points}, NAMES, RULES)
    return [*found, *timely_statements.claims(results)]


def tables(results: Results) -> list[Table]:
    columns = {"rtts": "segments"} | {f"{p:g} %": f"{p:g} %" for p in PERCENTILES}
    found = [
        plain("Percentiles of RTT, us", columns, results.notes(name), name)
        for name in (TABLE, "figure3.3")
        if name in results.points
    ]
    for name in _VALUES:
        if name in results.points:
            found.append(of_values(f"{name}: what was measured", results.values(name), name, NAMES))
    return found


PAPER = Paper(
    title="TIMELY (R. Mittal's thesis, chapter 3)",
    note=_NOTE,
    experiments=(
        Experiment(TABLE, SCENARIOS / "timely" / "incast.toml", MEASURE),
        *(Experiment(f"figure{n}", SCENARIOS / "timely" / f"figure{n}.toml", MEASURE) for n in _FIGURES),
        Experiment("patched", SCENARIOS / "timely" / "patched.toml", MEASURE),
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=timely_figures.figures,
    choices=open_choices.TIMELY,
)
