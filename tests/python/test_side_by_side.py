"""Links side by side between two switches, and flows that begin when others have ended, in virtual time; tests/live/test_live_same.py has the same scenario in both
engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocelab import interchange
from rocelab.des.engine import DesEngine
from rocelab.model import FlowPlan, FlowRecord, RunOutcome
from rocelab.layout import graph_of
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "tests" / "same" / "scenarios" / "side_by_side.toml"
LINKS = ("s6-eth4", "s6-eth5")  # of s6 to s7


@pytest.fixture(scope="module", params=["roce+pfc+dcqcn", "irn"])
def outcome(request: pytest.FixtureRequest) -> RunOutcome:
    (plan,) = make_plans(read_scenario(SCENARIO, (f'transport=["{request.param}"]',)))
    done = DesEngine().execute(plan)
    assert done.error is None
    return done


def test_ports_are_named_and_joined_link_by_link(outcome: RunOutcome) -> None:
    ports = {p.interface: p for p in outcome.plan.ports}
    assert [ports[name].peer for name in LINKS] == ["s7-eth4", "s7-eth5"]
    assert [ports[ports[name].peer].peer for name in LINKS] == list(LINKS)
    assert graph_of(outcome.plan).edges["s6", "s7"]["links"] == 2


def test_each_link_has_its_counters_and_its_faults(outcome: RunOutcome) -> None:
    first, second = (outcome.port_counters[name] for name in LINKS)
    assert first["tx_frames"] > 100 and second["tx_frames"] > 100
    far = [outcome.port_counters[name.replace("s6", "s7")] for name in LINKS]
    assert all(c["tx_frames"] > 50 for c in far), "acknowledgements and answers take both, too"
    # One frame is on the list of the second; what the first loses, it loses while it is down.
    assert second["link_out_lost_frames"] == 1 and second["link_out_down_frames"] == 0
    assert first["link_out_lost_frames"] == first["link_out_down_frames"] > 20
    assert far[1]["link_out_lost_frames"] == 0


def test_marking_follows_the_rate_of_the_link(outcome: RunOutcome) -> None:
    if "dcqcn" not in outcome.plan.label:
        return
    (plan,) = make_plans(read_scenario(SCENARIO, ('transport=["roce+pfc+dcqcn"]', "switch.ecn.by_rate=[]")))
    marks = [
        sum(run.port_counters[name]["ecn_marked"] for name in LINKS)
        for run in (outcome, DesEngine().execute(plan))
    ]
    assert marks[0] > marks[1] > 0, "2 KB to 10 KB mark earlier than 5 KB to 40 KB"


def test_flows_begin_when_those_that_they_wait_for_have_ended(outcome: RunOutcome) -> None:
    records = {r.id: r for r in outcome.flows}
    flows = {(f.src, f.dst): (f, records[f.id]) for f in outcome.plan.flows}

    def seen(src: str, dst: str) -> int:
        """In the source's clock of 1 ns."""
        return flows[src, dst][1].cqe_ps or 0

    def posted(src: str, dst: str) -> int:
        return flows[src, dst][1].posted_ps or 0

    assert all(record.status == 0 and record.placed_ps for record in records.values())
    for host in ("h0", "h1"):  # the first of two that end
        assert posted(host, "h5") // 1000 * 1000 == min(seen(host, "h3"), seen(host, "h4")) > 0
    assert posted("h2", "h5") // 1000 * 1000 == seen("h2", "h4") > 0
    placed = [flows[host, "h3"][1].placed_ps or 0 for host in ("h0", "h1", "h2")]
    assert posted("h3", "h0") == posted("h3", "h1") == max(placed) > 0, "all three have arrived"


def test_settings_that_flow_txt_cannot_hold_are_warned_of(tmp_path: Path) -> None:
    said: list[str] = []
    interchange.export(SCENARIO, "hpcc", tmp_path, warn=said.append)
    assert (
        "flow.txt has no form for, and leaves out, that 5 flows begin when others have ended (they begin as early as they could there)"
        in said
    )
    text = (tmp_path / "topology.txt").read_text()
    assert text.count("6 7 20Gbps 2000ns") == 2


def test_a_flow_whose_predecessor_fails_fails(tmp_path: Path) -> None:
    """The source gives up: its link never comes back."""
    scenario = tmp_path / "s.toml"
    (tmp_path / "m.cm").write_text(
        "Nodes 3\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 100000 send_done_trigger 1\n"
        "0->2 id 2 trigger 1 size 1000\n1->2 id 3 start 0 size 1000\ntrigger id 1 oneshot\n"
    )
    scenario.write_text(
        'transport = "irn"\n[topology]\nkind = "star"\nhosts = 3\n[timers]\nverbs_timeout = 5\nverbs_retry_cnt = 1\n'
        '[[link_event]]\nat = "10us"\nbetween = ["h1", "s1"]\nstate = "down"\n'
        + '[[workload]]\nkind = "file"\nfile = "m.cm"\ndialect = "htsim"\n[engine]\nlimit = "200ms"\n'
    )
    (plan,) = make_plans(read_scenario(scenario))
    records: dict[int, FlowRecord] = {r.id: r for r in DesEngine().execute(plan).flows}
    waiting: FlowPlan = next(f for f in plan.flows if (f.src, f.dst) == ("h1", "h3"))
    assert records[waiting.id].status != 0 and records[waiting.id].posted_ps is None
