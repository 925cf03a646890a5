"""`./rocelab test`: every test there is, a table at the end, and as the very last line "N passed, N failed"."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from rocelab.errors import RocelabError, UsageError
from rocelab.ovs_build import OvsBuild
from rocelab.selftest import fuzz, ovs, style, suites
from rocelab.selftest.outcome import Failed, Passed, Result, Skipped, StepReport
from rocelab.setup_all import setup_lock
from rocelab.setup_build import build
from rocelab.setup_progress import Step

OTHER_LABELS = ("style", "tidy", "python", "browser", "live", "interop", "ovs", "asan", "tsan")
LABELS = (*suites.CTEST_LABELS, *OTHER_LABELS)
_NOT_FAST = ("live", "interop", "ovs")
_ON_DEMAND = ("tidy", "asan", "tsan")  # advice, not a gate; and what takes other builds and half an hour each
_SHOWN_FAILURES = 20


@dataclass(frozen=True)
class Part:
    """One row: a title, what must have succeeded before, and what is run. `minutes`: what it takes on two cores of 3 GHz with nothing else to do, for --within."""

    title: str
    run: Callable[[Step], list[Result]]
    needs: tuple[str, ...] = ()
    minutes: float = 0


def run(fast: bool, labels: Sequence[str], fuzz_seconds: int, within: float | None = None) -> int:
    """`within`: minutes."""
    for label in labels:
        if label not in LABELS:
            raise UsageError(f"no tests are labelled `{label}`: there are {', '.join(LABELS)}")
    default = [label for label in LABELS if label not in _ON_DEMAND and not (fast and label in _NOT_FAST)]
    chosen = list(labels) or default
    return report(run_parts(plan(chosen, fast, fuzz_seconds), within))


def plan(labels: Sequence[str], fast: bool, fuzz_seconds: int) -> list[Part]:
    """The parts that give these labels, in the order of what is learnt soonest."""
    ctest = [label for label in labels if label in suites.CTEST_LABELS]
    fuzzing = "fuzz" in labels and not fast
    parts: list[Part] = []
    if "style" in labels:
        parts.append(Part("style", style.check, minutes=0.5))
    if ctest or "asan" in labels:
        parts.append(Part("build dev", _build("dev"), minutes=11))
    if ctest:
        title = "unit tests (sanitizers)"
        parts.append(Part(title, lambda step: suites.ctest(ctest, step), ("build dev",), 4.5))
    if {"python", "browser", "live", "interop", "ovs", "tidy", "asan", "tsan"} & set(labels):
        parts.append(Part("build release", _build("release"), minutes=4))
    if {"live", "interop", "ovs", "tsan"} & set(labels):
        parts.append(Part("build Open vSwitch", _build_ovs(OvsBuild()), ("build release",), 1))
    if "python" in labels:
        parts.append(Part("Python tests", suites.python, ("build release",), 6))
    if "browser" in labels:
        parts.append(Part("browser tests", suites.browser, ("build release",), 2.5))
    if "live" in labels:
        parts.append(Part("live tests", suites.live, ("build Open vSwitch",), 13))
    if "interop" in labels:
        parts.append(Part("interop with a Linux kernel", suites.interop, ("build Open vSwitch",), 1))
    if fuzzing:
        parts.append(Part("build fuzzers", _build("fuzz", "fuzzers"), minutes=3))
        parts.append(
            Part("fuzzing", lambda step: fuzz.fuzz(fuzz_seconds, step), ("build fuzzers",), fuzz_seconds / 60)
        )
    if "tidy" in labels:
        parts.append(Part("clang-tidy", style.tidy, ("build release",)))
    if "asan" in labels:
        title = "build Open vSwitch (AddressSanitizer)"
        parts.append(Part(title, _build_ovs(OvsBuild.sanitized()), ("build dev",)))
        needs = ("build release", title)
        parts.append(Part("live tests (AddressSanitizer, UBSan)", suites.sanitized_live, needs))
    if "tsan" in labels:
        parts.append(Part("build tsan", _build("tsan", *suites.THREADED, *suites.ON_HOSTS)))
        parts.append(Part("tests with threads (ThreadSanitizer)", suites.threaded, ("build tsan",)))
        needs = ("build tsan", "build Open vSwitch")
        parts.append(Part("live tests (ThreadSanitizer)", suites.threaded_live, needs))
    if "ovs" in labels:
        parts.append(Part("Open vSwitch's unit tests", ovs.unit_tests, ("build Open vSwitch",), 1))
    return parts


def run_parts(parts: Sequence[Part], within: float | None = None) -> list[StepReport]:
    """All of them, whatever fails, but for those that need what failed, and those for which the time will not do: what they take here follows from what the
    parts before them took."""
    reports: list[StepReport] = []
    first = time.monotonic()
    ends = None if within is None else first + 60 * within
    usual = 0.0  # minutes of the parts that have run
    for part in parts:
        begin = time.monotonic()
        failed = {done.title for done in reports if done.count(Failed)}
        skipped = {
            done.title for done in reports if done.results and done.count(Skipped) == len(done.results)
        }
        slower = max(1.0, (begin - first) / 60 / usual) if usual > 1 else 1.0
        if broken := failed & set(part.needs):
            results = [Result(part.title, Failed(f"not run: `{broken.pop()}` failed"))]
        elif missing := skipped & set(part.needs):
            results = [Result(part.title, Skipped(f"`{missing.pop()}` was skipped"))]
        elif ends is not None and part.minutes * slower > (left := (ends - begin) / 60):
            needs = f"some {part.minutes * slower:.0f} minutes on this machine"
            results = [Result(part.title, Skipped(f"takes {needs}, and of --within {left:.0f} are left"))]
        else:
            results = _run(part, ends)
            usual += part.minutes
        reports.append(StepReport(part.title, tuple(results), time.monotonic() - begin))
        _show_failures(reports[-1])
    return reports


def report(reports: Sequence[StepReport]) -> int:
    table = Table("step", box=None, header_style="bold")
    for column in ("passed", "failed", "skipped", "time"):
        table.add_column(column, justify="right")
    for row in reports:
        failed, skipped = row.count(Failed), row.count(Skipped)
        shown = f"[red]{failed}[/red]" if failed else "0"
        table.add_row(row.title, str(row.count(Passed)), shown, str(skipped or ""), f"{row.seconds:.1f} s")
    console = Console(highlight=False)
    console.print()
    console.print(table)
    for row in reports:
        for result in row.results:
            if isinstance(result.verdict, Skipped):
                console.print(f"skipped {result.name}: {result.verdict.reason}", markup=False, soft_wrap=True)
            elif isinstance(result.verdict, Failed):
                reason = result.verdict.reason.partition("\n")[0]
                console.print(f"FAILED {_where(row, result)}: {reason}", markup=False, soft_wrap=True)
    failed = sum(row.count(Failed) for row in reports)
    print(f"{sum(row.count(Passed) for row in reports)} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def _run(part: Part, ends: float | None) -> list[Result]:
    try:
        with Step(part.title, ends=ends) as step:
            return part.run(step)
    except RocelabError as e:
        return [Result(part.title, Failed(str(e)))]


def _show_failures(step: StepReport) -> None:
    """At once, so that a long test run can be left."""
    failures = [result for result in step.results if isinstance(result.verdict, Failed)]
    for result in failures[:_SHOWN_FAILURES]:
        assert isinstance(result.verdict, Failed)
        print(f"FAILED {_where(step, result)}: {result.verdict.reason}", file=sys.stderr)
    if len(failures) > _SHOWN_FAILURES:
        print(f"... and {len(failures) - _SHOWN_FAILURES} more", file=sys.stderr)


def _where(step: StepReport, result: Result) -> str:
    return step.title if result.name == step.title else f"{step.title}: {result.name}"


def _build(preset: str, *targets: str) -> Callable[[Step], list[Result]]:
    def run_build(step: Step) -> list[Result]:
        with setup_lock("setup" if preset == "release" else preset):
            build(preset, step, targets)
        return [Result(preset, Passed())]

    return run_build


def _build_ovs(ovs_build: OvsBuild) -> Callable[[Step], list[Result]]:
    def run_build(step: Step) -> list[Result]:
        with setup_lock():
            ovs_build.ensure(step)
        return [Result("Open vSwitch", Passed())]

    return run_build
