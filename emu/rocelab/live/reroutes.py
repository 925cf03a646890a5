"""Instants at which a run's clock stops: rules change when links fail or recover, and `engine.limit` ends the run.

The switches' clock stops at the instant of a change (Header::stop_ps): what arrived before has gone by the old rules,
nothing that arrives later has been looked at. Then the rules are replaced and the datapath's caches emptied.
At the limit it stops for good, so that a run that does not finish ends the same way every time.
"""

from __future__ import annotations

from typing import Any

from rocelab.live.client import SessionClient
from rocelab.model import RouteChange, RunPlan


class Reroutes:
    """Of one run. Set it up before the switches join the segment; ask follow() now and then; restore() at the end."""

    def __init__(self, plan: RunPlan, session: SessionClient) -> None:
        self.plan = plan
        self.session = session
        self.done = 0

    def announce(self, segment: Any) -> None:
        """Says to the switches where to stop next."""
        change = self._next()
        segment.stop_at(self.plan.limit_ps if change is None else change.at_ps)

    def follow(self, segment: Any) -> bool:
        """Makes the change that the switches wait for, if they wait. True: they have stopped at the run's limit."""
        if not segment.stop_due:
            return False
        change = self._next()
        if change is None:
            return True
        self._replace(dict(change.openflow))
        self.done += 1
        self.announce(segment)
        return False

    def restore(self) -> None:
        """The next run on this topology begins with the rules of the healthy network."""
        changed = {name for change in self.plan.route_changes[: self.done] for name in change.openflow}
        if changed:
            self._replace({s.name: s.openflow for s in self.plan.switches if s.name in changed})
        self.done = 0

    def _next(self) -> RouteChange | None:
        """None: the limit comes first."""
        left = self.plan.route_changes[self.done :]
        return left[0] if left and left[0].at_ps <= self.plan.limit_ps else None

    def _replace(self, openflow: dict[str, tuple[str, ...]]) -> None:
        """And empties the datapath's caches. `revalidator/wait` does not say that they follow the rules: it ends with the next round of the
        revalidators, which may have begun before the rules changed."""
        self.session.ask("flows", flows={name: list(lines) for name, lines in openflow.items()})
        self.session.appctl("revalidator/pause")
        try:
            self.session.appctl("revalidator/purge")
        finally:
            self.session.appctl("revalidator/resume")
