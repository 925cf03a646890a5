"""Table 3.1 of the TIMELY chapter (Mittal, 3.5.1) from scenarios/timely/incast.toml, its numbers beside ours."""

from __future__ import annotations

import numpy as np

from rocelab.paper.claims import OURS, Claim, Values, numbers, together
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure, Table, plain
from rocelab.paper.timely_measures import CASES, PERCENTILES
from rocelab.report import style

FILE = NUMBERS / "timely.csv"
TABLE = "table3.1"
NAMES = {
    "throughput": "total throughput",
    "average_rtt": "average RTT",
    "p99_rtt": "99th percentile of RTT",
    "jain": "Jain's fairness index",
    "pauses": "pauses",
    "drops": "drops",
}
_NOTE = """An incast of 40 connections, scenarios/timely/incast.toml; of the second half of the time in which all connections are active. An RTT is a segment's, of 16 KB,
without its own serialisation; of DCTCP, whose host is not modelled, a packet's. Numbers hold within 10 % of the paper's."""


def claims(results: Results) -> list[Claim]:
    values = results.values(TABLE)
    found = numbers(FILE, {TABLE: values}, NAMES)
    return [*found, *(_shape(values) if results.complete(TABLE) else [])]


def _shape(ours: Values) -> list[Claim]:
    """What TIMELY gives up and what it gets."""

    def ratio(quantity: str, over: str) -> float:
        return (ours["TIMELY", quantity] or 0.0) / (ours[over, quantity] or float("nan"))

    def claim(text: str, paper: str, demand: str, value: float, holds: bool) -> Claim:
        return together(TABLE, "3.5.1", text, paper, demand, {OURS: value}, holds)

    throughput = ratio("throughput", "PFC")
    average, tail, dctcp = ratio("average_rtt", "PFC"), ratio("p99_rtt", "PFC"), ratio("average_rtt", "DCTCP")
    fairer = (ours["TIMELY", "jain"] or 0.0) - (ours["PFC", "jain"] or 0.0)
    return [
        claim(
            "throughput over PFC's: slightly lower",
            "0.995",
            "0.97 to 1",
            throughput,
            0.97 <= throughput <= 1.0,
        ),
        claim(
            "average RTT over PFC's: an order of magnitude lower", "0.093", "<= 0.1", average, average <= 0.1
        ),
        claim("99th percentile of RTT over PFC's", "0.112", "<= 0.112", tail, tail <= 0.112),
        claim("average RTT over DCTCP's", "0.102", "< 1", dctcp, dctcp < 1),
        claim("Jain's index minus PFC's: more fair", "0.044", "> 0", fairer, fairer > 0),
    ]


def tables(results: Results) -> list[Table]:
    columns = {"rtts": "segments"} | {f"{p:g} %": f"{p:g} %" for p in PERCENTILES}
    return [plain("Percentiles of RTT, us", columns, results.notes(TABLE), TABLE)]


def figures(results: Results) -> list[Figure]:
    """Distribution of RTTs, one line per scheme, of the first seed."""
    first = {CASES[label]: arrays["rtts_us"] for label, arrays in results.arrays(TABLE).items()}
    if not first:
        return []
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    palette = style.colours(list(first))
    for case, rtts in first.items():
        share = np.linspace(0, 1, len(rtts))
        thinned = np.unique(np.linspace(0, len(share) - 1, 500).astype(int))
        axes.plot(rtts[thinned], share[thinned], color=palette[case], label=case)
    axes.set(xlabel="RTT [us]", ylabel="share of segments", xscale="log")
    axes.legend(loc="lower right")
    svg = style.svg(fig, "Distribution of round-trip times")
    return [Figure(svg, TABLE, "Round-trip times (figure 3.11)")]


PAPER = Paper(
    title="TIMELY (R. Mittal's thesis, chapter 3)",
    note=_NOTE,
    experiments=(
        Experiment(TABLE, SCENARIOS / "timely" / "incast.toml", "rocelab.paper.timely_measures:measure"),
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=figures,
)
