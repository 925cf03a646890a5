"""One kind of claim: what a paper says, what that asks of our numbers, and the numbers. Papers make them by number(), each() and together()."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

CLOSENESS = 0.1  # |ours / paper - 1|
_STEPS = 100  # between a number and either end of its interval, at which a test is asked
OURS = "ours"  # the name of a claim's only number
Values = Mapping[tuple[str, str], float | None]  # (case, quantity) -> ours; None: it never came about
Numbers = Mapping[str, float | None]  # by name; None: not run
Test = Callable[[float], bool]


@dataclass(frozen=True)
class Spread:
    """Over the seeds that gave a number. `ci95`: half width of the 95 % confidence interval of the mean; None: one seed has no interval."""

    n: int
    ci95: float | None = None


@dataclass(frozen=True)
class Claim:
    experiment: str
    source: str  # where the paper says so
    text: str
    paper: str  # its number, in words where it is none
    demand: str  # what `holds` asks, in words
    ours: Numbers
    holds: bool | None  # by the means alone; None: runs or the paper's number are missing
    missed: tuple[str, ...] = ()  # names of numbers that miss
    tests: Mapping[str, Test] = field(default_factory=dict)  # by number; none: they are judged together
    unit: str = ""
    # Of a number beside a paper's, for the figure of its experiment:
    case: str = ""
    quantity: str = ""
    expected: float | None = None
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    # Names of numbers whose interval has values that pass and values that miss; all that are judged together, where seeds differ.
    unsettled: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """`holds`, `missed`, `open` (its intervals do not decide), `not run`; empty where nothing is demanded."""
        if self.holds is None:
            return "not run" if self.demand else ""
        if set(self.missed) - set(self.unsettled):
            return "missed"
        return "open" if self.unsettled else "holds" if self.holds else "missed"

    def with_spreads(self, spreads: Mapping[str, Spread], alone: Collection[bool | None] = ()) -> Claim:
        """The claim with an interval for each of its numbers, some of which may not decide it. `alone`: what `holds` is for each seed
        by itself. That decides where numbers are judged together and so have no limit of their own, and where one never came about.
        """
        agreed = {*alone} - {None} <= {self.holds}

        def settled(name: str) -> bool:
            ours, half = self.ours[name], spreads[name].ci95 if name in spreads else None
            if not self.tests or ours is None:
                return agreed or name not in (self.missed or self.ours)
            if half is None:
                return True
            steps = (ours + half * step / _STEPS for step in range(-_STEPS, _STEPS + 1))
            return len({self.tests[name](value) for value in steps}) == 1

        unsettled = tuple(name for name in self.ours if self.holds is not None and not settled(name))
        return replace(self, spreads=spreads, unsettled=unsettled)

    @property
    def only(self) -> float | None:
        """The number of a claim that has one."""
        return self.ours.get(OURS)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.experiment, self.source, self.text


@dataclass(frozen=True)
class Rule:
    """How a quantity is held against the paper's number."""

    demand: str
    holds: Callable[[float, float], bool]  # ours, the paper's
    never: bool | None = None  # the verdict where it never came about

    def against(self, paper: float) -> Test:
        return lambda ours: self.holds(ours, paper)


NEAR = Rule(f"within {CLOSENESS:.0%}", lambda ours, paper: abs(ours / paper - 1) <= CLOSENESS)
AT_MOST = Rule("at most", lambda ours, paper: ours <= paper)
AT_LEAST = Rule("at least", lambda ours, paper: ours >= paper)
_ZERO = Rule("none", lambda ours, paper: ours == 0)


def number(
    experiment: str,
    case: str,
    quantity: str,
    name: str,
    unit: str,
    paper: float | None,
    ours: float | None,
    *,
    source: str = "",
    rule: Rule = NEAR,
    was_run: bool = True,
) -> Claim:
    """A number of ours beside a paper's. Without one of the two there is nothing to judge; a paper's 0 is 0."""
    applied = _ZERO if paper == 0 and rule is NEAR else rule
    holds: bool | None = None
    test = None if paper is None else applied.against(paper)
    if test is not None:
        holds = test(ours) if ours is not None else applied.never if was_run else None
    return Claim(
        experiment=experiment,
        source=source,
        text=f"{case}: {name}",
        paper="" if paper is None else f"{paper:g}",
        demand="" if paper is None else applied.demand,
        ours={OURS: ours},
        holds=holds,
        missed=(OURS,) if holds is False else (),
        tests={} if test is None else {OURS: test},
        unit=unit,
        case=case,
        quantity=quantity,
        expected=paper,
    )


def numbers(
    file: Path,
    measured: Mapping[str, Values],
    names: Mapping[str, str],
    rules: Mapping[str, Rule] | None = None,
    only_run: bool = True,
) -> list[Claim]:
    """Every number of a paper's file (results/paper/*.csv), in its order; of experiments in `measured`, or of all."""
    found = []
    with file.open(newline="") as opened:
        for row in csv.DictReader(opened):
            experiment, case, quantity = row["experiment"], row["case"], row["quantity"]
            if experiment in measured or not only_run:
                values = measured.get(experiment, {})
                found.append(
                    number(
                        *(experiment, case, quantity, names[quantity], row["unit"], float(row["number"])),
                        values.get((case, quantity)),
                        source=row["source"],
                        rule=(rules or {}).get(quantity, NEAR),
                        was_run=(case, quantity) in values,
                    )
                )
    return found


def each(
    experiment: str,
    text: str,
    demand: str,
    ours: Numbers,
    test: Test | Mapping[str, Test],
    *,
    source: str = "",
    paper: str = "",
    unit: str = "",
) -> Claim:
    """A claim that asks the same of every number, or of each what its own test asks. One that misses decides; one that is missing leaves it open."""
    tests = test if isinstance(test, Mapping) else dict.fromkeys(ours, test)
    missed = tuple(name for name, value in ours.items() if value is not None and not tests[name](value))
    complete = bool(ours) and all(value is not None for value in ours.values())
    holds = False if missed else True if complete else None
    return Claim(experiment, source or experiment, text, paper, demand, ours, holds, missed, tests, unit)


def together(
    experiment: str,
    source: str,
    text: str,
    paper: str,
    demand: str,
    ours: Numbers,
    holds: bool | None,
    unit: str = "",
) -> Claim:
    """A claim about several numbers beside one another, which is open where single seeds differ in it. For one number, or each by itself: each()."""
    missed = tuple(ours) if holds is False else ()
    return Claim(experiment, source, text, paper, demand, ours, holds, missed, unit=unit)


def below(limit: float) -> Test:
    return lambda value: value < limit


def above(limit: float) -> Test:
    return lambda value: value > limit


def at_most(limit: float) -> Test:
    return lambda value: value <= limit


def within(least: float, most: float) -> Test:
    return lambda value: least <= value <= most
