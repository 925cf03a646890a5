"""Errors that a user can act on."""

from __future__ import annotations


class RocelabError(Exception):
    """The message is one line: what is wrong and what to do. Lines after the first are evidence, such as a log's end."""


class UsageError(RocelabError):
    """The command line itself is wrong (exit status 2)."""
