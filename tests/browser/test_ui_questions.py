"""The questions of docs/tutorial/ui.md, walked click by click as they stand there; what is seen at the end is held against the database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pages import Pages
from rocelab import traces
from site_of_results import ROOT

_SECTION = "## Eight questions, answered by clicks"


def questions() -> dict[str, list[str]]:
    """Clicks by question."""
    text = (ROOT / "docs/tutorial/ui.md").read_text().split(_SECTION)[1].split("\n## ")[0]
    rows = [
        line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and "`" in line
    ]
    return {question: re.findall(r"`([^`]+)`", clicks) for question, clicks in rows}


def walk(pages: Pages, clicks: list[str]) -> None:
    for click in clicks:
        kind, colon, what = click.partition(": ")
        if click in ("Watch", "Flow", "Compare"):
            pages.click(click, "nav a")
            pages.settled()
        elif kind == "first row" and colon:
            pages.rows(what)
            pages.click(pages.rows(what)[0][0], "section tbody button.pick")
        elif kind == "column" and colon:
            pages.click(what, "thead button")
            pages.until(lambda: not pages.see("[aria-busy]"))
        elif colon:
            pages.choose(kind, what)
        else:
            pages.click(click, "button, summary, label")


class Data:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def rows(self, result: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        file = self._folder / "results" / result / "run.sqlite"
        events = self._folder / f"{result}-events.sqlite"
        with closing(sqlite3.connect(file)) as db:
            if not events.exists():
                runs = [run for (run,) in db.execute("SELECT run FROM runs")]
                traces.write_tables(file, runs, events)
            db.execute("ATTACH ? AS events_of_runs", (str(events),))
            return db.execute(sql, values).fetchall()

    def run(self, label: str) -> int:
        return int(self.rows("incast", "SELECT MIN(run) FROM runs WHERE label = ?", label)[0][0])


def first_pause(pages: Pages, data: Data) -> None:
    run = data.run("roce+pfc")
    ((port, by),) = data.rows(
        "incast", "SELECT port, by FROM pauses WHERE run = ? ORDER BY begin_ps LIMIT 1", run
    )
    said = pages.said("That port is the cause", ".causes")
    assert said.splitlines()[1].startswith(f"{port} was paused for") and f"since {by} asked for it" in said
    assert "the frames wait for s1-eth9" in said
    assert len(pages.driver.find_elements("css selector", ".over.chain")) == 1, "the chain is drawn"


def first_drop(pages: Pages, data: Data) -> None:
    pages.said("Port s1-eth9")
    pages.until(lambda: pages.see("canvas"))
    label = pages.until(
        lambda: next(
            (
                e.get_attribute("aria-label")
                for e in pages.see(".chart")
                if "Queue at" in (e.get_attribute("aria-label") or "")
            ),
            None,
        )
    )
    ((peak,),) = data.rows(
        "incast",
        "SELECT MAX(bytes) FROM samples WHERE run = ? AND port = 's1-eth9' AND tc = 3",
        data.run("roce"),
    )
    ((time,),) = data.rows(
        "incast", "SELECT MIN(time_ps) FROM events WHERE run = ? AND kind = 'drop'", data.run("roce")
    )
    assert f"{float(f'{time / 1e6:.6g}'):g} µs at s1-eth9" in pages.text(".moments")
    shown = re.search(r"queue, class 3: (\S+) to (\S+)", label)
    assert shown is not None and float(shown[2]) <= peak / 1000 + 0.5 and float(shown[2]) > 200


def longest_paused(pages: Pages, data: Data) -> None:
    run = data.run("roce+pfc")
    sql = "SELECT port, COUNT(*) FROM pauses WHERE run = ? GROUP BY port ORDER BY SUM(end_ps - begin_ps) DESC LIMIT 1"
    ((port, times),) = data.rows("incast", sql, run)
    assert pages.rows("Ports")[0][0] == port
    assert f"paused {times} times" in pages.said(f"Port {port}", ".panel")


def circle(pages: Pages, data: Data) -> None:
    ports = [p for (p,) in data.rows("escape-ring", "SELECT port FROM deadlocks ORDER BY position")]
    said = pages.said("the ports wait for one another in a circle", ".causes")
    assert [line.split(" was paused")[0] for line in said.splitlines()[1:-1]] == ports
    assert len(pages.driver.find_elements("css selector", ".over.circle")) == len(ports) == 3


def recovery(pages: Pages, data: Data) -> None:
    sql = (
        "SELECT time_ps, node, psn FROM events WHERE run = ? AND kind = 'retransmit' ORDER BY time_ps LIMIT 1"
    )
    ((time, node, psn),) = data.rows("incast", sql, data.run("irn"))
    text = pages.text(".moments").split("first retransmission\n")[1].splitlines()
    assert text[0].startswith(f"{float(f'{time / 1e6:.6g}'):g} µs at {node} · flow ")
    assert text[1].startswith(f"PSN {psn}: the sender is in recovery")
    pages.said(f"Port {node}", ".panel")


def longest_wait(pages: Pages, data: Data) -> None:
    sql = "SELECT flow, port FROM waits WHERE run = ? GROUP BY flow ORDER BY SUM(wait_ps / packets) DESC LIMIT 1"
    ((flow, port),) = data.rows("incast", sql, data.run("roce+pfc"))
    pages.said(f"Flow {flow}:")
    assert pages.rows("Waits by port")[0][0] == port


def retransmissions(pages: Pages, data: Data) -> None:
    run = data.run("roce")
    ((flow, most),) = data.rows(
        "incast",
        "SELECT flow, retransmitted FROM flows WHERE run = ? ORDER BY retransmitted DESC LIMIT 1",
        run,
    )
    pages.said(f"Flow {flow}:")
    rows = pages.rows("Losses and retransmissions")
    counts = {row[0]: int(re.sub(r"\D", "", row[2])) for row in rows}
    assert counts["dropped: the egress queue is at its limit"] > 0
    assert sum(n for text, n in counts.items() if text.startswith("retransmitted")) == most
    assert rows[0][1] == "s1-eth9"


def worst_slowdown(pages: Pages, data: Data) -> None:
    rows = pages.until(
        lambda: (r := pages.rows("Means over seeds")) and any("queues: " in row[0] for row in r) and r
    )
    (heads,) = pages.rows("Means over seeds", "tHead")
    at = next(i for i, head in enumerate(heads) if head.startswith("99th % slowdown"))
    values = [float(row[at].split()[0]) for row in rows]
    assert values == sorted(values, reverse=True) and len(set(values)) > 1
    sizes = data.rows("queues", "SELECT COUNT(DISTINCT size) FROM flows")[0][0]
    assert sizes > 1 and "Slowdown by flow size" in pages.text("figcaption")
    key = pages.text("figure .key")
    assert all(f"queues: irn,{case}, 99th %" in key for case in ("fifo", "fair", "fair-push-out"))


ANSWERS: dict[str, Callable[[Pages, Data], None]] = {
    "Which port was paused first, and which one caused it?": first_pause,
    "How did the queue grow before the first drop?": first_drop,
    "Which port was paused for longest, and how often?": longest_paused,
    "Where do ports wait for one another in a circle?": circle,
    "When did IRN enter recovery, and for which packet?": recovery,
    "Which flow waited longest, and where?": longest_wait,
    "Why were most packets of a flow retransmitted?": retransmissions,
    "Which label has the worst 99th percentile of slowdown, and for which sizes?": worst_slowdown,
}


def test_every_question_of_the_page_is_walked() -> None:
    assert list(questions()) == list(ANSWERS)


@pytest.mark.parametrize("question", ANSWERS)
def test_clicks_alone_answer(pages: Pages, folder: Path, question: str) -> None:
    pages.open("#gallery")
    walk(pages, questions()[question])
    ANSWERS[question](pages, Data(folder))
