"""What the UPS chapter says of packets' delays: queueing in a replay and in its original (figure 5.1), round trips with queue management from the edge (figure 5.9)."""

from __future__ import annotations

from rocelab.paper.claims import Claim, above, below, each, within
from rocelab.paper.results import Results
from rocelab.paper.ups_measures import REPLAY

ORIGINALS = ("random", "fifo", "fair", "sjf", "lifo", "fq-fifo+")  # of figure 5.1


def replay(original: str) -> str:
    return f"roce,{original}{REPLAY}"


def figure_5_1(results: Results, name: str) -> list[Claim]:
    """Of table 5.1's replays."""
    values = results.values(name)
    return [
        each(
            name,
            "most packets wait less in the replay: median of queueing delay / that in the original",
            "< 1",
            {original: values.get((replay(original), "median_ratio")) for original in ORIGINALS},
            below(1),
            source="5.1.3, figure 5.1",
            paper="most have a smaller queueing delay",
        )
    ]


def figure_5_9(results: Results, name: str) -> list[Claim]:
    """Of figure 5.8's runs."""
    values = results.values(name)

    def over(of: str, base: str) -> float | None:
        a, b = (values.get((f"iwarp,{case}", "rtt_per_byte")) for case in (of, base))
        return a / b if a is not None and b else None

    source = "5.3.3, figure 5.9"
    edges = ("fq-edge", "lstf-edge")
    said = {"fq-edge": 0.1281 / 0.1182, "lstf-edge": 0.1388 / 0.1182}
    near = {c: None if (r := over(c, "fq-codel")) is None else r / said[c] for c in edges}
    return [
        each(
            name,
            "RTT per byte, CoDel from the edge / FQ-CoDel in the switch, beside the chapter's ratio",
            "within 10 %",
            near,
            within(0.9, 1.1),
            source=source,
            paper="1.084, 1.174",
        ),
        each(
            name,
            "CoDel shortens round trips: RTT per byte over that of FIFO",
            "< 1",
            {c: over(c, "fifo") for c in ("fq-codel", *edges)},
            below(1),
            source=source,
            paper="0.425, 0.461, 0.499",
        ),
        each(
            name,
            "fair queues alone lengthen them: over that of FIFO",
            "> 1",
            {"fq": over("fq", "fifo")},
            above(1),
            source=source,
            paper="1.350",
        ),
    ]
