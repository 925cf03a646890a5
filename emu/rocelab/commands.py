"""The commands and what each needs, known before anything but the standard library is installed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    packages: tuple[str, ...] = ()  # groups of rocelab.packages


_LIVE = ("build", "results", "live")

COMMANDS = (
    Command("run", "run a scenario and write its report", _LIVE),
    Command("ui", "run, watch and compare experiments on local pages", ("build", "results", "ui")),
    Command("sweep", "run a scenario's axes and seeds on all cores or a cluster", ("build", "results")),
    Command("paper", "run a paper's experiments and lay its numbers beside ours", ("build", "results")),
    Command("openqueue", "check, explain and change switches' queueing policies", ("build", "results")),
    Command("rocc", "analyse RoCC's control loop", ("results",)),
    Command("cost", "lay state and time of mechanisms beside the papers'", ("build", "results")),
    Command("up", "build a scenario's topology and keep it", _LIVE),
    Command("exec", "run a program on a host of a kept topology"),
    Command("rsh", "as ssh to a host of a kept topology"),
    Command("plug", "give a host's place to a kernel's or adapter's RoCE", ("guest",)),
    Command("capture", "capture frames of a kept topology"),
    Command("env", "print the environment of a host's programs, or of Open vSwitch's tools"),
    Command("stat", "show counters of NICs and switches"),
    Command("down", "end a kept topology"),
    Command("python", "start Python with rocelab importable", ("build", "results")),
    Command("events", "write the events of a result's runs as tables for SQL", ("results",)),
    Command("export", "write results or scenarios as other simulators' files", ("build", "results")),
    Command("import", "make a scenario of another simulator's folder", ("build", "results")),
    Command("test", "run every test", (*_LIVE, "ui", "test", "cluster", "guest")),
    Command("bench", "measure rocelab itself", _LIVE),
    Command("doctor", "say what this machine can do, and what is missing"),
    Command("clean", "remove what killed runs left behind"),
    Command("setup", "install what is missing and build, without running", _LIVE),
)


def find(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)


def needs(command: Command, words: Sequence[str]) -> tuple[str, ...]:
    """Groups of packages for this command line: virtual time needs nothing of the live engine."""
    virtual = command.name == "run" and any(
        word == "--engine=des" or words[i : i + 2] == ["--engine", "des"] for i, word in enumerate(words)
    )
    virtual = virtual or (command.name == "bench" and ("des" in words or "wall" in words))
    groups = tuple(group for group in command.packages if not (virtual and group == "live"))
    if command.name == "plug" and "--kernel" not in words:
        groups = ()
    over_cluster = command.name in ("sweep", "paper") and any(
        word.partition("=")[0] == "--cluster" for word in words
    )
    return (*groups, "cluster") if over_cluster else groups


def nearest(name: str) -> str:
    """ ", did you mean X?", or nothing."""
    close = difflib.get_close_matches(name, [command.name for command in COMMANDS], n=1, cutoff=0.5)
    return f", did you mean `{close[0]}`?" if close else ""


def usage() -> str:
    """What can be said on a bare machine, where the full help cannot be drawn yet."""
    lines = ["usage: ./rocelab COMMAND [OPTIONS]", ""]
    lines += [f"  {command.name:6} {command.summary}" for command in COMMANDS]
    lines += [
        "",
        "First: ./rocelab run scenarios/incast.toml (as root; it installs and builds what it needs)",
    ]
    return "\n".join(lines)
