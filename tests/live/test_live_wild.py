"""Programs as people write them over verbs, in lock step and in real time: a server with an event loop and timers, a ring in memory
that nobody polls by a call, a thread that listens while another spins, calls by datagrams that measure with the time stamp counter,
and the libraries UCX, gloo and librpma. Their sources are in wild/, UCX's example is its package's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from interface_runs import SECONDS, finish
from kept_hosts import PATIENCE, Hosts, kept_hosts
from live_runs import HERE, SCENARIOS, live, wait_for
from program_table import Commands
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair
from sanitizer import THREAD_SANITIZER

pytestmark = live

_UCX_EXAMPLE = Path("/usr/share/doc/libucx-dev/examples/ucp_client_server.c")
_UCX = ["UCX_TLS=rc_v", "UCX_NET_DEVICES=rocelab0:1"]


@dataclass(frozen=True)
class Pair:
    """Two ends of a program. `says`: what the server prints when it can be asked; `result`: what the client says at last."""

    source: Path
    libraries: tuple[str, ...]
    server: tuple[str, ...]
    client: tuple[str, ...]
    result: str
    says: str = "listening"
    settings: tuple[str, ...] = ()
    endless: bool = False


_PAIRS = {
    "key_value": Pair(
        HERE / "wild/key_value.c",
        ("rdmacm", "ibverbs"),
        ("server", "{server}"),
        ("client", "{server}", "1000", "7"),
        r"1000 operations right",
    ),
    "ring": Pair(
        HERE / "wild/ring.c",
        ("rdmacm", "ibverbs", "pthread"),
        ("consumer", "{server}", "3000"),
        ("producer", "{server}", "3000"),
        r"3000 records right",
    ),
    "short_connections": Pair(
        HERE / "wild/short_connections.c",
        ("rdmacm", "ibverbs"),
        ("server", "{server}", "50"),
        ("client", "{server}", "50"),
        r"50 connections right",
    ),
    "datagram_rpc": Pair(
        HERE / "wild/datagram_rpc.c",
        ("rdmacm", "ibverbs"),
        ("server", "{server}"),
        ("client", "{server}", "3000"),
        r"3000 calls right, (\d+) repeated, ([0-9.]+) us on average",
        settings=("ROCELAB_TSC=1",),
    ),
    "remote_log": Pair(
        HERE / "wild/remote_log.c",
        ("rpma", "ibverbs"),
        ("server", "{server}"),
        ("client", "{server}", "1000"),
        r"1000 records right",
    ),
    "ucp_client_server": Pair(
        _UCX_EXAMPLE,
        ("ucp", "ucs"),
        (),
        ("-a", "{server}"),
        r"ABCDEFGHIJKLMNO\.",
        says="Waiting for connection",
        settings=("stdbuf", "-oL"),
        endless=True,
    ),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wild")
    for name, pair in _PAIRS.items():
        libraries = [f"-l{library}" for library in pair.libraries]
        subprocess.run(["gcc", "-O2", "-o", str(folder / name), str(pair.source), *libraries], check=True)
    gloo = ["g++", "-std=c++17", "-O2", "-o", str(folder / "all_reduce"), str(HERE / "wild/all_reduce.cc")]
    subprocess.run([*gloo, "-lgloo", "-libverbs", "-lpthread"], check=True)
    return folder


@pytest.fixture(scope="module", params=["roce", "irn"])
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    with kept_hosts(SCENARIOS / "pingpong.toml", request.param) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def interfaces() -> Iterator[tuple[End, End]]:
    with veth_pair() as pair:
        yield pair


def _words(pair: Pair, program: Path, arguments: tuple[str, ...], server: str) -> list[str]:
    return ["env", *_UCX, *pair.settings, str(program), *(word.format(server=server) for word in arguments)]


@pytest.mark.parametrize("name", _PAIRS)
def test_in_lock_step(hosts: Hosts, name: str, programs: Path, tmp_path: Path) -> None:
    if THREAD_SANITIZER and name in ("ring", "ucp_client_server"):
        pytest.skip("ThreadSanitizer delivers signals late: nobody finds a thread that spins")
    pair = _PAIRS[name]
    commands = Commands(
        _words(pair, programs / name, pair.server, "10.0.0.1"),
        _words(pair, programs / name, pair.client, "10.0.0.1"),
        says=pair.says,
        endless=pair.endless,
    )
    said = hosts.serve_and_ask(commands, tmp_path)
    assert said.statuses == (None if pair.endless else 0, 0), f"{said.server}\n{said.client}"
    found = re.search(pair.result, said.client)
    assert found, said.client
    if (
        name == "datagram_rpc"
    ):  # in experiment time: none is late, and eight calls of 400 B each way share 40 Gb/s
        assert found[1] == "0" and float(found[2]) == pytest.approx(8.9, rel=0.05)


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize("name", _PAIRS)
def test_on_an_interface(interfaces: tuple[End, End], transport: str, name: str, programs: Path) -> None:
    pair = _PAIRS[name]
    server = interfaces[0].ipv4
    words = [_words(pair, programs / name, arguments, server) for arguments in (pair.server, pair.client)]
    serving = interfaces[0].start(words[0], environment(DEVICE, transport))
    try:
        wait_for(lambda: pair.says in serving.output() or not serving.running(), pair.says, SECONDS)
        said = finish(interfaces[1].start(words[1], environment(DEVICE, transport)))
        assert re.search(pair.result, said), said
        if not pair.endless:
            finish(serving)
    finally:
        serving.end()


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_gloo_reduces_in_lock_step(transport: str, programs: Path, tmp_path: Path) -> None:
    """Time begins with both ranks: gloo waits for the other one by sleeping, up to 30 s, and idle time passes at once."""
    with kept_hosts(SCENARIOS / "pingpong.toml", transport, "--programs", "2") as hosts:
        ranks = [[str(programs / "all_reduce"), str(rank), "2", str(tmp_path), "10"] for rank in range(2)]
        with (
            hosts.program("h1", ranks[0], tmp_path / "0") as first,
            hosts.program("h2", ranks[1], tmp_path / "1") as second,
        ):
            statuses = (first.wait(PATIENCE), second.wait(PATIENCE))
    said = [(tmp_path / str(rank)).read_text() for rank in range(2)]
    assert statuses == (0, 0), said
    assert said == [f"all_reduce: rank {rank} of 2: right\n" for rank in range(2)]


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_gloo_reduces_on_an_interface(
    interfaces: tuple[End, End], transport: str, programs: Path, tmp_path: Path
) -> None:
    variables = environment(DEVICE, transport)
    started = [
        end.start([str(programs / "all_reduce"), str(rank), "2", str(tmp_path), "10"], variables)
        for rank, end in enumerate(interfaces)
    ]
    try:
        said = [finish(program) for program in started]
    finally:
        for program in started:
            program.end()
    assert said == [f"all_reduce: rank {rank} of 2: right\n" for rank in range(2)]
