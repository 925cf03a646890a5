"""Errors that a user can act on."""

from __future__ import annotations

import re


class RocelabError(Exception):
    """The message is one line: what is wrong and what to do. Lines after the first are evidence, such as a log's end."""


class UsageError(RocelabError):
    """The command line itself is wrong (exit status 2)."""


class ScenarioError(RocelabError):
    """A mistake in a scenario, as the C++ reader words it: `file:line:column: reason`.

    `file` (text), `line` and `column` (from 1) are None where the mistake is in a value that was set from outside; `reason` is the rest of
    the message.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        place = re.match(r"([^\n]+?):(\d+):(\d+): ", message)
        self.file = place[1] if place else None
        self.line = int(place[2]) if place else None
        self.column = int(place[3]) if place else None
        self.reason = message[place.end() :] if place else message
