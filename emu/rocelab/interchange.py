"""Results and scenarios as files of other simulators: fct.txt, pfc.txt, topology.txt, flow.txt, connection matrices, GOAL. docs/reference/interchange.md describes them.

Dialects differ in how they name nodes in fct.txt, by address (hpcc) or by number (conweave), and in the columns of flow.txt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rocelab import frames, traces
from rocelab.errors import RocelabError, UsageError
from rocelab.files import write_all
from rocelab.labels import read_label
from rocelab.model import RunPlan
from rocelab.scenario import plan_of

EPOCH_S = 2.0  # the generators' base time: what those files call experiment time 0
_FIRST_SOURCE_PORT = 10000
_FLOWS = """SELECT s.number, d.number, f.dst_port, f.size, f.posted_ps, f.placed_ps - f.posted_ps, f.alone_s
  FROM flows f JOIN nodes s ON s.run = f.run AND s.node = f.src JOIN nodes d ON d.run = f.run AND d.node = f.dst
  WHERE f.run = ? AND f.fct_s IS NOT NULL ORDER BY f.posted_ps, f.flow"""
_PAUSED, _RESUMED = frames.KINDS.index("paused"), frames.KINDS.index("resumed")


@dataclass(frozen=True)
class FctLine:
    """One completed flow. Times in ns; `alone_ns`: on an idle network."""

    src: int  # node numbers
    dst: int
    src_port: int
    dst_port: int
    size: int
    start_ns: int
    fct_ns: int
    alone_ns: int


@dataclass(frozen=True)
class PfcLine:
    """A port was paused or may send again."""

    time_ns: int
    node: int
    is_switch: bool
    interface: int  # from 1
    pause: bool


def format_fct(lines: Iterable[FctLine], dialect: str) -> str:
    def name(node: int) -> str:
        return _address(node) if dialect == "hpcc" else str(node)

    return "".join(
        f"{name(x.src)} {name(x.dst)} {x.src_port} {x.dst_port} {x.size} {x.start_ns} {x.fct_ns} {x.alone_ns}\n"
        for x in lines
    )


def parse_fct(text: str, dialect: str, name: str = "fct.txt") -> list[FctLine]:
    lines = []
    for number, words in _rows(text, 8, name):
        try:
            ends = [_node(w) if dialect == "hpcc" else int(w) for w in words[:2]]
            lines.append(FctLine(ends[0], ends[1], *(int(w) for w in words[2:])))
        except ValueError:
            raise RocelabError(
                f"{name}:{number}: this is not a line of fct.txt in the dialect {dialect}"
            ) from None
    return lines


def format_pfc(lines: Iterable[PfcLine]) -> str:
    return "".join(f"{x.time_ns} {x.node} {int(x.is_switch)} {x.interface} {int(x.pause)}\n" for x in lines)


def parse_pfc(text: str, name: str = "pfc.txt") -> list[PfcLine]:
    lines = []
    for number, words in _rows(text, 5, name):
        if words[2] not in "01" or words[4] not in "01" or not all(w.isdigit() for w in words):
            raise RocelabError(f"{name}:{number}: this is not a line of pfc.txt")
        time_ns, node, kind, interface, pause = (int(w) for w in words)
        lines.append(PfcLine(time_ns, node, kind == 1, interface, pause == 1))
    return lines


def export(
    path: Path,
    dialect: str,
    to: Path | None = None,
    epoch_s: float | None = None,
    overrides: Sequence[str] = (),
    label: str | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> list[Path]:
    """Of a result's folder fct.txt and pfc.txt of each run, of a scenario topology.txt and flow-seedN.txt; the files written. `overrides`
    and `label` are for scenarios; `warn` is told what the files cannot say."""
    if path.is_dir():
        if overrides or label:
            raise UsageError(f"{path} is a result's folder: --set and --label are for scenarios")
        return _export_result(path, dialect, to or path / "export", EPOCH_S if epoch_s is None else epoch_s)
    if not path.is_file():
        raise RocelabError(f"{path}: there is no such scenario, nor a result's folder such as out/incast")
    if epoch_s is not None and dialect == "goal":
        raise UsageError("--epoch is not for --dialect goal: a schedule begins at 0")
    if epoch_s is None:
        epoch_s = 0.0 if dialect == "htsim" else EPOCH_S
    return _write(_scenario_files(path, dialect, to, round(epoch_s * 1e12), overrides, label, warn))


def _scenario_files(
    path: Path,
    dialect: str,
    to: Path | None,
    epoch_ps: int,
    overrides: Sequence[str],
    label: str | None,
    warn: Callable[[str], object],
) -> dict[Path, str]:
    """Labels whose files are the same share them; where there are several sets, each has a folder, called as the first label that has it."""
    scenario = read_label(path, overrides, label)
    labels = [label] if label is not None else list(scenario.labels)
    sets: dict[tuple[tuple[str, str], ...], str] = {}
    left_out: dict[tuple[str, str], None] = {}
    for one in labels:
        plans = [plan_of(scenario, one, seed) for seed in scenario.seeds]
        traffic = [_traffic(p, dialect, epoch_ps) for p in plans]
        flows = [(name, text) for name, text, _ in traffic]
        sets.setdefault((("topology.txt", plans[0].native.topology_file()), *flows), one)
        left_out |= dict.fromkeys(
            ("topology.txt", what) for what in plans[0].native.topology_file_omissions()
        )
        left_out |= dict.fromkeys((_TRAFFIC.get(dialect, "flow.txt"), what) for what in traffic[0][2])
    for file, what in left_out:
        warn(f"{file} has no form for, and leaves out, {what}")
    folder = to or Path("out") / scenario.name / "export"
    several = len(sets) > 1
    return {
        (folder / one if several else folder) / name: text
        for content, one in sets.items()
        for name, text in content
    }


_TRAFFIC = {"htsim": "flow.cm", "goal": "flow.goal"}


def _traffic(plan: RunPlan, dialect: str, epoch_ps: int) -> tuple[str, str, list[str]]:
    """Name and text of the file of a plan's flows, and what it cannot say of them."""
    if dialect == "htsim":
        text, omissions = plan.native.connection_matrix(epoch_ps)
        return f"flow-seed{plan.seed}.cm", text, omissions
    if dialect == "goal":
        text, omissions = plan.native.goal_schedule()
        return f"flow-seed{plan.seed}.goal", text, omissions
    text = plan.native.traffic_file(dialect, epoch_ps)
    return f"flow-seed{plan.seed}.txt", text, plan.native.traffic_file_omissions()


def _export_result(path: Path, dialect: str, to: Path, epoch_s: float) -> list[Path]:
    if dialect not in ("hpcc", "conweave"):
        raise RocelabError(f"results have no dialect {dialect}: write --dialect hpcc or conweave")
    database = path / "run.sqlite"
    if not database.is_file():
        raise RocelabError(f"{path} holds no result: it has no run.sqlite, which `./rocelab run` writes")
    epoch_ns = round(epoch_s * 1e9)
    files = {}
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            for run, label, seed in db.execute("SELECT run, label, seed FROM runs ORDER BY run").fetchall():
                folder = to / f"{label}-seed{seed}"
                files[folder / "fct.txt"] = format_fct(_fct_lines(db, run, epoch_ns), dialect)
                files[folder / "pfc.txt"] = format_pfc(_pfc_lines(db, run, epoch_ns))
    except sqlite3.DatabaseError as error:
        raise RocelabError(f"{database}: {error}; run its scenario again") from None
    return _write(files)


def _fct_lines(db: sqlite3.Connection, run: int, epoch_ns: int) -> list[FctLine]:
    """In the order of their ends, as those simulators write them; the flows of a pair of hosts are told apart by the source port."""
    flows: dict[tuple[int, int], int] = {}
    lines = []
    for src, dst, dst_port, size, posted_ps, fct_ps, alone_s in db.execute(_FLOWS, (run,)):
        port = flows.setdefault((src, dst), _FIRST_SOURCE_PORT)
        flows[src, dst] += 1
        start = epoch_ns + (posted_ps + 500) // 1000
        lines.append(
            FctLine(src, dst, port, dst_port, size, start, (fct_ps + 500) // 1000, round(alone_s * 1e9))
        )
    return sorted(lines, key=lambda x: x.start_ns + x.fct_ns)


def _pfc_lines(db: sqlite3.Connection, run: int, epoch_ns: int) -> list[PfcLine]:
    """In the order of time, then of nodes and ports."""
    nodes = {
        name: (number, bool(is_host))
        for name, number, is_host in db.execute(
            "SELECT node, number, is_host FROM nodes WHERE run = ?", (run,)
        )
    }
    found = []
    for node, records in traces.outcome_of(db, run).events.items():
        number, is_host = nodes[frames.node_of(node)]
        mine = records[(records["kind"] == _PAUSED) | (records["kind"] == _RESUMED)]
        for time_ps, port, kind in zip(*(mine[f].tolist() for f in ("time_ps", "port", "kind"))):
            found.append((time_ps, number, port, PfcLine(0, number, not is_host, port + 1, kind == _PAUSED)))
    found.sort(key=lambda each: each[:3])
    return [replace(line, time_ns=epoch_ns + (time_ps + 500) // 1000) for time_ps, _, _, line in found]


def _write(files: dict[Path, str]) -> list[Path]:
    write_all(
        {file: text.encode() for file, text in files.items()},
        "free some space or say --to DIR, and repeat the command",
    )
    return list(files)


def _rows(text: str, columns: int, name: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if len(words) != columns:
            raise RocelabError(f"{name}:{number}: a line has {columns} columns, not {len(words)}")
        yield number, words


def _address(node: int) -> str:
    """11.(node / 256).(node % 256).1"""
    return f"{0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100:08x}"


def _node(address: str) -> int:
    if len(address) != 8:
        raise ValueError(address)
    value = int(address, 16) - 0x0B000001
    if value < 0 or value % 0x100:
        raise ValueError(address)
    return value >> 8
