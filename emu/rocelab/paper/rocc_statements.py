"""What the RoCC paper says of its schemes beside each other, held against our runs: orders and ratios, where a single number would say less."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rocelab.paper.claims import OURS, Claim, Values, above, each, together, within
from rocelab.paper.harness import NUMBERS
from rocelab.paper.results import Results
from rocelab.paper.rocc_pauses import TIERS

FILE = NUMBERS / "rocc.csv"
_IDEAL_MBPS = 100_000 / 300  # table 3.3: a link of 100 Gb/s, 300 flows
_SCHEMES = ("dcqcn", "hpcc", "rocc")
_TAILS = {  # 3.5.4: DCQCN's and HPCC's over RoCC's
    "websearch": {"dcqcn": "up to 4", "hpcc": "up to 3"},
    "hadoop": {"dcqcn": "up to 7", "hpcc": "up to 8"},
}
_UNLIMITED = {"dcqcn": "up to 13", "hpcc": "up to 7", "rocc": "close to 1"}  # figure 3.15
_CLOSE = 0.1
_FEWER = "at most a third of DCQCN's"  # figure 3.14b and its text: up to 7 times fewer


@dataclass(frozen=True)
class Means:
    """Of an experiment's runs, over the seeds."""

    values: Values
    notes: Mapping[str, Mapping[str, float]]


def claims(results: Results) -> list[Claim]:
    """Of the experiments that were run."""
    means = {
        name: Means(results.values(name), results.notes(name)) for name in _OF_MEANS if results.complete(name)
    }
    return statements(means)


def statements(means: Mapping[str, Means]) -> list[Claim]:
    found = [claim for name, of in _OF_MEANS.items() if name in means for claim in of(means[name])]
    if "unlimited" in means:
        found += _unlimited(means["unlimited"], means.get("fct"))
    return found


def _pauses_less(dcqcn: float, rocc: float) -> bool:
    """_FEWER."""
    return 3 * rocc <= dcqcn


def tails(m: Means) -> Values:
    """99th percentiles of the FCT over RoCC's, of each case and scheme: the least and the most by size of the flow."""
    found: dict[tuple[str, str], float | None] = {}
    for case in _cases(m):
        rocc = m.notes.get(f"{case}, rocc", {})
        for scheme in ("dcqcn", "hpcc", "bfc"):
            ours = m.notes.get(f"{case}, {scheme}", {})
            sizes = [key for key in ours if key.startswith("p99_fct_ms ") and key in rocc]
            if sizes:
                ratios = [ours[key] / rocc[key] for key in sizes]
                found[f"{case}, {scheme}", "least_tail"] = min(ratios)
                found[f"{case}, {scheme}", "most_tail"] = max(ratios)
    return found


def _ranges(experiment: str) -> dict[str, tuple[float, float]]:
    """By case: what the journal says of the tails, from `least_tail` to `most_tail`."""
    with FILE.open(newline="") as opened:
        rows = {
            (row["case"], row["quantity"]): float(row["number"])
            for row in csv.DictReader(opened)
            if row["experiment"] == experiment
        }
    return {
        case: (rows[case, "least_tail"], rows[case, "most_tail"]) for case, q in rows if q == "least_tail"
    }


def _cases(m: Means) -> list[str]:
    return list(dict.fromkeys(key.rpartition(", ")[0] for key in m.notes))


def _queues(notes: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    found = {}
    for scheme, values in notes.items():
        found[f"{scheme}, XOFF"] = values["pfc_pause_frames"]
        found[f"{scheme}, KB"] = values["longest_queue_kb"]
    return found


def _unlimited(m: Means, limited: Means | None) -> list[Claim]:
    """What becomes of each scheme's mean FCT, size by size, without PFC and with buffers that never fill: over its own with PFC, which is in `limited`."""
    found = []
    for case in _cases(m):
        notes = {s: m.notes[f"{case}, {s}"] for s in _SCHEMES}
        for s, paper in _UNLIMITED.items() if limited is not None and case in _cases(limited) else ():
            assert limited is not None
            before = limited.notes[f"{case}, {s}"]
            ratios = {
                key.removeprefix("mean_fct_ms "): notes[s][key] / before[key]
                for key in before
                if key.startswith("mean_fct_ms ") and key in notes[s]
            }
            most = max(ratios.values())
            found.append(
                together(
                    "unlimited",
                    "figure 3.15",
                    f"{case}: {s}'s mean FCT without PFC over its own with it, by size",
                    paper,
                    f"within {_CLOSE:g} of 1" if s == "rocc" else f"the most > {1 + _CLOSE:g}",
                    ratios,
                    abs(most - 1) <= _CLOSE if s == "rocc" else most > 1 + _CLOSE,
                )
            )
        found.append(
            together(
                "unlimited",
                "figure 3.15",
                f"unlimited, {case}: XOFF frames and longest queue",
                "80 and 20 times RoCC's",
                "RoCC's longest queue is shorter than DCQCN's",
                _queues(notes),
                notes["rocc"]["longest_queue_kb"] < notes["dcqcn"]["longest_queue_kb"],
            )
        )
    return found


def _completion(m: Means) -> list[Claim]:
    """The tails of DCQCN and HPCC over RoCC's, the pauses, and the longest queue."""
    found = []
    for case in _cases(m):
        if case not in _TAILS:
            continue
        tail = {s: m.values[f"{case}, {s}", "p99_fct"] or 0.0 for s in _SCHEMES}
        notes = {s: m.notes[f"{case}, {s}"] for s in _SCHEMES}
        found += [
            each(
                "fct",
                f"fct, {case}: 99th percentile of FCT, {s}'s over RoCC's",
                "> 1",
                {OURS: tail[s] / tail["rocc"]},
                above(1),
                source="figure 3.13",
                paper=_TAILS[case][s],
            )
            for s in ("dcqcn", "hpcc")
        ]
        found.append(
            together(
                "fct",
                "figure 3.14",
                f"fct, {case}: XOFF frames and longest queue",
                "RoCC a seventh of DCQCN's",
                f"RoCC's XOFF frames {_FEWER}",
                _queues(notes),
                _pauses_less(notes["dcqcn"]["pfc_pause_frames"], notes["rocc"]["pfc_pause_frames"]),
            )
        )
        found.append(_activations(case, notes))
    return found


def _activations(case: str, notes: Mapping[str, Mapping[str, float]]) -> Claim:
    """PFC activations by tier, of the whole run."""
    by_tier = {f"{s}, {tier}": notes[s][f"activations {tier}"] for s in notes for tier in TIERS}
    total = {s: sum(of[f"activations {tier}"] for tier in TIERS) for s, of in notes.items()}
    return together(
        "fct",
        "figure 3.14b",
        f"fct, {case}: PFC activations by congestion point",
        "DCQCN high, HPCC and RoCC not",
        "HPCC and RoCC fewer than DCQCN, all tiers together, where there are any",
        by_tier,
        max(total["hpcc"], total["rocc"]) < total["dcqcn"] or not any(total.values()),
    )


def _rates(m: Means) -> list[Claim]:
    deviation = {s: m.values[s, "deviation"] or 0.0 for s in ("dcqcn", "hpcc", "rocc")}
    mean = m.values["rocc", "flow_rate"] or 0.0
    pauses = {s: m.notes[s]["pfc_pause_frames"] for s in deviation}
    share = m.notes["rocc"]["feedback_percent"]
    return [
        together(
            "rates",
            "table 3.3",
            "standard deviation of the flows' rates: DCQCN > HPCC > RoCC, Mb/s",
            "2636 > 1459 > 233",
            "in this order",
            deviation,
            bool(deviation["dcqcn"] > deviation["hpcc"] > deviation["rocc"]),
        ),
        each(
            "rates",
            "RoCC's mean rate is within 5 % of the ideal 333 Mb/s",
            "within 5 %",
            {OURS: mean},
            within(0.95 * _IDEAL_MBPS, 1.05 * _IDEAL_MBPS),
            source="table 3.3",
            paper="335.86",
        ),
        together(
            "rates",
            "figure 3.14b",
            "RoCC's pauses are at most a third of DCQCN's, XOFF frames",
            "up to 1/7",
            _FEWER,
            {s: pauses[s] for s in ("rocc", "dcqcn")},
            _pauses_less(pauses["dcqcn"], pauses["rocc"]),
        ),
        together(
            "rates",
            "3.3.3",
            "feedback beside the bytes that congested ports sent",
            "not given",
            "",
            {OURS: share},
            None,
            "%",
        ),
    ]


def _comparison(m: Means) -> list[Claim]:
    schemes = ("timely", "qcn", "dcqcn", "dcqcn-pi", "hpcc", "rocc")
    busy = {s: m.values[s, "busy"] or 0.0 for s in schemes}
    spread = {s: m.values[s, "deviation"] or 0.0 for s in schemes}
    queue = {s: m.values[s, "queue_spread"] or 0.0 for s in ("dcqcn", "dcqcn-pi")}
    return [
        together(
            "comparison",
            "figure 3.8c",
            "HPCC leaves its headroom unused, RoCC fills the link, %",
            "about 95, 100",
            "HPCC less than RoCC, RoCC more than 99",
            busy,
            bool(busy["hpcc"] < busy["rocc"] and busy["rocc"] > 99),
        ),
        together(
            "comparison",
            "figure 3.8a",
            "flows deviate from their 4 Gb/s with TIMELY and QCN and not with RoCC, Mb/s",
            "significant",
            "TIMELY's and QCN's more than ten times RoCC's",
            spread,
            bool(min(spread["timely"], spread["qcn"]) > 10 * spread["rocc"]),
        ),
        together(
            "comparison",
            "figure 3.8b",
            "DCQCN's queue is more stable with a PI controller: deviation over time, KB",
            "significantly",
            "at most half of DCQCN's",
            queue,
            bool(2 * queue["dcqcn-pi"] <= queue["dcqcn"]),
        ),
        together(
            "comparison",
            "figure 3.8c",
            "the link is busy with DCQCN+PI and TIMELY, %",
            "high",
            "more than 95",
            {s: busy[s] for s in ("dcqcn-pi", "timely")},
            bool(min(busy["dcqcn-pi"], busy["timely"]) > 95),
        ),
    ]


def _headroom(m: Means) -> list[Claim]:
    spread = {case: m.values[case, "deviation"] or 0.0 for case in ("eta=0.95", "eta=0.99")}
    return [
        together(
            "headroom",
            "RoCC journal, VI.A.c",
            "with 1 % headroom HPCC critically loses its fairness: standard deviation of the flows' rates, Mb/s",
            "",
            "more than three times that with 5 %",
            spread,
            spread["eta=0.99"] > 3 * spread["eta=0.95"],
        )
    ]


def _authors(experiment: str, m: Means) -> list[Claim]:
    """Tails within the journal's ranges, and whether RoCC pauses less, by how PFC counts."""
    found = []
    for name, (least, most) in _ranges(experiment).items():
        if name not in m.notes or not name.endswith(", dcqcn"):
            continue
        case = name.removesuffix(", dcqcn")
        tail = (m.values[name, "p99_fct"] or 0.0) / (m.values[f"{case}, rocc", "p99_fct"] or float("nan"))
        found.append(
            each(
                experiment,
                f"{case}: 99th percentile of FCT of all flows, DCQCN's over RoCC's",
                "in this range",
                {OURS: tail},
                within(least, most),
                source="RoCC journal, VI.D.d",
                paper=f"{least:g} to {most:g}",
            )
        )
    for case in _cases(m):
        xoff = {s: m.notes[f"{case}, {s}"]["pfc_pause_frames"] for s in ("dcqcn", "rocc")}
        found.append(
            together(
                experiment,
                "figure 3.14b",
                f"{case}: RoCC pauses less than DCQCN, XOFF frames",
                "up to 1/7",
                _FEWER,
                xoff,
                _pauses_less(xoff["dcqcn"], xoff["rocc"]),
            )
        )
    return found


_OF_MEANS: Mapping[str, Callable[[Means], list[Claim]]] = {
    "rates": _rates,
    "comparison": _comparison,
    "fct": _completion,
    "unlimited": lambda m: [],  # beside `fct`
    "headroom": _headroom,
    "fct_authors": partial(_authors, "fct_authors"),
    "fct_closed": partial(_authors, "fct_closed"),
}
