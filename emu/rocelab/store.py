"""run.sqlite: everything of a result in tables that any SQL tool opens. The schema is described in docs/metrics.md."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rocelab import frames
from rocelab.model import RunOutcome, RunPlan

_SCHEMA = """
CREATE TABLE runs (run INTEGER PRIMARY KEY, label TEXT, seed INTEGER, complete INTEGER, error TEXT, trace_hash TEXT, summary TEXT);
CREATE TABLE flows (run INTEGER REFERENCES runs, flow INTEGER, "group" TEXT, src TEXT, dst TEXT, op TEXT, size INTEGER, message_size INTEGER,
  qps INTEGER, packets INTEGER, start_ps INTEGER, posted_ps INTEGER, placed_ps INTEGER, cqe_ps INTEGER, completed INTEGER, status INTEGER,
  bytes INTEGER, verified INTEGER, fct_s REAL, alone_s REAL, slowdown REAL, data_drops INTEGER, retransmitted INTEGER, timeout_retransmitted INTEGER, dst_port INTEGER,
  service TEXT, stopped INTEGER, sent INTEGER, delivered INTEGER,
  PRIMARY KEY (run, flow)) WITHOUT ROWID;
CREATE TABLE samples (run INTEGER REFERENCES runs, time_ps INTEGER, node TEXT, what TEXT, port TEXT, tc INTEGER, flow INTEGER, bytes INTEGER,
  ingress_bytes INTEGER, pause INTEGER);
CREATE TABLE events (run INTEGER REFERENCES runs, time_ps INTEGER, node TEXT, kind TEXT, mark INTEGER, port INTEGER, qpn INTEGER, bytes INTEGER,
  psn INTEGER, peer INTEGER);
CREATE TABLE nodes (run INTEGER REFERENCES runs, node TEXT, is_host INTEGER, number INTEGER, address TEXT, PRIMARY KEY (run, node)) WITHOUT ROWID;
CREATE TABLE counters (run INTEGER REFERENCES runs, node TEXT, unit TEXT, name TEXT, value INTEGER, PRIMARY KEY (run, node, unit, name)) WITHOUT ROWID;
"""
_INDICES = """
CREATE INDEX samples_by_port ON samples (run, port, tc, time_ps) WHERE what = 'queue';
CREATE INDEX samples_by_flow ON samples (run, flow, time_ps) WHERE what = 'flow';
CREATE INDEX events_by_kind ON events (run, kind, time_ps);
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
)
_SAMPLE_COLUMNS = ("run", "time_ps", "node", "what", "port", "tc", "flow", "bytes", "ingress_bytes", "pause")
_EVENT_COLUMNS = ("run", "time_ps", "node", "kind", "mark", "port", "flow", "bytes", "psn", "peer")


def write(
    path: Path,
    summary: dict[str, Any],
    outcomes: Sequence[RunOutcome],
    flows: pd.DataFrame,
    samples: pd.DataFrame,
) -> None:
    """Into a new file."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
        db.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
            map(_run_row, range(len(outcomes)), summary["runs"]),
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
        for run, outcome in enumerate(outcomes):
            db.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?)", _node_rows(run, outcome.plan))
        _insert(db, "counters", frames.counters_frame(outcomes), ("run", "node", "unit", "name", "value"))
        db.executescript(_INDICES)


def _run_row(run: int, summary: dict[str, Any]) -> tuple[Any, ...]:
    return (
        run,
        summary["label"],
        summary["seed"],
        summary["complete"],
        summary["error"],
        summary["trace_hash"],
        json.dumps(summary),
    )


def _node_rows(run: int, plan: RunPlan) -> list[tuple[Any, ...]]:
    return [(run, h.name, 1, h.number, h.ipv4) for h in plan.hosts] + [
        (run, s.name, 0, s.number, None) for s in plan.switches
    ]


def _insert(db: sqlite3.Connection, table: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if frame.empty:
        return
    values = [_column(frame[c]) for c in columns]
    marks = ", ".join("?" * len(columns))
    db.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*values))


def _column(series: pd.Series) -> list[Any]:
    """Python values; what is missing becomes NULL. SQLite's column types turn whole floats back into integers."""
    missing = series.isna()
    values = series.astype(object).where(~missing, None).tolist() if missing.any() else series.tolist()
    return (
        [v.item() if isinstance(v, np.generic) else v for v in values]
        if series.dtype.name == "Int64"
        else list(values)
    )
