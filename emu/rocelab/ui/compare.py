"""Sets of runs side by side: a set is a label of a result, with some of its seeds."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import metrics, native
from rocelab.errors import RocelabError
from rocelab.ui.database import Database, columns, marks, opened

_MOST_SETS = 40
_LEAST_SIZE = 64


@dataclass(frozen=True)
class Chosen:
    """`seeds` empty: all."""

    result: str
    label: str
    seeds: tuple[int, ...]


def parse(texts: list[str]) -> list[Chosen]:
    """Of "RESULT|LABEL|SEED,SEED" each. RocelabError: not so."""
    if len(texts) > _MOST_SETS:
        raise RocelabError(f"{_MOST_SETS} labels at a time can be compared")
    found = []
    for text in texts:
        words = text.split("|")
        try:
            result, label, seeds = words
            found.append(Chosen(result, label, tuple(int(s) for s in seeds.split(",") if s)))
        except ValueError:
            raise RocelabError(f"{text!r} is not a choice of runs: RESULT|LABEL|SEEDS") from None
    return found


def compare(folder: Path, chosen: list[Chosen], points: int) -> dict[str, Any]:
    """For each set its metrics with intervals (`usual`: those that a table shows unasked), the CDF of FCT, slowdown by size, and rate and queue over time of its first run."""
    sets = [_one(folder, each, points) for each in chosen]
    table = [
        {
            **{
                key: getattr(m, key)
                for key in ("name", "title", "unit", "scale", "better", "text", "counted")
            },
            "usual": m.shown == "always" or (m.shown == "if any" and _any(sets, m.name)),
        }
        for m in metrics.table()
    ]
    return {"metrics": table, "sets": sets}


def _any(sets: list[dict[str, Any]], metric: str) -> bool:
    return any(each["metrics"].get(metric, {}).get("mean") for each in sets)


def _one(folder: Path, chosen: Chosen, points: int) -> dict[str, Any]:
    with opened(folder, chosen.result) as db:
        rows = db.rows(
            "SELECT run, seed, complete, error, summary FROM runs WHERE label = ? ORDER BY run", chosen.label
        )
        mine = [row for row in rows if not chosen.seeds or row[1] in chosen.seeds]
        if not mine:
            raise RocelabError(f"{chosen.result} has no runs of label {chosen.label} with these seeds")
        runs = [row[0] for row in mine]
        summaries = [json.loads(row[4]) for row in mine if row[2]]
        return {
            "result": chosen.result,
            "label": chosen.label,
            "seeds": [row[1] for row in mine],
            "complete": len(summaries),
            "errors": [row[3] for row in mine if row[3]],
            "run": runs[0],
            "metrics": {m.name: _estimate([s.get(m.name) for s in summaries]) for m in metrics.table()},
            "cdf": _cdf(db, runs, points),
            "sizes": _sizes(db, runs),
            "over_time": _over_time(db, runs[0], points),
        }


def _estimate(values: list[Any]) -> dict[str, Any]:
    """As summary.json's aggregates, over the seeds that are chosen."""
    taken = [float(v) for v in values if v is not None and math.isfinite(v)]
    found: dict[str, Any] = native.module().estimate(taken)
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in found.items()}


def _cdf(db: Database, runs: list[int], points: int) -> dict[str, list[Any]]:
    """FCT in seconds and share of the flows that took no longer: every so many of them, the first and the last."""
    sql = f"""
        WITH done AS (SELECT fct_s, ROW_NUMBER() OVER (ORDER BY fct_s) AS place, COUNT(*) OVER () AS n
            FROM flows WHERE run IN ({marks(runs)}) AND fct_s IS NOT NULL)
        SELECT fct_s, place * 1.0 / n FROM done WHERE place = 1 OR place = n OR place % MAX(1, n / ?) = 0 ORDER BY place
    """
    return columns(db.rows(sql, *runs, points), ("fct_s", "share"))


def _sizes(db: Database, runs: list[int]) -> dict[str, list[Any]]:
    """Slowdown of flows by size: of each class, the powers of two, the median and the 99th percentile (nearest rank)."""
    octaves = (
        "CASE "
        + " ".join(f"WHEN size <= {_LEAST_SIZE << i} THEN {_LEAST_SIZE << i}" for i in range(36))
        + " ELSE size END"
    )
    sql = f"""
        WITH done AS (SELECT slowdown, {octaves} AS class FROM flows WHERE run IN ({marks(runs)}) AND slowdown IS NOT NULL),
        ranked AS (SELECT class, slowdown, ROW_NUMBER() OVER (PARTITION BY class ORDER BY slowdown) AS place,
            COUNT(*) OVER (PARTITION BY class) AS n FROM done)
        SELECT class, n, MIN(CASE WHEN place * 2 >= n THEN slowdown END), MIN(CASE WHEN place * 100 >= n * 99 THEN slowdown END)
        FROM ranked GROUP BY class ORDER BY class
    """
    return columns(db.rows(sql, *runs), ("size", "flows", "median", "p99"))


def _over_time(db: Database, run: int, points: int) -> dict[str, Any]:
    """Wire rate into all hosts together, the longest queue of any port, ports that were paused, frames dropped."""
    names = ("time_ps", "bps", "queue", "paused", "drops")
    if not (db.has("overview") and db.has("ports")):
        return columns([], names)
    sql = """
        WITH wide AS (SELECT bin_ps, MAX(1, (SELECT MAX(bin) FROM overview WHERE run = :run) / :points) AS stride FROM runs WHERE run = :run)
        SELECT bin / stride * stride * bin_ps,
            SUM(CASE WHEN ports.peer_port IS NULL AND ports.port IS NOT NULL THEN bytes ELSE 0 END) * 8e12 / (bin_ps * stride),
            MAX(queue), SUM(paused) / stride, SUM(drops)
        FROM wide, overview LEFT JOIN ports ON ports.run = overview.run AND ports.port = overview.port
        WHERE overview.run = :run GROUP BY bin / stride ORDER BY 1
    """
    return columns(db.rows(sql, run=run, points=points), names)
