"""The incast over four transports: what each of them promises, and that a run is the same whenever and wherever it runs."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest
from live_runs import SCENARIOS, busy_processors, deterministic, entries, live, run

pytestmark = live


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Any:
    result = run(SCENARIOS / "incast.toml", tmp_path_factory.mktemp("incast"), "seeds=[1, 2]")
    assert result.complete, result.errors()
    return result


@pytest.fixture(scope="module")
def runs(incast: Any) -> Any:
    return entries(incast)


def test_pfc_keeps_roce_lossless_by_pausing(runs: Any) -> None:
    for entry in runs["roce+pfc"]:
        assert entry["drops"] == entry["lossless_drops"] == 0
        assert entry["pfc_pause_frames"] > 0 and entry["pfc_paused_s"] > 0
        assert entry["retransmitted_packets"] == 0


def test_roce_without_pfc_loses_frames_and_resends_more_than_it_lost(runs: Any) -> None:
    for entry in runs["roce"]:
        assert entry["drops"] > 0 and entry["pfc_pause_frames"] == 0
        assert entry["retransmitted_packets"] > entry["data_drops"]


def test_irn_resends_by_nack_only_what_was_lost(incast: Any) -> None:
    flows = incast.flows
    irn = flows[flows.label == "irn"]
    assert len(irn) == 16 and irn.data_drops.sum() > 0
    by_nack = irn.retransmitted - irn.timeout_retransmitted
    assert (by_nack <= irn.data_drops).all(), irn[
        ["seed", "flow", "data_drops", "retransmitted", "timeout_retransmitted"]
    ]


def test_irn_resends_nothing_that_had_arrived(runs: Any) -> None:
    assert [entry["spurious_retransmissions"] for entry in runs["irn"]] == [0, 0]


def test_irn_resends_less_than_a_tenth_of_what_roce_does(runs: Any) -> None:
    irn, roce = (sum(e["retransmitted_packets"] for e in runs[label]) for label in ("irn", "roce"))
    assert 0 < irn < roce / 10


def test_irn_without_pfc_completes_the_requests_as_fast_as_roce_with_it(runs: Any) -> None:
    irn, pfc = (median(e["rct_s"] for e in runs[label]) for label in ("irn", "roce+pfc"))
    assert irn == pytest.approx(pfc, rel=0.10)


@pytest.mark.parametrize("label", ["roce+pfc", "irn", "irn+pfc"])
def test_the_bottleneck_is_busy_for_nine_tenths_of_the_time(runs: Any, label: str) -> None:
    for entry in runs[label]:
        assert entry["bottleneck_utilization"] >= 0.90
        assert entry["bottleneck_port"] == "s1-eth9"


def test_the_payload_of_every_flow_arrives_unchanged(incast: Any) -> None:
    assert len(incast.flows) == 4 * 2 * 8
    assert incast.flows.completed.all() and incast.flows.verified.all()
    assert (incast.flows.bytes == 8_000_000).all()


def test_every_run_is_exact(runs: Any) -> None:
    verdicts = {e["fidelity"]["verdict"] for label in runs.values() for e in label}
    assert verdicts == {"exact"}


def test_seeds_make_different_runs(runs: Any) -> None:
    for label, (first, second) in runs.items():
        assert first["trace_hash"] != second["trace_hash"], label


def test_the_same_seed_gives_the_same_run_to_the_last_frame(runs: Any, tmp_path: Path) -> None:
    again = entries(run(SCENARIOS / "incast.toml", tmp_path, "seeds=[2]", 'transport=["roce+pfc", "irn"]'))
    for label in again:
        mine = deterministic(again[label][0])
        before = deterministic(runs[label][1])
        for entry in (mine, before):  # holds what differs between the labels of its file
            entry.pop("parameters")
        assert mine == before


def test_a_busy_machine_changes_nothing_but_the_wall_time(tmp_path: Path) -> None:
    quiet = entries(run(SCENARIOS / "quick.toml", tmp_path / "quiet"))
    with busy_processors(2):
        busy = entries(run(SCENARIOS / "quick.toml", tmp_path / "busy"))
    assert quiet.keys() == busy.keys() == {"roce", "roce+pfc", "irn", "irn+pfc"}
    for label in quiet:
        assert deterministic(quiet[label][0]) == deterministic(busy[label][0]), label


def test_irn_loses_nothing_in_the_input_buffered_switch(tmp_path: Path) -> None:
    result = run(SCENARIOS / "incast_input_buffered.toml", tmp_path, "seeds=[1]", "transport=irn")
    (entry,) = entries(result)["irn"]
    assert result.complete and entry["verified"] == 8
    assert entry["drops"] == entry["retransmitted_packets"] == entry["pfc_pause_frames"] == 0


def test_pauses_stop_a_flow_that_is_not_to_blame_and_irn_does_not(tmp_path: Path) -> None:
    result = run(SCENARIOS / "incast_crosstraffic.toml", tmp_path, "seeds=[1]")
    goodput = {
        label: group["goodput_during_bps"]
        for label, (entry,) in entries(result).items()
        for group in entry["groups"]
        if group["name"] == "victim"
    }
    assert result.complete
    assert goodput["irn"] >= 30e9 and goodput["roce+pfc"] <= 15e9, goodput
