"""The sentences of chapter 4 that state a result, as checks on our runs. What they demand is the paper's own bound where it gives one, else the direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocelab.paper.measured import CCS, METRICS, Measured, with_cc

Numbers = Mapping[str, float | None]
_WITH_CC = ("timely", "dcqcn")


@dataclass(frozen=True)
class Sentence:
    """`demand` says in words what `holds` asks of every number."""

    experiment: str
    text: str
    demand: str
    numbers: Callable[[Measured], Numbers]
    holds: Callable[[float], bool]


@dataclass(frozen=True)
class Judged:
    sentence: Sentence
    numbers: Numbers
    holds: bool | None  # None: runs are missing

    @property
    def missed(self) -> dict[str, float]:
        return {k: v for k, v in self.numbers.items() if v is not None and not self.sentence.holds(v)}


def judge(measured: Measured) -> list[Judged]:
    """Those whose experiment was run."""
    judged = []
    for sentence in SENTENCES:
        if sentence.experiment not in measured.points:
            continue
        numbers = sentence.numbers(measured)
        known = [v for v in numbers.values() if v is not None]
        complete = len(known) == len(numbers)
        verdict = (
            all(map(sentence.holds, known))
            if known and (complete or not all(map(sentence.holds, known)))
            else None
        )
        judged.append(Judged(sentence, numbers, verdict))
    return judged


def _pairs(of: str, over: str, ccs: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(with_cc(of, cc), with_cc(over, cc)) for cc in ccs]


def _ratios(
    experiment: str,
    of: str,
    over: str,
    ccs: tuple[str, ...] = ("none",),
    metrics: tuple[str, ...] = METRICS,
) -> Callable[[Measured], Numbers]:
    return lambda measured: measured.ratios(experiment, _pairs(of, over, ccs), metrics)


def _by_case(experiment: str, of: str, over: str, cases: tuple[str, ...]) -> Callable[[Measured], Numbers]:
    pairs = [(f"{a},{case}", f"{b},{case}") for a, b in _pairs(of, over, CCS) for case in cases]
    return lambda measured: measured.ratios(experiment, pairs, ("rct_s",))


def _group(group: str, of: str, over: str, metrics: tuple[str, ...]) -> Callable[[Measured], Numbers]:
    name = "incast_cross_traffic"
    return lambda measured: {
        f"{a} / {b}, {group} {metric}": measured.ratio(name, a, b, metric, group)
        for a, b in _pairs(of, over, CCS)
        for metric in metrics
    }


def _tail(of: str, over: str, percent: float = 99) -> Callable[[Measured], Numbers]:
    def numbers(measured: Measured) -> Numbers:
        return {
            f"{a} / {b}, {percent:g}th percentile": _tail_ratio(measured, a, b, percent)
            for a, b in _pairs(of, over, CCS)
        }

    return numbers


def _tail_ratio(measured: Measured, of: str, over: str, percent: float) -> float | None:
    from rocelab import native

    tails = []
    for label in (of, over):
        fct = measured.small_fct("figure4.8", label)
        if fct is None or not len(fct):
            return None
        tails.append(float(native.module().percentile(list(fct), percent)))
    return tails[0] / tails[1]


def _below(limit: float) -> Callable[[float], bool]:
    return lambda value: value < limit


def _above(limit: float) -> Callable[[float], bool]:
    return lambda value: value > limit


_FCT = ("avg_fct_s",)
_MS = tuple(f"m={m}" for m in (10, 20, 30, 40, 50))
_VARIANTS = ("rate=10G", "rate=100G", "connections=4")
_BETTER, _WORSE, _NOT_NEEDED = "every ratio < 1", "every ratio > 1", "every ratio < 1.1"

SENTENCES = (
    Sentence(
        "figure4.1",
        "IRN's performance is up to 2.8-3.7x better than RoCE (with PFC) across the three metrics",
        _BETTER,
        _ratios("figure4.1", "irn", "roce+pfc"),
        _below(1),
    ),
    Sentence(
        "figure4.2",
        "PFC degrades IRN's performance, every metric by about 1.5-2x",
        _BETTER,
        _ratios("figure4.2", "irn", "irn+pfc"),
        _below(1),
    ),
    Sentence(
        "figure4.3",
        "RoCE requires PFC: disabling it degrades performance by 1.5-3x",
        _WORSE,
        _ratios("figure4.3", "roce", "roce+pfc"),
        _above(1),
    ),
    Sentence(
        "figure4.4",
        "With TIMELY or DCQCN IRN is better than RoCE (with PFC) by up to 1.5-2.2x",
        _BETTER,
        _ratios("figure4.4", "irn", "roce+pfc", _WITH_CC),
        _below(1),
    ),
    Sentence(
        "figure4.5",
        "With TIMELY or DCQCN IRN is largely unaffected by PFC: it improves by less than 1 % and costs up to 3.4 %",
        f"{_NOT_NEEDED} (4.3.4: close enough to 1)",
        _ratios("figure4.5", "irn", "irn+pfc", _WITH_CC),
        _below(1.1),
    ),
    Sentence(
        "figure4.6",
        "RoCE requires PFC with TIMELY or DCQCN too: it improves performance by 1.35-3.5x",
        _WORSE,
        _ratios("figure4.6", "roce", "roce+pfc", _WITH_CC),
        _above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN with go-back-N is significantly worse than IRN",
        _WORSE,
        _ratios("figure4.7", "irn-go-back-n", "irn", CCS, _FCT),
        _above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN without BDP-FC is worse than IRN",
        _WORSE,
        _ratios("figure4.7", "irn-no-bdp-fc", "irn", CCS, _FCT),
        _above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN with go-back-N is generally worse than IRN without BDP-FC",
        _WORSE,
        _ratios("figure4.7", "irn-go-back-n", "irn-no-bdp-fc", CCS, _FCT),
        _above(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): explicit backoff on losses improves go-back-N for TIMELY",
        _BETTER,
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+timely", "irn-go-back-n+timely")], _FCT),
        _below(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): ... though not for DCQCN",
        "the ratio >= 0.99",
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+dcqcn", "irn-go-back-n+dcqcn")], _FCT),
        _above(0.99),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): SACK-based recovery stays better than go-back-N with backoff (20-50 % for TIMELY)",
        _WORSE,
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+timely", "irn+timely")], _FCT),
        _above(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (2): without SACKs the average FCT degrades by <1 % up to 75 %",
        "every ratio in 0.99..1.75",
        _ratios("figure4.7", "irn-no-sack", "irn", CCS, _FCT),
        lambda v: 0.99 <= v <= 1.75,
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (2): selective retransmission without SACKs is better than go-back-N",
        _BETTER,
        _ratios("figure4.7", "irn-no-sack", "irn-go-back-n", CCS, _FCT),
        _below(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (3): timeouts computed dynamically do not help",
        "every ratio > 0.99",
        lambda m: m.ratios("figure4.7", [("irn-dynamic-rto", "irn")]),
        _above(0.99),
    ),
    Sentence(
        "figure4.8",
        "Tail latency of single-packet messages: IRN is significantly better than RoCE (with PFC)",
        _BETTER,
        _tail("irn", "roce+pfc"),
        _below(1),
    ),
    Sentence(
        "figure4.8",
        "Tail latency of single-packet messages: IRN does not require PFC",
        _NOT_NEEDED,
        _tail("irn", "irn+pfc"),
        _below(1.1),
    ),
    Sentence(
        "figure4.9",
        "Incast without cross traffic: any increase of the RCT due to disabling PFC remains within 2.5 %",
        "every ratio <= 1.025",
        _by_case("figure4.9", "irn", "roce+pfc", _MS),
        _below(1.025),
    ),
    Sentence(
        "figure4.9",
        "Incast without cross traffic: IRN with and without PFC look very similar",
        "every ratio <= 1.025",
        _by_case("figure4.9", "irn", "irn+pfc", _MS),
        _below(1.025),
    ),
    Sentence(
        "incast_variants",
        "Incast at 10 and 100 Gb/s and with more connections: any degradation stays within 9 %",
        "every ratio <= 1.09",
        _by_case("incast_variants", "irn", "irn+pfc", _VARIANTS),
        _below(1.09),
    ),
    Sentence(
        "incast_variants",
        "Incast at 10 and 100 Gb/s and with more connections, against RoCE (with PFC)",
        "every ratio <= 1.09",
        _by_case("incast_variants", "irn", "roce+pfc", _VARIANTS),
        _below(1.09),
    ),
    Sentence(
        "incast_cross_traffic",
        "Incast with cross traffic: the RCT of IRN is lower than RoCE's (with PFC) by 4-30 %",
        "every ratio in 0.70..0.96",
        _group("incast", "irn", "roce+pfc", ("rct_s",)),
        lambda v: 0.70 <= v <= 0.96,
    ),
    Sentence(
        "incast_cross_traffic",
        "Incast with cross traffic: the background is better with IRN than with RoCE (with PFC) by 32-87 %",
        "every ratio in 0.13..0.68",
        _group("poisson", "irn", "roce+pfc", METRICS),
        lambda v: 0.13 <= v <= 0.68,
    ),
    Sentence(
        "figure4.10",
        "IRN without congestion control is significantly better than Resilient RoCE",
        _BETTER,
        lambda m: m.ratios("figure4.10", [("irn", "roce+dcqcn")]),
        _below(1),
    ),
    Sentence(
        "figure4.11",
        "IRN's slowdown is 21 % smaller than iWARP's",
        _BETTER,
        lambda m: m.ratios("figure4.11", [("irn", "iwarp")], ("avg_slowdown",)),
        _below(1),
    ),
    Sentence(
        "figure4.11",
        "... and average and tail FCTs are comparable",
        "every ratio < 1.1",
        lambda m: m.ratios("figure4.11", [("irn", "iwarp")], ("avg_fct_s", "p99_fct_s")),
        _below(1.1),
    ),
    Sentence(
        "figure4.11",
        "IRN with AIMD: 44 % smaller average slowdown and 11 % smaller average FCT than iWARP",
        _BETTER,
        lambda m: m.ratios("figure4.11", [("irn+aimd", "iwarp")], ("avg_slowdown", "avg_fct_s")),
        _below(1),
    ),
    Sentence(
        "figure4.12",
        "Worst-case overheads degrade IRN by 4-7 %",
        "every ratio <= 1.07",
        lambda m: m.ratios("figure4.12", [("irn-overheads", "irn")]),
        lambda v: v <= 1.07,
    ),
    Sentence(
        "figure4.12",
        "... which stays 35-63 % better than RoCE (with PFC)",
        _BETTER,
        lambda m: m.ratios("figure4.12", [("irn-overheads", "roce+pfc")]),
        _below(1),
    ),
)
