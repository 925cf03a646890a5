"""Scenarios and run plans as frozen values, read and resolved by the C++ runner."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocelab import metrics, native
from rocelab.document import split
from rocelab.errors import RocelabError, ScenarioError
from rocelab.model import (
    Comparison,
    FlowPlan,
    HostPlan,
    Parameter,
    PortPlan,
    RouteChange,
    RunPlan,
    Scenario,
    SwitchPlan,
)


def read_scenario(path: Path | str, overrides: Sequence[str] = ()) -> Scenario:
    """`overrides` are texts like `topology.rate=100Gb/s`. A mistake is a ScenarioError that begins with file:line:column."""
    return _read(str(path), None, tuple(overrides))


def parse_scenario(text: str, name: str, overrides: Sequence[str] = ()) -> Scenario:
    """The same from text; `name` stands for its file."""
    return _read(name, text, tuple(overrides))


def with_overrides(scenario: Scenario, overrides: Sequence[str]) -> Scenario:
    """The scenario, read again with more of them; the last one of a key counts."""
    return _read(scenario.file, scenario.text, (*scenario.overrides, *overrides))


def _read(file: str, text: str | None, overrides: tuple[str, ...]) -> Scenario:
    for word in (file, *overrides):
        _check_text(word)
    pairs = [split(override) for override in overrides]
    runner = native.runner
    try:
        scenario = (
            runner.read_scenario(file, pairs) if text is None else runner.parse_scenario(text, file, pairs)
        )
    except runner.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    comparisons = tuple(Comparison(**c) for c in scenario.comparisons)
    for comparison in comparisons:
        _check_metric(comparison.metric, scenario.file)
    return Scenario(
        name=scenario.name,
        title=scenario.title,
        file=scenario.file,
        labels=tuple(scenario.labels),
        seeds=tuple(scenario.seeds),
        comparisons=comparisons,
        warnings=tuple(scenario.warnings),
        native=scenario,
        overrides=overrides,
        text=text,
    )


def print_warnings(scenario: Scenario) -> None:
    """For a command that is about to run it."""
    for text in scenario.warnings:
        print(f"rocelab: warning: {text}", file=sys.stderr)


def _check_metric(metric: str, file: str) -> None:
    """Now, and not when all has run."""
    known = metrics.by_name()
    if metric not in known:
        near = difflib.get_close_matches(metric, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise RocelabError(f"{file}: [[compare]] has the unknown metric {metric}; {hint}")


def _check_text(word: str) -> None:
    """Words of a command line may be any bytes."""
    try:
        word.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(word).decode(errors="replace")
        raise RocelabError(f"{shown}: is not valid UTF-8; rename the file or retype the word") from None


def make_plans(scenario: Scenario) -> tuple[RunPlan, ...]:
    """One per label and seed: all seeds of the first label, then the next label."""
    if scenario.labels != tuple(scenario.native.labels):
        return tuple(plan_of(scenario, label, seed) for label in scenario.labels for seed in scenario.seeds)
    runner = native.runner
    try:
        return tuple(_plan(plan) for plan in runner.make_plans(scenario.native))
    except runner.ScenarioError as error:
        raise ScenarioError(str(error)) from None


def plan_of(scenario: Scenario, label: str, seed: int) -> RunPlan:
    """One run of it."""
    return _plan(_native_plan(scenario, label, seed))


def bare_plans(scenario: Scenario) -> Iterator[RunPlan]:
    """The same plans as make_plans(), one after the other, with what an engine in virtual time needs and no tables of hosts, switches, ports and flows."""
    tables: dict[str, Any] = dict.fromkeys(
        ("hosts", "switches", "ports", "flows", "route_changes", "parameters"), ()
    )
    for label in scenario.labels:
        for seed in scenario.seeds:
            plan = _native_plan(scenario, label, seed)
            yield RunPlan(**plan.scalars, **tables, native=plan)


def _native_plan(scenario: Scenario, label: str, seed: int) -> Any:
    runner = native.runner
    try:
        return runner.make_plan(scenario.native, label, seed)
    except runner.ScenarioError as error:
        raise ScenarioError(str(error)) from None


def _plan(plan: Any) -> RunPlan:
    return RunPlan(
        **plan.scalars,
        hosts=tuple(HostPlan(**h) for h in plan.hosts),
        switches=tuple(SwitchPlan(**s) for s in plan.switches),
        ports=tuple(PortPlan(**p) for p in plan.ports),
        flows=tuple(FlowPlan(**f) for f in plan.flows),
        route_changes=tuple(RouteChange(**c) for c in plan.route_changes),
        parameters=tuple(Parameter(key, value) for key, value in plan.parameters),
        native=plan,
    )
