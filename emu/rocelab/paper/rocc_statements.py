"""What the RoCC paper says of its schemes beside each other, held against our runs: orders and ratios, where a single number would say less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocelab.paper.rocc_measures import Measured

_IDEAL_MBPS = 100_000 / 300  # table 3.3: a link of 100 Gb/s, 300 flows
_SCHEMES = ("dcqcn", "hpcc", "rocc")
_TAILS = {  # 3.5.4: DCQCN's and HPCC's over RoCC's
    "websearch": {"dcqcn": "up to 4", "hpcc": "up to 3"},
    "hadoop": {"dcqcn": "up to 7", "hpcc": "up to 8"},
}
_UNLIMITED = {"dcqcn": "up to 13", "hpcc": "up to 7", "rocc": "close to 1"}  # figure 3.15
_CLOSE = 0.1


@dataclass(frozen=True)
class Statement:
    source: str
    text: str
    paper: str
    ours: str
    holds: bool


def statements(measured: Mapping[str, Measured]) -> list[Statement]:
    """Of the experiments that were run."""
    found = []
    if "rates" in measured:
        found += _rates(measured["rates"])
    if "comparison" in measured:
        found += _comparison(measured["comparison"])
    if "fct" in measured:
        found += _completion(measured["fct"])
    if "unlimited" in measured:
        found += _unlimited(measured["unlimited"], measured.get("fct"))
    return found


def _cases(m: Measured) -> list[str]:
    return list(dict.fromkeys(key.partition(", ")[0] for key in m.notes))


def _queues(notes: Mapping[str, Mapping[str, float]]) -> str:
    return ", ".join(
        f"{s} {n['pfc_pause_frames']:.0f}, {n['longest_queue_kb']:.0f} KB" for s, n in notes.items()
    )


def _unlimited(m: Measured, limited: Measured | None) -> list[Statement]:
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
                Statement(
                    "figure 3.15",
                    f"{case}: {s}'s mean FCT without PFC over its own with it, by size",
                    paper,
                    ", ".join(f"{size} {ratio:.2f}" for size, ratio in ratios.items()),
                    abs(most - 1) <= _CLOSE if s == "rocc" else most > 1 + _CLOSE,
                )
            )
        found.append(
            Statement(
                "figure 3.15",
                f"unlimited, {case}: XOFF frames and longest queue",
                "80 and 20 times RoCC's",
                _queues(notes),
                notes["rocc"]["longest_queue_kb"] < notes["dcqcn"]["longest_queue_kb"],
            )
        )
    return found


def _completion(m: Measured) -> list[Statement]:
    """The tails of DCQCN and HPCC over RoCC's, the pauses, and the longest queue."""
    found = []
    for case in _cases(m):
        if case not in _TAILS:
            continue
        tail = {s: m.values[f"{case}, {s}", "p99_fct"] or 0.0 for s in _SCHEMES}
        notes = {s: m.notes[f"{case}, {s}"] for s in _SCHEMES}
        found += [
            Statement(
                "figure 3.13",
                f"fct, {case}: 99th percentile of FCT, {s}'s over RoCC's",
                _TAILS[case][s],
                f"{tail[s] / tail['rocc']:.2f}",
                bool(tail[s] > tail["rocc"]),
            )
            for s in ("dcqcn", "hpcc")
        ]
        found.append(
            Statement(
                "figure 3.14",
                f"fct, {case}: XOFF frames and longest queue",
                "RoCC a seventh of DCQCN's",
                _queues(notes),
                3 * notes["rocc"]["pfc_pause_frames"] <= notes["dcqcn"]["pfc_pause_frames"],
            )
        )
    return found


def _rates(m: Measured) -> list[Statement]:
    deviation = {s: m.values[s, "deviation"] or 0.0 for s in ("dcqcn", "hpcc", "rocc")}
    mean = m.values["rocc", "flow_rate"] or 0.0
    pauses = {s: m.notes[s]["pfc_pause_frames"] for s in deviation}
    share = m.notes["rocc"]["feedback_percent"]
    return [
        Statement(
            "table 3.3",
            "standard deviation of the flows' rates: DCQCN > HPCC > RoCC, Mb/s",
            "2636 > 1459 > 233",
            " , ".join(f"{s} {d:.0f}" for s, d in deviation.items()),
            bool(deviation["dcqcn"] > deviation["hpcc"] > deviation["rocc"]),
        ),
        Statement(
            "table 3.3",
            "RoCC's mean rate is within 5 % of the ideal 333 Mb/s",
            "335.86",
            f"{mean:.1f}",
            abs(mean / _IDEAL_MBPS - 1) <= 0.05,
        ),
        Statement(
            "figure 3.14b",
            "RoCC's pauses are at most a third of DCQCN's, XOFF frames",
            "up to 1/7",
            f"rocc {pauses['rocc']:.0f}, dcqcn {pauses['dcqcn']:.0f}",
            3 * pauses["rocc"] <= pauses["dcqcn"],
        ),
        Statement(
            "3.3.3",
            "feedback beside the bytes that congested ports sent",
            "not given",
            f"{share:.2g} %",
            True,
        ),
    ]


def _comparison(m: Measured) -> list[Statement]:
    busy = {s: m.values[s, "busy"] or 0.0 for s in ("timely", "dcqcn", "hpcc", "rocc")}
    spread = {s: m.values[s, "deviation"] or 0.0 for s in busy}
    return [
        Statement(
            "figure 3.8c",
            "HPCC leaves its headroom unused, RoCC fills the link, %",
            "about 95, 100",
            ", ".join(f"{s} {b:.1f}" for s, b in busy.items()),
            bool(busy["hpcc"] < busy["rocc"] and busy["rocc"] > 99),
        ),
        Statement(
            "figure 3.8a",
            "flows deviate from their 4 Gb/s with TIMELY and not with RoCC, Mb/s",
            "significant",
            ", ".join(f"{s} {d:.0f}" for s, d in spread.items()),
            bool(spread["timely"] > 10 * spread["rocc"]),
        ),
    ]
