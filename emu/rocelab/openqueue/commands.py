"""`./rocelab openqueue`: what its commands do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import native
from rocelab.errors import RocelabError
from rocelab.labels import read_label
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.commands import find
from rocelab.scenario import plan_of

_MOST_BYTES = 64 << 10  # of a file


@dataclass(frozen=True)
class Target:
    """The switch that a program is compiled for; without a scenario one of eight 40 Gb/s ports with our defaults."""

    scenario: Path | None = None
    label: str | None = None
    switch: str | None = None

    def compile(self, file: Path, constants: Sequence[str]) -> dict[str, Any]:
        """{diagnostics, explained, code}. Raises RocelabError where a file cannot be read."""
        pairs = []
        for text in constants:
            name, equals, value = text.partition("=")
            if not (name and equals and value):
                raise RocelabError(f"--const {text}: write it as NAME=VALUE, e.g. --const k=4")
            pairs.append((name, value))
        plan, switch = None, ""
        if self.scenario is not None:
            read = read_label(self.scenario, (), self.label)
            planned = plan_of(read, self.label or read.labels[0], read.seeds[0])
            switch = self.switch or planned.switches[0].name
            if switch not in (names := [s.name for s in planned.switches]):
                raise RocelabError(f"no switch {switch}: {self.scenario} has {', '.join(names)}")
            plan = planned.native
        compiled: dict[str, Any] = native.runner.compile_policy(files_of(file), pairs, plan, switch)
        return compiled


def files_of(file: Path) -> list[tuple[str, bytes]]:
    """The program and what it uses: names as it writes them, and texts."""
    found: dict[str, bytes] = {}

    def read(path: Path, name: str) -> None:
        if name in found:
            return
        try:
            with path.open("rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
        except OSError as e:
            raise RocelabError(f"{path}: {e.strerror}") from None
        if len(data) > _MOST_BYTES:
            raise RocelabError(f"{path}: is larger than 64 KB, the limit for a program")
        found[name] = data  # the compiler says where it is not UTF-8
        for used in native.runner.policy_files(data):
            read(path.parent / used, used)

    read(file, str(file))
    return list(found.items())


def check(files: Sequence[Path], constants: Sequence[str], target: Target, as_json: bool) -> int:
    """Prints what is wrong with each; 1 if anything is."""
    all_found: list[dict[str, Any]] = []
    for file in files:
        found = target.compile(file, constants)["diagnostics"]
        all_found += found
        if not as_json:
            for each in found:
                print(each["rendered"])
            if not any(not each["warning"] for each in found):
                print(f"{file}: ok")
    if as_json:
        json.dump(all_found, sys.stdout, indent=2)
        print()
    return int(any(not each["warning"] for each in all_found))


def explain(file: Path, constants: Sequence[str], target: Target, code: bool) -> int:
    """Prints what the program does in words; `code`: and the instructions that it becomes."""
    compiled = target.compile(file, constants)
    if compiled["explained"] is None:
        for each in compiled["diagnostics"]:
            print(each["rendered"], file=sys.stderr)
        return 1
    print(compiled["code" if code else "explained"].rstrip())
    return 0


def load(
    what: str,
    switch: str,
    at: str | None,
    change: str | None,
    constants: Sequence[str],
    run_id: str | None,
) -> int:
    """Into the switches of a kept topology, while traffic runs."""
    words = ["load", switch, what if what == "builtin" else str(Path(what).resolve())]
    words += [f"at={at}"] if at else []
    words += [f"change={change}"] if change else []
    print(_ask(run_id, *words, *constants).rstrip())
    return 0


def show(switch: str | None, run_id: str | None) -> int:
    """The queues of the policies in force, with the columns of the chapter's list 2.1."""
    print(_ask(run_id, "show", *([switch] if switch else [])).rstrip())
    return 0


def _ask(run_id: str | None, *words: str) -> str:
    kept = find(run_id)
    try:
        return SessionClient.connect(kept.directory.tmp, patience=2.0).appctl("lossless/openqueue", *words)
    except SessionError as e:
        raise RocelabError(_said(str(e))) from e


def _said(text: str) -> str:
    """Without the name of the command, and of its socket."""
    _, found, said = text.partition("lossless/openqueue")
    return said.partition(": ")[2] if found and ": " in said else text
