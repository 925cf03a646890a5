"""run.sqlite of a result, read only; what older files lack is asked for first. Who draws says how many points it wants: SQL thins out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocelab.errors import RocelabError
from rocelab.ui import places
from rocelab.ui.run_events import RunEvents

DATABASE = "run.sqlite"
_MOST_STEPS = 400_000_000  # of SQLite's machine for one request: some twenty seconds
_STEPS = 1_000_000
EVENTS = RunEvents()


class Database:
    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self.name = name
        self.tables: set[str] = set()
        self._find_tables()
        self._columns: dict[str, set[str]] = {}

    def attach(self, file: Path) -> None:
        """More tables of the same run."""
        self._connection.execute("ATTACH ? AS events_of_run", (f"file:{quote(str(file))}?mode=ro",))
        self._find_tables("events_of_run.")

    def _find_tables(self, database: str = "") -> None:
        rows = self._connection.execute(f"SELECT name FROM {database}sqlite_master WHERE type = 'table'")
        self.tables |= {row[0] for row in rows}

    def rows(self, sql: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, named or values).fetchall()

    def one(self, sql: str, *values: Any, **named: Any) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._connection.execute(sql, named or values).fetchone()
        return found

    def named(self, sql: str, **values: Any) -> tuple[list[str], tuple[Any, ...] | None]:
        """Names of the columns, and the first row."""
        found = self._connection.execute(sql, values)
        return [column[0] for column in found.description], found.fetchone()

    def has(self, table: str, column: str | None = None) -> bool:
        if table not in self.tables:
            return False
        if table not in self._columns:
            self._columns[table] = {row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")}
        return column is None or column in self._columns[table]

    def summary(self, run: int) -> dict[str, Any]:
        found = self.one("SELECT summary FROM runs WHERE run = ?", run)
        if found is None:
            raise RocelabError(f"{self.name} has no run {run}")
        summary: dict[str, Any] = json.loads(found[0])
        return summary

    def end_ps(self, run: int) -> int:
        return max(1, round(float(self.summary(run).get("end_s") or 0) * 1e12))


@contextmanager
def opened(results: Path, name: str, run: int | None = None) -> Iterator[Database]:
    """`run`: with its events, pauses, hops and waits, which are made when they are first asked for. NoSuchPlace: no such result. RocelabError: its
    file cannot be read, or a question took too long."""
    path = places.file(results, f"{name}/{DATABASE}", ".sqlite")
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += _STEPS
        return int(steps > _MOST_STEPS)

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA mmap_size = 2147483648")
            connection.set_progress_handler(count, _STEPS)
            database = Database(connection, name)
            if run is not None and database.has("traces"):
                database.attach(EVENTS.file(path, run))
            yield database
    except sqlite3.DatabaseError as e:
        raise RocelabError(f"{name}/{DATABASE}: {e}; run its scenario again") from None


def marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Rows as a list per column."""
    if not rows:
        return {name: [] for name in names}
    return {name: list(column) for name, column in zip(names, zip(*rows))}
