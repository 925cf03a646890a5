"""Which of our open choices decide a verdict: `./rocelab paper NAME --sensitivity` runs the chosen experiments with each alternative of each choice (choices.py) and holds
its claims against those of the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.table import Table as Drawn

from rocelab.errors import RocelabError
from rocelab.paper.choices import Alternative, Choice
from rocelab.paper.claims import Claim, Spread
from rocelab.paper.results import Results
from rocelab.sweep.points import Point
from rocelab.sweep.store import PointStore

if TYPE_CHECKING:
    from rocelab.paper.harness import Experiment, Paper

Points = Mapping[str, Sequence[Point]]
_LEAST = 1e-12  # of a number of ours that another is divided by


@dataclass(frozen=True)
class Decided:
    """A claim whose verdict is another with the alternative."""

    claim: Claim
    default: str
    alternative: str


@dataclass(frozen=True)
class Changed:
    """A number of a claim: the alternative's over the default's - 1, a mean over seeds that both have, and its interval."""

    claim: Claim
    name: str
    change: float
    spread: Spread

    @property
    def is_sure(self) -> bool:
        """Whether its interval leaves 0 out; of one seed nobody knows."""
        return self.spread.ci95 is not None and abs(self.change) > self.spread.ci95


@dataclass(frozen=True)
class Finding:
    choice: Choice
    alternative: Alternative
    experiments: tuple[str, ...]  # that were run with it
    refused: Mapping[str, str] = field(default_factory=dict)  # by experiment, why it has no such run
    claims: int = 0  # that were compared
    decided: tuple[Decided, ...] = ()
    changed: tuple[Changed, ...] = ()  # largest change first

    @property
    def largest(self) -> Changed | None:
        return self.changed[0] if self.changed else None


@dataclass(frozen=True)
class Plan:
    """The points of one alternative: `mine` with it, the others as by default."""

    choice: Choice
    alternative: Alternative
    mine: Points
    refused: Mapping[str, str]


def plans_of(paper: Paper, chosen: Sequence[Experiment], full: bool, default: Points) -> list[Plan]:
    """Of each alternative that some of the chosen experiments can have. An experiment whose points are the default's, since the key changes nothing there, is left out."""
    plans = []
    for choice in paper.choices:
        if full and choice.fast_only:
            continue
        for alternative in choice.alternatives:
            mine: dict[str, list[Point]] = {}
            refused: dict[str, str] = {}
            for experiment in chosen:
                if not choice.concerns(experiment.name):
                    continue
                try:
                    points = experiment.points(full, alternative)
                except RocelabError as e:
                    refused[experiment.name] = str(e)
                    continue
                if {p.key for p in points} != {p.key for p in default[experiment.name]}:
                    mine[experiment.name] = points
            if mine or refused:
                plans.append(Plan(choice, alternative, mine, refused))
    return plans


def compare(paper: Paper, plan: Plan, default: Points, store: PointStore) -> Finding:
    """Claims with the alternative beside those of the default; only of experiments that ran with it."""
    from rocelab.paper.harness import claims_of

    with_it: Points = {**default, **plan.mine}
    ours, theirs = Results(default, store), Results(with_it, store)

    def claims(results: Results) -> dict[tuple[str, str, str], Claim]:
        alone = [results.only(seed) for seed in results.seeds]
        return {claim.key: claim for claim in claims_of(paper, results, alone)}

    before, after = claims(ours), claims(theirs)
    both = [
        key for key in before if key in after and "not run" not in (before[key].verdict, after[key].verdict)
    ]
    decided = [
        Decided(before[key], before[key].verdict, after[key].verdict)
        for key in both
        if before[key].verdict != after[key].verdict
    ]
    changes = _changes(paper, ours, theirs, [before[key] for key in both])
    return Finding(
        plan.choice,
        plan.alternative,
        tuple(plan.mine),
        plan.refused,
        len(both),
        tuple(decided),
        tuple(sorted(changes, key=lambda c: -abs(c.change))),
    )


def _changes(paper: Paper, ours: Results, theirs: Results, claims: Sequence[Claim]) -> list[Changed]:
    """Seed by seed where both have the same seeds, whose start times and paths they share; else of the means."""
    from rocelab.paper.harness import spread_of

    shared = [seed for seed in ours.seeds if seed in theirs.seeds] if ours.seeds == theirs.seeds else []
    pairs = [(ours.only(seed), theirs.only(seed)) for seed in shared] or [(ours, theirs)]
    ratios: dict[tuple[tuple[str, str, str], str], list[float]] = {}
    for first, second in pairs:
        mine, other = ({c.key: c for c in paper.claims(part)} for part in (first, second))
        for claim in claims:
            for name in claim.ours:
                a, b = (
                    part[claim.key].ours.get(name) if claim.key in part else None for part in (mine, other)
                )
                if a is not None and b is not None and abs(a) > _LEAST:
                    ratios.setdefault((claim.key, name), []).append(b / a - 1)
    by_key = {claim.key: claim for claim in claims}
    return [
        Changed(by_key[key], name, sum(values) / len(values), spread_of(values))
        for (key, name), values in ratios.items()
        if any(values)
    ]


def sentence(finding: Finding) -> str:
    """ "decides 2 of 14 verdicts; changes 9 numbers, most by +31 % ± 4 % (...)"."""
    count = len(finding.decided)
    text = (
        f"decides {count} of {finding.claims} verdicts"
        if count
        else f"decides none of {finding.claims} verdicts"
    )
    most = finding.largest
    if most is None:
        return f"{text}; changes no number"
    sure = sum(c.is_sure for c in finding.changed)
    known = f", {sure} for certain" if any(c.spread.ci95 is not None for c in finding.changed) else ""
    return f"{text}; changes {len(finding.changed)} numbers{known}, most by {change_text(most)} ({name_of(most)})"


def change_text(changed: Changed) -> str:
    half = changed.spread.ci95
    return f"{100 * changed.change:+.3g} %" + (f" ± {100 * half:.2g} %" if half is not None else "")


def name_of(changed: Changed) -> str:
    claim = changed.claim
    text = f"{claim.experiment}: {claim.text}"
    return text if len(claim.ours) == 1 else f"{text}; {changed.name}"


def as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "key": f.choice.key,
            "ours": f.choice.ours,
            "reason": f.choice.reason,
            "alternative": f.alternative.name,
            "experiments": list(f.experiments),
            "refused": dict(f.refused),
            "claims": f.claims,
            "decides": [
                {
                    "experiment": d.claim.experiment,
                    "text": d.claim.text,
                    "source": d.claim.source,
                    "default": d.default,
                    "with": d.alternative,
                }
                for d in f.decided
            ],
            "changes": [
                {
                    "experiment": c.claim.experiment,
                    "text": c.claim.text,
                    "number": c.name,
                    "change": c.change,
                    "ci95": c.spread.ci95,
                    "seeds": c.spread.n,
                }
                for c in f.changed
            ],
        }
        for f in findings
    ]


def terminal(findings: Sequence[Finding]) -> Drawn:
    table = Drawn(
        title="What our open choices decide (± 95 % interval over seeds; one seed has none)", box=None
    )
    for column, ratio in (("choice", 2), ("instead", 2), ("decides", 3)):
        table.add_column(column, ratio=ratio, overflow="fold")
    for f in findings:
        lines = [sentence(f)] if f.experiments else []
        lines += [f"{d.claim.experiment}: {d.claim.text}: {d.default} -> {d.alternative}" for d in f.decided]
        lines += [f"{name}: not run: {why}" for name, why in f.refused.items()]
        table.add_row(
            f"{f.choice.key}: {f.choice.ours}", f.alternative.name, "\n".join(lines).replace("[", "\\[")
        )
    return table
