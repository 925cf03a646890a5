"""Trace records of runs as run.sqlite keeps them, and the tables that are made of them when somebody asks.

As rows of a table with indices records take some eighty bytes each, and a go-back-N run has half a million. Packed by columns they take two to eight, so that every
run keeps its own. `write_tables()` makes `events`, `pauses`, `hops` and `waits` of the runs that are asked for (docs/reference/metrics.md).
"""

from __future__ import annotations

import difflib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rocelab import frames, hops, pauses
from rocelab.errors import RocelabError
from rocelab.files import write_whole
from rocelab.model import (
    TRACE_DTYPE,
    Array,
    FlowPlan,
    FlowRecord,
    HostPlan,
    PortPlan,
    RunOutcome,
    RunPlan,
    SwitchPlan,
)

SCHEMA = """
CREATE TABLE traces (run INTEGER REFERENCES runs, source TEXT, records INTEGER, data BLOB, PRIMARY KEY (run, source)) WITHOUT ROWID;
CREATE TABLE queue_pairs (run INTEGER REFERENCES runs, flow INTEGER, qpn INTEGER, is_source INTEGER, PRIMARY KEY (run, flow, is_source, qpn)) WITHOUT ROWID;
"""
TABLES = """
CREATE TABLE events (run INTEGER REFERENCES runs, time_ps INTEGER, node TEXT, kind TEXT, mark INTEGER, port INTEGER, qpn INTEGER, bytes INTEGER,
  psn INTEGER, peer INTEGER, flow INTEGER);
CREATE TABLE pauses (run INTEGER REFERENCES runs, port TEXT, tc INTEGER, begin_ps INTEGER, end_ps INTEGER, by TEXT, because TEXT, root TEXT, depth INTEGER);
CREATE TABLE hops (run INTEGER REFERENCES runs, flow INTEGER, journey INTEGER, psn INTEGER, time_ps INTEGER, node TEXT, port TEXT, wait_ps INTEGER);
CREATE TABLE waits (run INTEGER REFERENCES runs, flow INTEGER, port TEXT, packets INTEGER, wait_ps INTEGER, longest_ps INTEGER, longest_at_ps INTEGER,
  longest_psn INTEGER, PRIMARY KEY (run, flow, port)) WITHOUT ROWID;
"""
INDICES = """
CREATE INDEX events_by_kind ON events (run, kind, time_ps);
CREATE INDEX events_by_flow ON events (run, flow) WHERE flow IS NOT NULL;
CREATE INDEX pauses_by_port ON pauses (run, port, begin_ps);
CREATE INDEX hops_by_flow ON hops (run, flow, time_ps);
"""
_EVENT_COLUMNS = ("run", "time_ps", "node", "kind", "mark", "port", "flow", "bytes", "psn", "peer", "of_flow")
_MOST_HOPS = 40_000  # of a run
_SAMPLED = [frames.KINDS.index(kind) for kind in ("sample", "carried")]  # `samples` and `overview` have these
_HOP = frames.KINDS.index("hop")


# --- into run.sqlite


def trace_rows(outcome: RunOutcome, run: int) -> Iterator[tuple[Any, ...]]:
    """Of the table `traces`."""
    every = hops.every_psn(outcome, _MOST_HOPS)
    for source, records in outcome.events.items():
        kept = ~np.isin(records["kind"], _SAMPLED) & ((records["kind"] != _HOP) | hops.taken(records, every))
        if len(kept):
            kept[-1] = True  # a pause that nothing ends lasts until the last record
        yield run, source, int(np.count_nonzero(kept)), pack(records[kept])


def queue_pair_rows(outcome: RunOutcome, run: int) -> Iterator[tuple[Any, ...]]:
    """Of the table `queue_pairs`."""
    for record in outcome.flows:
        for is_source, numbers in ((1, record.source_qpns()), (0, record.sink_qpns())):
            for qpn in sorted(set(numbers) - {0}):
                yield run, record.id, qpn, is_source


def pack(records: Array) -> bytes:
    """Columns one after the other, times as differences, compressed: neighbours are alike."""
    names = TRACE_DTYPE.names or ()
    columns = [np.diff(records["time_ps"], prepend=0), *(records[name] for name in names[1:])]
    return zlib.compress(b"".join(np.ascontiguousarray(column).tobytes() for column in columns), 1)


def unpack(count: int, data: bytes) -> Array:
    """What pack() was given. RocelabError: it is not that."""
    records = np.zeros(count, dtype=TRACE_DTYPE)
    try:
        content = zlib.decompress(data)
        at = 0
        for name in TRACE_DTYPE.names or ():
            kind = TRACE_DTYPE[name]
            column = np.frombuffer(content, kind, count, at)
            at += count * kind.itemsize
            records[name] = np.cumsum(column) if name == "time_ps" else column
    except (zlib.error, ValueError):
        raise RocelabError("its traces are damaged; run its scenario again") from None
    return records


# --- out of it


def outcome_of(db: sqlite3.Connection, run: int) -> RunOutcome:
    """What is kept of a run, as pauses, hops and events are computed from. RocelabError: nothing is."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'traces'").fetchone():
        raise RocelabError("the result was written by an older rocelab: run its scenario again")
    label, seed, end_ps, sample_ps = db.execute(
        "SELECT label, seed, end_ps, sample_ps FROM runs WHERE run = ?", (run,)
    ).fetchone()
    qpns: dict[tuple[int, int], list[int]] = {}
    for flow, qpn, is_source in db.execute(
        "SELECT flow, qpn, is_source FROM queue_pairs WHERE run = ?", (run,)
    ):
        qpns.setdefault((flow, is_source), []).append(qpn)
    flows = db.execute('SELECT flow, "group", src, dst FROM flows WHERE run = ?', (run,)).fetchall()
    plan = _plan(db, run, str(label), int(seed), int(sample_ps), flows)
    records = [_flow_record(flow, qpns.get((flow, 1), []), qpns.get((flow, 0), [])) for flow, *_ in flows]
    traces = db.execute("SELECT source, records, data FROM traces WHERE run = ? ORDER BY source", (run,))
    events = {source: unpack(count, data) for source, count, data in traces}
    return RunOutcome(plan, tuple(records), events=events, end_ps=int(end_ps))


def _flow_record(flow: int, source: Sequence[int], sink: Sequence[int]) -> FlowRecord:
    return FlowRecord(flow, None, None, None, src_qpns=tuple(source), dst_qpns=tuple(sink))


def _plan(
    db: sqlite3.Connection, run: int, label: str, seed: int, sample_ps: int, flows: Sequence[tuple[Any, ...]]
) -> RunPlan:
    nodes = db.execute("SELECT node, is_host, address FROM nodes WHERE run = ?", (run,)).fetchall()
    ports = db.execute(
        "SELECT port, node, number, peer, peer_port, rate_bps, delay_ps, xoff, xon FROM ports WHERE run = ?",
        (run,),
    )
    unknown = (
        "path_mtu",
        "wire_mtu",
        "verbs_timeout",
        "verbs_retry_cnt",
        "lookahead_ps",
        "base_rtt_ps",
        "bdp_cap",
    )
    zeros: dict[str, Any] = dict.fromkeys((*unknown, "limit_ps"), 0)
    return RunPlan(
        *("", label, seed, "", False),
        hosts=tuple(HostPlan(name, address, "", "", 0, 0) for name, is_host, address in nodes if is_host),
        switches=tuple(SwitchPlan(name, 0, (), ()) for name, is_host, _ in nodes if not is_host),
        ports=tuple(
            PortPlan(port, node, number, peer_port or peer, peer_port is None, rate, delay, 0, 0, xoff, xon)
            for port, node, number, peer, peer_port, rate, delay, xoff, xon in ports
        ),
        flows=tuple(FlowPlan(flow, group, src, dst, "", 0, 0, 0, 1, 0, 0) for flow, group, src, dst in flows),
        route_changes=(),
        parameters=(),
        expected_participants=0,
        **zeros,
        sample_interval_ps=sample_ps,
        clock="",
        dilation=1.0,
        native=None,
    )


def write_tables(result: Path, runs: Sequence[int], into: Path) -> None:
    """Of these runs of a run.sqlite, into a new database."""
    with closing(sqlite3.connect(f"{result.absolute().as_uri()}?mode=ro", uri=True)) as source:
        with closing(sqlite3.connect(into)) as db, db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + TABLES)
            for run in runs:
                _insert_run(db, outcome_of(source, run), run)
            db.executescript(INDICES)


def _insert_run(db: sqlite3.Connection, outcome: RunOutcome, run: int) -> None:
    insert(db, "events", frames.events_frame(outcome, run), _EVENT_COLUMNS)
    insert_rows(db, "pauses", [(run, *astuple(pause)) for pause in pauses.each(outcome)])
    journeys = hops.journeys(outcome, _MOST_HOPS)
    rows = [
        (run, journey.flow, number, journey.psn, hop.time_ps, hop.node, hop.port, hop.wait_ps)
        for number, journey in enumerate(journeys)
        for hop in journey.hops
    ]
    insert_rows(db, "hops", rows)
    insert_rows(db, "waits", [(run, *astuple(wait)) for wait in hops.waits(journeys)])


def insert_rows(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        db.executemany(f"INSERT INTO {table} VALUES ({marks(len(rows[0]))})", rows)


def insert(db: sqlite3.Connection, table: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if frame.empty:
        return
    values = [_column(frame[c]) for c in columns]
    db.executemany(f"INSERT INTO {table} VALUES ({marks(len(columns))})", zip(*values))


def marks(columns: int) -> str:
    return ", ".join("?" * columns)


def _column(series: pd.Series) -> list[Any]:
    """Python values; what is missing becomes NULL. SQLite's column types turn whole floats back into integers."""
    missing = series.isna()
    values = series.astype(object).where(~missing, None).tolist() if missing.any() else series.tolist()
    return (
        [v.item() if isinstance(v, np.generic) else v for v in values]
        if series.dtype.name == "Int64"
        else list(values)
    )


def export(folder: Path, label: str | None, seed: int | None, to: Path | None) -> int:
    """`./rocelab events`."""
    result = folder / "run.sqlite"
    if not result.is_file():
        raise RocelabError(f"{folder} holds no result: it has no run.sqlite, which `./rocelab run` writes")
    try:
        with closing(sqlite3.connect(f"{result.absolute().as_uri()}?mode=ro", uri=True)) as db:
            runs = db.execute("SELECT run, label, seed FROM runs ORDER BY run").fetchall()
        chosen = _chosen(runs, label, seed)
        into = to or folder / "events.sqlite"
        write_whole(into, lambda part: write_tables(result, chosen, part))
    except sqlite3.DatabaseError as error:
        raise RocelabError(f"{result}: {error}; run its scenario again") from None
    with closing(sqlite3.connect(into)) as db:
        (count,) = db.execute("SELECT COUNT(*) FROM events").fetchone()
    runs_text = "1 run" if len(chosen) == 1 else f"{len(chosen)} runs"
    print(f"{into}: {count} events of {runs_text}; tables events, pauses, hops, waits")
    return 0


def _chosen(runs: Sequence[tuple[int, str, int]], label: str | None, seed: int | None) -> list[int]:
    """RocelabError: there are none such."""
    labels = list(dict.fromkeys(name for _, name, _ in runs))
    if label is not None and label not in labels:
        near = difflib.get_close_matches(label, labels, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise RocelabError(f"no label {label}; {hint}The result has {', '.join(labels)}")
    found = [run for run, name, number in runs if label in (None, name) and seed in (None, number)]
    if not found:
        raise RocelabError(
            f"no seed {seed}: the result has {', '.join(map(str, sorted({s for *_, s in runs})))}"
        )
    if seed is None:  # the first of each label
        first = {name: run for run, name, _ in reversed(runs)}
        found = [first[name] for name in labels if label in (None, name)]
    return found
