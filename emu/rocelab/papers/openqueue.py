"""The OpenQueue chapter (D. Menikkumbura's thesis, chapter 2) from scenarios/openqueue: queueing policies as programs."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable

from rocelab.paper.claims import OURS, Claim, Values, above, below, each, number, together, within
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.openqueue_measures import weighted
from rocelab.paper.results import Results
from rocelab.paper.tables import Table, of_values

FILE = NUMBERS / "openqueue.csv"
FOLDER = SCENARIOS / "openqueue"
LOADS = ("10", "12", "14", "16", "18")
QUEUES = ("1", "2", "4", "8")
CLIENTS = ("1", "2", "4", "8", "16")
_LABELS = ("list", "heap")
PAYLOADS = ("64B", "128B", "256B", "512B", "1024B")
_NOTE = """Figure 2.19, which has all results of the DPDK implementation, is an image: of it only the sentences are known. Two things are otherwise here than there. A priority queue costs a processor and no experiment
time: throughput is that of the link, whatever the order, and `switch_bench` and `policy_bench` say what an order costs. And what an order does shows with bursts alone: with constant overload the same packets are lost."""

_NAMES = {"total": "packets of both queues", "dropped": "dropped", "left": "left"}


def _ratio(values: Values, of: tuple[str, str], over: tuple[str, str]) -> float | None:
    a, b = values.get(of), values.get(over)
    return a / b if a is not None and b else None


def _minus(a: float | None, b: float | None) -> float | None:
    return a - b if a is not None and b is not None else None


def _bytes(values: Values, label: str, weight: bool) -> float | None:
    high, low = values.get((label, "high_bytes")), values.get((label, "low_bytes"))
    if high is None or low is None:
        return None
    return weighted(high, low) if weight else high + low


def _quotient(values: Values, of: str, over: str, weight: bool) -> float | None:
    a, b = _bytes(values, of, weight), _bytes(values, over, weight)
    return a / b if a is not None and b else None


def _algorithms(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    busy = LOADS[3:]  # above these the queue of 512 frames overflows
    by_value = {
        f"{x} / {y}, {load} Gb/s": _quotient(v, f"{x},{load}", f"{y},{load}", True)
        for load in busy
        for x, y in (("b", "a"), ("c", "b"))
    }
    plain = {
        f"{x} / a, {load} Gb/s": _quotient(v, f"{x},{load}", f"a,{load}", False)
        for load in LOADS
        for x in ("b", "c")
    }
    return [
        each(
            name,
            "throughput weighted by value: A < B, B <= C",
            "at least 1",
            by_value,
            lambda ratio: ratio >= 1,
            source="2.5.4, figure 2.19 (b)",
            paper="A < B < C",
        ),
        each(
            name,
            "throughput: an order costs no experiment time",
            "within 0.5 %",
            plain,
            within(0.995, 1.005),
            source="2.5.4, figure 2.19 (a); DEVIATIONS.md#openqueue",
            paper="A > B > C",
        ),
    ]


def _queues(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    ratios = {f"k = {k}": _quotient(v, f"c,k={k}", f"a,k={k}", True) for k in QUEUES}
    return [
        each(
            name,
            "throughput weighted by value: C / A",
            "> 1",
            ratios,
            above(1),
            source="2.5.4, figure 2.19 (d)",
            paper="C above A, very convincingly",
        )
    ]


def _overhead(results: Results, name: str) -> list[Claim]:
    """Lengths of the paper's machines are told beside ours and not judged: its hosts are not described."""
    v = results.values(name)
    cases = CLIENTS if name == "overhead_clients" else PAYLOADS
    found = []
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["experiment"] != name:
                continue
            case = row["case"]
            ours = {
                "list_packets": v.get((f"list,{case}", "packets")),
                "heap_packets": v.get((f"heap,{case}", "packets")),
                "heap_over_list": _ratio(v, (f"heap,{case}", "packets"), (f"list,{case}", "packets")),
            }[row["quantity"]]
            text = f"{case}: {row['quantity'].replace('_', ' ')}"
            found.append(
                together(name, row["source"], text, row["number"], "", {OURS: ours}, None, unit=row["unit"])
            )
    lengths = {label: {case: v.get((f"{label},{case}", "packets")) for case in cases} for label in _LABELS}
    apart = {case: _minus(lengths["heap"][case], lengths["list"][case]) for case in cases}
    steps = {
        f"{b} - {a}": _minus(lengths["list"][b], lengths["list"][a]) for a, b in itertools.pairwise(cases)
    }
    grows = name == "overhead_clients"
    return [
        *found,
        each(
            name,
            "mean length of the queue, packets: as a priority queue - as a list",
            "0",
            apart,
            lambda packets: packets == 0,
            source="2.5.3",
            paper="2 to 5 % more",
        ),
        each(
            name,
            f"mean length {'grows with clients' if grows else 'falls as packets grow'}, packets",
            "> 0" if grows else "< 0",
            steps,
            above(0) if grows else below(0),
            source="2.5.3",
            paper="grows" if grows else "falls",
        ),
    ]


def _statistics(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    ours = {q: v.get(("two", "policy_dropped" if q == "dropped" else q)) for q in _NAMES}
    found = []
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["experiment"] == name:
                q = row["quantity"]
                found.append(
                    number(
                        *(name, "two", q, _NAMES[q], row["unit"], float(row["number"]), ours[q]),
                        source=row["source"],
                        was_run=("two", q) in v or ours[q] is not None,
                    )
                )
    return found


def _zero(name: str, text: str, ours: dict[str, float | None], source: str) -> Claim:
    return each(name, text, "0", ours, lambda value: value == 0, source=source)


def _crossbar(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    through = {"crossbar": v.get(("crossbar", "inner_total"))}
    return [
        each(name, "packets that internal ports moved on", "> 0", through, above(0), source="figure 2.12"),
        _zero(
            name,
            "packets lost between queues of the crossbar",
            {"crossbar": v.get(("crossbar", "inner_dropped"))},
            "2.4.3",
        ),
    ]


def _backpressure(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    quantities = ("xoff", "end_us", "incast_bytes")
    same = {q: _ratio(v, ("program", q), ("pfc", q)) for q in quantities}
    lost = {label: v.get((label, "lossless_drops")) for label in ("program", "pfc")}
    return [
        each(
            name,
            "pauses, end and bytes with notify / with PFC of the same thresholds",
            "1",
            same,
            lambda ratio: ratio == 1,
            source="2.3.2 (c)",
        ),
        _zero(name, "frames of the lossless class dropped", lost, "2.3.2 (c)"),
    ]


def _reload(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    label = "roce+pfc"
    lost = {label: v.get((label, "lossless_drops"))}
    policies = {label: v.get((label, "policies"))}
    return [
        _zero(name, "frames of the lossless class dropped while policies change", lost, "2.1, 2.6"),
        each(name, "policies that were in force", "13", policies, lambda n: n == 13, source="2.1"),
        each(
            name,
            "frames that joined another policy while they waited",
            "> 0",
            {label: v.get((label, "requeued"))},
            above(0),
            source="2.2.3: immutable orders; change = requeue",
        ),
    ]


def _lqd(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    return [
        _zero(name, "dropped with one shared memory", {"lqd": v.get(("lqd", "dropped"))}, "2.3.2 (3)"),
        each(
            name,
            "dropped with a fixed part for each port",
            "> 0",
            {"static": v.get(("static", "dropped"))},
            above(0),
            source="2.3.2 (3)",
        ),
    ]


def _programs(results: Results, name: str) -> list[Claim]:
    """What the text says that each program does, as the traffic shows it."""
    v = results.values(name)
    faster = {
        label: _ratio(v, (label, "high_latency_us"), ("fifo", "high_latency_us"))
        for label in ("strict_by_value",)
    }
    dropped = {label: _ratio(v, (label, "dropped"), ("fifo", "dropped")) for label in ("steps", "srpt")}
    return [
        each(
            name,
            "latency of the larger value with strict priorities / with FIFO",
            "< 0.5",
            faster,
            below(0.5),
            source="2.3.2 (2)",
        ),
        each(
            name,
            "dropped before the queue is full (steps), or by a queue of six (srpt) / by tail drop",
            "> 1",
            dropped,
            above(1),
            source="2.3.2 (a), figure 2.3",
        ),
    ]


def _ecn(results: Results, name: str) -> list[Claim]:
    v = results.values(name)
    marked = {label: v.get((label, "marked")) for label in ("program", "configured")}
    pauses = {"program / without": _ratio(v, ("program", "xoff"), ("without", "xoff"))}
    return [
        each(name, "marks by postAdmAct, and by [switch.ecn]", "> 0", marked, above(0), source="2.3.2 (c)"),
        each(
            name,
            "XOFFs, with DCQCN by the program's marks / without",
            "< 1",
            pauses,
            below(1),
            source="ours",
        ),
    ]


_CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "programs": _programs,
    "ecn": _ecn,
    "lqd": _lqd,
    "algorithms": _algorithms,
    "queues": _queues,
    "overhead_clients": _overhead,
    "overhead_mtu": _overhead,
    "statistics": _statistics,
    "crossbar": _crossbar,
    "backpressure": _backpressure,
    "reload": _reload,
}


def claims(results: Results) -> list[Claim]:
    return [claim for name in results.points for claim in _CLAIMS[name](results, name)]


def tables(results: Results) -> list[Table]:
    return [of_values(f"{name}: what came about", results.values(name), name) for name in results.points]


PAPER = Paper(
    title="OpenQueue (D. Menikkumbura's thesis, chapter 2)",
    note=_NOTE,
    experiments=tuple(
        Experiment(name, FOLDER / f"{name}.toml", "rocelab.paper.openqueue_measures:measure")
        for name in _CLAIMS
    ),
    claims=claims,
    names=_NAMES,
    tables=tables,
)
