"""run.sqlite: everything of a result in tables that any SQL tool opens. The schema is described in docs/metrics.md."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rocelab import deadlock, frames, hops, layout, overview, pauses
from rocelab.model import RunOutcome, RunPlan

SCHEMA = """
CREATE TABLE runs (run INTEGER PRIMARY KEY, label TEXT, seed INTEGER, complete INTEGER, error TEXT, trace_hash TEXT, summary TEXT,
  end_ps INTEGER, bin_ps INTEGER, sample_ps INTEGER);
CREATE TABLE flows (run INTEGER REFERENCES runs, flow INTEGER, "group" TEXT, src TEXT, dst TEXT, op TEXT, size INTEGER, message_size INTEGER,
  qps INTEGER, packets INTEGER, start_ps INTEGER, posted_ps INTEGER, placed_ps INTEGER, cqe_ps INTEGER, completed INTEGER, status INTEGER,
  bytes INTEGER, verified INTEGER, fct_s REAL, alone_s REAL, slowdown REAL, data_drops INTEGER, retransmitted INTEGER, timeout_retransmitted INTEGER, dst_port INTEGER,
  service TEXT, stopped INTEGER, sent INTEGER, delivered INTEGER, request INTEGER, step INTEGER,
  PRIMARY KEY (run, flow)) WITHOUT ROWID;
CREATE TABLE samples (run INTEGER REFERENCES runs, time_ps INTEGER, node TEXT, what TEXT, port TEXT, tc INTEGER, flow INTEGER, bytes INTEGER,
  ingress_bytes INTEGER, pause INTEGER);
CREATE TABLE events (run INTEGER REFERENCES runs, time_ps INTEGER, node TEXT, kind TEXT, mark INTEGER, port INTEGER, qpn INTEGER, bytes INTEGER,
  psn INTEGER, peer INTEGER, flow INTEGER);
CREATE TABLE nodes (run INTEGER REFERENCES runs, node TEXT, is_host INTEGER, number INTEGER, address TEXT, x REAL, y REAL, PRIMARY KEY (run, node)) WITHOUT ROWID;
CREATE TABLE ports (run INTEGER REFERENCES runs, port TEXT, node TEXT, number INTEGER, peer TEXT, peer_port TEXT, rate_bps INTEGER, delay_ps INTEGER,
  xoff INTEGER, xon INTEGER, PRIMARY KEY (run, port)) WITHOUT ROWID;
CREATE TABLE counters (run INTEGER REFERENCES runs, node TEXT, unit TEXT, name TEXT, value INTEGER, PRIMARY KEY (run, node, unit, name)) WITHOUT ROWID;
CREATE TABLE overview (run INTEGER REFERENCES runs, bin INTEGER, port TEXT, bytes INTEGER, queue INTEGER, paused REAL, drops INTEGER, marks INTEGER,
  PRIMARY KEY (run, bin, port)) WITHOUT ROWID;
CREATE TABLE pauses (run INTEGER REFERENCES runs, port TEXT, tc INTEGER, begin_ps INTEGER, end_ps INTEGER, by TEXT, because TEXT, root TEXT, depth INTEGER);
CREATE TABLE deadlocks (run INTEGER REFERENCES runs, since_ps INTEGER, until_ps INTEGER, tc INTEGER, position INTEGER, port TEXT);
CREATE TABLE hops (run INTEGER REFERENCES runs, flow INTEGER, journey INTEGER, psn INTEGER, time_ps INTEGER, node TEXT, port TEXT, wait_ps INTEGER);
CREATE TABLE waits (run INTEGER REFERENCES runs, flow INTEGER, port TEXT, packets INTEGER, wait_ps INTEGER, longest_ps INTEGER, longest_at_ps INTEGER,
  longest_psn INTEGER, PRIMARY KEY (run, flow, port)) WITHOUT ROWID;
"""
INDICES = """
CREATE INDEX samples_by_port ON samples (run, port, tc, time_ps) WHERE what = 'queue';
CREATE INDEX samples_by_flow ON samples (run, flow, time_ps) WHERE what = 'flow';
CREATE INDEX events_by_kind ON events (run, kind, time_ps);
CREATE INDEX events_by_flow ON events (run, flow) WHERE flow IS NOT NULL;
CREATE INDEX pauses_by_port ON pauses (run, port, begin_ps);
CREATE INDEX hops_by_flow ON hops (run, flow, time_ps);
"""
_FLOWS = "run flow group src dst op size message_size qps packets start_ps posted_ps placed_ps cqe_ps completed status bytes verified fct_s alone_s"
_FLOW_COLUMNS = (
    *_FLOWS.split(),
    "slowdown",
    "data_drops",
    "retransmitted",
    "timeout_retransmitted",
    "dst_port",
    "service",
    "stopped",
    "sent",
    "delivered",
    "request",
    "step",
)
_SAMPLE_COLUMNS = ("run", "time_ps", "node", "what", "port", "tc", "flow", "bytes", "ingress_bytes", "pause")
_EVENT_COLUMNS = ("run", "time_ps", "node", "kind", "mark", "port", "flow", "bytes", "psn", "peer", "of_flow")
_MOST_OVERVIEW_ROWS = 400_000  # of all runs together
_MOST_HOPS = 40_000  # of a run


def write(
    path: Path,
    summary: dict[str, Any],
    outcomes: Sequence[RunOutcome],
    flows: pd.DataFrame,
    samples: pd.DataFrame,
) -> None:
    """Into a new file."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + SCHEMA)
        widths = [overview.bin_width(outcome, bins(outcomes)) for outcome in outcomes]
        db.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_run_row, range(len(outcomes)), summary["runs"], outcomes, widths),
        )
        _insert(db, "flows", flows, _FLOW_COLUMNS)
        _insert(db, "samples", samples, _SAMPLE_COLUMNS)
        seen: set[str] = set()
        for run, outcome in enumerate(outcomes):
            if (
                outcome.plan.label in seen
            ):  # go-back-N alone makes half a million events a run: the first seed stands for the others
                continue
            seen.add(outcome.plan.label)
            _insert(db, "events", frames.events_frame(outcome, run), _EVENT_COLUMNS)
            _insert_causes(db, outcome, run)
        for run, (outcome, width) in enumerate(zip(outcomes, widths)):
            db.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?)", node_rows(run, outcome.plan))
            db.executemany(f"INSERT INTO ports VALUES ({_marks(10)})", port_rows(run, outcome.plan))
            glance = overview.overview(outcome, width).assign(run=run)
            _insert(db, "overview", glance, ("run", *overview.COLUMNS))
        _insert(db, "counters", frames.counters_frame(outcomes), ("run", "node", "unit", "name", "value"))
        db.executescript(INDICES)


def bins(outcomes: Sequence[RunOutcome]) -> int:
    """Stretches of a run in `overview`, fewer where there are many ports and runs."""
    ports = sum(len(o.plan.ports) + len(o.plan.hosts) for o in outcomes)
    return max(20, min(overview.MOST_BINS, _MOST_OVERVIEW_ROWS // max(1, ports)))


def _run_row(run: int, summary: dict[str, Any], outcome: RunOutcome, width: int) -> tuple[Any, ...]:
    return (
        run,
        summary["label"],
        summary["seed"],
        summary["complete"],
        summary["error"],
        summary["trace_hash"],
        json.dumps(summary),
        outcome.end_ps,
        width,
        outcome.plan.sample_interval_ps,
    )


def node_rows(run: int, plan: RunPlan) -> list[tuple[Any, ...]]:
    """Of the table `nodes`."""
    at = layout.positions(plan, layout.graph_of(plan))
    return [(run, h.name, 1, h.number, h.ipv4, *map(float, at[h.name])) for h in plan.hosts] + [
        (run, s.name, 0, s.number, None, *map(float, at[s.name])) for s in plan.switches
    ]


def port_rows(run: int, plan: RunPlan) -> list[tuple[Any, ...]]:
    """Of the table `ports`."""
    node_of = {p.interface: p.switch for p in plan.ports}
    return [
        (
            *(run, p.interface, p.switch, p.port_id),
            *((p.peer, None) if p.peer_is_host else (node_of[p.peer], p.peer)),
            *(p.rate_bps, p.delay_ps, p.xoff, p.xon),
        )
        for p in plan.ports
    ]


def _insert_causes(db: sqlite3.Connection, outcome: RunOutcome, run: int) -> None:
    """Why ports were paused and where packets waited."""
    rows: list[tuple[Any, ...]] = [(run, *astuple(pause)) for pause in pauses.each(outcome)]
    db.executemany(f"INSERT INTO pauses VALUES ({_marks(9)})", rows)
    circle = deadlock.find(outcome)
    if circle is not None:
        times = (circle.since_ps, circle.until_ps, circle.tc)
        rows = [(run, *times, position, port) for position, port in enumerate(circle.interfaces)]
        db.executemany(f"INSERT INTO deadlocks VALUES ({_marks(6)})", rows)
    journeys = hops.journeys(outcome, _MOST_HOPS)
    rows = [
        (run, journey.flow, number, journey.psn, hop.time_ps, hop.node, hop.port, hop.wait_ps)
        for number, journey in enumerate(journeys)
        for hop in journey.hops
    ]
    db.executemany(f"INSERT INTO hops VALUES ({_marks(8)})", rows)
    rows = [(run, *astuple(wait)) for wait in hops.waits(journeys)]
    db.executemany(f"INSERT INTO waits VALUES ({_marks(8)})", rows)


def _marks(columns: int) -> str:
    return ", ".join("?" * columns)


def _insert(db: sqlite3.Connection, table: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if frame.empty:
        return
    values = [_column(frame[c]) for c in columns]
    db.executemany(f"INSERT INTO {table} VALUES ({_marks(len(columns))})", zip(*values))


def _column(series: pd.Series) -> list[Any]:
    """Python values; what is missing becomes NULL. SQLite's column types turn whole floats back into integers."""
    missing = series.isna()
    values = series.astype(object).where(~missing, None).tolist() if missing.any() else series.tolist()
    return (
        [v.item() if isinstance(v, np.generic) else v for v in values]
        if series.dtype.name == "Int64"
        else list(values)
    )
