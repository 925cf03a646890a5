"""Sentences of 4.3.4 to 4.5.3 beside the tables: small messages, incast, other schemes, overheads."""

from __future__ import annotations

from rocelab.paper.claims import Numbers, above, below, within
from rocelab.paper.irn_labels import METRICS
from rocelab.paper.results import Results
from rocelab.paper.irn_claim import (
    BETTER,
    NOT_NEEDED,
    WORSE,
    Sentence,
    by_case,
    by_size,
    group,
    merged,
    ratios,
    tail,
)

_MS = tuple(f"m={m}" for m in (10, 20, 30, 40, 50))
_VARIANTS = ("rate=10G", "rate=100G", "connections=4")


def _aimd_over_none(measured: Results) -> Numbers:
    found: dict[str, float | None] = {}
    for metric in METRICS:
        aimd = measured.ratio("window_based", "irn+aimd", "irn+pfc+aimd", metric)
        none = measured.ratio("window_based", "irn", "irn+pfc", metric)
        found[metric] = aimd / none if aimd is not None and none else None
    return found


ROBUST = (
    Sentence(
        "figure4.8",
        "Tail latency of single-packet messages: IRN is significantly better than RoCE (with PFC)",
        BETTER,
        tail("irn", "roce+pfc"),
        below(1),
    ),
    Sentence(
        "figure4.8",
        "Tail latency of single-packet messages: IRN does not require PFC",
        NOT_NEEDED,
        tail("irn", "irn+pfc"),
        below(1.1),
    ),
    Sentence(
        "figure4.8",
        "4.3.4: for individual ranges of flow sizes the trends are the same: IRN is better than RoCE (with PFC)",
        BETTER,
        by_size("figure4.8", "irn", "roce+pfc"),
        below(1),
    ),
    Sentence(
        "figure4.8",
        "4.3.4: ... and does not require PFC",
        NOT_NEEDED,
        by_size("figure4.8", "irn", "irn+pfc"),
        below(1.1),
    ),
    Sentence(
        "figure4.9",
        "Incast without cross traffic: any increase of the RCT due to disabling PFC remains within 2.5 %",
        "every ratio <= 1.025",
        by_case("figure4.9", "irn", "roce+pfc", _MS),
        below(1.025),
    ),
    Sentence(
        "figure4.9",
        "Incast without cross traffic: IRN with and without PFC look very similar",
        "every ratio <= 1.025",
        by_case("figure4.9", "irn", "irn+pfc", _MS),
        below(1.025),
    ),
    Sentence(
        "incast_variants",
        "Incast at 10 and 100 Gb/s and with more connections: any degradation stays within 9 %",
        "every ratio <= 1.09",
        by_case("incast_variants", "irn", "irn+pfc", _VARIANTS),
        below(1.09),
    ),
    Sentence(
        "incast_variants",
        "Incast at 10 and 100 Gb/s and with more connections, against RoCE (with PFC)",
        "every ratio <= 1.09",
        by_case("incast_variants", "irn", "roce+pfc", _VARIANTS),
        below(1.09),
    ),
    Sentence(
        "incast_cross_traffic",
        "Incast with cross traffic: the RCT of IRN is lower than RoCE's (with PFC) by 4-30 %",
        "every ratio in 0.70..0.96",
        group("incast", "irn", "roce+pfc", ("rct_s",)),
        within(0.70, 0.96),
    ),
    Sentence(
        "incast_cross_traffic",
        "Incast with cross traffic: the background is better with IRN than with RoCE (with PFC) by 32-87 %",
        "every ratio in 0.13..0.68",
        group("poisson", "irn", "roce+pfc", METRICS),
        within(0.13, 0.68),
    ),
    Sentence(
        "incast_cross_traffic",
        "Incast with cross traffic: PFC with IRN degrades both by 1-75 %, and improves the incast by 1.13 % in one case",
        "every ratio <= 1.0114",
        merged(
            group("incast", "irn", "irn+pfc", ("rct_s",)),
            group("poisson", "irn", "irn+pfc", METRICS),
        ),
        within(0, 1.0114),
    ),
    Sentence(
        "window_based",
        "With TCP's AIMD or DCTCP the trends are similar: IRN does not require PFC",
        NOT_NEEDED,
        merged(
            ratios("window_based", "irn+aimd", "irn+pfc+aimd"),
            ratios("window_based", "irn+dctcp", "irn+pfc+dctcp"),
        ),
        below(1.1),
    ),
    Sentence(
        "window_based",
        "... and with AIMD the benefits of disabling PFC are even stronger than without congestion control",
        "every ratio (of AIMD's IRN / IRN+PFC over that without) < 1",
        _aimd_over_none,
        below(1),
    ),
    Sentence(
        "reads",
        "4.4.2: RoCE (with PFC) without ACKs, the extreme case of all READs: IRN is better",
        BETTER,
        ratios("reads", "irn", "roce+pfc"),
        below(1),
    ),
    Sentence(
        "reads",
        "4.4.2, all READs: PFC degrades IRN's performance",
        BETTER,
        ratios("reads", "irn", "irn+pfc"),
        below(1),
    ),
    Sentence(
        "reads",
        "4.4.2, all READs: RoCE requires PFC",
        WORSE,
        ratios("reads", "roce", "roce+pfc"),
        above(1),
    ),
    Sentence(
        "figure4.10",
        "IRN without congestion control is significantly better than Resilient RoCE",
        BETTER,
        lambda m: m.ratios("figure4.10", [("irn", "roce+dcqcn")], METRICS),
        below(1),
    ),
    Sentence(
        "figure4.11",
        "IRN's slowdown is 21 % smaller than iWARP's",
        BETTER,
        lambda m: m.ratios("figure4.11", [("irn", "iwarp")], ("avg_slowdown",)),
        below(1),
    ),
    Sentence(
        "figure4.11",
        "... and average and tail FCTs are comparable",
        "every ratio < 1.1",
        lambda m: m.ratios("figure4.11", [("irn", "iwarp")], ("avg_fct_s", "p99_fct_s")),
        below(1.1),
    ),
    Sentence(
        "figure4.11",
        "IRN with AIMD: 44 % smaller average slowdown and 11 % smaller average FCT than iWARP",
        BETTER,
        lambda m: m.ratios("figure4.11", [("irn+aimd", "iwarp")], ("avg_slowdown", "avg_fct_s")),
        below(1),
    ),
    Sentence(
        "figure4.12",
        "Worst-case overheads degrade IRN by 4-7 %",
        "every ratio <= 1.07",
        lambda m: m.ratios("figure4.12", [("irn-overheads", "irn")], METRICS),
        within(0, 1.07),
    ),
    Sentence(
        "figure4.12",
        "... which stays 35-63 % better than RoCE (with PFC)",
        BETTER,
        lambda m: m.ratios("figure4.12", [("irn-overheads", "roce+pfc")], METRICS),
        below(1),
    ),
)
