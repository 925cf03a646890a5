"""The experiments of the P4QCN paper (Geng, Yan and Zhang, Future Internet 11(3), 2019, section 4) from scenarios/p4qcn, and two of our own. Of its figures the text has no
numbers but zeros; the rest are orders."""

from __future__ import annotations

from collections.abc import Callable

from rocelab.paper.claims import Claim, Values, above, each, numbers, within
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.tables import Table, of_values

FILE = NUMBERS / "p4qcn.csv"
FOLDER = SCENARIOS / "p4qcn"
BACKGROUND = (2, 3, 4, 5)  # Mb/s; the flow has 4, links 7
CONGESTED = BACKGROUND[1:]
THRESHOLDS = (3, 5, 8, 11, 14, 17, 20)  # frames
TESTBED = ("udp_tcp", "with_pfc", "pfc", "points", "thresholds")
NAMES = {
    "loss": "messages lost",
    "recovered": "R_c / R_t behind the fifth cycle",
}
_PAYLOAD, _WIRE = 1024, 1110  # bytes of a message, and of its frame with preamble, gap and FCS
_LINK = 7.0  # Mb/s
_NOTE = """Figures 13 to 17 have no numbers in the paper's text: what it says of them are orders, and zeros. Losses and delays are those of the flow from h11 to h41; a message's delay counts from
the time at which the program had it to send, so that it includes waiting for the limiter (a message that never left counts with what it has waited); the delay in queues is that of the frames of both flows in switches."""


def label(scheme: str, rate: int) -> str:
    return f"{scheme},rate={rate}Mb_s"


def expected_loss(rate: int) -> float:
    """Per cent of the messages of UDP: what is beyond the link."""
    return 100 * max(0.0, 1 - _LINK / ((4 + rate) * _WIRE / _PAYLOAD))


def _difference(
    v: Values, quantity: str, of: str, less: str, rates: tuple[int, ...]
) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for rate in rates:
        a, b = v.get((label(of, rate), quantity)), v.get((label(less, rate), quantity))
        found[f"{rate} Mb/s"] = None if a is None or b is None else a - b
    return found


def _order(
    v: Values,
    name: str,
    text: str,
    quantity: str,
    more: str,
    less: str,
    source: str,
    rates: tuple[int, ...] = CONGESTED,
) -> Claim:
    return each(
        name,
        text,
        f"{more} - {less} > 0",
        _difference(v, quantity, more, less, rates),
        above(0),
        source=source,
    )


def _udp_tcp(v: Values) -> list[Claim]:
    name, source = "udp_tcp", "4.2.1, figure 13"
    beyond = {
        f"{rate} Mb/s": None
        if (loss := v.get((label("udp", rate), "loss"))) is None
        else loss - expected_loss(rate)
        for rate in BACKGROUND
    }
    return [
        each(
            name,
            "UDP loses what is beyond the link: 1 - 7 / offered, less than that by the buffers that are left",
            "within 0.3 % of all messages",
            beyond,
            within(-0.3, 0.3),
            source="arithmetic",
        ),
        _order(v, name, "packet loss with P4QCN is much lower", "flow_loss", "udp", "p4qcn", f"{source}b"),
        _order(
            v, name, "delay of a message with P4QCN increases", "message_ms", "p4qcn", "udp", f"{source}a"
        ),
        _order(v, name, "delay in queues with P4QCN increases", "queue_ms", "p4qcn", "udp", f"{source}a"),
        _order(
            v, name, "TCP causes higher latency (a message's)", "message_ms", "tcp", "p4qcn", f"{source}a"
        ),
        _order(v, name, "TCP causes higher latency (in queues)", "queue_ms", "tcp", "p4qcn", f"{source}a"),
        each(
            name,
            "at 2 Mb/s nothing is congested: P4QCN does what UDP does",
            "difference of delays 0",
            _difference(v, "message_ms", "p4qcn", "udp", (2,)),
            lambda ms: ms == 0,
            source="arithmetic",
        ),
    ]


def _with_pfc(v: Values) -> list[Claim]:
    name, source = "with_pfc", "4.2.2, figure 14"
    found = []
    for where in ("near", "far"):
        alone, both = f"p4qcn,{where}", f"p4qcn+pfc,{where}"
        lost = {f"{r} Mb/s": v.get((label(alone, r), "loss")) for r in CONGESTED}
        xoff = {f"{r} Mb/s": v.get((label(both, r), "xoff")) for r in CONGESTED}
        found += [
            each(name, f"{where}: P4QCN alone loses packets", "> 0 %", lost, above(0), source=f"{source}b"),
            _order(
                v, name, f"{where}: with PFC messages take longer", "message_ms", both, alone, f"{source}a"
            ),
            _order(v, name, f"{where}: with PFC frames wait longer", "queue_ms", both, alone, f"{source}a"),
            each(
                name,
                f"{where}: P4QCN cannot completely avoid PFC triggers",
                "> 0 XOFF",
                xoff,
                above(0),
                source=source,
            ),
        ]
    return found


def _pfc(v: Values) -> list[Claim]:
    name, source = "pfc", "4.2.3, figure 15"
    return [
        _order(
            v, name, "P4QCN lowers the latency of PFC (a message's)", "message_ms", "pfc", "p4qcn+pfc", source
        ),
        _order(
            v,
            name,
            "P4QCN lowers the latency of PFC (in queues)",
            "queue_ms",
            "pfc",
            "p4qcn+pfc",
            source,
        ),
        _order(v, name, "P4QCN reduces the number of PFC triggers", "xoff", "pfc", "p4qcn+pfc", source),
    ]


def _points(v: Values) -> list[Claim]:
    name, source = "points", "4.2.4, figure 16"
    return [
        _order(
            v, name, "two points: lower latency (a message's)", "message_ms", "p4qcn3", "p4qcn", f"{source}a"
        ),
        _order(
            v,
            name,
            "two points: lower latency (in queues)",
            "queue_ms",
            "p4qcn3",
            "p4qcn",
            f"{source}a",
        ),
        _order(v, name, "two points: lower packet loss", "loss", "p4qcn3", "p4qcn", f"{source}b"),
    ]


def _thresholds(v: Values) -> list[Claim]:
    name, source = "thresholds", "4.2.5, figure 17"

    def busy(scheme: str, threshold: int) -> float | None:
        return v.get((f"{scheme},{threshold}", "busy"))

    def rises(scheme: str) -> float | None:
        first, last = busy(scheme, THRESHOLDS[0]), busy(scheme, THRESHOLDS[-1])
        return None if first is None or last is None else last - first

    low: dict[str, float | None] = {}
    for threshold in THRESHOLDS[:3]:
        a, b = busy("p4qcn", threshold), busy("pfc", threshold)
        low[f"{threshold} frames"] = None if a is None or b is None else a - b
    return [
        each(
            name,
            "at low thresholds P4QCN uses more of the link than PFC",
            "p4qcn - pfc > 0 %",
            low,
            above(0),
            source=source,
        ),
        each(
            name,
            "the higher the threshold, the higher the utilization: from 3 to 20 frames",
            "> 0 %",
            {scheme: rises(scheme) for scheme in ("p4qcn", "pfc")},
            above(0),
            source=source,
        ),
    ]


def _behaviour(v: Values) -> list[Claim]:
    name = "behaviour"

    def one(text: str, demand: str, quantity: str, test: Callable[[float], bool], source: str) -> Claim:
        return each(name, text, demand, {"p4qcn": v.get(("p4qcn", quantity))}, test, source=source)

    return [
        one(
            "rate reduction: the lowest step / the line, of each feedback packet",
            "0.5, within 1 %",
            "reduced",
            within(0.495, 0.505),
            "equation 2, figure 12",
        ),
        one(
            "active increase: the sixth cycle raises the target by R_AI, Mb/s",
            "5, within 2 %",
            "increased",
            within(4.9, 5.1),
            "equation 4, figure 12",
        ),
    ]


def _rdma(v: Values) -> list[Claim]:
    name, source = "rdma", "1"
    two, three, dcqcn, pfc = (f"roce+pfc{cc}" for cc in ("+p4qcn", "+p4qcn3", "+dcqcn", ""))

    def less(quantity: str, of: str, than: str) -> dict[str, float | None]:
        a, b = v.get((of, quantity)), v.get((than, quantity))
        return {f"{of} - {than}": None if a is None or b is None else a - b}

    def lower(text: str, quantity: str, of: str, than: str) -> Claim:
        return each(name, text, "difference < 0", less(quantity, of, than), lambda d: d < 0, source=source)

    return [
        lower("fewer PFC triggers than PFC alone", "xoff", two, pfc),
        lower("fewer PFC triggers than DCQCN", "xoff", two, dcqcn),
        lower("fewer PFC triggers than the same law with three points", "xoff", two, three),
        lower("the queue's peak is lower than with DCQCN", "peak_kb", two, dcqcn),
        lower("the queue is at half of its peak earlier than with DCQCN", "half_ms", two, dcqcn),
    ]


def _starvation(v: Values) -> list[Claim]:
    name, source = "starvation", "DEVIATIONS.md#p4qcn"
    late = {case: v.get((case, "late_bps")) for case in ("letter", "clones", "floor", "timer")}
    return [
        each(
            name,
            "to the letter a flow starves: its payload in the last 20 s, bit/s",
            "< 0.1 % of 4 Mb/s",
            {c: late[c] for c in ("letter", "clones")},
            lambda bps: bps < 4e3,
            source=source,
        ),
        each(
            name,
            "a floor alone leaves it there",
            "< 0.2 % of 4 Mb/s",
            {"floor": late["floor"]},
            lambda bps: bps < 8e3,
            source=source,
        ),
        each(
            name,
            "a timer and a floor of a tenth of the link keep it going: payload / that of the letter",
            "> 100",
            {"timer": None if (a := late["timer"]) is None or not (b := late["letter"]) else a / b},
            above(100),
            source=source,
        ),
        each(
            name,
            "clones cost as much on the way back as the data that draws them: feedback / data, bytes, %",
            "> 50 %",
            {"clones": v.get(("clones", "feedback_share"))},
            above(50),
            source="figure 4",
        ),
        each(
            name,
            "headers alone do not",
            "< 10 %",
            {"letter": v.get(("letter", "feedback_share"))},
            lambda share: share < 10,
            source="DEVIATIONS.md#p4qcn",
        ),
    ]


_CLAIMS: dict[str, Callable[[Values], list[Claim]]] = {
    "behaviour": _behaviour,
    "udp_tcp": _udp_tcp,
    "with_pfc": _with_pfc,
    "pfc": _pfc,
    "points": _points,
    "thresholds": _thresholds,
    "rdma": _rdma,
    "starvation": _starvation,
}


def claims(results: Results) -> list[Claim]:
    measured = {name: results.values(name) for name in results.points}
    found = numbers(FILE, measured, NAMES)
    for name, values in measured.items():
        found += _CLAIMS[name](values)
    return sorted(found, key=lambda c: list(measured).index(c.experiment))


_TITLES = {
    "loss": "lost of both, %",
    "flow_loss": "of the flow, %",
    "message_ms": "message, ms",
    "queue_ms": "in queues, ms",
    "flow_mbps": "flow, Mb/s",
    "busy": "link carries, %",
    "xoff": "XOFF",
    "feedback_bytes": "feedback, bytes",
    "notifications": "notifications",
}


def tables(results: Results) -> list[Table]:
    return [
        of_values(f"{name}: what happened", results.values(name), name, _TITLES) for name in results.points
    ]


def _experiment(name: str) -> Experiment:
    function = "testbed" if name in TESTBED else name
    return Experiment(
        name, FOLDER / f"{name}.toml", f"rocelab.paper.p4qcn_measures:{function}", fast_seeds=(1, 2, 3)
    )


PAPER = Paper(
    title="P4QCN (J. Geng, J. Yan, Y. Zhang, Future Internet 2019)",
    note=_NOTE,
    experiments=tuple(_experiment(name) for name in _CLAIMS),
    claims=claims,
    names=NAMES,
    tables=tables,
)
