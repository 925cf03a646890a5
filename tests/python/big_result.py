"""A large run.sqlite made up, its events unpacked in it: for what must not grow with a run. By hand, a gigabyte: `PYTHONPATH=emu python3 tests/python/big_result.py out/big`."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import store, traces

_BIN_PS = 20_000_000


@dataclass(frozen=True)
class Size:
    """Hosts hang on switches of 32 ports below a spine each eighth of them."""

    hosts: int = 1000
    flows: int = 100_000
    bins: int = 60  # of the overview
    samples: int = 2400  # of a port's queue
    events: int = 3_000_000
    hops: int = 40_000


def write(folder: Path, size: Size) -> Path:
    """A result of one run; its file."""
    folder.mkdir(parents=True)
    path = folder / "run.sqlite"
    end_ps = size.bins * _BIN_PS
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + store.SCHEMA + traces.TABLES
        )
        summary = {"label": "irn", "seed": 1, "complete": True, "error": None, "end_s": end_ps / 1e12}
        db.execute(
            "INSERT INTO runs VALUES (0, 'irn', 1, 1, NULL, '', ?, ?, ?, ?)",
            (json.dumps(summary), end_ps, _BIN_PS, _BIN_PS),
        )
        links = list(_links(size.hosts))
        _nodes(db, size.hosts, links)
        _insert(db, "ports", 10, ((0, *link, 40_000_000_000, 2_000_000, 200_000, 190_000) for link in links))
        _insert(db, "flows", 31, _flows(size, end_ps))
        names = [link[0] for link in links] + [f"h{i}" for i in range(1, size.hosts + 1)]
        rows = (
            (0, b, p, 90_000 + 7 * b, 1000 * (i % 50), 0.1 * (i % 3), i % 5, 0)
            for b in range(size.bins)
            for i, p in enumerate(names)
        )
        _insert(db, "overview", 8, rows)
        _insert(db, "samples", 10, _samples(size, links, end_ps))
        _insert(db, "events", 11, _events(size, end_ps))
        _insert(
            db,
            "pauses",
            9,
            (
                (
                    0,
                    f"h{1 + i % size.hosts}",
                    3,
                    i * 1000,
                    i * 1000 + 900,
                    links[i % size.hosts][0],
                    None,
                    links[i % size.hosts][0],
                    1,
                )
                for i in range(size.events // 30)
            ),
        )
        _insert(
            db,
            "hops",
            8,
            (
                (0, 1 + i % size.flows, i, i, i * 1000, "leaf1", "leaf1-eth1", i % 9000)
                for i in range(size.hops)
            ),
        )
        _insert(
            db,
            "waits",
            8,
            (
                (0, 1 + i % size.flows, links[i % len(links)][0], 3, 900 * i, 500 * i, i, i)
                for i in range(min(size.flows, size.hops))
            ),
        )
        db.executescript(store.INDICES + traces.INDICES)
    (folder / "summary.json").write_text(
        json.dumps({"scenario": "big", "title": "A big result", "engine": "des", "complete": True})
    )
    return path


def _links(hosts: int) -> Iterator[tuple[str, str, int, str, str | None]]:
    """(port, node, number, peer, peer's port)"""
    leaves = -(-hosts // 32)
    for host in range(hosts):
        leaf, number = host // 32 + 1, host % 32
        yield f"leaf{leaf}-eth{number + 1}", f"leaf{leaf}", number, f"h{host + 1}", None
    for leaf in range(1, leaves + 1):
        for spine in range(1, 9):
            yield f"leaf{leaf}-eth{32 + spine}", f"leaf{leaf}", 31 + spine, f"spine{spine}", f"spine{spine}-eth{leaf}"
            yield f"spine{spine}-eth{leaf}", f"spine{spine}", leaf - 1, f"leaf{leaf}", f"leaf{leaf}-eth{32 + spine}"


def _nodes(db: sqlite3.Connection, hosts: int, links: list[tuple[str, str, int, str, str | None]]) -> None:
    switches = sorted({link[1] for link in links})
    rows: list[tuple[Any, ...]] = [
        (0, f"h{i + 1}", 1, i, f"10.0.{i // 250}.{i % 250 + 1}", i, 0) for i in range(hosts)
    ]
    rows += [(0, name, 0, hosts + i, None, *_place(name, hosts)) for i, name in enumerate(switches)]
    _insert(db, "nodes", 7, iter(rows))


def _place(name: str, hosts: int) -> tuple[float, float]:
    """A leaf above its hosts, spines over the whole width."""
    kind, number = name.rstrip("0123456789"), int(name.lstrip("leafspin"))
    if kind == "leaf":
        return (number - 0.5) * 32, hosts * 0.2
    return (number - 0.5) * hosts / 8, hosts * 0.4


def _flows(size: Size, end_ps: int) -> Iterator[tuple[Any, ...]]:
    for i in range(1, size.flows + 1):
        start, fct = i * (end_ps // size.flows // 2), 1_000_000 * (1 + i * 7919 % 1000)
        src, dst = f"h{1 + i % size.hosts}", f"h{1 + (i * 31) % size.hosts}"
        times = (start, start, start + fct, start + fct + 1000)
        yield (0, i, "poisson", src, dst, "write", 1000 << i % 12, 1000, 1, 1 + (1 << i % 12), *times, 1, 0, 1000, 1,
            fct / 1e12, 1e-6, fct / 1e6, i % 3, i % 4, i % 2, 100, "rc", 0, 0, 0, 0, 0)  # fmt: skip


def _samples(
    size: Size, links: list[tuple[str, str, int, str, str | None]], end_ps: int
) -> Iterator[tuple[Any, ...]]:
    step = end_ps // size.samples
    for number, (port, node, *_) in enumerate(links):
        for i in range(size.samples):
            yield 0, i * step, node, "queue", port, 3, None, (
                i * 7919 + number * 104729
            ) % 200_000, i % 100, i % 4 == 0
    for flow in range(1, size.flows + 1, 10):
        for i in range(5):
            yield 0, flow * 1000 + i * _BIN_PS, "h1", "flow", None, None, flow, i * 1000, None, None


def _events(size: Size, end_ps: int) -> Iterator[tuple[Any, ...]]:
    kinds = ("retransmit", "drop", "complete", "placed", "posted")
    step = max(1, end_ps // size.events)
    for i in range(size.events):
        kind = kinds[i % 5]
        node, port = ("leaf1", i % 32) if kind == "drop" else (f"h{1 + i % size.hosts}", 0)
        yield 0, i * step, node, kind, 0, port, 4096, 1082, i % (1 << 24), 0, 1 + i % size.flows


def _insert(db: sqlite3.Connection, table: str, columns: int, rows: Iterator[tuple[Any, ...]]) -> None:
    db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), Size(samples=5200, events=4_000_000)).stat().st_size)
