"""Pictures of `./rocelab paper timely`: round trips of table 3.1, throughput over noise, and RPCs over load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rocelab.paper.claims import Values
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure
from rocelab.paper.timely_measures import CASES
from rocelab.paper.timely_rpc_statements import LOADS
from rocelab.paper.timely_statements import TABLE
from rocelab.report import style

_NOISES = (0, 50, 100, 150, 200)
_SCHEMES = ("PFC", "TIMELY")
_RPCS = (
    ("accepted load (figure 3.17)", "Gb/s", "linear", (("accepted", "-"), ("offered", ":"))),
    ("RTTs of pingers (figure 3.18)", "us", "log", (("ping_median", "-"), ("ping_p99", "--"))),
    ("RPC latencies (figure 3.19)", "us", "log", (("rpc_median", "-"), ("rpc_p99", "--"))),
)


def figures(results: Results) -> list[Figure]:
    return [*_round_trips(results), *_noise(results), *_rpcs(results)]


def _round_trips(results: Results) -> list[Figure]:
    """Distribution of RTTs, one line per scheme, of the first seed."""
    first = {
        CASES[label]: arrays["rtts_us"] for label, arrays in results.arrays(TABLE).items() if label in CASES
    }
    if not first:
        return []
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    palette = style.colours(list(first))
    for case, rtts in first.items():
        share = np.linspace(0, 1, len(rtts))
        thinned = np.unique(np.linspace(0, len(share) - 1, 500).astype(int))
        axes.plot(rtts[thinned], share[thinned], color=palette[case], label=case)
    axes.set(xlabel="RTT [us]", ylabel="share of segments", xscale="log")
    axes.legend(loc="lower right")
    svg = style.svg(fig, "Distribution of round-trip times")
    return [Figure(svg, TABLE, "Round-trip times (figure 3.11)")]


def _line(values: Values, cases: Sequence[str], quantity: str) -> list[float]:
    found = [values.get((case, quantity)) for case in cases]
    return [float("nan") if value is None else value for value in found]


def _noise(results: Results) -> list[Figure]:
    """Means over seeds."""
    name = "figure3.10"
    if not results.complete(name):
        return []
    values = results.values(name)
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    lines = [(t_low, alpha) for alpha in ("0.02", "0.1") for t_low in ("50us", "20us")]
    palette = style.colours([f"{t_low} {alpha}" for t_low, alpha in lines])
    for t_low, alpha in lines:
        cases = [f"rtt_noise={noise}us,t_low={t_low},alpha={alpha}" for noise in _NOISES]
        label = f"T_low {t_low}, weight {alpha}"
        axes.plot(_NOISES, _line(values, cases, "throughput"), color=palette[f"{t_low} {alpha}"], label=label)
    axes.set(xlabel="noise, uniform up to [us]", ylabel="throughput [Gb/s]", ylim=(0, None))
    axes.legend(loc="lower left")
    title = "Throughput and noise of RTTs (figure 3.10)"
    return [Figure(style.svg(fig, title), name, title)]


def _rpcs(results: Results) -> list[Figure]:
    """Means over seeds."""
    name = "figure3.17"
    if not results.complete(name):
        return []
    values = results.values(name)
    palette = style.colours(_SCHEMES)
    found = []
    for title, unit, scale, quantities in _RPCS:
        fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
        for scheme in _SCHEMES:
            cases = [f"{scheme},load={load}" for load in LOADS]
            for quantity, dashes in quantities:
                label = f"{scheme}, {quantity.removeprefix('ping_').removeprefix('rpc_')}"
                loads = [float(load) for load in LOADS]
                axes.plot(loads, _line(values, cases, quantity), dashes, color=palette[scheme], label=label)
        axes.set(xlabel="load of requests", ylabel=f"[{unit}]", yscale=scale)
        axes.legend(loc="upper left")
        found.append(Figure(style.svg(fig, title), name, title[0].upper() + title[1:]))
    return found
