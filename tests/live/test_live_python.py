"""rocelab.up() and rocelab.run(engine="live"): live topologies from Python, and nothing of them left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import rocelab
from live_runs import ROOT, leftovers, live, recorded, stays

PINGPONG = ROOT / "scenarios" / "pingpong.toml"
pytestmark = live
WORDS = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1"]


def test_programs_run_on_hosts_and_end_with_the_topology() -> None:
    with rocelab.up(PINGPONG, "irn", set={"topology.rate": "10Gb/s"}) as net:
        assert net.hosts == ("h1", "h2") and net.label == "irn" and net.now_ps == 0
        server = net.host("h1").start(WORDS)
        net.host("h1").wait_for_listener(18515)
        client = net.host("h2").run([*WORDS, net.host("h1").ip], timeout=60)
        assert "1000 iters in" in client.stdout and client.returncode == 0
        assert server.wait(30) == 0 and "1000 iters in" in server.output()
        assert net.now_ps > 1_000_000_000
        frames = net.counters("s1").query("name == 'rx_frames'")
        assert len(frames) == 2 and (frames["value"] > 1000).all()
        left = net.host("h1").start(["sh", "-c", "sleep 1000 & sleep 1000"])
        stat = subprocess.run(
            [str(ROOT / "rocelab"), "stat", "--run", net.run_id], capture_output=True, text=True
        )
        assert stat.returncode == 0 and "s1-eth1" in stat.stdout
        processes = [entry for entry in recorded(net.run_id) if entry[1] != "runner"]
    assert left.wait(5) == -signal.SIGKILL
    assert "down" in repr(net)
    with pytest.raises(rocelab.RocelabError, match="is down"):
        net.host("h1")
    net.down()
    assert len(processes) > 4 and leftovers(net.run_id, processes) == []


def test_failures_are_one_error() -> None:
    with rocelab.up(rocelab.Scenario.load(PINGPONG)) as net:
        h1 = net.host("h1")
        with pytest.raises(rocelab.RocelabError, match="no host h9: this topology has h1, h2"):
            net.host("h9")
        with pytest.raises(rocelab.RocelabError, match="there is no such program"):
            h1.start(["ibv_no_such_program"])
        with pytest.raises(rocelab.RocelabError, match="h1: sh: went wrong"):
            h1.run(["sh", "-c", "echo went wrong; exit 3"])
        assert h1.run(["sh", "-c", "exit 3"], check=False).returncode == 3
        with pytest.raises(rocelab.RocelabError, match="h1: sleep: not done after 0.2 s"):
            h1.run(["sleep", "1000"], timeout=0.2)
        with pytest.raises(rocelab.RocelabError, match="as a list of words"):
            h1.run("sleep 1")
        with pytest.raises(rocelab.RocelabError, match="nobody listens on port 9 after"):
            h1.wait_for_listener(9, 0.1)
    with pytest.raises(rocelab.RocelabError, match="no label iwarp; It has roce, irn"):
        rocelab.up(rocelab.Scenario.load(PINGPONG), "iwarp")


def test_a_script_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import rocelab, time\n"
        f"net = rocelab.up({str(PINGPONG)!r})\n"
        "net.host('h1').start(['sleep', '1000'])\n"
        "print(net.run_id, flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "emu")},
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().decode().strip()
    processes = recorded(run_id)
    process.kill()
    process.wait()
    assert len(processes) > 4
    assert stays(run_id, processes) == []


def test_both_engines_give_the_same_run(tmp_path: Path) -> None:
    quick = ROOT / "scenarios" / "quick.toml"
    hashes = {
        engine: list(rocelab.run(quick, engine, out=tmp_path / engine).runs["trace_hash"])
        for engine in ("live", "des")
    }
    assert hashes["live"] == hashes["des"]
