"""The Linux kernel on the other end of the wire: its rdma_rxe and ib_cm, in a virtual machine that takes a host's place, against programs on our
NIC through the switch under the wall clock. h1's link is clean, h3's loses one frame in a hundred each way."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kept_hosts import Hosts
from live_runs import background, command, live, topology, wait_for
from rocelab.errors import RocelabError
from rocelab.guest import kernel
from rocelab.guest.console import Console, Done
from rocelab.live.commands import find, guest_folder, on_host

HERE = Path(__file__).resolve().parent
KERNEL = "10.0.0.2"

pytestmark = [
    live,
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="qemu-system-x86 is not installed"),
]


# The programs' queue pairs give up after half a second without an answer, and an emulated processor on a busy machine may stand still that long.
ATTEMPTS = 3


def patiently(talk: Callable[[], None]) -> None:
    """Runs it again when it was a stall that broke it."""
    for attempt in range(ATTEMPTS):
        try:
            return talk()
        except (AssertionError, RocelabError, subprocess.TimeoutExpired) as e:
            stalled = re.search(r"retry counter exceeded|Terminated|has not ended|timed out", str(e))
            if not stalled or attempt == ATTEMPTS - 1:
                raise


PORT = 18515  # of all programs that exchange their addresses by TCP
NO_SERVER_YET = re.compile("Couldn't connect|RDMA_CM_EVENT_REJECTED")


def exchanges_by_tcp(program: str) -> bool:
    return not program.startswith("rping") and "-R" not in program.split()


@dataclass(frozen=True)
class World:
    hosts: Hosts
    machine: Console

    def ours(self, host: str, program: str) -> subprocess.Popen[str]:
        argv, environment = on_host(self.hosts.kept, host, shlex.split(program))
        return subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kernel_serves(self, host: str, server: str, client: str) -> tuple[Done, str]:
        """What the kernel's side and ours say; our client tries again until there is a server."""
        name = f"s{time.monotonic_ns()}"
        self.machine.start(server, name)
        for _ in range(100):
            asking = self.ours(host, client)
            said = communicate(asking, 60)
            if asking.returncode == 0 or not NO_SERVER_YET.search(said):
                break
            time.sleep(0.1)
        served = self.machine.wait(name, 20)
        assert asking.returncode == 0, said + served.output
        return served, said

    def we_serve(self, host: str, server: str, client: str) -> tuple[str, Done]:
        serving = self.ours(host, server)
        try:
            if exchanges_by_tcp(server):
                self.hosts.wait_for_listener(host, PORT, serving)
            else:
                time.sleep(0.3)
            asked = self.machine.run(f"timeout 30 {client}")
            said = communicate(serving, 30)
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.wait()
        assert serving.returncode == 0, said + asked.output
        return said, asked


def communicate(program: subprocess.Popen[str], seconds: float) -> str:
    try:
        return program.communicate(timeout=seconds)[0]
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """operations.c, compiled; both ends run it."""
    program = tmp_path_factory.mktemp("programs") / "operations"
    options = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, "-o", str(program), str(HERE / "operations.c"), "-libverbs"], check=True)
    return program


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, operations: Path) -> Iterator[World]:
    try:
        kernel.ensure()
    except kernel.NotOffered as e:
        pytest.skip(str(e))  # a system that is not Debian
    log = tmp_path_factory.mktemp("guest") / "plug"
    with topology(HERE / "kernel.toml") as run_id:
        words = ("plug", "--run", run_id, "--host", "h2", "--kernel", "--program", operations, "--json")
        with background(*words, log=log) as plug:
            wait_for(lambda: "rxe0" in log.read_text() or plug.poll() is not None, "the kernel", 150)
            assert plug.poll() is None, log.read_text()
            console = Console(guest_folder(find(run_id), "h2") / "control")
            yield World(Hosts(find(run_id), "roce"), console)
            console.close()
        report = json.loads(log.read_text().splitlines()[-1])
        assert report["from_device"] > 100 and report["to_device"] > 100, report
        assert report["malformed"] == report["overruns"] == report["socket_drops"] == 0, report


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


def address_of(host: str) -> str:
    return f"10.0.0.{host[1:]}"


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
