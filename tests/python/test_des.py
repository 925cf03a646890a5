"""Runs in virtual time from Python: the files of a run, its verdict, captures, what a run that does not complete says."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rocelab import results
from rocelab.des.engine import DesEngine
from rocelab.scenario import make_plans, plan_of, read_scenario

ROOT = Path(__file__).resolve().parents[2]
QUICK = ROOT / "scenarios" / "quick.toml"
ENHANCED_PACKET = 6  # pcapng block type


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> results.Result:
    return results.run(QUICK, "des", out=tmp_path_factory.mktemp("quick"), pcap=True)


def test_a_run_leaves_the_files_of_a_live_one_and_is_exact(quick: results.Result) -> None:
    assert quick.complete and quick.folder is not None
    summary = json.loads((quick.folder / "summary.json").read_text())
    assert summary["engine"] == "des"
    for run in summary["runs"]:
        assert run["fidelity"]["verdict"] == "exact" and run["fidelity"]["clock"] == "virtual"
        assert run["completed"] == run["flows"] > 0 and len(run["trace_hash"]) == 64
    assert (quick.folder / "run.sqlite").stat().st_size > 0
    assert "</html>" in (quick.folder / "report.html").read_text()
    assert len(quick.samples) > 0


def test_the_records_of_flows_are_those_of_their_events(quick: results.Result) -> None:
    """The program's instants and the NICs' events are two accounts of the same."""
    placed, posted = 8, 13
    for outcome in quick.outcomes:
        plans = {f.id: f for f in outcome.plan.flows}
        for flow in outcome.flows:
            at_source, at_sink = (
                outcome.events[f"{host}.0"] for host in (plans[flow.id].src, plans[flow.id].dst)
            )
            first = at_source[(at_source["kind"] == posted) & (at_source["flow"] == flow.src_qpn)]["time_ps"]
            last = at_sink[(at_sink["kind"] == placed) & (at_sink["flow"] == flow.dst_qpn)]["time_ps"]
            assert flow.posted_ps == first.min() and flow.placed_ps == last.max()


def test_payload_is_not_claimed_to_be_verified(quick: results.Result) -> None:
    assert all(run["verified"] == 0 for run in quick.summary["runs"])


def packets(path: Path) -> Iterator[tuple[int, bytes]]:
    """(time stamp, bytes) of a little-endian pcapng file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == ENHANCED_PACKET:
            _, high, low, captured, _ = struct.unpack_from("<IIIII", data, at + 8)
            yield high << 32 | low, data[at + 28 : at + 28 + captured]
        at += length


def test_captures_hold_every_frame_in_order_with_headers_and_without_payload(quick: results.Result) -> None:
    assert quick.folder is not None
    outcome = quick.outcomes[0]
    for switch in outcome.plan.switches:
        frames = list(packets(quick.folder / "pcap" / outcome.plan.name / f"{switch.name}.pcapng"))
        counters = [outcome.port_counters[outcome.plan.ports[p].interface] for p in switch.ports]
        assert len(frames) == sum(c["rx_frames"] + c["tx_frames"] for c in counters) > 0
        assert [t for t, _ in frames] == sorted(t for t, _ in frames)
        largest = max((f for _, f in frames), key=len)
        assert largest[12:14] == b"\x08\x00" and largest[36:38] == struct.pack(">H", 4791)
        assert not any(largest[-1028:-4])


def test_tracing_off_changes_no_result() -> None:
    for plan in make_plans(read_scenario(QUICK)):
        on, off = DesEngine().execute(plan), DesEngine(trace=False).execute(plan)
        assert on.flows == off.flows and on.nic_counters == off.nic_counters
        assert on.port_counters == off.port_counters
        assert off.node_digests == () and off.events == {}


def test_the_hash_needs_no_event_files() -> None:
    for plan in make_plans(read_scenario(QUICK)):
        full, hashed = DesEngine().execute(plan), DesEngine(events=False).execute(plan)
        assert hashed.node_digests == full.node_digests != ()
        assert hashed.events == {} and hashed.flows == full.flows


def test_without_event_files_no_folder_is_made_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a sweep is ended by a signal, and would leave it behind."""
    monkeypatch.setattr(tempfile, "mkdtemp", lambda *_, **__: pytest.fail("made"))
    plan = make_plans(read_scenario(QUICK))[0]
    assert DesEngine(events=False).execute(plan).error is None


def test_a_run_that_the_limit_ends_says_so() -> None:
    plan = make_plans(read_scenario(QUICK, ("engine.limit=3us",)))[0]
    outcome = DesEngine().execute(plan)
    assert outcome.error == "not finished after 3e-06 s of experiment time (engine.limit)"


_UNREACHABLE = """
transport = ["roce"]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[nic]
path_mtu = "1024B"
[timers]
verbs_timeout = 8
verbs_retry_cnt = 2
[[workload]]
kind = "list"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "20KB"
  [[workload.flow]]
  src = "h1"
  dst = "h2"
  size = "20KB"
[engine]
limit = "10s"
[[fault]]
from = "s1"
to = "h3"
drop_rate = 1.0
"""


def test_a_flow_that_fails_is_named_with_the_status_of_its_completion(tmp_path: Path) -> None:
    scenario = tmp_path / "unreachable.toml"
    scenario.write_text(_UNREACHABLE)
    outcome = DesEngine(trace=False).execute(make_plans(read_scenario(scenario))[0])
    (failed,) = [f for f in outcome.plan.flows if f.dst == "h3"]
    assert outcome.error == f"flow {failed.id} (h1 -> h3): transport retry counter exceeded"


@pytest.mark.skipif(os.geteuid() != 0, reason="drops root to see that none is needed")
def test_no_root_is_needed() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'emu')!r}); import rocelab; print(rocelab.run({str(QUICK)!r}, engine='des').complete)"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=folder,
            user=65534,
            group=65534,
            extra_groups=[],
            env={**os.environ, "MPLCONFIGDIR": folder, "HOME": folder},
        )
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("threads", (2, 3))
def test_threads_change_no_result_and_no_file(tmp_path: Path, threads: int) -> None:
    """Of a run with losses and failures of links, captures and samples: summary.json, event files and captures byte for byte."""
    scenario = read_scenario(ROOT / "scenarios/link_failure.toml", (f"engine.threads={threads}", "seeds=[1]"))
    label = scenario.labels[0]
    many = DesEngine().execute(plan_of(scenario, label, 1), tmp_path / "many", pcap=True)
    one = DesEngine(threads=1).execute(
        plan_of(read_scenario(ROOT / "scenarios/link_failure.toml"), label, 1), tmp_path / "one", pcap=True
    )
    assert many.node_digests == one.node_digests
    assert many.flows == one.flows
    assert many.port_counters == one.port_counters
    assert many.events.keys() == one.events.keys()
    assert all(np.array_equal(many.events[name], one.events[name]) for name in one.events)
    captures = sorted((tmp_path / "one").rglob("*.pcapng"))
    assert captures
    for file in captures:
        other = tmp_path / "many" / file.relative_to(tmp_path / "one")
        assert file.read_bytes() == other.read_bytes(), file.name
