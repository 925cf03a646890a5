"""Communication libraries and programs over verbs, unmodified, on Mininet hosts through Open vSwitch: libfabric, MPI, DAPL, fio.
The rows of docs/reference/compatibility.md that name them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import program_table
import pytest
from live_runs import (
    HERE,
    ROCELAB,
    SCENARIOS,
    background,
    command,
    live,
    nothing_refused,
    server_and_client,
    topology,
    wait_for,
)
from program_table import Row
from rocelab import native

pytestmark = live

_UCX = {"UCX_TLS": "rc_v", "UCX_NET_DEVICES": "rocelab0:1"}


def _rows(program: str) -> list[Row]:
    found = [row for row in program_table.rows() if row.text.startswith(program)]
    assert found, f"the table has no {program}"
    assert all(row.modes == ("roce", "irn") for row in found), "these tests run every row in both modes"
    return found


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with topology(
        SCENARIOS / "pingpong.toml", "--label", request.param, "--set", "topology.hosts=4"
    ) as run_id:
        yield run_id, request.param


@pytest.fixture(scope="module")
def mpi_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of both implementations, and what starts MPICH's proxies: a folder."""
    folder = tmp_path_factory.mktemp("mpi")
    for compiler, name in (("openmpi", "pingpong"), ("openmpi", "collectives"), ("mpich", "collectives")):
        program = folder / f"{compiler}.{name}"
        subprocess.run([f"mpicc.{compiler}", "-O2", "-o", str(program), str(HERE / f"{name}.c")], check=True)
    shell = folder / "rsh"
    shell.write_text(f'#!/bin/sh\nexec {shlex.quote(str(ROCELAB))} rsh "$@"\n')
    shell.chmod(0o755)
    return folder


@pytest.mark.parametrize("row", _rows("fi_pingpong"), ids=lambda row: row.text)
def test_fi_pingpong(kept: tuple[str, str], row: Row) -> None:
    run_id, _ = kept
    words = shlex.split(row.text.replace(";", "\\;"))
    _, said = server_and_client(run_id, words, [*words, "10.0.0.1"], refused="Connection refused")
    results = {line.split()[0]: float(line.split()[6]) for line in said.splitlines()[1:]}
    # bytes, sent, acknowledged, total, time, MB/s, us per message. ofi_rxm's completions of small messages cost a round trip.
    sizes = ["64", "256", "1k", "4k", "64k", "1m"]
    datagrams = "dgram" in words
    assert list(results) == (sizes[:3] if datagrams else sizes)  # a datagram is one packet
    message = 9.0 if "rdm" in words else 4.3
    # ofi_rxm connects with its first messages, and looks at its connections every 10 ms (FI_OFI_RXM_CM_PROGRESS_INTERVAL): whose
    # turn that is decides whether the first size waits for it, once in its 200 messages.
    connecting = 10_000 / 200 if "rdm" in words else 0.0
    assert 4.0 < results["64"] < message + connecting and 4.0 < results["256"] < message + 0.2
    if not datagrams:
        assert 1.048576 * 8 * 1000 / results["1m"] == pytest.approx(35, rel=0.1)  # Gb/s


def test_a_program_that_opens_libibverbs_itself(kept: tuple[str, str]) -> None:
    probe = native.hosts_build() / "tests" / "probes" / "dlopen_probe"
    words = [str(ROCELAB), "exec", "--run", kept[0], "--host", "h1"]
    ours = subprocess.run([*words, "--dlopen", "--", str(probe)], capture_output=True, text=True, timeout=60)
    assert (ours.returncode, ours.stdout) == (0, "rocelab0\narrived\n"), ours.stderr


def _mpi(run_id: str, words: list[str]) -> str:
    """What a program prints that is started on h1."""
    said = subprocess.run(
        [*(str(ROCELAB), "exec", "--run", run_id, "--host", "h1", "--"), *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **_UCX},
    )
    assert said.returncode == 0, said.stdout + said.stderr
    nothing_refused(said.stderr)
    return said.stdout


def _hosts(count: int) -> str:
    return ",".join(f"10.0.0.{i + 1}" for i in range(count))


def _open_mpi(run_id: str, row: str, program: str, folder: Path) -> str:
    options, _, arguments = row.partition(f" {program} ")
    return _mpi(
        run_id,
        [
            *(*options.split(), "--allow-run-as-root", "--mca", "plm_rsh_agent", f"{ROCELAB} rsh"),
            *("--mca", "oob_tcp_if_include", "10.0.0.0/8"),
            *("--host", _hosts(int(options.split()[-1]))),
            *(word for name in _UCX for word in ("-x", name)),
            *(str(folder / f"openmpi.{program}"), *arguments.split()),
        ],
    )


@pytest.mark.parametrize(
    "row", [row for row in _rows("mpirun") if " pingpong " in row.text], ids=lambda row: row.text
)
def test_mpi_ping_pong(kept: tuple[str, str], row: Row, mpi_programs: Path) -> None:
    run_id, _ = kept
    said = _open_mpi(run_id, row.text, "pingpong", mpi_programs)
    found = re.search(r"(\d+) bytes: ([0-9.]+) us", said)
    assert found, said
    if found[1] == "8":
        assert float(found[2]) == pytest.approx(4.07, rel=0.02)  # two links of 2 us and one packet
    else:
        assert int(found[1]) * 8 / 1000 / float(found[2]) == pytest.approx(35, rel=0.1)  # Gb/s


_RIGHT = ["MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast", "MPI_Put, MPI_Get", "MPI_Fetch_and_op"]


@pytest.mark.parametrize(
    "row", [row for row in _rows("mpi") if " collectives " in row.text], ids=lambda row: row.text
)
def test_mpi_on_four_hosts(kept: tuple[str, str], row: Row, mpi_programs: Path) -> None:
    run_id, _ = kept
    if row.source == "MPICH":
        options, _, arguments = row.text.partition(" collectives ")
        said = _mpi(
            run_id,
            [
                *(*options.split(), "-launcher", "rsh", "-launcher-exec", str(mpi_programs / "rsh")),
                *("-localhost", "10.0.0.1", "-genvlist", ",".join(_UCX), "-hosts", _hosts(4)),
                *(str(mpi_programs / "mpich.collectives"), *arguments.split()),
            ],
        )
    else:
        said = _open_mpi(run_id, row.text, "collectives", mpi_programs)
    assert said.splitlines() == [f"{what} of {n}: right" for n in (1, 10_000) for what in _RIGHT]


def _with_server(
    run_id: str, server: list[str], ready: str | int, client: list[str], folder: Path
) -> tuple[str, str]:
    """A server on h1 and, when that says `ready` or listens on that TCP port, a client on h2; what the two print. For clients
    that do not ask again."""
    listening = ("exec", "--run", run_id, "--host", "h1", "--plain", "--", "ss", "-Hltn", f"sport = :{ready}")
    log = folder / "server"
    with background("exec", "--run", run_id, "--host", "h1", "--", *server, log=log) as serving:
        wait_for(
            lambda: (
                ready in log.read_text() if isinstance(ready, str) else command(*listening).stdout.strip()
            )
            or serving.poll() is not None,
            f"{ready!r}: {server}",
        )
        asking = command("exec", "--run", run_id, "--host", "h2", "--", *client)
        status = serving.wait(60)
    said = log.read_text()
    assert asking.returncode == status == 0, f"{said}\n{asking.stdout}{asking.stderr}"
    nothing_refused(said, asking.stderr)
    return said, asking.stdout


@pytest.mark.parametrize("row", _rows("fio"), ids=lambda row: row.text)
def test_fio(kept: tuple[str, str], row: Row, tmp_path: Path) -> None:
    run_id, _ = kept
    program, engine, verb = row.text.split()
    both = [engine, "--port=4711", "--bs=64k", "--size=16m", "--thread", "--clocksource=clock_gettime"]
    server = [program, "--name=server", *both, "--rw=read", "--iodepth=16"]
    client = [program, "--output-format=json", "--name=client", *both, "--hostname=10.0.0.1", verb]
    _, said = _with_server(
        *(run_id, server, "waiting for connection"), [*client, "--rw=write", "--iodepth=8"], tmp_path
    )
    job = json.loads(said)["jobs"][0]
    assert (job["error"], job["write"]["total_ios"]) == (0, 256)
    # Eight at a time fill the link; READs go one by one, each with the way there and back.
    wire = 65536 * 8 / 37.03  # ns
    expected = 8 * (wire + 8_150) if verb == "--verb=read" else 8 * wire
    assert job["write"]["clat_ns"]["mean"] == pytest.approx(expected, rel=0.03)


# When a server is ready, and what both ends say at last.
_DAPL: dict[str, tuple[str | int, str]] = {
    "dtestx": (15828, "immed/atomic test PASSED"),
    "dtestsrq": ("server ready", "RC SRQ Test Complete"),
}


@pytest.mark.parametrize("row", _rows("dtest"), ids=lambda row: row.text)
def test_dapl(kept: tuple[str, str], row: Row, tmp_path: Path) -> None:
    run_id, _ = kept

    def words(host: str) -> list[str]:
        """The program, with a table of DAPL's that names the host's interface."""
        table = tmp_path / f"dat.{host}"
        table.write_text(f'lab u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "{host}-eth0 0" ""\n')
        return ["env", f"DAT_OVERRIDE={table}", "stdbuf", "-oL", row.text, "-P", "lab"]

    ready, result = _DAPL[row.text]
    for text in _with_server(run_id, words("h1"), ready, [*words("h2"), "-h", "10.0.0.1"], tmp_path):
        assert result in text
