"""What a check says: Passed, Failed(reason) or Skipped(reason), never a bool."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Passed:
    pass


@dataclass(frozen=True)
class Failed:
    reason: str  # the first line says what; the rest is evidence


@dataclass(frozen=True)
class Skipped:
    reason: str


Verdict = Passed | Failed | Skipped


@dataclass(frozen=True)
class Result:
    name: str
    verdict: Verdict
    seconds: float = 0.0


@dataclass(frozen=True)
class StepReport:
    """One row of the summary."""

    title: str
    results: tuple[Result, ...]
    seconds: float = field(default=0.0)

    def count(self, kind: type[Passed] | type[Failed] | type[Skipped]) -> int:
        return sum(isinstance(result.verdict, kind) for result in self.results)
