"""A sentence of chapter 4 that states a result, as a check on our runs, and the numbers that such sentences are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rocelab import native
from rocelab.paper.claims import Claim, Numbers, each
from rocelab.paper.irn_labels import CCS, METRICS, with_cc
from rocelab.paper.results import Results

WITH_CC = ("timely", "dcqcn")
FCT = ("avg_fct_s",)
BETTER, WORSE, NOT_NEEDED = "every ratio < 1", "every ratio > 1", "every ratio < 1.1"


@dataclass(frozen=True)
class Sentence:
    """`demand` says in words what `holds` asks of every number. `needs`: the experiments that must have been run, if not just the one of that name."""

    experiment: str
    text: str
    demand: str
    numbers: Callable[[Results], Numbers]
    holds: Callable[[float], bool]
    needs: tuple[str, ...] = ()

    def was_run(self, experiments: Iterable[str]) -> bool:
        return set(self.needs or (self.experiment,)) <= set(experiments)

    def claim(self, results: Results) -> Claim:
        return each(self.experiment, self.text, self.demand, self.numbers(results), self.holds)


def pairs(of: str, over: str, ccs: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(with_cc(of, cc), with_cc(over, cc)) for cc in ccs]


def ratios(
    experiment: str,
    of: str,
    over: str,
    ccs: tuple[str, ...] = ("none",),
    metrics: Iterable[str] = METRICS,
) -> Callable[[Results], Numbers]:
    return lambda measured: measured.ratios(experiment, pairs(of, over, ccs), metrics)


def by_case(experiment: str, of: str, over: str, cases: tuple[str, ...]) -> Callable[[Results], Numbers]:
    chosen = [(f"{a},{case}", f"{b},{case}") for a, b in pairs(of, over, CCS) for case in cases]
    return lambda measured: measured.ratios(experiment, chosen, ("rct_s",))


def group(name: str, of: str, over: str, metrics: Iterable[str]) -> Callable[[Results], Numbers]:
    """Of one workload of the incast with cross traffic."""
    experiment = "incast_cross_traffic"
    return lambda measured: {
        f"{a} / {b}, {name} {metric}": measured.ratio(experiment, a, b, metric, name)
        for a, b in pairs(of, over, CCS)
        for metric in metrics
    }


def merged(*parts: Callable[[Results], Numbers]) -> Callable[[Results], Numbers]:
    return lambda measured: {key: value for part in parts for key, value in part(measured).items()}


def tail(of: str, over: str, percent: float = 99) -> Callable[[Results], Numbers]:
    """Of single-packet messages."""

    def numbers(measured: Results) -> Numbers:
        return {
            f"{a} / {b}, {percent:g}th percentile": _tail_ratio(measured, a, b, percent)
            for a, b in pairs(of, over, CCS)
        }

    return numbers


def _tail_ratio(measured: Results, of: str, over: str, percent: float) -> float | None:
    tails = []
    for label in (of, over):
        fct = measured.fct("figure4.8", label, most_packets=1)
        if fct is None or not len(fct):
            return None
        tails.append(float(native.runner.percentile(list(fct), percent)))
    return tails[0] / tails[1]


def by_size(experiment: str, of: str, over: str) -> Callable[[Results], Numbers]:
    """Mean FCT by ranges of sizes: single packets, the middle, the chapter's large flows (from 200 KB on)."""
    ranges = {"1 packet": (1, 1), "2 to 195 packets": (2, 195), "above": (196, None)}

    def numbers(measured: Results) -> Numbers:
        found: dict[str, float | None] = {}
        for a, b in pairs(of, over, CCS):
            for name, (least, most) in ranges.items():
                mine, theirs = (measured.fct(experiment, label, least, most) for label in (a, b))
                there = mine is not None and theirs is not None and len(mine) and len(theirs)
                found[f"{a} / {b}, {name}"] = float(mine.mean() / theirs.mean()) if there else None  # type: ignore[union-attr]
        return found

    return numbers


def drop_percent(experiment: str, label: str) -> Callable[[Results], Numbers]:
    """Of the data packets that are sent, copies included."""

    def numbers(measured: Results) -> Numbers:
        names = ("data_drops", "delivered_data_packets", "retransmitted_packets")
        dropped, delivered, again = (measured.mean(experiment, label, name) for name in names)
        if dropped is None or delivered is None or again is None:
            return {f"{label}, % dropped": None}
        return {f"{label}, % dropped": 100 * dropped / (delivered + again)}

    return numbers
