"""Choices that a paper leaves open: where it is silent, and ours is one of several readings. A paper's module declares them beside its experiments; sensitivity.py runs
the alternatives and says which of them decide a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Alternative:
    """What is set in place of ours: keys of the scenario, as `--set` has them, or other seeds."""

    name: str
    overrides: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Choice:
    """`reason`: why it is open. `experiments`: those that it can matter for; empty: all but those of `without`, which have no such key."""

    key: str  # of the scenario, or what is chosen in a word
    ours: str
    reason: str
    alternatives: tuple[Alternative, ...]
    experiments: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    fast_only: bool = False  # the full variant does what the alternative asks, or more

    def concerns(self, experiment: str) -> bool:
        return experiment in self.experiments if self.experiments else experiment not in self.without


def key_choice(
    key: str,
    ours: str,
    values: Sequence[str],
    reason: str,
    experiments: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Choice:
    """Of one key: each value is an alternative."""
    alternatives = tuple(Alternative(f"{key} = {value}", (f"{key}={value}",)) for value in values)
    return Choice(key, ours, reason, alternatives, tuple(experiments), tuple(without))


def seed_choice(seeds: Sequence[int], experiments: Sequence[str] = ()) -> Choice:
    alternative = Alternative(f"seeds {', '.join(map(str, seeds))}", seeds=tuple(seeds))
    reason = "any seeds would do: a verdict that others change is one of chance"
    return Choice("seeds", "the scenario's", reason, (alternative,), tuple(experiments))


def merged(first: Sequence[str], then: Sequence[str]) -> tuple[str, ...]:
    """Overrides of which a later one of the same key wins."""
    by_key = {override.partition("=")[0].strip(): override for override in (*first, *then)}
    return tuple(by_key.values())
