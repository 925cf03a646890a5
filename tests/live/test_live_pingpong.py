"""ibv_rc_pingpong, unmodified, on a kept topology: it runs, and the time that it prints is the one that the network has."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from live_runs import (
    ROCELAB,
    ROOT,
    SCENARIOS,
    command,
    leftovers,
    live,
    recorded,
    server_and_client,
    topology,
)
from rocelab.scenario import make_plans, read_scenario

pytestmark = live

_PINGPONG = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1"]


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Run id and label of a topology of two hosts."""
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as run_id:
        yield run_id, request.param


def _pingpong(run_id: str, *arguments: str) -> tuple[str, str]:
    """What the server and the client print."""
    words = [*_PINGPONG, *arguments]
    return server_and_client(run_id, words, [*words, "10.0.0.1"], refused="Couldn't connect")


def _microseconds(said: str) -> str:
    match = re.search(r"= ([0-9.]+) usec/iter", said)
    assert match, said
    return match[1]


@pytest.mark.parametrize("size", [1, 4096, 65536, 1048576])
def test_an_iteration_takes_the_predicted_time_and_the_same_in_every_run(
    kept: tuple[str, str], size: int
) -> None:
    run_id, label = kept
    plan = next(p for p in make_plans(read_scenario(SCENARIOS / "pingpong.toml")) if p.label == label)
    iterations = 1000 if size < 1 << 20 else 100
    arguments = ["-s", str(size), "-n", str(iterations)]
    first = _pingpong(run_id, *arguments)
    second = _pingpong(run_id, *arguments)
    predicted = plan.native.ping_pong_ps("h1", "h2", size) / 1e6
    assert float(_microseconds(first[1])) == pytest.approx(predicted, rel=0.02)
    tick = 1 / iterations + 0.0101  # gettimeofday() counts whole microseconds, printf() hundredths
    assert [float(_microseconds(s)) for s in first] == pytest.approx(
        [float(_microseconds(s)) for s in second], abs=tick
    )


def test_the_payload_is_what_the_peer_sent(kept: tuple[str, str]) -> None:
    said = _pingpong(kept[0], "-c", "-s", "10000", "-n", "200")
    assert not any("invalid data" in s for s in said)


def test_stat_counts_what_was_sent(kept: tuple[str, str]) -> None:
    _pingpong(kept[0], "-n", "50", "-s", "1000")
    done = command("stat", "--run", kept[0], "--json")
    shown = json.loads(done.stdout)
    nics = shown["nics"]
    for port in ("s1-eth1", "s1-eth2"):
        assert shown["ports"][port]["rx_frames"] >= 100 and shown["ports"][port]["tx_frames"] >= 100
    for host in ("h1", "h2"):
        counters = [c for name, c in nics.items() if name.startswith(f"{host}.")]
        assert sum(c["rx_send_requests"] for c in counters) >= 50
        assert sum(c["retransmitted_packets"] for c in counters) == 0


def test_a_program_that_fails_gives_its_status(kept: tuple[str, str]) -> None:
    assert command("exec", "--run", kept[0], "--host", "h1", "--", "sh", "-c", "exit 37").returncode == 37


def test_exec_becomes_the_program_so_that_signals_reach_it(kept: tuple[str, str]) -> None:
    words = [
        str(ROCELAB),
        "exec",
        "--run",
        kept[0],
        "--host",
        "h1",
        "--",
        "sh",
        "-c",
        "echo $$; exec sleep 1000",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout and int(process.stdout.readline()) == process.pid
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM


def test_down_leaves_nothing() -> None:
    with topology(SCENARIOS / "pingpong.toml") as run_id:
        processes = recorded(run_id)
        assert {role for _, role in processes} >= {"session", "ovs", "host h1", "host h2"}
    assert leftovers(run_id, processes) == []
