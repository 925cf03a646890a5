"""Why a port was paused, and the moments of a run that one looks for first."""

from __future__ import annotations

from typing import Any

from rocelab.ui.database import Database

_NO_PAUSES = (
    "this result has no causes of pauses: it was written by an older rocelab. Run its scenario again."
)
_MOST_STEPS = 64


def chain(db: Database, run: int, port: str, time_ps: int) -> dict[str, Any]:
    """From the pause of `port` at `time_ps` (else the next one, else the last) to the port that caused it.

    `steps`: pauses, each nested in the next, or kept up by it. `circle`: the last one leads to one that was passed. `queue`: at the end of the chain, the port with
    the longest queue of the switch that asked for the last pause, when it did so: the frames that it holds fill the buffer. With CaPFC
    (`capfc`) the queue that held the asking port responsible.
    """
    if not db.has("pauses"):
        return {"steps": [], "circle": None, "queue": None, "notes": [_NO_PAUSES]}
    steps: list[dict[str, Any]] = []
    pause = _pause_at(db, run, port, None, time_ps)
    circle: int | None = None
    while pause is not None and len(steps) < _MOST_STEPS:
        passed = [i for i, step in enumerate(steps) if step["port"] == pause["port"]]
        if passed:
            circle = passed[0]
            break
        steps.append(pause)
        behind = pause["because"] or _paused_behind(db, run, pause, time_ps)
        pause = (
            None
            if behind is None
            else _pause_at(
                db, run, behind, pause["tc"], max(pause["begin_ps"], min(time_ps, pause["end_ps"]))
            )
        )
    at_end = steps and circle is None
    queue = (_held_responsible(db, run, steps[-1]) or _longest_queue(db, run, steps[-1])) if at_end else None
    return {
        "steps": steps,
        "circle": circle,
        "queue": queue,
        "notes": [] if steps else [f"{port} was never paused"],
    }


_PAUSE = "port, tc, begin_ps, end_ps, by, because, root, depth"


def _pause_at(db: Database, run: int, port: str, tc: int | None, time_ps: int) -> dict[str, Any] | None:
    given = {"run": run, "port": port, "tc": tc, "time": time_ps}
    here = f"SELECT {_PAUSE} FROM pauses WHERE run = :run AND port = :port AND (tc = :tc OR :tc IS NULL)"
    for sql in (
        f"{here} AND begin_ps <= :time AND end_ps >= :time ORDER BY begin_ps DESC LIMIT 1",
        f"{here} AND begin_ps > :time ORDER BY begin_ps LIMIT 1",
        f"{here} AND begin_ps <= :time ORDER BY begin_ps DESC LIMIT 1",
    ):
        found = db.one(sql, **given)
        if found is not None:
            return _named(found)
    return None


def _paused_behind(db: Database, run: int, pause: dict[str, Any], time_ps: int) -> str | None:
    """Of a pause that began by itself: a port of the switch that asked for it which is paused by now, so that it cannot be lifted."""
    found = db.one(
        """
        SELECT pauses.port FROM ports JOIN pauses ON pauses.run = ports.run AND pauses.port = ports.port
        WHERE ports.run = :run AND ports.node = (SELECT node FROM ports WHERE run = :run AND port = :by) AND ports.port != :by
        AND tc = :tc AND begin_ps <= :time AND end_ps >= :time ORDER BY end_ps - begin_ps DESC LIMIT 1
        """,
        **{"run": run, "by": pause["by"], "tc": pause["tc"], "time": min(time_ps, pause["end_ps"])},
    )
    return None if found is None else str(found[0])


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(_PAUSE.split(", "), row))


def _held_responsible(db: Database, run: int, pause: dict[str, Any]) -> dict[str, Any] | None:
    """CaPFC's own word: the queue that last held the asking port responsible; its record's `qpn` is 1 where it began to."""
    found = db.one(
        """
        SELECT (SELECT p.port FROM ports AS p WHERE p.run = :run AND p.node = events.node AND p.number = events.port), bytes, mark, time_ps
        FROM events, ports AS asking WHERE asking.run = :run AND asking.port = :by AND events.run = :run AND kind = 'culprit'
        AND time_ps <= :time AND events.node = asking.node AND events.peer = asking.number AND mark = :tc AND qpn = 1 ORDER BY time_ps DESC LIMIT 1
        """,
        **{"run": run, "by": pause["by"], "time": pause["begin_ps"], "tc": pause["tc"]},
    )
    if found is None:
        return None
    return {**dict(zip(("port", "bytes", "tc", "time_ps"), found)), "capfc": True}


def _longest_queue(db: Database, run: int, pause: dict[str, Any]) -> dict[str, Any] | None:
    """None: nothing waits there as far as samples tell."""
    found = db.rows(
        """
        SELECT port, (SELECT bytes FROM samples WHERE what = 'queue' AND samples.run = :run AND samples.port = ports.port AND tc = :tc
            AND time_ps <= :time ORDER BY time_ps DESC LIMIT 1) AS queued
        FROM ports WHERE run = :run AND node = (SELECT node FROM ports WHERE run = :run AND port = :by) ORDER BY queued DESC LIMIT 1
        """,
        **{"run": run, "tc": pause["tc"], "time": pause["begin_ps"], "by": pause["by"]},
    )
    if not found or not found[0][1]:
        return None
    return {"port": found[0][0], "bytes": found[0][1], "tc": pause["tc"], "time_ps": pause["begin_ps"]}


def moments(db: Database, run: int) -> list[dict[str, Any]]:
    """What happened first, longest and most: `what`, `time_ps`, the `port` (or node) and `flow` that it is about, `text`, and where it has them
    `lasted_ps` and `bytes`."""
    found: list[dict[str, Any]] = []

    def add(what: str, text: str, sql: str) -> None:
        """`sql`: columns time_ps, port, flow, and lasted_ps or bytes by name; others fill the text. No row, or no time: there was none."""
        names, row = db.named(sql, run=run)
        if row is None or row[0] is None:
            return
        values = dict(zip(names, row))
        kept = {key: values.pop(key) for key in _FIELDS if key in values}
        found.append({"what": what, "text": text.format(**values), "port": None, "flow": None, **kept})

    if db.has("pauses"):
        pause = "SELECT begin_ps AS time_ps, port, end_ps - begin_ps AS lasted_ps, by, depth FROM pauses WHERE run = :run"
        add("first pause", "asked for by {by}", f"{pause} ORDER BY begin_ps LIMIT 1")
        add("longest pause", "asked for by {by}", f"{pause} ORDER BY lasted_ps DESC LIMIT 1")
        deepest = f"{pause} AND depth > 1 ORDER BY depth DESC, begin_ps LIMIT 1"
        add("deepest pause", "{depth} links from where its chain began", deepest)
        add(
            "deadlock",
            "a circle of {ports} ports, each paused by the next",
            """SELECT since_ps AS time_ps, port, until_ps - since_ps AS lasted_ps, COUNT(*) AS ports
            FROM deadlocks WHERE run = :run GROUP BY since_ps""",
        )
    if db.has("overview"):
        add("longest queue", "of one class", _LONGEST_QUEUE)
    if db.has("events", "flow"):
        add("first drop", "PSN {psn}", _FIRST.format("drop", ""))
        add("first mark", "ECN CE, beyond a queue of", _FIRST.format("mark", ", bytes"))
        again = "PSN {psn}: the sender is in recovery from here on"
        add("first retransmission", again, _FIRST.format("retransmit", ""))
        add("first timeout", "the oldest PSN without an answer is {psn}", _FIRST.format("timeout", ""))
    if db.has("waits"):
        add("longest wait of a packet", "PSN {psn}", _LONGEST_WAIT)
        add("longest waiting flow", "a packet, on average", _LONGEST_WAITING)
    return found


_FIELDS = ("time_ps", "port", "flow", "lasted_ps", "bytes")
# When the longest queue of the overview was as long as it says.
_LONGEST_QUEUE = """
    WITH longest AS (SELECT bin, bin_ps, port, queue FROM overview JOIN runs USING (run)
        WHERE run = :run AND queue > 0 ORDER BY queue DESC, bin LIMIT 1)
    SELECT COALESCE((SELECT MIN(time_ps) FROM samples WHERE what = 'queue' AND samples.run = :run AND samples.port = longest.port
        AND tc IN (0, 1, 2, 3, 4, 5, 6, 7) AND time_ps BETWEEN bin * bin_ps AND (bin + 1) * bin_ps AND bytes = queue), bin * bin_ps) AS time_ps,
        port, queue AS bytes FROM longest
"""
_FIRST = """
    SELECT time_ps, COALESCE((SELECT port FROM ports WHERE ports.run = :run AND ports.node = events.node AND number = events.port), node) AS port,
        flow, psn{1} FROM events WHERE run = :run AND kind = '{0}' ORDER BY time_ps LIMIT 1
"""
_LONGEST_WAIT = """
    SELECT longest_at_ps AS time_ps, port, flow, longest_ps AS lasted_ps, longest_psn AS psn FROM waits WHERE run = :run
    ORDER BY longest_ps DESC LIMIT 1
"""
# At all ports together; the port is the one at which it waited most.
_LONGEST_WAITING = """
    WITH longest AS (SELECT flow, SUM(wait_ps / packets) AS lasted_ps FROM waits WHERE run = :run GROUP BY flow ORDER BY 2 DESC LIMIT 1)
    SELECT longest_at_ps AS time_ps, port, flow, lasted_ps FROM longest JOIN waits USING (flow) WHERE run = :run
    ORDER BY wait_ps / packets DESC LIMIT 1
"""
