"""The UPS chapter (Mittal's thesis, chapter 5; NSDI 2016) from scenarios/ups: replays by LSTF, and what LSTF does with slacks by size, by rate and alike for all."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable

import numpy as np

from rocelab.paper.claims import Claim, Numbers, Rule, above, below, each, number, within
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
LOADS = {"30 %": "0.02945", "50 %": "0.04907", "70 %": "0.0687"}  # of flows over TCP
UDP_LOADS = {"30 %": "0.02916", "50 %": "0.04859", "70 %": "0.06803"}
RATES = (10, 50, 100, 300)  # Mb/s, r_est of table 5.2
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


def _ratio(results: Results, name: str, of: str, over: str, metric: str) -> float | None:
    return results.ratio(name, of, over, metric)


def _table_5_1(results: Results, name: str) -> list[Claim]:
    def preemption(case: str) -> float | None:
        return _ratio(results, name, f"roce,{case}-preempt", f"roce,{case}-lstf", "overdue")

    queues = (2, 4, 8, 32)
    approximations = [results.mean(name, f"roce,random-sp-pifo-{q}", "overdue") for q in queues]
    nearer = {
        f"{b} / {a} queues": None if x is None or y is None else y / x
        for (a, x), (b, y) in itertools.pairwise(zip(queues, approximations))
    }
    worse = _ratio(results, name, "roce,random-priorities", "roce,random-lstf", "overdue_beyond")
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


def _by_load(
    results: Results, name: str, of: str, over: str, label: Callable[[str, str], str], metric: str
) -> Numbers:
    return {load: _ratio(results, name, label(of, v), label(over, v), metric) for load, v in LOADS.items()}


def _elsewhere(results: Results, name: str) -> list[Claim]:
    """The chapter does not say which map, which links, which sizes: an order."""
    late = {
        metric: results.mean(name, "roce,random-lstf", metric) for metric in ("overdue", "overdue_beyond")
    }
    said = {"rocketfuel": "0.0246, 0.0063", "datacenter": "0.0164, 0.0154"}[name]
    text = "few packets are late, fewer by more than T"
    return [each(name, text, "< 0.05", late, below(0.05), source="table 5.1, by topology", paper=said)]


def tcp(case: str, load: str) -> str:
    return f"iwarp,{case},load={load}"


def _figure_5_2(results: Results, name: str) -> list[Claim]:
    def claim(text: str, demand: str, of: str, over: str, test: Callable[[float], bool], paper: str) -> Claim:
        ours = _by_load(results, name, of, over, tcp, "avg_fct_s")
        return each(name, text, demand, ours, test, source="5.2.1, figure 5.2", paper=paper)

    return [
        claim(
            "LSTF with slacks by size is SJF: mean FCT",
            "within 1 %",
            "lstf",
            "sjf",
            within(0.99, 1.01),
            "1 to 1.005",
        ),
        claim("SJF beside SRPT: mean FCT", "<= 1", "sjf", "srpt", lambda r: r <= 1, "0.994, 0.979, 0.933"),
        claim("SRPT beside FIFO: mean FCT", "< 1", "srpt", "fifo", below(1), "0.968, 0.892, 0.722"),
    ]


def _figure_5_3(results: Results, name: str) -> list[Claim]:
    values = results.values(name)
    paper = {
        "delay_mean": {"30 %": 1.0, "50 %": 0.0517 / 0.0516, "70 %": 0.0786 / 0.0780},
        "delay_p99": {"30 %": 0.0868 / 0.0911, "50 %": 0.1195 / 0.1288, "70 %": 0.1958 / 0.2142},
    }
    found = []
    for quantity, said in paper.items():
        ours: dict[str, float | None] = {}
        for load, value in UDP_LOADS.items():
            a, b = (values.get((f"roce,{case},load={value}", quantity)) for case in ("lstf", "fifo"))
            ours[load] = a / b / said[load] if a and b else None
        what = "mean" if quantity == "delay_mean" else "99th percentile"
        text = f"{what} of packets' delays, LSTF / FIFO, beside the chapter's ratio"
        numbers = ", ".join(f"{ratio:.3f}" for ratio in said.values())
        found.append(
            each(
                name, text, "within 5 %", ours, within(0.95, 1.05), source="5.2.2, figure 5.3", paper=numbers
            )
        )
    return found


def per_byte(results: Results, name: str, label: str) -> float | None:
    """Completion time of flows, averaged over their bytes, s."""
    mine = [p for p in results.points.get(name, ()) if p.label == label]
    if results.runs(name, label) is None:
        return None
    flows = [results.store.flows(p) for p in mine]
    done = [(f["placed_ps"] - f["posted_ps"]) / 1e12 for f in flows]
    return float(np.mean([np.average(d, weights=f["size"]) for d, f in zip(done, flows)]))


def _over(results: Results, name: str, of: str, over: str) -> float | None:
    a, b = per_byte(results, name, of), per_byte(results, name, over)
    return a / b if a is not None and b else None


def best_rate(results: Results, name: str, load: str) -> tuple[int, float] | None:
    times = {r: per_byte(results, name, tcp(f"lstf-{r}", LOADS[load])) for r in RATES}
    known = {r: t for r, t in times.items() if t is not None}
    if len(known) < len(times):
        return None
    best = min(known, key=lambda r: known[r])
    return best, known[best]


def _table_5_2(results: Results, name: str) -> list[Claim]:
    fq_said = {"30 %": 0.537 / 0.563, "70 %": 0.622 / 0.811}
    lstf_said = {"30 %": 0.538 / 0.537, "70 %": 0.632 / 0.622}
    fq: dict[str, float | None] = {}
    lstf: dict[str, float | None] = {}
    for load in fq_said:
        value = LOADS[load]
        ratio = _over(results, name, tcp("fq", value), tcp("fifo", value))
        fq[load] = None if ratio is None else ratio / fq_said[load]
        best, base = best_rate(results, name, load), per_byte(results, name, tcp("fq", value))
        lstf[load] = None if best is None or base is None else best[1] / base / lstf_said[load]
    source = "5.2.3, table 5.2"
    return [
        each(
            name,
            "FCT per byte, FQ / FIFO, beside the chapter's ratio",
            "within 10 %",
            fq,
            within(0.9, 1.1),
            source=source,
            paper="0.954, 0.767",
        ),
        each(
            name,
            "FCT per byte, LSTF with its best rate / FQ, beside the chapter's ratio",
            "within 10 %",
            lstf,
            within(0.9, 1.1),
            source=source,
            paper="1.002, 1.016",
        ),
    ]


def _figure_5_4(results: Results, name: str) -> list[Claim]:
    values = results.values(name)
    cases = ("fq", *(f"lstf-{r}" for r in (1000, 500, 100, 50, 10)))
    jain = {case: values.get((f"iwarp,{case}", "jain")) for case in cases}
    first = {case: values.get((f"iwarp,{case}", "fair_from_ms")) for case in cases}
    steps = {
        f"{b} - {a}": None if (x := first[a]) is None or (y := first[b]) is None else y - x
        for a, b in zip(cases[1:], cases[2:])
    }
    source = "5.2.3, figure 5.4"
    return [
        each(
            name,
            "Jain's index of all flows, 17 to 20 ms",
            "at least 0.99",
            jain,
            lambda v: v >= 0.99,
            source=source,
            paper="1",
        ),
        each(
            name,
            "the lower the rate, the later: first ms from which the index stays at 0.95, differences",
            ">= 0",
            steps,
            lambda v: v >= 0,
            source=source,
            paper="sooner for larger rates",
        ),
    ]


def _figure_5_5(results: Results, name: str) -> list[Claim]:
    values = results.values(name)
    rates = (50, 25, 10)
    most = {r: values.get((f"iwarp,lstf-{r}", "overshoot")) for r in rates}
    grows = {
        f"{b} - {a} Mb/s": None if (x := most[a]) is None or (y := most[b]) is None else y - x
        for a, b in zip(rates, rates[1:])
    }
    source = "5.2.3, figure 5.5"
    return [
        each(
            name,
            "at the fair share a flow that begins late is served in turn: its most in a ms, in fair shares",
            "0.8 to 1.25",
            {"50 Mb/s": most[50]},
            within(0.8, 1.25),
            source=source,
            paper="round robin from its first packet",
        ),
        each(
            name,
            "the lower the rate, the more it gets at first: differences, in fair shares",
            "> 0",
            grows,
            above(0),
            source=source,
            paper="a spike",
        ),
    ]


def _figure_5_8(results: Results, name: str) -> list[Claim]:
    def time(case: str) -> float | None:
        return per_byte(results, name, f"iwarp,{case}")

    def over(of: str, base: str) -> float | None:
        a, b = time(of), time(base)
        return a / b if a is not None and b else None

    source = "5.3.3, figure 5.8"
    edges = ("fq-edge", "lstf-edge")
    said = {"fq-edge": 3.738 / 3.687, "lstf-edge": 3.739 / 3.687}
    near = {c: None if (r := over(c, "fq-codel")) is None else r / said[c] for c in edges}
    order = ("fq-edge-10ms", "fq-edge", "fq-edge-40ms")
    steps = {f"{b} / {a}": over(b, a) for a, b in zip(order, order[1:])}
    controlled = ("fq-codel", *edges)
    return [
        each(
            name,
            "FCT per byte, CoDel from the edge / FQ-CoDel in the switch, beside the chapter's ratio",
            "within 10 %",
            near,
            within(0.9, 1.1),
            source=source,
            paper="1.014, 1.014",
        ),
        each(
            name,
            "dropping costs time: FCT per byte over that of FQ",
            "> 1",
            {c: over(c, "fq") for c in controlled},
            above(1),
            source=source,
            paper="1.607, 1.629, 1.629",
        ),
        each(
            name,
            "and less than FIFO: over that of FIFO",
            "< 1",
            {c: over(c, "fifo") for c in controlled},
            below(1),
            source=source,
            paper="0.762, 0.773, 0.773",
        ),
        each(
            name,
            "the longer the threshold for gaps, the longer flows take",
            "> 1",
            steps,
            above(1),
            source="table 5.3",
            paper="3.578, 3.739, 4.079 s",
        ),
    ]


def _table_5_4(results: Results, name: str) -> list[Claim]:
    loads = {"30 %": "0.3", "50 %": "0.5", "70 %": "0.7"}

    def over(of: str, base: str) -> Numbers:
        return {
            text: _ratio(
                results, name, f"irn+dctcp,{of},load={load}", f"irn+dctcp,{base},load={load}", "avg_fct_s"
            )
            for text, load in loads.items()
        }

    source = "5.3.4, table 5.4"
    return [
        each(
            name,
            "marks in the switch shorten mean FCT: over none",
            "< 1",
            over("switch", "none"),
            below(1),
            source=source,
            paper="0.55, 0.39, 0.48",
        ),
        each(
            name,
            "marks from the edge shorten it, too",
            "< 1",
            over("edge", "none"),
            below(1),
            source=source,
            paper="0.55, 0.36, 0.48",
        ),
        each(
            name,
            "from the edge / in the switch",
            "within 10 %",
            over("edge", "switch"),
            within(0.9, 1.1),
            source=source,
            paper="1.00, 0.92, 1.00",
        ),
    ]


_CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "table5.1": _table_5_1,
    "loads": _loads,
    "tenth": _numbers,
    "classes": _numbers,
    "rocketfuel": _elsewhere,
    "datacenter": _elsewhere,
    "figure5.2": _figure_5_2,
    "figure5.3": _figure_5_3,
    "table5.2": _table_5_2,
    "figure5.4": _figure_5_4,
    "figure5.5": _figure_5_5,
    "figure5.8": _figure_5_8,
    "table5.4": _table_5_4,
}


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


def tables(results: Results) -> list[Table]:
    found = []
    for name in results.points:
        rows: dict[str, dict[str, float]] = {}
        for label in results.labels(name):
            row = {metric: results.mean(name, label, metric) for metric in _SUMMARY}
            if name in ("table5.2", "figure5.8"):
                row["per_byte"] = per_byte(results, name, label)
            rows[label] = {key: value for key, value in row.items() if value is not None}
        columns = _SUMMARY | ({"per_byte": "FCT per byte, s"} if name in ("table5.2", "figure5.8") else {})
        used = {key: text for key, text in columns.items() if any(row.get(key) for row in rows.values())}
        found.append(plain(f"{name}: what came about", used, rows, name))
    return found


def figures(results: Results) -> list[Figure]:
    """Of the first seed, by millisecond."""
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
    "figure5.3": "rocelab.paper.ups_measures:delays",
    "figure5.4": "rocelab.paper.ups_measures:fairness",
    "figure5.5": "rocelab.paper.ups_measures:late_flow",
}
# With --full: flows that start within 1 s, as the chapter's.
_FULL = dict.fromkeys(("table5.1", "loads", "rocketfuel", "figure5.2", "figure5.3", "table5.2"), _SECOND) | {
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
