"""The UPS chapter (Mittal's thesis, chapter 5; NSDI 2016) from scenarios/ups: replays by LSTF, and what LSTF does with slacks by size, by rate and alike for all."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable

import numpy as np

from rocelab.model import Array
from rocelab.paper import ups_delay_statements, ups_measures, ups_statements
from rocelab.paper.claims import Claim, Rule, above, below, each, number
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure, Table, plain
from rocelab.report import style

FILE = NUMBERS / "ups.csv"
FOLDER = SCENARIOS / "ups"
NAMES = {
    "overdue": "packets that arrive later than in the original",
    "overdue_beyond": "packets later by more than T",
    "waited_1": "packets that waited at 1 switch",
    "waited_2": "at 2 switches",
    "waited_3": "at 3 switches",
    "waited_more": "at 4 or more",
}
_POINTS = Rule("within 4 points", lambda ours, paper: abs(ours - paper) <= 4)
_SMALL = Rule("below 0.001", lambda ours, _: ours < 0.001)
_NOTE = """Replays: the share of packets that LSTF delivers later than the original schedule did, to the picosecond, and of those later by more than T, a full frame on the slowest link. Every replay is
held to equal departures from all hosts, and to lateness = - slack of every packet. The published flow sizes are used as they are (mean 184.5 packets); those of the chapter's own runs are not public. Factors are those by
which a prototype with the same sizes came near. Results over TCP are orders and ratios: the authors' TCP is ns-2's."""


def _factor(factor: str) -> Rule:
    if factor == "small":
        return _SMALL
    if factor == "points":
        return _POINTS
    f = float(factor)
    return Rule(f"within a factor of {f:g}", lambda ours, paper: 1 / f <= ours / paper <= f)


def _numbers(results: Results, experiment: str) -> list[Claim]:
    found = []
    with FILE.open(newline="") as opened:
        for row in csv.DictReader(opened):
            if row["experiment"] != experiment:
                continue
            quantity = row["quantity"]
            ours = results.mean(experiment, f"roce,{row['case']}", quantity)
            if ours is not None and row["unit"] == "%":
                ours *= 100
            found.append(
                number(
                    *(
                        experiment,
                        row["case"],
                        quantity,
                        NAMES[quantity],
                        row["unit"],
                        float(row["number"]),
                        ours,
                    ),
                    source=row["source"],
                    rule=_factor(row["factor"]),
                    was_run=ours is not None,
                )
            )
    return found


def _table_5_1(results: Results, name: str) -> list[Claim]:
    def preemption(case: str) -> float | None:
        return results.ratio(name, f"roce,{case}-preempt", f"roce,{case}-lstf", "overdue")

    queues = (2, 4, 8, 32)
    approximations = [results.mean(name, f"roce,random-sp-pifo-{q}", "overdue") for q in queues]
    nearer = {
        f"{b} / {a} queues": None if x is None or y is None else y / x
        for (a, x), (b, y) in itertools.pairwise(zip(queues, approximations))
    }
    worse = results.ratio(name, "roce,random-priorities", "roce,random-lstf", "overdue_beyond")
    return [
        *_numbers(results, name),
        each(
            name,
            "preemption leaves almost nothing late: with / without",
            "< 0.02",
            {case: preemption(case) for case in ("sjf", "lifo")},
            below(0.02),
            source="5.1.3 (5)",
            paper="0.0024 / 0.1833, 0.0025 / 0.1477",
        ),
        each(
            name,
            "static priorities leave more beyond T than LSTF: ratio",
            "at least 20",
            {"random": worse},
            lambda ratio: ratio >= 20,
            source="5.1.3 (7)",
            paper="0.2069 / 0.0002",
        ),
        each(
            name,
            "LSTF's ranks by FIFO queues (SP-PIFO): the more, the fewer packets are late",
            "< 1",
            nearer,
            below(1),
            source="ours",
        ),
        *ups_delay_statements.figure_5_1(results, name),
    ]


def _loads(results: Results, name: str) -> list[Claim]:
    late = {
        load: results.mean(name, f"roce,{load}-percent-lstf", "overdue") for load in ("10", "30", "50", "90")
    }
    least = late["10"]
    over = {
        f"{load} %": None if value is None or least is None else value - least
        for load, value in late.items()
        if load != "10"
    }
    beyond = {"10 %": results.mean(name, "roce,10-percent-lstf", "overdue_beyond")}
    return [
        *_numbers(results, name),
        each(
            name, "at 10 % fewest are late: overdue - that of 10 %", "> 0", over, above(0), source="table 5.1"
        ),
        each(
            name, "at 10 % nothing is late by more than T", "0", beyond, lambda v: v == 0, source="table 5.1"
        ),
    ]


def _elsewhere(results: Results, name: str) -> list[Claim]:
    """The chapter does not say which map, which links, which sizes: an order."""
    late = {
        metric: results.mean(name, "roce,random-lstf", metric) for metric in ("overdue", "overdue_beyond")
    }
    said = {"rocketfuel": "0.0246, 0.0063", "datacenter": "0.0164, 0.0154"}[name]
    text = "few packets are late, fewer by more than T"
    return [each(name, text, "< 0.05", late, below(0.05), source="table 5.1, by topology", paper=said)]


def _omniscient(results: Results, name: str) -> list[Claim]:
    def late(*cases: str) -> dict[str, float | None]:
        return {case: results.mean(name, f"roce,{case}", "overdue") for case in cases}

    return [
        each(
            name,
            "by the times of all switches nobody is late",
            "0",
            late("random-omniscient", "random-omniscient-preempt", "sjf-omniscient-preempt"),
            lambda v: v == 0,
            source="5.1.2, A.1",
            paper="0",
        ),
        each(
            name,
            "by what is known at the edges alone some are",
            "> 0",
            late("random-priorities", "random-lstf", "random-lstf-preempt", "sjf-lstf"),
            above(0),
            source="5.1.2, A.2",
        ),
    ]


_CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "table5.1": _table_5_1,
    "loads": _loads,
    "omniscient": _omniscient,
    "tenth": _numbers,
    "classes": _numbers,
    "rocketfuel": _elsewhere,
    "datacenter": _elsewhere,
} | ups_statements.CLAIMS


def claims(results: Results) -> list[Claim]:
    return [claim for name in results.points for claim in _CLAIMS[name](results, name)]


_SUMMARY = {
    "avg_fct_s": "mean FCT, s",
    "p99_fct_s": "99th % FCT, s",
    "overdue": "overdue",
    "overdue_beyond": "overdue > T",
    "drops": "dropped",
    "timeouts": "timeouts",
    "ecn_marks": "marks",
}
# Further columns, by experiment.
_EXTRA = {
    "table5.1": {"waits_less": "waits less", "median_ratio": "median of waiting / the original's"},
    "table5.2": {"per_byte": "FCT per byte, s"},
    "figure5.8": {
        "per_byte": "FCT per byte, s",
        "rtt_per_byte": "RTT per byte, s",
        "rtt_with_gaps": "with waits behind lost packets, s",
    },
}


def tables(results: Results) -> list[Table]:
    found = []
    for name in results.points:
        rows: dict[str, dict[str, float]] = {}
        extra = _EXTRA.get(name, {})
        values = results.values(name) if name in _MEASURES else {}
        for label in results.labels(name):
            row = {metric: results.mean(name, label, metric) for metric in _SUMMARY}
            row |= {quantity: values.get((label, quantity)) for quantity in extra}
            if "per_byte" in extra:
                row["per_byte"] = ups_statements.per_byte(results, name, label)
            rows[label] = {key: value for key, value in row.items() if value is not None}
        columns = _SUMMARY | extra
        used = {key: text for key, text in columns.items() if any(row.get(key) for row in rows.values())}
        found.append(plain(f"{name}: what came about", used, rows, name))
    return found


def figures(results: Results) -> list[Figure]:
    """Of the first seed."""
    return [*_waiting(results), *_lateness(results), *_by_millisecond(results)]


def _of_originals(results: Results, array: str) -> dict[str, Array]:
    """Of the replay of each by LSTF."""
    arrays = results.arrays("table5.1")
    labels = {original: ups_delay_statements.replay(original) for original in ups_delay_statements.ORIGINALS}
    return {original: arrays[label][array] for original, label in labels.items() if label in arrays}


def _lateness(results: Results) -> list[Figure]:
    lines = _of_originals(results, "later")
    if not lines:
        return []
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    palette = style.colours(list(lines))
    for original, values in lines.items():
        some = values > 0
        axes.loglog(ups_measures.LATENESS_US[some], values[some], color=palette[original], label=original)
    axes.set(xlabel="lateness [us]", ylabel="share of packets later by more")
    axes.legend(loc="best")
    title = "Lateness of packets in replays (table 5.1)"
    return [Figure(style.svg(fig, title), "table5.1", title)]


def _waiting(results: Results) -> list[Figure]:
    lines = _of_originals(results, "cdf")
    if not lines:
        return []
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    palette = style.colours(list(lines))
    for original, values in lines.items():
        axes.plot(ups_measures.RATIOS, values, color=palette[original], label=original)
    axes.set(xlabel="queueing delay / that in the original", ylabel="share of packets")
    axes.legend(loc="best")
    title = "Queueing delays of replays (figure 5.1)"
    return [Figure(style.svg(fig, title), "table5.1", title)]


def _by_millisecond(results: Results) -> list[Figure]:
    found = []
    shown = (
        ("figure5.4", "jain", 0, "Jain's index", "Fairness of 90 flows (figure 5.4)"),
        ("figure5.5", "share", 5, "of a fair share", "What a flow that begins at 5 ms gets (figure 5.5)"),
    )
    for name, array, begin, what, title in shown:
        lines = {label: arrays[array] for label, arrays in results.arrays(name).items()}
        if not lines:
            continue
        fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
        palette = style.colours(list(lines))
        for label, values in lines.items():
            axes.plot(begin + np.arange(len(values)), values, color=palette[label], label=label.split(",")[1])
        axes.set(xlabel="time [ms]", ylabel=what)
        axes.legend(loc="best")
        found.append(Figure(style.svg(fig, title), name, title))
    return found


_SECOND = ("workload.flows.duration=1s",)
_MEASURES = {
    "table5.1": "rocelab.paper.ups_measures:queueing",
    "figure5.3": "rocelab.paper.ups_measures:delays",
    "figure5.4": "rocelab.paper.ups_measures:fairness",
    "figure5.5": "rocelab.paper.ups_measures:late_flow",
    "figure5.6": "rocelab.paper.ups_measures:weights",
    "figure5.8": "rocelab.paper.ups_measures:round_trips",
}
# With --full: flows that start within 1 s, as the chapter's.
_FULL = dict.fromkeys(
    ("table5.1", "loads", "omniscient", "rocketfuel", "figure5.2", "figure5.3", "table5.2"), _SECOND
) | {
    "tenth": ("workload.flows.duration=10s",),
    "classes": ("workload.shortest.duration=1s", "workload.others.duration=1s"),
}

PAPER = Paper(
    title="Universal packet scheduling (R. Mittal's thesis, chapter 5)",
    note=_NOTE,
    experiments=tuple(
        Experiment(
            name,
            FOLDER / f"{name}.toml",
            _MEASURES.get(name, ""),
            full=_FULL.get(name, ()),
        )
        for name in _CLAIMS
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=figures,
)
