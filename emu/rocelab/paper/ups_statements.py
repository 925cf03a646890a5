"""What the UPS chapter says of flows over TCP, of fairness and of queue management from the edge (5.2 and 5.3), held against our runs: orders and ratios."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rocelab.paper.claims import Claim, Numbers, above, below, each, within
from rocelab.paper.results import Results
from rocelab.paper.ups_delay_statements import figure_5_9

LOADS = {"30 %": "0.02945", "50 %": "0.04907", "70 %": "0.0687"}  # of flows over TCP
UDP_LOADS = {"30 %": "0.02916", "50 %": "0.04859", "70 %": "0.06803"}
RATES = (10, 50, 100, 300)  # Mb/s, r_est of table 5.2


def _by_load(
    results: Results, name: str, of: str, over: str, label: Callable[[str, str], str], metric: str
) -> Numbers:
    return {load: results.ratio(name, label(of, v), label(over, v), metric) for load, v in LOADS.items()}


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


def _figure_5_6(results: Results, name: str) -> list[Claim]:
    """The closed form is weighted max-min fairness: of 5 Gb/s A has 4.5, B and C have 0.5 each; with equal rates 2.5, 0.5, 0.5."""
    values = results.values(name)
    said = {
        ("weights", "a_b"): ("rates of 900, 100, 100 Mb/s: A / B", 9, "9"),
        ("weights", "b_c"): ("B / C", 1, "1"),
        ("weights", "a_bc"): ("A / (B + C)", 4.5, "4.5 and 1 Gb/s"),
        ("equal", "a_bc"): ("with one rate for all: A / (B + C)", 2.5, "2.5 and 1 Gb/s"),
        ("equal", "b_c"): ("B / C", 1, "1"),
    }
    return [
        each(
            name,
            f"{text}, 15 to 30 ms",
            f"{ratio:g} within 2 %",
            {case: values.get((f"roce,{case}", quantity))},
            within(0.98 * ratio, 1.02 * ratio),
            source="5.2.3, figure 5.6",
            paper=paper,
        )
        for (case, quantity), (text, ratio, paper) in said.items()
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
        *figure_5_9(results, name),
    ]


def _table_5_4(results: Results, name: str) -> list[Claim]:
    loads = {"30 %": "0.3", "50 %": "0.5", "70 %": "0.7"}

    def over(of: str, base: str) -> Numbers:
        return {
            text: results.ratio(
                name, f"irn+dctcp,{of},load={load}", f"irn+dctcp,{base},load={load}", "avg_fct_s"
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


CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "figure5.2": _figure_5_2,
    "figure5.3": _figure_5_3,
    "table5.2": _table_5_2,
    "figure5.4": _figure_5_4,
    "figure5.5": _figure_5_5,
    "figure5.6": _figure_5_6,
    "figure5.8": _figure_5_8,
    "table5.4": _table_5_4,
}
