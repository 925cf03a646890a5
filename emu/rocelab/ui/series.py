"""What a port did over time, thinned out by SQL to the points that a chart has room for."""

from __future__ import annotations

from typing import Any

from rocelab.ui.database import Database, columns

_MOST_SPANS = 1500
_CLASSES = 8
_COUNTED = {"drop": "drops", "mark": "marks"}  # kinds of events, and their columns in the overview
_FINE = 30  # stretches of the overview: in less time the events themselves are counted


def port(db: Database, run: int, name: str, begin: int, end: int, points: int) -> dict[str, Any]:
    """Of a switch's port, or a host by its name, from `begin` to `end` (ps): queue and ingress bytes by class, pauses, link rate, drops,
    marks and fair rates. Times in ps; a queue's value holds until the next."""
    width = max(1, -(-(end - begin) // points))
    where: dict[str, int | str] = {"run": run, "port": name, "begin": begin, "end": end, "width": width}
    classes = {tc: _queue(db, tc, where) for tc in _classes(db, run, name)}
    return {
        "port": name,
        "begin_ps": begin,
        "end_ps": end,
        "queues": {tc: series for tc, series in classes.items() if series["time_ps"]},
        "pauses": _pauses(db, where),
        "rate": _rate(db, where),
        "counts": {kind: _counts(db, kind, where) for kind in _COUNTED},
        "fair_rate": _fair_rate(db, where),
        **_limits(db, run, name),
    }


def _classes(db: Database, run: int, name: str) -> list[int]:
    """By looking at each, for which there is an index."""
    sql = "SELECT 1 FROM samples WHERE what = 'queue' AND run = ? AND port = ? AND tc = ? LIMIT 1"
    return [tc for tc in range(_CLASSES) if db.one(sql, run, name, tc)]


def _queue(db: Database, tc: int, where: dict[str, int | str]) -> dict[str, list[Any]]:
    """As it is where there are few rows, else the largest and smallest value of each stretch."""
    here = "what = 'queue' AND run = :run AND port = :port AND tc = :tc"
    inside = f"FROM samples WHERE {here} AND time_ps BETWEEN :begin AND :end"
    before = db.rows(
        f"""SELECT time_ps, bytes, bytes, ingress_bytes, pause FROM samples
        WHERE {here} AND time_ps < :begin ORDER BY time_ps DESC LIMIT 1""",
        **where,
        tc=tc,
    )
    (count,) = db.rows(f"SELECT COUNT(*) {inside}", **where, tc=tc)[0]
    if count <= (int(where["end"]) - int(where["begin"])) // int(where["width"]):
        sql = f"SELECT time_ps, bytes, bytes, ingress_bytes, pause {inside} ORDER BY time_ps"
    else:
        sql = f"""SELECT MIN(time_ps), MIN(bytes), MAX(bytes), MAX(ingress_bytes), MAX(pause & 1) | MAX(pause & 2)
            {inside} GROUP BY (time_ps - :begin) / :width ORDER BY 1"""
    rows = db.rows(sql, **where, tc=tc)
    start = [(where["begin"], *row[1:]) for row in before]
    return columns([*start, *rows], ("time_ps", "least", "most", "ingress", "pause"))


def _pauses(db: Database, where: dict[str, int | str]) -> dict[str, list[Any]]:
    """Spans in which it might not send; neighbours are joined where there are too many, with the time paused in each."""
    names = ("begin_ps", "end_ps", "paused_ps", "pauses", "depth", "tc")
    if not db.has("pauses"):
        return columns([], names)
    width = max(1, (int(where["end"]) - int(where["begin"])) // _MOST_SPANS)
    sql = """
        SELECT MIN(begin_ps), MAX(end_ps), SUM(end_ps - begin_ps), COUNT(*), MAX(depth), MIN(tc) FROM pauses
        WHERE run = :run AND port = :port AND begin_ps <= :end AND end_ps >= :begin GROUP BY tc, begin_ps / :span ORDER BY 1
    """
    given = {key: where[key] for key in ("run", "port", "begin", "end")}
    return columns(db.rows(sql, **given, span=width), names)


def _rate(db: Database, where: dict[str, int | str]) -> dict[str, list[Any]]:
    """Of its link, in bit/s of wire bytes, and the share of each stretch in which it was paused."""
    if not db.has("overview"):
        return columns([], ("time_ps", "bps", "paused"))
    sql = """
        SELECT bin * bin_ps, bytes * 8e12 / bin_ps, paused FROM overview JOIN runs USING (run)
        WHERE run = :run AND port = :port AND bin BETWEEN :begin / bin_ps AND :end / bin_ps ORDER BY bin
    """
    given = {key: where[key] for key in ("run", "port", "begin", "end")}
    return columns(db.rows(sql, **given), ("time_ps", "bps", "paused"))


def _counts(db: Database, kind: str, where: dict[str, int | str]) -> dict[str, list[Any]]:
    """Events of a kind at the port, or at the host, a stretch each."""
    begin, end, run = int(where["begin"]), int(where["end"]), int(where["run"])
    given = {"run": run, "begin": begin, "end": end}
    names = ("time_ps", "count")
    if db.has("overview"):
        (bin_ps,) = db.rows("SELECT bin_ps FROM runs WHERE run = ?", run)[0]
        if end - begin > _FINE * bin_ps:
            sql = f"""SELECT bin * :bin_ps, {_COUNTED[kind]} FROM overview WHERE run = :run AND port = :port
                AND bin BETWEEN :begin / :bin_ps AND :end / :bin_ps AND {_COUNTED[kind]} > 0 ORDER BY bin"""
            return columns(db.rows(sql, **given, port=where["port"], bin_ps=bin_ps), names)
    sql = """
        SELECT :begin + (time_ps - :begin) / :width * :width, COUNT(*) FROM events
        WHERE run = :run AND kind = :kind AND time_ps BETWEEN :begin AND :end AND node = :node
        AND (port = :number OR :number IS NULL) GROUP BY 1 ORDER BY 1
    """
    node, number = _place(db, run, str(where["port"]))
    return columns(db.rows(sql, **given, width=where["width"], kind=kind, node=node, number=number), names)


def _fair_rate(db: Database, where: dict[str, int | str]) -> dict[str, list[Any]]:
    """RoCC's, as the port computes it."""
    sql = """
        SELECT MIN(time_ps), AVG(bytes) FROM events
        WHERE run = :run AND kind = 'fair_rate' AND time_ps BETWEEN :begin AND :end AND node = :node AND port = :number AND bytes > 0
        GROUP BY (time_ps - :begin) / :width ORDER BY 1
    """
    node, number = _place(db, int(where["run"]), str(where["port"]))
    given = {key: where[key] for key in ("run", "begin", "end", "width")}
    return columns(db.rows(sql, **given, node=node, number=number), ("time_ps", "bps"))


def _place(db: Database, run: int, name: str) -> tuple[str, int | None]:
    """Node and number of a switch's port; a host's events have none."""
    if not db.has("ports"):
        return name, None
    found = db.one("SELECT node, number FROM ports WHERE run = ? AND port = ?", run, name)
    return (str(found[0]), int(found[1])) if found else (name, None)


def _limits(db: Database, run: int, name: str) -> dict[str, Any]:
    found = db.has("ports") and db.one(
        "SELECT rate_bps, xoff, xon, peer FROM ports WHERE run = ? AND port = ?", run, name
    )
    if found:
        return dict(zip(("rate_bps", "xoff", "xon", "peer"), found))
    at_switch = db.has("ports") and db.one(
        "SELECT rate_bps, 0, 0, node FROM ports WHERE run = ? AND peer = ? AND peer_port IS NULL", run, name
    )
    return dict(zip(("rate_bps", "xoff", "xon", "peer"), at_switch or (0, 0, 0, "")))
