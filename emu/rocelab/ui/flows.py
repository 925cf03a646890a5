"""Flows of a run: the table of all, and the life of one."""

from __future__ import annotations

from typing import Any

from rocelab.errors import RocelabError
from rocelab.ui.database import Database, columns
from rocelab.ui.words import drop_reason

_SORTS = (
    "flow",
    "src",
    "dst",
    "size",
    "start_ps",
    "fct_s",
    "slowdown",
    "data_drops",
    "retransmitted",
    "timeout_retransmitted",
    "wait_ps",
)
_MOST_ROWS = 500
_PSNS = 1 << 24
_SLOWEST = 12


def table(db: Database, run: int, sort: str, descending: bool, find: str, limit: int) -> dict[str, Any]:
    """The first `limit` flows in this order; `find`: of these hosts or workloads only. `total`: how many there are of these."""
    if sort not in _SORTS:
        raise RocelabError(f"flows cannot be sorted by {sort}: choose one of {', '.join(_SORTS)}")
    waits = (
        "(SELECT SUM(wait_ps / packets) FROM waits WHERE waits.run = flows.run AND waits.flow = flows.flow)"
        if db.has("waits")
        else "NULL"
    )
    which = """run = :run AND (:find = '' OR src = :find OR dst = :find OR "group" = :find OR CAST(flow AS TEXT) = :find)"""
    order = f"{sort} IS NULL, {sort} {'DESC' if descending else 'ASC'}, flow"
    names = (
        "flow",
        "group",
        "src",
        "dst",
        "op",
        "size",
        "start_ps",
        "fct_s",
        "slowdown",
        "data_drops",
        "retransmitted",
        "timeout_retransmitted",
        "completed",
        "wait_ps",
    )
    wanted = ", ".join(f'"{name}"' for name in names[:-1])
    sql = f"SELECT {wanted}, {waits} AS wait_ps FROM flows WHERE {which} ORDER BY {order} LIMIT :limit"
    rows = db.rows(sql, run=run, find=find, limit=min(limit, _MOST_ROWS))
    (total,) = db.rows(f"SELECT COUNT(*) FROM flows WHERE {which}", run=run, find=find)[0]
    return {"total": total, "flows": [dict(zip(names, row)) for row in rows]}


def life(db: Database, run: int, flow: int, points: int) -> dict[str, Any]:
    """When it was posted and ended, its PSNs over time, where its packets waited, what was dropped and retransmitted."""
    names = [row[1] for row in db.rows("PRAGMA table_info(flows)")]
    found = db.one("SELECT * FROM flows WHERE run = ? AND flow = ?", run, flow)
    if found is None:
        raise RocelabError(f"run {run} has no flow {flow}")
    row = dict(zip(names, found))
    begin = row["posted_ps"] if row["posted_ps"] is not None else row["start_ps"]
    end = max((t for t in (row["placed_ps"], row["cqe_ps"]) if t is not None), default=db.end_ps(run))
    known = db.has("events", "flow")
    where = {"run": run, "flow": flow, "begin": begin, "width": max(1, (end - begin) // points)}
    where["base"] = _first_psn(db, run, flow) if known else 0
    return {
        "flow": row,
        "begin_ps": begin,
        "end_ps": end,
        "rate": _rate(db, where),
        "fair_rate": _fair_rate(db, where) if known else None,
        "psn_base": where["base"],
        "arrived": _arrived(db, where) if known else None,
        "retransmitted": _events(db, "retransmit", where) if known else None,
        "dropped": _events(db, "drop", where) if known else None,
        "why": _why(db, run, flow) if known else [],
        "waits": _waits(db, run, flow),
        "slowest": _slowest(db, run, flow),
        "filter": wireshark(db, run, row) if known else "",
        "notes": []
        if known
        else ["this result does not say which events belong to which flow: run its scenario again"],
    }


_RELATIVE = f"((psn - :base + {_PSNS // 2}) & {_PSNS - 1}) - {_PSNS // 2}"


def _first_psn(db: Database, run: int, flow: int) -> int:
    """What PSNs are counted from: the first that was seen."""
    sql = """
        SELECT psn FROM (SELECT time_ps, psn FROM hops WHERE run = :run AND flow = :flow UNION ALL
            SELECT time_ps, psn FROM events WHERE run = :run AND flow = :flow AND kind IN ('retransmit', 'drop'))
        ORDER BY time_ps LIMIT 1
    """
    found = db.one(sql, run=run, flow=flow)
    return int(found[0]) if found else 0


def _rate(db: Database, where: dict[str, int]) -> dict[str, list[Any]]:
    """Of what the sink received, in bit/s, by the end of each stretch."""
    sql = """
        WITH steps AS (SELECT MAX(time_ps) AS time_ps, MAX(bytes) AS bytes FROM samples
            WHERE what = 'flow' AND run = :run AND flow = :flow GROUP BY (time_ps - :begin) / :width)
        SELECT time_ps, (bytes - LAG(bytes, 1, 0) OVER (ORDER BY time_ps)) * 8e12 / (time_ps - LAG(time_ps, 1, :begin) OVER (ORDER BY time_ps))
        FROM steps WHERE time_ps > :begin ORDER BY time_ps
    """
    given = {key: where[key] for key in ("run", "flow", "begin", "width")}
    return columns(db.rows(sql, **given), ("time_ps", "bps"))


def _fair_rate(db: Database, where: dict[str, int]) -> dict[str, list[Any]]:
    """That its sender was told or computed (RoCC), in bit/s."""
    sql = """
        SELECT MIN(time_ps), AVG(bytes) FROM events INDEXED BY events_by_flow
        WHERE run = :run AND flow = :flow AND kind = 'fair_rate' AND bytes > 0 GROUP BY (time_ps - :begin) / :width ORDER BY 1
    """
    given = {key: where[key] for key in ("run", "flow", "begin", "width")}
    return columns(db.rows(sql, **given), ("time_ps", "bps"))


def _arrived(db: Database, where: dict[str, int]) -> dict[str, list[Any]]:
    """(time, PSN) of packets at the sink: those that were kept, a few a stretch."""
    sql = f"""
        SELECT MIN(time_ps), {_RELATIVE} FROM hops WHERE run = :run AND flow = :flow AND port IS NULL
        GROUP BY (time_ps - :begin) / :width, psn / 64 ORDER BY 1
    """
    return columns(db.rows(sql, **where), ("time_ps", "psn"))


def _events(db: Database, kind: str, where: dict[str, int]) -> dict[str, list[Any]]:
    """(time, PSN, mark, how many) of events, joined where they are close together."""
    sql = f"""
        SELECT MIN(time_ps), {_RELATIVE}, mark, COUNT(*) FROM events INDEXED BY events_by_flow
        WHERE run = :run AND flow = :flow AND kind = :kind GROUP BY (time_ps - :begin) / :width, psn / 32, mark ORDER BY 1
    """
    return columns(db.rows(sql, **where, kind=kind), ("time_ps", "psn", "mark", "count"))


def _why(db: Database, run: int, flow: int) -> list[dict[str, Any]]:
    """Drops by place and reason, retransmissions by cause, timeouts: how many, and the first of each."""
    sql = """
        SELECT kind, node, CASE kind WHEN 'drop' THEN port END AS at, mark, COUNT(*), MIN(time_ps), MAX(time_ps),
            (SELECT port FROM ports WHERE ports.run = :run AND ports.node = e.node AND number = e.port AND kind = 'drop')
        FROM events e INDEXED BY events_by_flow
        WHERE run = :run AND flow = :flow AND kind IN ('drop', 'retransmit', 'timeout', 'duplicate', 'mark') GROUP BY kind, node, at, mark
        ORDER BY MIN(time_ps)
    """
    at_hosts = {name for (name,) in db.rows("SELECT node FROM nodes WHERE run = ? AND is_host", run)}
    return [
        {
            "text": _cause(kind, mark, node in at_hosts),
            "where": port or node,
            "count": count,
            "first_ps": first,
            "last_ps": last,
        }
        for kind, node, _, mark, count, first, last, port in db.rows(sql, run=run, flow=flow)
    ]


def _cause(kind: str, mark: int, at_host: bool) -> str:
    if kind == "drop":
        return "dropped: " + ("by the NIC" if at_host else drop_reason(mark))
    if kind == "retransmit":
        return "retransmitted " + ("after a timeout" if mark else "after a NAK or NACK")
    if kind == "timeout":
        return ("RTO_high or the verbs timeout", "RTO_low", "READ responder's timer")[min(mark, 2)] + " fired"
    return (
        "arrived a second time: its retransmission was spurious" if kind == "duplicate" else "marked (ECN CE)"
    )


def _waits(db: Database, run: int, flow: int) -> list[dict[str, Any]]:
    if not db.has("waits"):
        return []
    names = ("port", "packets", "wait_ps", "longest_ps", "longest_at_ps", "longest_psn")
    sql = f"SELECT {', '.join(names)} FROM waits WHERE run = ? AND flow = ? ORDER BY wait_ps DESC"
    return [dict(zip(names, row)) for row in db.rows(sql, run, flow)]


def _slowest(db: Database, run: int, flow: int) -> list[dict[str, Any]]:
    """Packets that waited longest in all, hop by hop."""
    if not db.has("hops"):
        return []
    sql = """
        SELECT journey, psn, SUM(wait_ps) AS waited FROM hops WHERE run = ? AND flow = ? GROUP BY journey
        ORDER BY waited DESC, journey LIMIT ?
    """
    found = []
    for journey, psn, waited in db.rows(sql, run, flow, _SLOWEST):
        hops = db.rows(
            "SELECT time_ps, node, port, wait_ps FROM hops WHERE run = ? AND flow = ? AND journey = ? ORDER BY time_ps",
            run,
            flow,
            journey,
        )
        names = ("time_ps", "node", "port", "wait_ps")
        found.append({"psn": psn, "wait_ps": waited, "hops": [dict(zip(names, hop)) for hop in hops]})
    return found


def wireshark(db: Database, run: int, row: dict[str, Any]) -> str:
    """A display filter for the flow's frames in a capture of --pcap, both ways; empty: its queue pairs are unknown."""
    nodes = db.rows(
        "SELECT node, address FROM nodes WHERE run = ? AND node IN (?, ?)", run, row["src"], row["dst"]
    )
    addresses = {node: address for node, address in nodes}
    sql = """
        SELECT DISTINCT qpn FROM events INDEXED BY events_by_flow WHERE run = ? AND flow = ? AND node = ?
        AND kind IN ('posted', 'placed', 'complete') AND qpn > 0
    """
    ways = []
    for source, sink in ((row["src"], row["dst"]), (row["dst"], row["src"])):
        qpns = [qpn for (qpn,) in db.rows(sql, run, row["flow"], sink)]
        if qpns and addresses.get(source) and addresses.get(sink):
            listed = ", ".join(f"{qpn:#x}" for qpn in sorted(qpns))
            ways.append(
                f"(ip.src == {addresses[source]} && ip.dst == {addresses[sink]} && infiniband.bth.destqp in {{{listed}}})"
            )
    return " || ".join(ways)
