"""A run that is under way, as `./rocelab ui` shows it: what is shown up to an instant is what the overview of the ended run has up to there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rocelab import overview
from rocelab import progress as progressing
from rocelab.des.engine import DesEngine
from rocelab.model import RunOutcome
from rocelab.progress import Progress
from rocelab.scenario import plan_of, read_scenario
from rocelab.ui.under_way import RunUnderWay, Sums
from rocelab.under_way import UnderWay

ROOT = Path(__file__).resolve().parents[2]
Looks = list[tuple[int, dict[str, Any]]]


def watched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, label: str, *overrides: str
) -> tuple[RunOutcome, Looks]:
    """The outcome, and each look with the time of the flush before it."""
    monkeypatch.setattr(progressing, "WATCHED_EVERY", 0.0)
    writer = UnderWay(folder / "network.json")
    reader = RunUnderWay(folder / "network.json")
    looks: Looks = []

    def report(at: Progress) -> None:
        writer.report(at)
        line = {"label": at.plan.label, "seed": at.plan.seed, "flushed_ps": at.flushed_ps}
        look = reader.look(line)
        if at.phase == "run":
            looks.append((at.flushed_ps, look))

    plan = plan_of(read_scenario(ROOT / "scenarios/incast.toml", overrides), label, 1)
    outcome = DesEngine(report, watched=True).execute(plan)
    assert outcome.error is None
    return outcome, looks


def rows_of(look: Mapping[str, Any], name: str, bins: int) -> dict[tuple[int, str], int]:
    frames, links = look["frames"], look["links"]
    return {
        (bin_, links[port]["port"]): value
        for bin_, port, value in zip(frames["bin"], frames["port"], frames[name])
        if bin_ < bins and value
    }


@pytest.mark.parametrize("label", ["roce+pfc", "irn"])
def test_each_look_has_what_the_ended_runs_overview_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    outcome, looks = watched(tmp_path, monkeypatch, label)
    assert len(looks) > 5 and looks[-1][0] > 0
    ports = {p.interface for p in outcome.plan.ports}
    for until, look in looks[::3]:
        width = look["bin_ps"]
        assert look["end_ps"] == until and look["bins"] == until // width + 1
        whole = overview.overview(outcome, width)
        bins = until // width  # the present stretch is not over
        for name in ("bytes", "queue", "drops", "marks"):
            mine = whole[(whole["bin"] < bins) & (whole[name] > 0)]
            assert rows_of(look, name, bins) == dict(zip(zip(mine["bin"], mine["port"]), mine[name])), name
        pauses = whole[(whole["bin"] < bins) & (whole["paused"] > 0.002) & whole["port"].isin(ports)]
        shown = rows_of(look, "paused", bins)
        for bin_, port, share in zip(pauses["bin"], pauses["port"], pauses["paused"]):
            assert abs(shown[bin_, port] - share * 1000) <= 1
    last = looks[-1][1]
    hosts = [h.name for h in outcome.plan.hosts]
    paused = {port for _, port in rows_of(last, "paused", last["bins"])}
    assert bool(paused & set(hosts)) == (label == "roce+pfc"), "what pauses hosts is seen"


def test_stretches_join_as_time_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, looks = watched(tmp_path, monkeypatch, "roce+pfc", "engine.sample_interval=1us")
    widths = [look["bin_ps"] for _, look in looks]
    assert widths == sorted(widths) and widths[0] == 10**6 < widths[-1]
    assert all(look["bins"] <= 200 for _, look in looks)


def test_sums_keep_amounts_peaks_and_times_when_stretches_join() -> None:
    sums = Sums(ports=2, bins=5, width=10)
    at = lambda *values: np.array(values, dtype=np.int64)  # noqa: E731
    sums.add("bytes", at(0, 1, 0), at(0, 19, 49), at(1, 2, 4))
    sums.hold(at(1), at(5), at(31), at(7))
    sums.pause(3, at(0), at(15), at(25))
    before = sums.frames(49)
    assert sums.width == 10 and sorted(before["bin"]) == [0, 0, 1, 1, 2, 2, 3, 4]
    sums.add("drops", at(1), at(50), 1)
    assert sums.width == 20
    after = sums.frames(50)
    rows = {(b, p): values for b, p, *values in zip(*(after[k] for k in after))}
    names = [k for k in after if k not in ("bin", "port")]
    row = lambda b, p: dict(zip(names, rows[b, p]))  # noqa: E731
    assert row(0, 1) == {"bytes": 2, "queue": 7, "paused": 0, "drops": 0, "marks": 0}
    assert row(0, 0)["paused"] == 250 and row(1, 0)["paused"] == 250
    assert row(2, 0)["bytes"] == 4 and row(2, 1)["drops"] == 1


def test_before_the_first_flush_and_after_the_end_there_is_nothing(tmp_path: Path) -> None:
    reader = RunUnderWay(tmp_path / "network.json")
    assert reader.look(None) == {"nodes": []}
    UnderWay(tmp_path / "network.json")
    assert reader.look({"label": "roce", "seed": 1, "flushed_ps": 5}) == {"nodes": []}
    (tmp_path / "network.json").write_text(json.dumps({})[:1])
    assert reader.look(None) == {"nodes": []}
