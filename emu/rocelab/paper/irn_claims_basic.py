"""Sentences of 4.3.2 and 4.3.3, and of the figures of single-packet messages and incast: the default case."""

from __future__ import annotations

from rocelab.paper.claims import above, below, within
from rocelab.paper.irn_labels import CCS, METRICS
from rocelab.paper.irn_claim import (
    BETTER,
    FCT,
    WITH_CC,
    WORSE,
    Sentence,
    drop_percent,
    ratios,
)

BASIC = (
    Sentence(
        "figure4.1",
        "IRN's performance is up to 2.8-3.7x better than RoCE (with PFC) across the three metrics",
        BETTER,
        ratios("figure4.1", "irn", "roce+pfc"),
        below(1),
    ),
    Sentence(
        "figure4.2",
        "PFC degrades IRN's performance, every metric by about 1.5-2x",
        BETTER,
        ratios("figure4.2", "irn", "irn+pfc"),
        below(1),
    ),
    Sentence(
        "figure4.2",
        "Without PFC IRN experiences significantly high packet drops (8.5 %)",
        "more than 1 %",
        drop_percent("figure4.2", "irn"),
        above(1),
    ),
    Sentence(
        "figure4.3",
        "RoCE requires PFC: disabling it degrades performance by 1.5-3x",
        WORSE,
        ratios("figure4.3", "roce", "roce+pfc"),
        above(1),
    ),
    Sentence(
        "figure4.4",
        "With TIMELY or DCQCN IRN is better than RoCE (with PFC) by up to 1.5-2.2x",
        BETTER,
        ratios("figure4.4", "irn", "roce+pfc", WITH_CC),
        below(1),
    ),
    Sentence(
        "figure4.5",
        "With TIMELY or DCQCN IRN is largely unaffected by PFC: it improves by less than 1 % and costs up to 3.4 %",
        "every ratio in 0.967..1.01",
        ratios("figure4.5", "irn", "irn+pfc", WITH_CC),
        within(1 / 1.034, 1.01),
    ),
    Sentence(
        "figure4.6",
        "RoCE requires PFC with TIMELY or DCQCN too: it improves performance by 1.35-3.5x",
        WORSE,
        ratios("figure4.6", "roce", "roce+pfc", WITH_CC),
        above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN with go-back-N is significantly worse than IRN",
        WORSE,
        ratios("figure4.7", "irn-go-back-n", "irn", CCS, FCT),
        above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN without BDP-FC is worse than IRN",
        WORSE,
        ratios("figure4.7", "irn-no-bdp-fc", "irn", CCS, FCT),
        above(1),
    ),
    Sentence(
        "figure4.7",
        "IRN with go-back-N is generally worse than IRN without BDP-FC",
        WORSE,
        ratios("figure4.7", "irn-go-back-n", "irn-no-bdp-fc", CCS, FCT),
        above(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): explicit backoff on losses improves go-back-N for TIMELY",
        BETTER,
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+timely", "irn-go-back-n+timely")], FCT),
        below(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): ... though not for DCQCN",
        "the ratio >= 0.99",
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+dcqcn", "irn-go-back-n+dcqcn")], FCT),
        above(0.99),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (1): SACK-based recovery stays better than go-back-N with backoff (20-50 % for TIMELY)",
        WORSE,
        lambda m: m.ratios("figure4.7", [("irn-go-back-n-backoff+timely", "irn+timely")], FCT),
        above(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (2): without SACKs the average FCT degrades by <1 % up to 75 %",
        "every ratio in 0.99..1.75",
        ratios("figure4.7", "irn-no-sack", "irn", CCS, FCT),
        within(0.99, 1.75),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (2): selective retransmission without SACKs is better than go-back-N",
        BETTER,
        ratios("figure4.7", "irn-no-sack", "irn-go-back-n", CCS, FCT),
        below(1),
    ),
    Sentence(
        "figure4.7",
        "4.3.3 (3): timeouts computed dynamically do not help",
        "every ratio > 0.99",
        lambda m: m.ratios("figure4.7", [("irn-dynamic-rto", "irn")], METRICS),
        above(0.99),
    ),
)
