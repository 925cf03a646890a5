"""Programs of one machine over shared memory, in real time: no interface, no topology (docs/reference/interface.md)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interface_runs import RPING_RACE, SECONDS, finish, run_pair, shared_files, wait_for
from rocelab import native
from rocelab.live.interface import environment
from rocelab.live.veth_pair import End, veth_pair

_LIBRARY = native.hosts_build() / "irn_provider" / "verbs" / "librocelab_verbs.so"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not _LIBRARY.exists(), reason=f"{_LIBRARY} is not built: ./rocelab setup"),
]

_ADDRESS = "127.0.0.1"
_INTERFACE_ADDRESS = "10.99.0.1"  # of the namespace's veth
_PERFTEST = ["-d", "rocelab0", "-x", "1", "-F"]
_PINGPONG = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1", "-n", "2000", "-c"]


@pytest.fixture(scope="module")
def machine() -> Iterator[End]:
    """A network namespace, of which only the loopback interface is used."""
    before = shared_files()
    with veth_pair() as pair:
        here = dataclasses.replace(pair[0], ipv4=_ADDRESS)
        yield here
        # rping's threads may end it while it leaves, as if it were killed: the next program takes away what it left.
        for name in ("test", "one", "two", "files"):
            finish(here.start(["ibv_devinfo"], environment(f"shm:{name}")))
    assert shared_files() <= before, "programs took away what they shared"


def _run(
    machine: End,
    server: list[str],
    client: list[str],
    transport: str = "roce",
    port: int = 18515,
    forgiven: str | None = None,
) -> tuple[str, str]:
    return run_pair((machine, machine), server, client, environment("shm:test", transport), port, forgiven)


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("program", ["ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"])
@pytest.mark.parametrize("gid", ["0", "1"])
def test_ping_pong(machine: End, transport: str, events: bool, program: str, gid: str) -> None:
    argv = [program, "-d", "rocelab0", "-g", gid, "-n", "2000", *(["-e"] if events else [])]
    argv += ["-c"] if program == "ibv_rc_pingpong" else []
    for output in _run(machine, argv, [*argv, _ADDRESS], transport):
        assert "2000 iters in" in output and "invalid data" not in output, output


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize(
    "program", ["ib_write_bw", "ib_send_lat", "ib_read_bw", "ib_write_lat", "ib_atomic_lat"]
)
def test_perftest(machine: End, transport: str, program: str) -> None:
    argv = [program, *_PERFTEST, "-n", "1000"]
    _, output = _run(machine, argv, [*argv, _ADDRESS], transport)
    rows = [line.split() for line in output.splitlines() if line.split()[1:2] == ["1000"]]
    assert len(rows) == 1, output


def test_many_queue_pairs_both_ways(machine: End) -> None:
    argv = ["ib_write_bw", *_PERFTEST, "-b", "-s", "65536", "-q", "64", "-t", "16", "-n", "100", "-u", "20"]
    _, output = _run(machine, argv, [*argv, _ADDRESS])
    assert [line for line in output.splitlines() if line.split()[1:2] == ["6400"]], output


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_rdma_cm(machine: End, transport: str) -> None:
    server = ["rping", "-s", "-C", "50", "-V", "-a", _ADDRESS]
    client = ["rping", "-c", "-C", "50", "-V", "-v", "-a", _ADDRESS]
    _, output = _run(machine, server, client, transport, port=0, forgiven=RPING_RACE)
    assert output.count("ping data") == 50, output


def test_a_program_says_what_it_has_counted(machine: End) -> None:
    """On an interface there is no `stat`: each program has its own counters, and prints them when it ends."""
    server = ["rping", "-s", "-C", "5", "-V", "-a", _ADDRESS]
    client = ["rping", "-c", "-C", "5", "-V", "-v", "-a", _ADDRESS]
    variables = {**environment("shm:test"), "ROCELAB_DEBUG": "1"}
    for output in run_pair((machine, machine), server, client, variables, 0, RPING_RACE):
        counted = dict(re.findall(r"([\w.]+)=(\d+)", output.rpartition("counters:")[2]))
        assert int(counted["rx_packets"]) > 5 and int(counted["cm.rx_mads"]) >= 1, output
        assert not counted.keys() & {"rx_wrong_peer", "cm.rx_malformed", "resp_remote_access_errors"}, output


def test_names_keep_programs_apart(machine: End) -> None:
    """The same addresses and ports of rdma_cm under two names: neither hears of the other."""
    serving = [
        machine.start(["rping", "-s", "-C", "20", "-V", "-a", _ADDRESS], environment(f"shm:{name}"))
        for name in ("one", "two")
    ]
    time.sleep(1.0)
    for name, server in zip(("one", "two"), serving):
        client = machine.start(
            ["rping", "-c", "-C", "20", "-V", "-v", "-a", _ADDRESS], environment(f"shm:{name}")
        )
        assert finish(client, RPING_RACE).count("ping data") == 20
        finish(server, RPING_RACE)
        client.end()
        server.end()


def test_several_pairs_at_once(machine: End) -> None:
    variables = environment("shm:test")
    ports = (18515, 18516, 18517)
    argv = [[*_PINGPONG, "-n", "10000", "-p", str(port)] for port in ports]
    programs = [machine.start(words, variables) for words in argv]
    wait_for(machine, *ports)
    programs += [machine.start([*words, _ADDRESS], variables) for words in argv]
    for program in programs:
        output = finish(program)
        assert "10000 iters in" in output and "invalid data" not in output, output
        program.end()


def test_a_killed_program_ends_its_peers_connection_and_leaves_nothing(machine: End) -> None:
    argv = ["ib_write_bw", *_PERFTEST, "-D", "100"]  # seconds; its client always has WRITEs on their way
    variables = environment("shm:test")
    before = shared_files()
    serving = machine.start(argv, variables)
    wait_for(machine, 18515)
    calling = machine.start([*argv, _ADDRESS], variables)
    time.sleep(2.0)
    assert serving.running() and calling.running()
    assert len(shared_files() - before) == 2
    serving.end()
    assert calling.wait(SECONDS) not in (0, None)
    assert "Failed status 12" in calling.output(), calling.output()  # IBV_WC_RETRY_EXC_ERR
    calling.end()
    assert shared_files() == before
    test_ping_pong(machine, "roce", False, "ibv_rc_pingpong", "1")  # its virtual function is free


@pytest.mark.parametrize("name", ["", "a/b", "x" * 25])
def test_a_bad_name_is_one_line(machine: End, name: str) -> None:
    program = machine.start(["ibv_devinfo"], environment(f"shm:{name}"))
    assert program.wait(SECONDS) not in (0, None)
    output = program.output()
    assert output.count("rocelab: ") == 1 and f"rocelab: 'shm:{name}': shm: is followed by" in output, output
    program.end()


@pytest.mark.skipif(shutil.which("fi_pingpong") is None, reason="needs libfabric-bin")
def test_libfabric_finds_the_address_that_the_user_has_chosen(machine: End) -> None:
    """The namespace's veth has it; the loopback interface's is in no list of addresses."""
    address = _INTERFACE_ADDRESS
    variables = environment(f"shm:fabric,address={address}")
    listed = finish(machine.start(["fi_info", "-p", "verbs", "-v", "-t", "FI_EP_MSG"], variables))
    assert f"src_addr: fi_sockaddr_in://{address}:0" in listed, listed
    argv = ["fi_pingpong", "-p", "verbs", "-e", "msg"]
    _, output = run_pair((machine, machine), argv, [*argv, address], variables, port=47592)
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["64", "256", "1k", "4k", "64k", "1m"]


@pytest.mark.parametrize(
    "option, said",
    [("address=10.1.2.3", "no address of this network namespace"), ("address=x", "it is address=IPV4")],
)
def test_an_address_that_is_not_there_is_one_line(machine: End, option: str, said: str) -> None:
    program = machine.start(["ibv_devinfo"], environment(f"shm:test,{option}"))
    program.wait(SECONDS)
    (line,) = (line for line in program.output().splitlines() if line.startswith("rocelab: "))
    assert said in line


def test_a_shell_reads_the_device_and_its_counters(machine: End) -> None:
    """Of all programs that have been there since the first one that is; the files go with the last program that looks at them."""
    variables = environment("shm:files")
    first = machine.start(["rping", "-s", "-P", "-V", "-a", _ADDRESS], variables)
    try:
        time.sleep(1.0)
        argv = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1", "-n", "200"]
        run_pair((machine, machine), argv, [*argv, _ADDRESS], variables, port=18515)
        script = "cd /sys/class/infiniband/rocelab0/ports/1; cat rate; for f in counters/port_*_packets; do cat $f; done"
        said = finish(machine.start(["bash", "-c", script + "; rdma link show -j; true"], variables))
    finally:
        first.end()
    rate, received, sent, link = said.splitlines()
    assert rate == "400 Gb/sec (8X HDR)"
    assert 400 <= int(received) <= int(sent) <= int(received) + 4, "the last answers reach nobody"
    assert json.loads(link)[0]["netdev"] == "lo"
    assert not [
        path for path in Path("/dev/shm").glob("rocelab-sysfs-*") if path.name.endswith("shm:files-0")
    ]


def test_the_command_line_shows_the_device(machine: End) -> None:
    tool = Path(__file__).resolve().parents[2] / "rocelab"
    argv = [str(tool), "exec", "--interface", "shm:test", "--transport", "irn", "--", "ibv_devinfo", "-v"]
    output = finish(machine.start(argv))
    assert "rocelab0" in output and "active_mtu:\t\t4096" in output and _ADDRESS in output, output


def test_a_program_that_opens_libibverbs_itself(machine: End) -> None:
    tool = Path(__file__).resolve().parents[2] / "rocelab"
    probe = native.hosts_build() / "tests" / "probes" / "dlopen_probe"
    output = finish(
        machine.start([str(tool), "exec", "--dlopen", "--interface", "shm:test", "--", str(probe)])
    )
    assert output.splitlines()[-2:] == ["rocelab0", "arrived"], output


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_threads_may_be_cancelled(machine: End, transport: str, tmp_path: Path) -> None:
    program, source = tmp_path / "cancelled", Path(__file__).with_name("cancelled.c")
    subprocess.run(["cc", "-O1", "-o", program, source, "-libverbs", "-lpthread"], check=True)
    assert "all cancelled" in finish(machine.start([str(program)], environment("shm:test", transport)))
