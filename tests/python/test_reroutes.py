"""Where the clock of a live run stops: at changes of rules up to the run's limit, and there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rocelab.live.reroutes import Reroutes


class Segment:
    """The switches run up to the announced instant at once."""

    def __init__(self) -> None:
        self.stops: list[int] = []

    def stop_at(self, at_ps: int) -> None:
        self.stops.append(at_ps)

    stop_due = True


@pytest.mark.parametrize(
    ("changes_ps", "stops"),
    [((), [30]), ((10, 20), [10, 20, 30]), ((10, 30), [10, 30, 30]), ((10, 40), [10, 30])],
)
def test_the_clock_stops_at_changes_and_for_good_at_the_limit(
    changes_ps: tuple[int, ...], stops: list[int]
) -> None:
    asked: list[dict[str, Any]] = []
    told: list[str] = []
    session: Any = SimpleNamespace(ask=lambda what, **kw: asked.append(kw["flows"]), appctl=told.append)
    changes = tuple(SimpleNamespace(at_ps=t, openflow={"s1": (f"rule {t}",)}) for t in changes_ps)
    plan: Any = SimpleNamespace(route_changes=changes, limit_ps=30)
    reroutes, segment = Reroutes(plan, session), Segment()
    reroutes.announce(segment)
    while not reroutes.follow(segment):
        pass
    assert segment.stops == stops
    made = [t for t in changes_ps if t <= 30]
    assert asked == [{"s1": [f"rule {t}"]} for t in made]
    # The datapath's caches are empty when the clock goes on.
    assert told == ["revalidator/pause", "revalidator/purge", "revalidator/resume"] * len(made)
    segment.stop_due = False
    assert not reroutes.follow(segment), "on the way to it"
