"""A run's network over time, for the picture that plays: from the table `overview`, which is already thin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rocelab.ui.database import Database, columns

_MOST_ROWS = 150_000  # of the overview that a page takes
_AS_IT_IS = """
    SELECT bin, port, bytes, queue, CAST(paused * 1000 + 0.5 AS INTEGER), drops, marks FROM overview WHERE run = :run ORDER BY bin
"""
# Stretches without a row count as nothing.
_JOINED = """
    SELECT bin / :stride, port, SUM(bytes), MAX(queue), CAST(SUM(paused) * 1000 / :stride + 0.5 AS INTEGER), SUM(drops), SUM(marks)
    FROM overview WHERE run = :run GROUP BY 1, 2 ORDER BY 1
"""
_TOO_OLD = "this result has no overview of its network: it was written by an older rocelab. Run its scenario again to watch it."


def network(db: Database, run: int) -> dict[str, Any]:
    """Nodes with their places, links by sending port, and the overview: `bin`, index of the port, and what it did, as columns (`paused` in thousandths).

    `stride`: how many stretches of the file were joined to one. `notes`: what this result does not have, in words.
    """
    summary = db.summary(run)
    head = {"run": run, "label": summary["label"], "seed": summary["seed"], "error": summary["error"]}
    if not (db.has("overview") and db.has("ports")):
        return {**head, "end_ps": db.end_ps(run), "nodes": [], "notes": [_TOO_OLD]}
    end_ps, bin_ps = db.rows("SELECT end_ps, bin_ps FROM runs WHERE run = ?", run)[0]
    links = links_of(db.rows(f"SELECT {PORTS} FROM ports WHERE run = ? ORDER BY node, number", run))
    index = {link["port"]: i for i, link in enumerate(links)}
    (count, bins) = db.rows("SELECT COUNT(*), MAX(bin) FROM overview WHERE run = ?", run)[0]
    stride = max(1, -(-count // _MOST_ROWS))
    rows = db.rows(
        _JOINED if stride > 1 else _AS_IT_IS, **({"stride": stride} if stride > 1 else {}), run=run
    )
    frames = columns(
        [(bin_, index.get(port, -1), *rest) for bin_, port, *rest in rows],
        ("bin", "port", "bytes", "queue", "paused", "drops", "marks"),
    )
    return {
        **head,
        "end_ps": end_ps,
        "bin_ps": bin_ps * stride,
        "bins": (bins or 0) // stride + 1,
        "nodes": nodes_of(db.rows(f"SELECT {NODES} FROM nodes WHERE run = ?", run)),
        "links": links,
        "frames": frames,
        "deadlocks": _deadlocks(db, run),
        "notes": notes(db, run),
    }


NODES = "node, is_host, x, y"
PORTS = "port, node, peer, peer_port, rate_bps, delay_ps, xoff"


def nodes_of(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Of rows with the columns NODES."""
    return [
        {"name": name, "host": bool(host), "x": round(x, 4), "y": round(y, 4)} for name, host, x, y in rows
    ]


def links_of(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Of rows with the columns PORTS: each direction of a link once, by the port that sends; a host's is called as the host."""
    links = []
    for port, node, peer, peer_port, rate, delay, xoff in rows:
        common = {"rate_bps": rate, "delay_ps": delay}
        links.append({"port": port, "from": node, "to": peer, "xoff": xoff, **common})
        if peer_port is None:
            links.append({"port": peer, "from": peer, "to": node, "xoff": 0, **common})
    return links


def _deadlocks(db: Database, run: int) -> list[dict[str, Any]]:
    rows = db.rows(
        "SELECT since_ps, until_ps, tc, port FROM deadlocks WHERE run = ? ORDER BY since_ps, position", run
    )
    found: dict[tuple[int, int, int], list[str]] = {}
    for since, until, tc, port in rows:
        found.setdefault((since, until, tc), []).append(port)
    return [{"since_ps": s, "until_ps": u, "tc": tc, "ports": ports} for (s, u, tc), ports in found.items()]


def notes(db: Database, run: int) -> list[str]:
    found = []
    first = db.rows("SELECT MIN(run) FROM runs WHERE label = (SELECT label FROM runs WHERE run = ?)", run)[0][
        0
    ]
    if first != run and not db.has("traces"):
        found.append(
            "events, causes of pauses and packets are kept of the first seed of each label only: run its scenario again"
        )
    if (db.one("SELECT sample_ps FROM runs WHERE run = ?", run) or (0,))[0] == 0:
        found.append("this run took no samples (engine.sample_interval is 0): queues and rates are unknown")
    return found
