"""Programs over rdma_cm, unmodified, on more than two Mininet hosts through Open vSwitch (between two: test_live_programs.py), and what `stat` shows of them."""

from __future__ import annotations

import json
import subprocess
import time

from live_runs import ROCELAB, ROOT, SCENARIOS, command, live, server_and_client, topology

pytestmark = live


def _on(run_id: str, host: str, *program: str) -> list[str]:
    return [str(ROCELAB), "exec", "--run", run_id, "--host", host, "--", *program]


def test_stat_shows_what_connection_managers_have_counted() -> None:
    with topology(SCENARIOS / "pingpong.toml", "--label", "roce") as kept:
        _, said = server_and_client(
            kept,
            ["rping", "-s", "-a", "10.0.0.1", "-C", "10"],
            ["rping", "-c", "-a", "10.0.0.1", "-C", "10", "-v"],
        )
        assert "ping data: rdma-ping-9" in said
        managers = json.loads(command("stat", "--run", kept, "--json").stdout)["cm"]
        for host in ("h1", "h2"):
            mine = [c for name, c in managers.items() if name.startswith(f"{host}.")]
            assert sum(c["rx_mads"] for c in mine) >= 1 and sum(c["tx_mads"] for c in mine) >= 1
            assert sum(c["rx_malformed"] for c in mine) == 0
        assert "connection manager" in command("stat", "h1", "--run", kept).stdout


def test_a_group_reaches_its_members_on_several_switches() -> None:
    """Two members behind different leaves, and a sender behind a third; a host that has not joined counts nothing."""
    with topology(SCENARIOS / "leaf_spine_54.toml", "--label", "roce+pfc") as kept:
        group = ["mckey", "-m", "239.1.2.3", "-C", "20", "-S", "1000"]
        members = {
            host: subprocess.Popen(
                _on(kept, host, *group, "-b", address),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=ROOT,
            )
            for host, address in (("h2", "10.0.0.2"), ("h54", "10.0.8.6"))
        }
        try:
            time.sleep(2)  # mckey does not say when it has joined
            sent = command("exec", "--run", kept, "--host", "h20", "--", *group, "-s", "-b", "10.0.3.2")
            assert sent.returncode == 0, sent.stdout + sent.stderr
            for host, member in members.items():
                said = member.communicate(timeout=60)[0]
                assert member.returncode == 0 and "data transfers complete" in said, f"{host}: {said}"
        finally:
            for member in members.values():
                if member.poll() is None:
                    member.kill()
                    member.wait()
