"""Open vSwitch's own unit tests of what our series touches: PMD threads and the netdev datapath."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from pathlib import Path

from rocelab import paths
from rocelab.ovs_build import OvsBuild
from rocelab.processes import ProcessId, all_pids, environment_value, kill_all
from rocelab.selftest.outcome import Failed, Passed, Result, Skipped, Verdict
from rocelab.setup_all import setup_lock
from rocelab.setup_progress import Step, run_to_end, tail

_KEYWORDS = ("pmd", "dpif-netdev", "alb", "dpctl")
_LINE = re.compile(r"^\s*(\d+): (.+?)\s+(ok|skipped.*|FAILED.*|expected failure.*|UNEXPECTED PASS)\s*$")
_LIMIT = 900.0
_MARK = "ROCELAB_OVS_TESTS"


def unit_tests(step: Step) -> list[Result]:
    build = OvsBuild()
    step.update(note="building the test programs")
    with setup_lock():
        build.make(step, ["all"])
    # They mostly wait for daemons, so more run than there are cores; RECHECK: one that failed has a second try alone.
    flags = " ".join(["-j4", *(f"-k {keyword}" for keyword in _KEYWORDS)])
    log = paths.LOGS / "ovs-unit-tests.log"
    argv: list[str | Path] = ["make", "check", f"TESTSUITEFLAGS={flags}", "RECHECK=yes"]
    argv += [f"LOSSLESS_LIBS={build.link_line()}"]
    total = 0
    seen = 0

    def read(line: str) -> tuple[float | None, str] | None:
        nonlocal seen
        found = _LINE.match(line)
        seen += bool(found)
        return (seen / total if total else None, found[2]) if found else None

    total = count(build)
    token = secrets.token_hex(8)
    try:
        environment = {**_environment(), _MARK: token}
        status = run_to_end(argv, step, log, read, cwd=build.tree, env=environment, limit=_LIMIT)
    finally:
        end_marked(token)
    results = parse(log.read_text(errors="replace"))
    if status != 0 and not any(isinstance(result.verdict, Failed) for result in results) or not results:
        results = [
            *results,
            Result("make check", Failed(f"exit status {status}; the log is {log}\n{tail(log)}")),
        ]
    return results


def parse(text: str) -> list[Result]:
    """The last verdict on each test counts."""
    verdicts: dict[str, Result] = {}
    for line in text.splitlines():
        if found := _LINE.match(line):
            verdict: Verdict = Passed()
            if found[3].startswith(("FAILED", "UNEXPECTED")):
                verdict = Failed(
                    f"{found[3]}; see tests/testsuite.dir/{found[1]}/testsuite.log in {paths.OVS_TREE}"
                )
            elif found[3].startswith("skipped"):
                verdict = Skipped(found[3])
            verdicts[found[1]] = Result(f"{found[1]}: {found[2]}", verdict)
    return list(verdicts.values())


def count(build: OvsBuild) -> int:
    """How many tests the keywords choose."""
    words = [word for keyword in _KEYWORDS for word in ("-k", keyword)]
    argv = ["sh", "tests/testsuite", "-C", "tests", "-l", *words]
    done = subprocess.run(argv, cwd=build.tree, capture_output=True, text=True)
    return len(re.findall(r"^ *\d+: ", done.stdout, re.M))


def end_marked(token: str) -> None:
    """The tests' daemons detach: when the suite is cut short, they are known by the variable that only they inherited."""
    marked = (ProcessId.of(pid) for pid in all_pids() if environment_value(pid, _MARK) == token)
    kill_all([process for process in marked if process is not None])


def _environment() -> dict[str, str]:
    """Without variables that would lead the tests to other daemons."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OVS_")}
