"""Communication libraries over verbs, unmodified, on Mininet hosts through Open vSwitch: libfabric and Open MPI. The rows of
docs/compatibility.md that name them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_runs import HERE, ROCELAB, ROOT, SCENARIOS, live, server_and_client, topology
from rocelab import native

pytestmark = live

_ROW = re.compile(r"\| `([^`]+)` \| (yes|no) \| (yes|no) \| (libfabric|Open MPI) \|")
_ROWS = [m.groups() for m in map(_ROW.match, (ROOT / "docs/compatibility.md").read_text().splitlines()) if m]
_UCX = {"UCX_TLS": "rc_v", "UCX_NET_DEVICES": "rocelab0:1"}


def _rows(program: str) -> list[tuple[str, str, str, str]]:
    found = [row for row in _ROWS if row[0].startswith(program)]
    assert found, f"the table has no {program}"
    return found


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as run_id:
        yield run_id, request.param


@pytest.fixture(scope="module")
def pingpong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("mpi") / "pingpong"
    subprocess.run(["mpicc", "-O2", "-o", str(program), str(HERE / "pingpong.c")], check=True)
    return program


@pytest.mark.parametrize("row", _rows("fi_pingpong"), ids=lambda row: str(row[0]))
def test_fi_pingpong(kept: tuple[str, str], row: tuple[str, str, str, str]) -> None:
    run_id, label = kept
    if row[1 if label == "roce" else 2] != "yes":
        pytest.skip("the table says no")
    words = shlex.split(row[0].replace(";", "\\;"))
    _, said = server_and_client(run_id, words, [*words, "10.0.0.1"], refused="Connection refused")
    results = {line.split()[0]: float(line.split()[6]) for line in said.splitlines()[1:]}
    # bytes, sent, acknowledged, total, time, MB/s, us per message. ofi_rxm's completions of small messages cost a round trip.
    assert list(results) == ["64", "256", "1k", "4k", "64k", "1m"]
    assert 4.0 < results["64"] < (4.3 if "msg" in words else 9.0)
    assert 1.048576 * 8 * 1000 / results["1m"] == pytest.approx(35, rel=0.1)  # Gb/s


def test_a_program_that_opens_libibverbs_itself(kept: tuple[str, str]) -> None:
    probe = native.build_directory() / "irn_provider" / "verbs" / "dlopen_probe"
    words = [str(ROCELAB), "exec", "--run", kept[0], "--host", "h1"]
    ours = subprocess.run([*words, "--dlopen", "--", str(probe)], capture_output=True, text=True, timeout=60)
    assert (ours.returncode, ours.stdout) == (0, "rocelab0\narrived\n"), ours.stderr


@pytest.mark.parametrize("row", _rows("mpirun"), ids=lambda row: str(row[0]))
def test_mpi_ping_pong(kept: tuple[str, str], row: tuple[str, str, str, str], pingpong: Path) -> None:
    run_id, label = kept
    if row[1 if label == "roce" else 2] != "yes":
        pytest.skip("the table says no")
    options, _, arguments = row[0].partition(" pingpong ")
    said = subprocess.run(
        [
            *(str(ROCELAB), "exec", "--run", run_id, "--host", "h1", "--"),
            *(*options.split(), "--allow-run-as-root", "--mca", "plm_rsh_agent", f"{ROCELAB} rsh"),
            *("--mca", "oob_tcp_if_include", "10.0.0.0/8", "--host", "10.0.0.1,10.0.0.2"),
            *(word for name in _UCX for word in ("-x", name)),
            *(str(pingpong), *arguments.split()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **_UCX},
    )
    assert said.returncode == 0, said.stdout + said.stderr
    found = re.search(r"(\d+) bytes: ([0-9.]+) us", said.stdout)
    assert found, said.stdout
    if found[1] == "8":
        assert float(found[2]) == pytest.approx(4.07, rel=0.02)  # two links of 2 us and one packet
    else:
        assert int(found[1]) * 8 / 1000 / float(found[2]) == pytest.approx(35, rel=0.1)  # Gb/s
