"""docs/reference/compatibility.md, run: each row of its table is a program with options, unmodified, on two Mininet hosts through Open vSwitch's
lossless ports. The same rows run without Open vSwitch under sanitizers (irn_provider/verbs/programs_compatibility_test.cc); the names of
families of programs that other tests run are in program_table.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import program_table
import pytest
from kept_hosts import PATIENCE, Hosts, kept_hosts
from live_runs import SCENARIOS, live, nothing_refused
from program_table import Row
from sanitizer import THREAD_SANITIZER

pytestmark = live

_ROWS = [row for row in program_table.rows() if row.source not in program_table.ELSEWHERE]
# qperf measures whole seconds: links that few packets fill, and long ones; IRN's timeouts are as much longer.
_SLOW = ("topology.rate=110Mb/s", "topology.delay=200us", "timers.rto_low=1ms", "timers.rto_high=3200us")


@pytest.fixture(scope="module", params=["roce", "irn"])
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    with kept_hosts(SCENARIOS / "pingpong.toml", request.param) as hosts:
        yield hosts


@pytest.fixture(scope="module", params=["roce", "irn"])
def slow_hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    settings = [word for setting in _SLOW for word in ("--set", setting)]
    with kept_hosts(SCENARIOS / "pingpong.toml", request.param, *settings) as hosts:
        yield hosts


def _check(hosts: Hosts, row: Row, folder: Path) -> None:
    if hosts.label not in row.modes:
        pytest.skip(f"docs/reference/compatibility.md does not say that it runs in mode {hosts.label}")
    settings = row.settings
    if THREAD_SANITIZER:
        if row.program == "iperf3":
            pytest.skip(
                "ThreadSanitizer's runtime comes behind our library, and librspreload's needs it before"
            )
        if row.program == "ucx_perftest":  # UCX writes over the first bytes of mmap; so does ThreadSanitizer
            settings = (*settings, "UCX_MEM_MMAP_HOOK_MODE=none")
    said = hosts.serve_and_ask(program_table.commands(row.words, settings), folder)
    assert said.statuses[1] == 0 and said.statuses[0] in (
        0,
        None,
    ), f"{said.statuses}\n{said.server}\n{said.client}"
    assert program_table.is_result(row.words, said.client), said.client
    nothing_refused(said.server, said.client)


@pytest.mark.parametrize("row", [r for r in _ROWS if r.program != "qperf"], ids=lambda row: row.text)
def test_the_row_runs(hosts: Hosts, row: Row, tmp_path: Path) -> None:
    _check(hosts, row, tmp_path)


@pytest.mark.parametrize("row", [r for r in _ROWS if r.program == "qperf"], ids=lambda row: row.text)
def test_the_row_of_qperf_runs(slow_hosts: Hosts, row: Row, tmp_path: Path) -> None:
    _check(slow_hosts, row, tmp_path)


@pytest.mark.parametrize("refusal", program_table.refusals(), ids=lambda refusal: refusal[0])
def test_refused_programs_say_why(hosts: Hosts, refusal: tuple[str, str], tmp_path: Path) -> None:
    program, reason = refusal
    server = program_table.commands(program.split()).server
    with hosts.program("h1", server, tmp_path / "server") as refusing:
        assert refusing.wait(PATIENCE) != 0
    assert reason in (tmp_path / "server").read_text()


def test_the_table_names_the_packages_that_it_ran_with() -> None:
    rows = program_table.rows()
    wrong = program_table.outdated(rows, program_table.installed_of(rows))
    assert not wrong, "\n".join(
        [*wrong, "when all rows pass, write the versions: /usr/bin/python3 tests/live/program_table.py"]
    )


def test_every_row_is_run_by_a_test() -> None:
    known = {"rdma-core", "perftest", "qperf", "iperf3", "UCX", *program_table.ELSEWHERE}
    rows = program_table.rows()
    assert {row.source for row in rows} == known
    assert len(rows) == program_table.TABLE.read_text().count(" | yes | yes | ")
