"""What is told of hosts with several NICs: plans, layouts for the live engine, results. That both engines agree: tests/live/test_live_same.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rocelab import results
from rocelab.errors import RocelabError, ScenarioError
from rocelab.live.capture import ports_at
from rocelab.live.commands import keep
from rocelab.live.layout import Layout
from rocelab.live.plan_layout import layout_of
from rocelab.model import RunPlan
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
RAILS = ROOT / "tests/same/scenarios/several_nics.toml"
PLANES = ROOT / "tests/same/scenarios/planes.toml"


def _plan(path: Path, *overrides: str) -> RunPlan:
    return make_plans(read_scenario(path, overrides))[0]


def test_a_layout_has_an_interface_of_the_host_for_each_nic() -> None:
    layout = layout_of(_plan(RAILS))
    assert layout.machines() == ["h1", "h2", "h3", "h4"]
    assert [(n.name, n.interface, n.ip) for n in layout.nics("h3")] == [
        ("h3.0", "h3-eth0", "10.0.2.1"),
        ("h3.1", "h3-eth1", "10.0.3.1"),
    ]
    assert Layout.from_json(layout.to_json()) == layout
    assert ports_at(layout, "h3") == ["rail2_0-eth1", "rail2_1-eth1"]
    assert ports_at(layout, "h3.1") == ["rail2_1-eth1"]
    assert {n.plane for n in layout.hosts} == {0}
    planes = {n.name: n.plane for n in layout_of(_plan(PLANES)).hosts}
    assert planes["h1.0"] == planes["h6.0"] != planes["h1.1"] == planes["h6.1"]


def test_time_waits_for_programs_of_hosts_not_of_nics() -> None:
    plan = _plan(RAILS)
    assert plan.expected_participants == len(plan.machines) == 4 and plan.nics_per_host == 2
    with pytest.raises(RocelabError, match="4 hosts x nic.vfs = 2 allow 8 programs"):
        keep(read_scenario(RAILS), plan, programs=9)


def test_results_have_the_counters_of_each_nic(tmp_path: Path) -> None:
    result = results.run(RAILS, "des", overrides=('transport=["irn"]',), out=tmp_path)
    (run,) = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert set(run["nics"]) == {f"h{h}.{n}" for h in range(1, 5) for n in (0, 1)}
    assert (
        sum(n.get("retransmitted_packets", 0) for n in run["nics"].values())
        == run["retransmitted_packets"]
        > 0
    )
    incast = run["nics"]["h1.1"]["rx_bytes"]
    assert incast > 1.5 * run["nics"]["h1.0"]["rx_bytes"], "the receiver of the incast is one NIC"
    page = (tmp_path / "report.html").read_text()
    assert "4 hosts with 2 NICs each" in page and "<h2>NICs</h2>" in page
    traced = set(result.events()["node"])
    assert {"h1.0", "h1.1"} <= traced and "h1" not in traced
    assert len(result.flows) == len(result.flows.dropna(subset=["fct_s"]))
    counted = result.counters[result.counters["name"] == "rx_bytes"].set_index("node")["value"]
    assert counted["h1.1"] == incast


def test_hosts_with_one_nic_are_told_of_as_before(tmp_path: Path) -> None:
    results.run(ROOT / "scenarios/quick.toml", "des", overrides=('transport=["irn"]',), out=tmp_path)
    (run,) = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert "nics" not in run
    assert "<h2>NICs</h2>" not in (tmp_path / "report.html").read_text()


def test_a_nic_is_named_wherever_a_scenario_names_a_host() -> None:
    link = {"between": '["h2.1", "rail1_1"]'}
    for overrides in (
        ('nic.roce_hosts=["h2.1"]',),
        ('nic.roce_hosts=["h2"]',),
        ('workload.rails.senders=["h1.0", "h3"]',),
        (f"link_event=[{{at='1us', between={link['between']}, state='down'}}]",),
        (f"topology.link=[{{between={link['between']}, rate='10Gb/s'}}]",),
        ("fault=[{from='h2.1', to='rail1_1', drop_rate=0.1}]",),
        ("classes.at=[{nodes=['h2', 'h3.1'], dscp={34=4}}]",),
        ('topology.paths="single"',),
    ):
        _plan(RAILS, *overrides)
    with pytest.raises(ScenarioError, match="names the host .h2., which has 2 NICs"):
        _plan(RAILS, "fault=[{from='h2', to='rail1_1', drop_rate=0.1}]")
