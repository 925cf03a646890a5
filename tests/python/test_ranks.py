"""One run in virtual time over several processes, as mpirun starts them: the same results, and no hang whatever goes wrong in one of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from rocelab import native, paths
from rocelab.des.ranks import Found, merged
from rocelab.scenario import bare_plans, make_plans, read_scenario

MPIRUN = shutil.which("mpirun.openmpi")
BUILT = sorted((native.build_directory() / "emu" / "mpi").glob("_rocelab_mpi*.so"))
needs_mpi = pytest.mark.skipif(not (MPIRUN and BUILT), reason="needs Open MPI and a build with it")
FAILURES = "scenarios/link_failure.toml"
LIFETIMES = "flow_lifetimes.toml"  # with more switches than it has
_SECONDS = 120


def command(*arguments: str, ranks: int = 2) -> list[str]:
    assert MPIRUN
    launch = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    return [*launch, str(paths.ROOT / "rocelab"), "run", *arguments, "--no-install"]


def environment() -> dict[str, str]:
    """One core is enough: a process that waits gives it away."""
    return {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", "PYTHONPATH": ""}


def launched(*arguments: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, ranks=ranks),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=paths.ROOT,
        env=environment(),
    )


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    for run in found["runs"]:
        for key in ("wall_s", "cpu_s", "max_rss_bytes"):
            del run[key]
        for process in run.pop("processes", []):
            assert 0 < process["waited_s"] < process["wall_s"] and process["sent_bytes"] > 0
    return found


def test_plans_without_tables_are_of_the_same_runs() -> None:
    read = read_scenario(paths.ROOT / FAILURES, ["seeds=[3, 4]"])
    whole, bare = make_plans(read), list(bare_plans(read))
    assert [plan.name for plan in bare] == [plan.name for plan in whole] and len(bare) >= 4
    for one, other in zip(whole, bare, strict=True):
        assert other.native.scalars == one.native.scalars
        assert other.native.flows == one.native.flows != []
        assert other.flows == () and one.flows != ()


@needs_mpi
@pytest.mark.parametrize(
    ("scenario", "ranks", "options"),
    (
        (FAILURES, 2, ("--pcap", "--set", "engine.threads=2")),
        (FAILURES, 3, ("--label", "irn", "--seed", "4")),
        (LIFETIMES, 2, ()),
    ),
)
def test_processes_write_what_one_writes(
    tmp_path: Path, scenario: str, ranks: int, options: tuple[str, ...]
) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    if scenario == LIFETIMES:
        text = (paths.ROOT / "tests/same/scenarios" / scenario).read_text()
        assert 'kind = "star"\nhosts = 4\n' in text
        text = text.replace(
            'kind = "star"\nhosts = 4\n', 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        )
        scenario = str(tmp_path / "lifetimes.toml")
        Path(scenario).write_text(text)
    subprocess.run(
        [
            *(str(paths.ROOT / "rocelab"), "run", scenario, "--engine", "des", "--out", str(alone)),
            *(*options, "--no-install"),
        ],
        check=True,
        capture_output=True,
        cwd=paths.ROOT,
        timeout=_SECONDS,
    )
    done = launched(scenario, "--engine", "des", "--out", str(together), *options, ranks=ranks)
    assert done.returncode == 0, done.stderr
    assert summary(alone) == summary(together)
    captures = sorted(file.relative_to(alone) for file in alone.rglob("*.pcapng"))
    assert bool(captures) == ("--pcap" in options)
    assert all((alone / file).read_bytes() == (together / file).read_bytes() for file in captures)


@needs_mpi
@pytest.mark.parametrize(
    ("arguments", "ranks", "words"),
    (
        (("scenarios/quick.toml", "--engine", "des"), 2, "2 processes cannot share a network of 1 part"),
        (
            (FAILURES, "--engine", "live"),
            2,
            "mpirun shares runs in virtual time among processes: say --engine des",
        ),
    ),
)
def test_what_cannot_be_shared_is_one_line(
    tmp_path: Path, arguments: tuple[str, ...], ranks: int, words: str
) -> None:
    done = launched(*arguments, "--out", str(tmp_path / "out"), ranks=ranks)
    assert done.returncode != 0
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "summary.json").exists()


@needs_mpi
def test_processes_of_different_scenarios_refuse_each_other(tmp_path: Path) -> None:
    argv = command(FAILURES, "--engine", "des", "--out", str(tmp_path / "a"), ranks=1)
    other = command(FAILURES, "--engine", "des", "--seed", "9", "--out", str(tmp_path / "b"), ranks=1)
    done = subprocess.run(
        [*argv, ":", *other[3:]],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=paths.ROOT,
        env=environment(),
    )
    assert done.returncode != 0
    assert "have another build of rocelab or another scenario" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def children_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if int(text[text.rindex(")") + 2 :].split()[1]) == pid:
            found.append(int(status.parent.name))
    return found


@needs_mpi
def test_a_process_that_dies_ends_the_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = subprocess.Popen(
        command("scenarios/fattree_poisson.toml", "--engine", "des", "--out", str(out)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=paths.ROOT,
        env=environment(),
    )
    deadline = time.monotonic() + _SECONDS
    while len(children := children_of(run.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)  # in the middle of the first run, or before it
    os.kill(max(children), signal.SIGKILL)
    _, said = run.communicate(timeout=_SECONDS)
    assert run.returncode != 0
    assert "signal 9" in said, said
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert not (out / "summary.json").exists()


def test_ends_of_a_flow_at_two_processes_make_one_flow() -> None:
    def found(**ends: Any) -> Found:
        blank = {
            **{"id": 1, "posted_ps": None, "placed_ps": None, "cqe_ps": None, "status": 0, "bytes": 0},
            **{"latency_sum_ps": 0, "latency_max_ps": 0, "has_source": False, "src_qpns": (), "dst_qpns": ()},
        }
        ports = {"s1-eth1": {"rx_frames": 3 if ends.get("has_source") else 0}}
        return Found([blank | ends], {}, ports, {}, {}, {}, 1, 0, True, 5, 7, [])

    source = found(posted_ps=0, cqe_ps=9, status=12, has_source=True, src_qpns=(4096,))
    sink = found(placed_ps=8, status=5, bytes=100, dst_qpns=(4097,))
    for parts in ([source, sink], [sink, source]):
        both = merged([Found(**{**vars(part), "ports": dict(part.ports)}) for part in parts])
        flow = both.flows[0]
        assert (flow["posted_ps"], flow["placed_ps"], flow["cqe_ps"]) == (0, 8, 9)
        assert (flow["status"], flow["bytes"]) == (12, 100), "the source's error comes first"
        assert (flow["src_qpns"], flow["dst_qpns"]) == ((4096,), (4097,))
        assert both.ports == {"s1-eth1": {"rx_frames": 3}} and both.records == 2
