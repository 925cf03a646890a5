"""Results out of the JUnit files that ctest and pytest write."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from rocelab.selftest.outcome import Failed, Passed, Result, Skipped, Verdict

_EVIDENCE_LINES = 40


def read(path: Path) -> list[Result]:
    """An unreadable file is no results: the caller knows from the exit status that something went wrong."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return []
    return [
        Result(_name(case), _verdict(case), float(case.get("time") or 0)) for case in root.iter("testcase")
    ]


def _name(case: ElementTree.Element) -> str:
    module, name = case.get("classname", ""), case.get("name", "?")
    return name if module in ("", name) else f"{module}::{name}"


def _verdict(case: ElementTree.Element) -> Verdict:
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None or (tag == "failure" and case.get("status") == "fail"):
            message = found.get("message") if found is not None else None
            detail = (found.text if found is not None else None) or case.findtext("system-out") or ""
            return Failed(
                "\n".join(
                    [_first_line(message or "failed"), *detail.rstrip().splitlines()[-_EVIDENCE_LINES:]]
                )
            )
    skipped = case.find("skipped")
    if skipped is not None:
        return Skipped(skipped.get("message") or "")
    if case.get("status") in ("disabled", "notrun"):
        return Failed("was not run")
    return Passed()


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]
