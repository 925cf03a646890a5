"""What the TIMELY chapter says of its figures (Mittal, 3.1, 3.3.4 and 3.5.1), as claims about our runs; the numbers that it gives are in results/paper/timely.csv."""

from __future__ import annotations

from collections.abc import Callable

from rocelab.paper import timely_rpc_statements
from rocelab.paper.claims import (
    CLOSENESS,
    OURS,
    Claim,
    Numbers,
    Test,
    Values,
    above,
    at_most,
    below,
    each,
    together,
    within,
)
from rocelab.paper.results import Results

TABLE = "table3.1"
_FAIR_MBPS = 500.0
_SEGMENTS = ("16KB", "32KB", "64KB")
_T_LOWS = ("50us", "200us", "300us")
_LOADS = ("0.167", "0.3", "0.5")
_WEIGHT = "alpha=0.02"
_PATCHED_MBPS = 5_000.0  # scenarios/timely/patched.toml: two flows on a link of 10 Gb/s
_PATCHED_RTT_US = 50 * (1 + 2 * 10e6 / (0.008 * 10e9))


def claims(results: Results) -> list[Claim]:
    found = []
    for experiment, of in _OF.items():
        if results.complete(experiment):
            found += of(results.values(experiment))
    return found


def _near(ratio: float) -> bool:
    return abs(ratio - 1) <= CLOSENESS


def _of(ours: Values, case: str, quantity: str) -> float:
    value = ours.get((case, quantity))
    return float("nan") if value is None else value


def _table(ours: Values) -> list[Claim]:
    """What TIMELY gives up and what it gets, and what its connections get (figure 3.12)."""

    def ratio(quantity: str, over: str) -> float:
        return _of(ours, "TIMELY", quantity) / _of(ours, over, quantity)

    def claim(text: str, paper: str, demand: str, value: float, test: Test) -> Claim:
        return each(TABLE, text, demand, {OURS: value}, test, source="3.5.1", paper=paper)

    throughput = ratio("throughput", "PFC")
    average, tail, dctcp = ratio("average_rtt", "PFC"), ratio("p99_rtt", "PFC"), ratio("average_rtt", "DCTCP")
    fairer = _of(ours, "TIMELY", "jain") - _of(ours, "PFC", "jain")
    shares: Numbers = {q: _of(ours, "TIMELY", q) / _FAIR_MBPS for q in ("least_rate", "most_rate")}
    return [
        claim(
            "throughput over PFC's: slightly lower",
            "0.995",
            "0.97 to 1",
            throughput,
            within(0.97, 1.0),
        ),
        claim(
            "average RTT over PFC's: an order of magnitude lower",
            "0.093",
            "<= 0.1",
            average,
            at_most(0.1),
        ),
        claim("99th percentile of RTT over PFC's", "0.112", "<= 0.112", tail, at_most(0.112)),
        claim("average RTT over DCTCP's", "0.102", "< 1", dctcp, below(1)),
        claim("Jain's index minus PFC's: more fair", "0.044", "> 0", fairer, above(0)),
        each(
            TABLE,
            "each connection's throughput is close to the fair share of 500 Mb/s: least and most over it",
            "within 10 %",
            shares,
            _near,
            source="figure 3.12",
        ),
    ]


def _queue(ours: Values) -> list[Claim]:
    ratios = {percent: ratio for (_, percent), ratio in ours.items()}
    text = "the distributions of RTTs and of the queue match: percentiles of RTT - the least RTT over the queue's"
    return [each("figure3.2", text, "within 10 %", ratios, _near, source="figure 3.2")]


def _ack_priority(ours: Values) -> list[Claim]:
    def over_alone(case: str, quantities: tuple[str, ...]) -> Numbers:
        return {q: _of(ours, case, q) / _of(ours, "alone", q) for q in quantities}

    reverse = over_alone("reverse", ("p99_rtt",))
    return [
        each(
            "figure3.3",
            "reverse congestion elongates the tail latencies of the primary incast: over its own without",
            "> 1.1",
            reverse,
            lambda ratio: ratio > 1 + CLOSENESS,
            source="figure 3.3",
        ),
        each(
            "figure3.3",
            "... and impacts its throughput",
            "< 1",
            over_alone("reverse", ("throughput",)),
            lambda ratio: ratio < 1,
            source="figure 3.3",
        ),
        each(
            "figure3.3",
            "with ACK prioritization RTTs are indistinguishable from those without reverse congestion",
            "within 10 %",
            over_alone("prioritised", ("average_rtt", "median_rtt", "p99_rtt")),
            _near,
            source="figure 3.3",
        ),
    ]


def _gradient(ours: Values) -> list[Claim]:
    low, high = "target=50us", "target=500us"
    throughput = {case: _of(ours, case, "throughput") for case in ("gradient", low, high)}
    tails = {case: _of(ours, case, "p99_rtt") for case in ("gradient", low, high)}
    steady = {case: _of(ours, case, "deviation") for case in ("gradient", low)}
    return [
        together(
            "figure3.7",
            "figure 3.7",
            "the gradient delivers the high throughput of a high queue target, Gb/s",
            "",
            "at least 0.99 of the target of 500 us, and more than that of 50 us",
            throughput,
            throughput["gradient"] >= 0.99 * throughput[high] and throughput["gradient"] > throughput[low],
        ),
        together(
            "figure3.7",
            "figure 3.7",
            "... and keeps the tail latency close to that of a low target: 99th percentile, us",
            "",
            "nearer to that of 50 us than to that of 500 us",
            tails,
            abs(tails["gradient"] - tails[low]) < abs(tails["gradient"] - tails[high]),
        ),
        together(
            "figure3.7",
            "figure 3.8",
            "connection rates oscillate more in the queue-size approach: mean standard deviation of a rate over time, Mb/s",
            "",
            "more with the target of 50 us",
            steady,
            steady[low] > steady["gradient"],
        ),
    ]


def _t_low(ours: Values) -> list[Claim]:
    def case(size: str, t_low: str) -> str:
        return f"{size},t_low={t_low},{_WEIGHT}"

    delays: Numbers = {
        f"{size}, {low} over {high}": _of(ours, case(size, low), "average_rtt")
        / _of(ours, case(size, high), "average_rtt")
        for size in _SEGMENTS
        for low, high in zip(_T_LOWS, _T_LOWS[1:])
    }
    bursty = {size: _of(ours, case(size, "0us"), "throughput") for size in _SEGMENTS}
    return [
        each(
            "figure3.13",
            "decreasing the low threshold reduces the network delay: average RTT",
            "< 1",
            delays,
            lambda ratio: ratio < 1,
            source="figure 3.13",
        ),
        together(
            "figure3.13",
            "figure 3.13",
            "without a low threshold throughput falls with the segment size, Gb/s",
            "18.9, -, 10.2",
            "64 KB less than 0.9 of 16 KB",
            bursty,
            bursty["64KB"] < 0.9 * bursty["16KB"],
        ),
    ]


def _t_high(ours: Values) -> list[Claim]:
    def case(t_high: str, connections: int) -> str:
        return f"t_high={t_high},qps={connections}"

    low: Numbers = {
        f"{n} connections": _of(ours, case("50us", n), "throughput")
        / _of(ours, case("500us", n), "throughput")
        for n in (4, 7, 10)
    }
    falling: Numbers = {
        f"{n} connections": _of(ours, case("100us", n), "p99_rtt") / _of(ours, case("500us", n), "p99_rtt")
        for n in (7, 10)
    }
    return [
        each(
            "figure3.15",
            "throughput is significantly lower at T_high of 50 us for all three connection levels: over 500 us",
            "< 0.95",
            low,
            lambda ratio: ratio < 0.95,
            source="figure 3.15",
        ),
        each(
            "figure3.15",
            "with 7 and 10 connections the 99th percentile falls as T_high does: 100 us over 500 us",
            "< 0.9",
            falling,
            lambda ratio: ratio < 1 - CLOSENESS,
            source="figure 3.15",
        ),
    ]


def _hai(ours: Values) -> list[Claim]:
    times: Numbers = {
        "HAI": ours.get(("HAI", "to_1500")),
        "fixed increment": ours.get(("fixed increment", "fixed_to_1500")),
    }
    hai, fixed = times["HAI"], times["fixed increment"]
    return [
        together(
            "figure3.16",
            "figure 3.16",
            "HAI ramps up faster than a fixed increment: ms to 1.5 Gb/s",
            "50, 140",
            "HAI in less than half of the time",
            times,
            hai is not None and (fixed is None or hai < fixed / 2),
            "ms",
        )
    ]


def _beside_incast(ours: Values) -> list[Claim]:
    def left(scheme: str) -> Numbers:
        return {
            f"{scheme}, {load}": _of(ours, f"{scheme},incast,load={load}", "goodput")
            / _of(ours, f"{scheme},background,load={load}", "goodput")
            for load in _LOADS
        }

    return [
        each(
            "figure3.20",
            "with PFC alone an incast takes 13 to 54 % of the background's throughput: with it over without",
            "0.46 to 0.87",
            left("PFC"),
            lambda ratio: 0.46 <= ratio <= 0.87,
            source="figure 3.20",
        ),
        each(
            "figure3.20",
            "with TIMELY it remains the same",
            "within 5 %",
            left("TIMELY"),
            lambda ratio: abs(ratio - 1) <= 0.05,
            source="figure 3.20",
        ),
    ]


def _noise(ours: Values) -> list[Claim]:
    def throughput(noise: int, t_low: str = "50us") -> float:
        return _of(ours, f"rtt_noise={noise}us,t_low={t_low},{_WEIGHT}", "throughput")

    kept: Numbers = {f"{noise} us": throughput(noise) / throughput(0) for noise in (100, 150, 200)}
    steps: Numbers = {
        f"{more} us over {less} us": throughput(more) / throughput(less)
        for less, more in ((50, 100), (100, 150), (150, 200))
    }
    lower: Numbers = {
        f"{noise} us": (throughput(noise, "20us") / throughput(0, "20us"))
        / (throughput(noise) / throughput(0))
        for noise in (50, 100, 150, 200)
    }
    return [
        each(
            "figure3.10",
            "an average noise of 50 us and more visibly lowers throughput: over that without noise",
            "< 0.98",
            kept,
            lambda ratio: ratio < 0.98,
            source="figure 3.10",
        ),
        each(
            "figure3.10",
            "... and higher noise more so",
            "< 1",
            steps,
            lambda ratio: ratio < 1,
            source="figure 3.10",
        ),
        each(
            "figure3.10",
            "a T_low below 50 us tolerates less noise: what is left with 20 us over what is left with 50 us",
            "< 1",
            lower,
            lambda ratio: ratio < 1,
            source="3.5.1, required RTT measurement accuracy",
        ),
    ]


def _patched(ours: Values) -> list[Claim]:
    shares: Numbers = {q: _of(ours, "patched", q) / _PATCHED_MBPS for q in ("least_rate", "most_rate")}
    jain = {case: _of(ours, case, "jain") for case in ("TIMELY", "patched")}
    rtt = _of(ours, "patched", "average_rtt") / _PATCHED_RTT_US
    return [
        each(
            "patched",
            "patched rates come to the fair share: least and most over it",
            "within 10 %",
            shares,
            _near,
            source="Zhu et al., 4.3",
        ),
        together(
            "patched",
            "Zhu et al., 4.3",
            "TIMELY's may stay apart: Jain's index",
            "",
            "TIMELY's below 99 % of patched",
            jain,
            jain["TIMELY"] < 0.99 * jain["patched"],
        ),
        each(
            "patched",
            "the queue has one length: average RTT over RTT_ref (1 + N delta / (beta C))",
            "within 10 %",
            {OURS: rtt},
            _near,
            source="Zhu et al., 4.3",
            paper="1",
        ),
    ]


_OF: dict[str, Callable[[Values], list[Claim]]] = {
    TABLE: _table,
    "figure3.2": _queue,
    "figure3.3": _ack_priority,
    "figure3.7": _gradient,
    "figure3.10": _noise,
    "figure3.13": _t_low,
    "figure3.15": _t_high,
    "figure3.16": _hai,
    "figure3.17": timely_rpc_statements.claims,
    "figure3.20": _beside_incast,
    "patched": _patched,
}
