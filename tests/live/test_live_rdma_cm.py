"""Programs over rdma_cm, unmodified, on Mininet hosts through Open vSwitch: the connection manager's datagrams take the network's way."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest
from live_runs import ROCELAB, ROOT, SCENARIOS, command, live, server_and_client, topology

pytestmark = live


@pytest.fixture(scope="module", params=["roce", "irn"])
def run_id(request: pytest.FixtureRequest) -> Iterator[str]:
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as kept:
        yield kept


def _on(run_id: str, host: str, *program: str) -> list[str]:
    return [str(ROCELAB), "exec", "--run", run_id, "--host", host, "--", *program]


def test_rping_pings(run_id: str) -> None:
    _, said = server_and_client(
        run_id,
        ["rping", "-s", "-a", "10.0.0.1", "-C", "10"],
        ["rping", "-c", "-a", "10.0.0.1", "-C", "10", "-v"],
    )
    assert "ping data: rdma-ping-9" in said


def test_datagram_service_is_found(run_id: str) -> None:
    assert "return status 0" in server_and_client(run_id, ["udaddy"], ["udaddy", "-s", "10.0.0.1"])[1]


def test_perftest_connects_by_rdma_cm(run_id: str) -> None:
    program = ["ib_write_bw", "-R", "-F", "-n", "200", "--report_gbits"]
    _, said = server_and_client(run_id, program, [*program, "10.0.0.1"])
    row = next(line.split() for line in said.splitlines() if line.strip().startswith("65536"))
    assert float(row[3]) == pytest.approx(37.0, rel=0.03)


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
