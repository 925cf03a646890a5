"""What 4.6 says of networks on the way to IRN, and of load balancing that reorders. It has no numbers for either."""

from __future__ import annotations

from collections.abc import Callable

from rocelab.paper.claims import Numbers, below
from rocelab.paper.irn_claim import BETTER, NOT_NEEDED, Sentence
from rocelab.paper.irn_labels import METRICS
from rocelab.paper.results import Results

_STAGES = ("irn=18", "irn=36")  # of 54 hosts
_NACKS = (3, 10, 30)


def _on_the_way(kind: str) -> Callable[[Results], Numbers]:
    """Hosts of that kind at each stage over all hosts with RoCE before the first."""

    def numbers(measured: Results) -> Numbers:
        found: dict[str, float | None] = {}
        for stage in _STAGES:
            for metric in METRICS:
                now = measured.mean("migration", f"roce+pfc,{stage}", metric, kind)
                before = measured.mean("figure4.1", "roce+pfc", metric)
                found[f"{kind}, {stage}, {metric}"] = now / before if now is not None and before else None
        return found

    return numbers


def _at_the_end(measured: Results) -> Numbers:
    """IRN everywhere without PFC over the last stage's IRN hosts."""
    found: dict[str, float | None] = {}
    for metric in METRICS:
        end = measured.mean("figure4.1", "irn", metric)
        stage = measured.mean("migration", f"roce+pfc,{_STAGES[-1]}", metric, "irn")
        found[metric] = end / stage if end is not None and stage else None
    return found


def _sprayed(over: str, thresholds: tuple[int, ...]) -> Callable[[Results], Numbers]:
    pairs = [(f"irn,spray,nacks={n}", f"irn,{over}") for n in thresholds]
    return lambda measured: measured.ratios("spraying", pairs, METRICS)


DISCUSSION = (
    Sentence(
        "migration",
        "4.6: while the share of IRN hosts grows and PFC stays on, hosts with RoCE are no worse off than before",
        NOT_NEEDED,
        _on_the_way("roce"),
        below(1.1),
        ("migration", "figure4.1"),
    ),
    Sentence(
        "migration",
        "4.6: when all hosts have IRN and PFC is off they are better off than IRN hosts were on the way",
        BETTER,
        _at_the_end,
        below(1),
        ("migration", "figure4.1"),
    ),
    Sentence(
        "spraying",
        "4.6: with packets on any path a threshold of NACKs makes recovery robust: over a threshold of one",
        BETTER,
        _sprayed("spray,nacks=1", _NACKS),
        below(1),
    ),
    Sentence(
        "spraying",
        "4.6: ... so that IRN can have its packets on any path, here with a threshold of 30: over one path a flow",
        BETTER,
        _sprayed("ecmp", _NACKS[-1:]),
        below(1),
    ),
)
