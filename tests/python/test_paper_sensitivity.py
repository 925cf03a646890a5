"""`./rocelab paper NAME --sensitivity`: that each declared choice can be run, and what is said of those that decide and those that do not."""

from __future__ import annotations

import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from rocelab.errors import RocelabError, UsageError
from rocelab.paper import harness, sensitivity
from rocelab.paper.choices import Alternative, Choice, key_choice, merged, seed_choice
from rocelab.paper.claims import OURS, Claim, number
from rocelab.paper.results import Results
from rocelab.papers import timely

PAPERS = ("irn", "rocc", "escape", "timely")
SHORT = tuple(f'workload.{name}.size="3MB"' for name in "abcd") + ('transport=["roce+pfc+timely"]',)
CHOICES = (
    key_choice("switch.pfc.xon_frames", "2", ["2", "80"], "the first is the default itself"),
    key_choice("congestion_control.timely.t_high", "500us", ["55us"], "a threshold that flows meet at once"),
    key_choice("switch.pfc.xoff", "computed", ["1TB"], "more than a buffer can be"),
    seed_choice((3, 4)),
)


def test_later_overrides_win_and_keys_stay_in_their_order() -> None:
    assert merged(("a=1", "b=2"), ("c=3", "a=4")) == ("a=4", "b=2", "c=3")


@pytest.mark.parametrize("name", PAPERS)
def test_each_declared_choice_changes_runs_of_some_experiment(name: str) -> None:
    paper = importlib.import_module(f"rocelab.papers.{name}").PAPER
    known = {experiment.name for experiment in paper.experiments}
    assert paper.choices
    for choice in paper.choices:
        assert choice.reason and choice.ours and set(choice.experiments) <= known, choice.key
        for alternative in choice.alternatives:
            changes = False
            for experiment in paper.experiments:
                if not choice.concerns(experiment.name):
                    continue
                try:
                    points = experiment.points(False, alternative)
                except RocelabError:
                    continue  # a refusal is said in the report
                changes |= {p.key for p in points} != {p.key for p in experiment.points(False)}
                if changes:
                    break
            assert changes, alternative.name


def claims(results: Results) -> list[Claim]:
    """The mean round trip, of which the "paper" is ours with XON two frames below XOFF, to 1 %."""
    mean = results.mean(timely.TABLE, "roce+pfc+timely", "avg_fct_s")
    retx = results.mean(timely.TABLE, "roce+pfc+timely", "retransmitted_packets")
    return [
        number(timely.TABLE, "timely", "fct", "mean FCT", "s", _Expected.fct, mean),
        number(timely.TABLE, "timely", "retx", "retransmitted", "packets", 0, retx),
    ]


class _Expected:
    fct: float | None = None


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out: Path = tmp_path_factory.mktemp("out")
    experiment = next(e for e in timely.PAPER.experiments if e.name == timely.TABLE)
    short = dataclasses.replace(experiment, fast=SHORT, fast_seeds=(1, 2))
    paper = dataclasses.replace(
        timely.PAPER,
        experiments=(short,),
        claims=claims,
        choices=CHOICES,
        tables=lambda _: [],
        figures=lambda _: [],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timely, "PAPER", paper)
        assert harness.run("timely", False, timely.TABLE, None, 0, out) == 0
        first = json.loads((out / f"report-{timely.TABLE}.json").read_text())
        _Expected.fct = first["claims"][0]["numbers"][OURS]["ours"] * 1.099  # within 10 %, just
        finished = {f.name: f.stat().st_mtime_ns for f in (out / "points").iterdir()}
        assert harness.run("timely", False, timely.TABLE, None, 0, out, True) == 0
        again = {f.name: f.stat().st_mtime_ns for f in (out / "points").iterdir()}
        assert finished.items() <= again.items(), "what is finished is not run again"
        assert len(again) > len(finished)
    page = (out / f"report-sensitivity-{timely.TABLE}.html").read_text()
    assert "What our open choices decide" in page and "xon_frames = 80" in page
    found: dict[str, Any] = json.loads((out / f"report-sensitivity-{timely.TABLE}.json").read_text())
    return found


def of(report: dict[str, Any], alternative: str) -> dict[str, Any]:
    (found,) = [s for s in report["sensitivity"] if s["alternative"] == alternative]
    return dict(found)


def test_an_alternative_that_changes_nothing_is_left_out(report: dict[str, Any]) -> None:
    assert "switch.pfc.xon_frames = 2" not in [s["alternative"] for s in report["sensitivity"]]


def test_changes_are_those_of_the_seeds_that_both_have_with_an_interval(report: dict[str, Any]) -> None:
    found = of(report, "congestion_control.timely.t_high = 55us")
    assert found["experiments"] == [timely.TABLE] and found["claims"] == 2
    (change,) = found["changes"]
    assert change["text"] == "timely: mean FCT" and change["seeds"] == 2 and change["ci95"] > 0
    assert 0.001 < change["change"] < 10, "rates are cut from 55 us on: flows take longer"
    decided = [(d["default"], d["with"]) for d in found["decides"]]
    assert all(default != alternative for default, alternative in decided)


def test_other_seeds_are_compared_by_their_means(report: dict[str, Any]) -> None:
    found = of(report, "seeds 3, 4")
    assert all(change["seeds"] == 1 and change["ci95"] is None for change in found["changes"])


def test_an_alternative_that_a_scenario_refuses_says_why(report: dict[str, Any]) -> None:
    found = of(report, "switch.pfc.xoff = 1TB")
    assert found["experiments"] == [] and "xoff" in found["refused"][timely.TABLE]


def test_a_verdict_that_turns_is_named(tmp_path: Path) -> None:
    """By hand: a number that holds by default and misses with the alternative."""
    before = number("e", "case", "q", "quantity", "ms", 1.0, 1.05)
    after = number("e", "case", "q", "quantity", "ms", 1.0, 1.2)
    choice = Choice("k", "ours", "why", (Alternative("other"),))
    finding = sensitivity.Finding(
        choice,
        choice.alternatives[0],
        ("e",),
        claims=1,
        decided=(sensitivity.Decided(before, before.verdict, after.verdict),),
    )
    assert sensitivity.sentence(finding) == "decides 1 of 1 verdicts; changes no number"
    (entry,) = sensitivity.as_json([finding])
    assert entry["decides"] == [
        {"experiment": "e", "text": "case: quantity", "source": "", "default": "holds", "with": "missed"}
    ]


def test_a_paper_without_choices_has_no_sensitivity(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="paper ups declares no open choices"):
        harness.run("ups", False, None, None, 1, tmp_path, True)
    assert not list(tmp_path.iterdir())
