"""The Linux kernel on the other end of the wire: its rdma_rxe and ib_cm, in a virtual machine that takes a host's place, against programs on our
NIC through the switch under the wall clock. h1's link is clean, h3's loses one frame in a hundred each way."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from kernel_world import KERNEL, World, address_of, patiently
from live_runs import command, live

pytestmark = [
    live,
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="qemu-system-x86 is not installed"),
]


def test_the_kernel_has_a_device(world: World) -> None:
    assert "PORT_ACTIVE" in world.machine.run("ibv_devinfo -d rxe0").output


PINGPONGS = {
    "rc": "ibv_rc_pingpong -g 1 -s 20000 -n 50 -c",
    "rc-events": "ibv_rc_pingpong -g 1 -e -n 50 -c",
    "uc": "ibv_uc_pingpong -g 1 -s 20000 -n 50",
    "ud": "ibv_ud_pingpong -g 1 -s 1000 -n 50",
    "srq": "ibv_srq_pingpong -g 1 -s 4000 -n 100 -q 4",
}


def bytes_and_iterations(output: str) -> list[str]:
    return re.findall(r"(\d+) (?:bytes|iters) in", output)


# UC and UD wait for ever for what is lost.
_PINGPONG_RUNS = [(n, "h1") for n in PINGPONGS] + [(n, "h3") for n in PINGPONGS if n not in ("uc", "ud")]
_LINKS = {"h1": "clean", "h3": "lossy"}
pingpong_runs = pytest.mark.parametrize(
    ("name", "host"), _PINGPONG_RUNS, ids=[f"{name}-{_LINKS[host]}" for name, host in _PINGPONG_RUNS]
)
on_both_links = pytest.mark.parametrize("host", list(_LINKS), ids=list(_LINKS.values()))


@pingpong_runs
def test_ping_pong_with_a_kernel_that_serves(world: World, name: str, host: str) -> None:
    def talk() -> None:
        program = PINGPONGS[name]
        served, said = world.kernel_serves(host, f"{program} -d rxe0", f"{program} -d rocelab0 {KERNEL}")
        assert served.status == 0, served.output
        assert bytes_and_iterations(served.output) == bytes_and_iterations(said) != []

    patiently(talk)


@pingpong_runs
def test_ping_pong_with_a_kernel_that_asks(world: World, name: str, host: str) -> None:
    def talk() -> None:
        program = PINGPONGS[name]
        said, asked = world.we_serve(host, f"{program} -d rocelab0", f"{program} -d rxe0 {address_of(host)}")
        assert asked.status == 0, asked.output
        assert bytes_and_iterations(asked.output) == bytes_and_iterations(said) != []

    patiently(talk)


# What operations.c says in its order, each end in one of two turns.
_OPERATIONS = [
    "SEND with immediate",
    "WRITE with immediate",
    "inline SEND",
    "inline WRITE with immediate",
    "inline WRITE",
    "compare-and-swap",
    "fetch-and-add",
    "SEND with invalidate",
]


def turns(*roles: str) -> list[str]:
    return [*(f"{operation} {role}" for role in roles for operation in _OPERATIONS), "all right"]


@on_both_links
def test_operations_with_a_kernel_in_both_directions(world: World, operations: Path, host: str) -> None:
    """Each checks what the other one's requests have done to its memory and completions, and the answers to its own."""

    def talk() -> None:
        served, said = world.kernel_serves(host, f"{operations} rxe0 1", f"{operations} rocelab0 1 {KERNEL}")
        assert served.output.splitlines() == turns("served", "asked"), served.output
        assert said.splitlines() == turns("asked", "served"), said

    patiently(talk)


@on_both_links
@pytest.mark.parametrize("seed", [1, 2])
def test_both_ends_ask_at_once(world: World, mixed: Path, host: str, seed: int) -> None:
    """All operations in a random order, each end of the other: each compares all completions, bytes and values that it gets."""

    def talk() -> None:
        what = "200 20000 siwxrfc"
        served, said = world.kernel_serves(
            host, f"{mixed} rxe0 1 {seed} {what}", f"{mixed} rocelab0 1 {100 + seed} {what} {KERNEL}"
        )
        assert served.output.splitlines() == ["all right"], served.output
        assert said.splitlines() == ["all right"], said

    patiently(talk)


# Each end would take as many READs at once as its own device can, and fail to agree: -o says.
PERFTEST = {
    "ib_write_bw": "-s 16384",
    "ib_read_bw": "-s 16384 -o 16",
    "ib_send_bw": "-s 16384",
    "ib_atomic_bw": "-o 16",
    "ib_atomic_bw -A CMP_AND_SWAP": "-o 16",
}


def perftest(program: str) -> str:
    return f"{program} -F -x 1 -m 1024 {PERFTEST[program]} -n 100"


@on_both_links
@pytest.mark.parametrize("program", PERFTEST)
def test_perftest_against_a_kernel_that_serves(world: World, program: str, host: str) -> None:
    def talk() -> None:
        line = perftest(program)
        served, said = world.kernel_serves(host, f"{line} -d rxe0", f"{line} -d rocelab0 {KERNEL}")
        assert served.status == 0, served.output
        assert re.search(r"^ *(8|16384) +100 ", said, re.M), said

    patiently(talk)


@on_both_links
@pytest.mark.parametrize("program", PERFTEST)
def test_perftest_of_a_kernel_that_asks(world: World, program: str, host: str) -> None:
    def talk() -> None:
        line = perftest(program)
        said, asked = world.we_serve(host, f"{line} -d rocelab0", f"{line} -d rxe0 {address_of(host)}")
        assert asked.status == 0, asked.output
        assert re.search(r"^ *(8|16384) +100 ", asked.output, re.M), asked.output

    patiently(talk)


@on_both_links
def test_rping_to_a_kernel(world: World, host: str) -> None:
    def talk() -> None:
        served, said = world.kernel_serves(
            host, f"rping -s -a {KERNEL} -C 10", f"rping -c -a {KERNEL} -C 10 -v -V"
        )
        assert "ping data: rdma-ping-9" in said

    patiently(talk)


@on_both_links
def test_rping_from_a_kernel(world: World, host: str) -> None:
    def talk() -> None:
        address = address_of(host)
        _, asked = world.we_serve(host, f"rping -s -a {address} -C 10", f"rping -c -a {address} -C 10 -v -V")
        assert "ping data: rdma-ping-9" in asked.output, asked.output

    patiently(talk)


def test_perftest_connects_by_rdma_cm_from_a_kernel(world: World) -> None:
    def talk() -> None:
        line = "ib_write_bw -R -F -m 1024 -s 16384 -n 100"
        _, asked = world.we_serve("h1", line, f"{line} 10.0.0.1")
        assert asked.status == 0 and re.search(r"^ *16384 +100 ", asked.output, re.M), asked.output

    patiently(talk)


def test_a_lossy_link_did_lose_frames(world: World) -> None:
    run_id = world.hosts.kept.directory.run_id
    ports = json.loads(command("stat", "s1", "--run", run_id, "--json").stdout)["ports"]
    lossy = ports["s1-eth3"]
    assert lossy["link_in_lost_frames"] > 0 and lossy["link_out_lost_frames"] > 0
    assert ports["s1-eth1"]["link_in_lost_frames"] == 0
