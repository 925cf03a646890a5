"""What the RC3 chapter says of other settings than its baseline: round trips and rates, slow links to receivers, unequal links, chunks, a datacenter."""

from __future__ import annotations

from collections.abc import Callable

from rocelab.paper import rc3_model
from rocelab.paper.claims import Claim, above, below, each, within
from rocelab.paper.rc3_flows import LARGE, SMALL, Flows, reduction, reductions_by_size, spans
from rocelab.paper.results import Results

LINUX_SIZES = (10, 30, 100, 300, 1000, 3000, 10000)  # packets
_MEANS = {"mean_fct": "mean FCT", "fct_per_byte": "FCT per byte"}


def _by_mean(results: Results, name: str) -> dict[str, float | None]:
    return {text: reduction(results, name, "rc3", "iwarp", m) for m, text in _MEANS.items()}


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _rttbw(results: Results, name: str) -> list[Claim]:
    cases = ("40ms-100M", "40ms-1G", "400ms-100M", "400ms-1G")
    mean = {c: reduction(results, name, f"rc3,{c}", f"iwarp,{c}", "mean_fct") for c in cases}
    by_size = {c: reductions_by_size(results, name, f"rc3,{c}", f"iwarp,{c}") for c in cases}
    rises = [("40ms-100M", "40ms-1G"), ("40ms-100M", "400ms-100M"), ("40ms-1G", "400ms-1G")]
    source = "figure 2.8 (b)"
    return [
        each(
            name,
            "the reduction of the mean FCT rises with round trip times rate, points",
            "> 0",
            {f"{b} - {a}": _less(mean[b], mean[a]) for a, b in rises},
            above(0),
            source=source,
        ),
        each(
            name,
            "and so does that of large flows, 50 MB against 500 KB, points",
            "> 0",
            {
                f"{n} packets": _less(by_size["400ms-1G"].get(n), by_size["40ms-100M"].get(n))
                for n in LARGE[3:]
            },
            above(0),
            source=source,
        ),
    ]


def _downlink(results: Results, name: str) -> list[Claim]:
    return [
        each(
            name,
            "where links to receivers are slow, the worst case: reduction, %",
            "at least 5",
            _by_mean(results, name),
            lambda v: v >= 5,
            source="2.4.1, summary",
            paper="10",
        )
    ]


def _heterogeneous(results: Results, name: str) -> list[Claim]:
    def longer(label: str, metric: str) -> float | None:
        ours = Flows(results, name, f"{label},95-percent").mean(metric)
        base = Flows(results, "table2.1", label).mean(metric)
        return None if ours is None or base is None else 100 * (ours / base - 1)

    said = {"TCP": ("iwarp", "17.8, 22.1"), "RC3": ("rc3", "14.5, 23.7")}

    def more(case: str) -> float | None:
        return _less(
            reduction(results, name, f"rc3,{case}", f"iwarp,{case}", "mean_fct"),
            reduction(results, "table2.1", "rc3", "iwarp", "mean_fct"),
        )

    source = "table 2.1, link heterogeneity"
    return [
        *(
            each(
                name,
                f"{who}: longer than where links are as wide as their load, %",
                "> 0",
                {text: longer(label, m) for m, text in _MEANS.items()},
                above(0),
                source=source,
                paper=paper,
            )
            for who, (label, paper) in said.items()
        ),
        each(
            name,
            "the reduction of the mean FCT is larger than the baseline's, points",
            "> 0",
            {"95 % on the busiest link": more("95-percent")},
            above(0),
            source=source,
            paper="1.8",
        ),
        each(
            name,
            "and so it is with less on that link, points",
            "> 0",
            {"70 % on the busiest link": more("70-percent")},
            above(0),
            source=source,
            paper="1.8",
        ),
    ]


def _chunks(results: Results, name: str) -> list[Claim]:
    def buffering(label: str) -> float | None:
        return Flows(results, name, label, "videos").of(1027)

    def whole(label: str) -> float | None:
        found = spans(results, name, label, "videos")
        return float(found.mean()) if len(found) else None

    def shorter(measure: Callable[[str], float | None]) -> float | None:
        a, b = measure("rc3"), measure("iwarp")
        return None if a is None or b is None else 100 * (1 - a / b)

    source = "2.4.1, application pacing"
    return [
        each(
            name,
            "a buffer of 1.5 MB: reduction of the mean time, %",
            "62 to 78",
            {"buffering": shorter(buffering)},
            within(62, 78),
            source=source,
            paper="slightly over 70",
        ),
        each(
            name,
            "the whole transfer, which chunks pace: reduction, %",
            "-2 to 2",
            {"from the first byte to the last": shorter(whole)},
            within(-2, 2),
            source=source,
            paper="not any faster",
        ),
    ]


def _datacenter(results: Results, name: str) -> list[Claim]:
    ours = _by_mean(results, name)
    limits = {"mean FCT": 30.0, "FCT per byte": 50.0}
    return [
        each(
            name,
            "100 Gb/s: reduction less 30 % of the mean FCT, 50 % of the FCT per byte, points",
            "> 0",
            {text: _less(ours[text], limits[text]) for text in ours},
            above(0),
            source="2.5, datacenters",
            paper="45 % and 66 %",
        )
    ]


def _linux(results: Results, name: str) -> list[Claim]:
    """Our frames of 1,024 bytes take 1,114 on the wire."""
    beside: dict[str, float | None] = {}
    for case, rate in (("10G", 1e10), ("1G", 1e9)):
        a, b = Flows(results, name, f"rc3,{case}"), Flows(results, name, f"iwarp,{case}")
        for n in LINUX_SIZES:
            ours, tcp = a.of(n), b.of(n)
            model = rc3_model.reduction(n, 20e-3, rate, initial=10, frame=1114)
            beside[f"{n} packets, {case}"] = (
                None if ours is None or tcp is None else 100 * (1 - ours / tcp) - model
            )
    return [
        each(
            name,
            "a flow alone, initial window 10: reduction less that of the model, points",
            "-1 to 1",
            beside,
            within(-1, 1),
            source="figure 2.15",
            paper="proportional to the simulation's",
        )
    ]


def _rcp(results: Results, name: str) -> list[Claim]:
    rcp = reductions_by_size(results, name, "irn+rcp")
    rc3 = reductions_by_size(results, name)
    return [
        each(
            name,
            "of large flows RCP's reduction of the mean FCT less RC3's, points",
            "-10 to 10",
            {f"{n} packets": _less(rcp.get(n), rc3.get(n)) for n in LARGE[4:]},
            within(-10, 10),
            source="figure 2.14",
            paper="roughly neck to neck",
        ),
        each(
            name,
            "RCP is a penalty for the smallest: reduction of the mean FCT, %",
            "< 0",
            {f"{n} packets": rcp.get(n) for n in SMALL},
            below(0),
            source="figure 2.14",
            paper="a penalty for 1 to 4 packets",
        ),
        each(
            name,
            "and RC3 is none: reduction of the mean FCT, %",
            "at least -0.5",
            {f"{n} packets": rc3.get(n) for n in SMALL},
            lambda v: v >= -0.5,
            source="2.4.1, summary",
            paper="never worse than TCP",
        ),
    ]


CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "rttbw": _rttbw,
    "downlink": _downlink,
    "heterogeneous": _heterogeneous,
    "chunks": _chunks,
    "datacenter": _datacenter,
    "linux": _linux,
    "rcp": _rcp,
}
