"""run.sqlite: everything of a result in tables that any SQL tool opens. The schema is described in docs/reference/metrics.md."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from rocelab import deadlock, frames, layout, overview, traces
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
CREATE TABLE nodes (run INTEGER REFERENCES runs, node TEXT, is_host INTEGER, number INTEGER, address TEXT, x REAL, y REAL, PRIMARY KEY (run, node)) WITHOUT ROWID;
CREATE TABLE ports (run INTEGER REFERENCES runs, port TEXT, node TEXT, number INTEGER, peer TEXT, peer_port TEXT, rate_bps INTEGER, delay_ps INTEGER,
  xoff INTEGER, xon INTEGER, PRIMARY KEY (run, port)) WITHOUT ROWID;
CREATE TABLE counters (run INTEGER REFERENCES runs, node TEXT, unit TEXT, name TEXT, value INTEGER, PRIMARY KEY (run, node, unit, name)) WITHOUT ROWID;
CREATE TABLE overview (run INTEGER REFERENCES runs, bin INTEGER, port TEXT, bytes INTEGER, queue INTEGER, paused REAL, drops INTEGER, marks INTEGER,
  PRIMARY KEY (run, bin, port)) WITHOUT ROWID;
CREATE TABLE deadlocks (run INTEGER REFERENCES runs, since_ps INTEGER, until_ps INTEGER, tc INTEGER, position INTEGER, port TEXT);
"""
INDICES = """
CREATE INDEX samples_by_port ON samples (run, port, tc, time_ps) WHERE what = 'queue';
CREATE INDEX samples_by_flow ON samples (run, flow, time_ps) WHERE what = 'flow';
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
_MOST_OVERVIEW_ROWS = 400_000  # of all runs together


def write(
    path: Path,
    summary: dict[str, Any],
    outcomes: Sequence[RunOutcome],
    flows: pd.DataFrame,
    samples: pd.DataFrame,
) -> None:
    """Into a new file."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + SCHEMA + traces.SCHEMA)
        widths = [overview.bin_width(outcome, bins(outcomes)) for outcome in outcomes]
        db.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_run_row, range(len(outcomes)), summary["runs"], outcomes, widths),
        )
        traces.insert(db, "flows", flows, _FLOW_COLUMNS)
        traces.insert(db, "samples", samples, _SAMPLE_COLUMNS)
        for run, (outcome, width) in enumerate(zip(outcomes, widths)):
            db.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?)", node_rows(run, outcome.plan))
            db.executemany(f"INSERT INTO ports VALUES ({traces.marks(10)})", port_rows(run, outcome.plan))
            glance = overview.overview(outcome, width).assign(run=run)
            traces.insert(db, "overview", glance, ("run", *overview.COLUMNS))
            traces.insert_rows(db, "deadlocks", _deadlock_rows(run, outcome))
            db.executemany("INSERT INTO traces VALUES (?, ?, ?, ?)", traces.trace_rows(outcome, run))
            db.executemany(
                "INSERT INTO queue_pairs VALUES (?, ?, ?, ?)", traces.queue_pair_rows(outcome, run)
            )
        traces.insert(
            db, "counters", frames.counters_frame(outcomes), ("run", "node", "unit", "name", "value")
        )
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
    at = layout.positions(layout.graph_of(plan))
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


def _deadlock_rows(run: int, outcome: RunOutcome) -> list[tuple[Any, ...]]:
    """The circle of pauses, port by port; none: there was no deadlock."""
    circle = deadlock.find(outcome)
    if circle is None:
        return []
    times = (circle.since_ps, circle.until_ps, circle.tc)
    return [(run, *times, position, port) for position, port in enumerate(circle.interfaces)]
