"""The test programs: ctest's over the sanitizer build, and pytest's."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocelab import paths
from rocelab.live.ovs import STDERR_VARIABLE
from rocelab.ovs_build import OvsBuild
from rocelab.privileges import is_root
from rocelab.selftest import junit
from rocelab.selftest.outcome import Failed, Passed, Result, Skipped, Verdict
from rocelab.setup_build import jobs
from rocelab.setup_progress import OUT_OF_TIME, Step, run_to_end, tail

CTEST_LABELS = ("unit", "wire", "pair", "snapshot", "same", "fuzz")
# What has threads or processes that share memory, in the tsan build: virtual time on several threads, and all of the live engine but for Open vSwitch, which has one.
THREADED = (
    "des_test",
    "lockstep_test",
    "lossless_threads_test",
    "live_pair_test",
    "direct_test",
    "verbs_test",
    "verbs_app_test",
    "verbs_programs_test",
    "verbs_compatibility_test",
)
# What runs on hosts.
ON_HOSTS = (
    "rocelab_verbs",
    "rocelab_ibverbs",
    "dlopen_probe",
    "rocelab_flows",
    "rocelab_gateway",
    "lossless_traffic",
)
# The live tests that run under ThreadSanitizer: it delivers signals late, takes the functions that UCX wants to, and slows what measures.
THREADED_LIVE = (
    "test_live_programs.py",
    "test_live_pingpong.py",
    "test_live_incast.py",
    "test_live_perftest.py",
    "test_live_rdma_cm.py",
    "test_live_threads.py",
)
_LIMIT = 3600.0  # seconds for a whole suite: a hang is a failure, not a wait
_LIMIT_OF_LIVE = 5400.0
_LIMIT_OF_THREADED = 5400.0
_REPORT_BYTES = 6000
NO_TIME = "the time of `--within` is over"


def ctest(labels: Sequence[str], step: Step) -> list[Result]:
    """All programs of the dev build that carry one of `labels`."""
    return _ctest("ctest", paths.DEV, ("-L", f"^({'|'.join(labels)})$"), step, _LIMIT)


def threaded(step: Step) -> list[Result]:
    """The programs of the tsan build; a mode of a program may be a test of its own (`_irn`)."""
    chosen = ("-R", f"^({'|'.join(THREADED)})(_irn)?$")
    return _ctest("ctest-tsan", paths.TSAN, chosen, step, _LIMIT_OF_THREADED)


def _ctest(name: str, build: Path, chosen: Sequence[str], step: Step, limit: float) -> list[Result]:
    report, log = paths.LOGS / f"{name}.xml", paths.LOGS / f"{name}.log"
    report.unlink(missing_ok=True)
    argv: list[str | Path] = ["ctest", "--test-dir", build, f"-j{jobs()}", "--no-tests=error"]
    argv += ["--output-junit", report, "--output-on-failure", *chosen]
    sanitizers = {"ASAN_OPTIONS": "detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    status = run_to_end(argv, step, log, _ctest_line, env={**os.environ, **sanitizers}, limit=limit)
    return _complete(name, junit.read(report), status, log, step)


def pytest(
    folder: str,
    step: Step,
    limit: float = _LIMIT,
    suffix: str = "",
    variables: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    at_once: int = 1,
) -> list[Result]:
    """`at_once` above 1: each file by a pytest of its own, so many side by side. `suffix`: of the names of reports and log, where the same tests run in another way.
    `only`: files of the folder."""
    name = folder.replace("/", "-") + suffix
    reports, log = paths.LOGS / name, paths.LOGS / f"{name}.log"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    files = [paths.ROOT / folder / file for file in only] or sorted((paths.ROOT / folder).glob("test_*.py"))
    if at_once > 1:
        files.sort(key=lambda file: file.stat().st_size, reverse=True)  # what may take longest begins first
    listed = reports / "files"
    listed.write_text("".join(f"{folder}/{file.name}\0" for file in files))
    each = 1 if at_once > 1 else max(1, len(files))
    command = f'exec "$0" -m pytest "$@" -v --color=no --junitxml="{reports}/$(basename "$1").xml"'
    argv: list[str | Path] = [
        "xargs",
        "-0",
        "-r",
        "-a",
        listed,
        f"-P{at_once}",
        f"-n{each}",
        "sh",
        "-c",
        command,
        sys.executable,
    ]
    environment = {**os.environ, **(variables or {})}
    progress = _Progress(len(files) // each)
    status = run_to_end(argv, step, log, progress.line, cwd=paths.ROOT, env=environment, limit=limit)
    results: list[Result] = []
    for file in files[::each]:  # the first of each pytest
        # Without a report: a crash of the tool, or out of time.
        found = junit.read(reports / f"{file.name}.xml")
        verdict: Verdict = Skipped(NO_TIME) if step.is_over else Failed(f"no test has run; the log is {log}")
        results += found or [Result(f"pytest {folder}/{file.name}", verdict)]
    return _complete(f"pytest {folder}", results, status, log, step)


def python(step: Step) -> list[Result]:
    return pytest("tests/python", step, at_once=jobs())


def browser(step: Step) -> list[Result]:
    """The pages of `./rocelab ui` in Chromium."""
    return pytest("tests/browser", step)


def live(step: Step) -> list[Result]:
    return _as_root("tests/live", step)


def sanitized_live(step: Step) -> list[Result]:
    """The live tests with AddressSanitizer and UBSan in what runs on hosts and in Open vSwitch."""
    tree = OvsBuild.sanitized().tree
    return _live_under("dev", "detect_leaks=0", {"ROCELAB_OVS_TREE": str(tree)}, step)


def threaded_live(step: Step) -> list[Result]:
    """The live tests with ThreadSanitizer in what runs on hosts. Open vSwitch, one thread of which has all our ports, is as it is."""
    # A trap of the time stamp counter is a signal, but one that comes where the program's code reads it.
    return _live_under("tsan", "report_signal_unsafe=0", {}, step, THREADED_LIVE)


def _live_under(
    preset: str, options: str, variables: Mapping[str, str], step: Step, only: Sequence[str] = ()
) -> list[Result]:
    """What a sanitizer says goes to files, so that it is not lost with a program's output, and is a failure. Not so UBSan beside ASan: it prints, and the program's
    status is 1; what it says in Open vSwitch's daemons is kept."""
    reports = paths.LOGS / f"sanitizers-{preset}"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    all_options = f"{options}:log_path={reports}/report"
    settings = {name: all_options for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}
    settings["UBSAN_OPTIONS"] = "print_stacktrace=1"
    settings[STDERR_VARIABLE] = str(reports)
    settings["ROCELAB_HOSTS_BUILD"] = str(paths.BUILD / preset)
    results = _as_root("tests/live", step, f"-{preset}", {**settings, **variables}, only)
    said = ((path, path.read_text(errors="replace")) for path in sorted(reports.iterdir()))
    found = [Result(str(path), Failed(text[:_REPORT_BYTES])) for path, text in said if _counts(text)]
    return [*results, *found]


def _counts(report: str) -> bool:
    """Not its warnings (of programs that switch stacks), nor qperf's own end, which docs/reference/compatibility.md tells of."""
    finding = re.search(r"ERROR: |WARNING: ThreadSanitizer|runtime error: ", report)
    return finding is not None and not ("rdma_destroy_qp" in report and "(qperf+0x" in report)


def interop(step: Step) -> list[Result]:
    return _as_root("tests/interop", step)


def _as_root(
    folder: str,
    step: Step,
    suffix: str = "",
    variables: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
) -> list[Result]:
    if not is_root():
        return [Result(folder, Skipped("makes network namespaces and needs root"))]
    return pytest(folder, step, _LIMIT_OF_THREADED if variables else _LIMIT_OF_LIVE, suffix, variables, only)


def _complete(title: str, results: list[Result], status: int, log: Path, step: Step) -> list[Result]:
    """A suite that fails without a failed test (a crash of the tool, a collection error, a hang) has failed, unless its time was over."""
    if status == OUT_OF_TIME and step.is_over:
        return results or [Result(title, Skipped(NO_TIME))]
    if status != 0 and not any(isinstance(result.verdict, Failed) for result in results):
        what = "took too long" if status == OUT_OF_TIME else f"exit status {status}"
        results = [*results, Result(title, Failed(f"{what}; the log is {log}\n{tail(log)}"))]
    if not any(isinstance(result.verdict, (Passed, Failed)) for result in results):
        results = [*results, Result(title, Failed(f"no test has run; the log is {log}"))]
    return results


def _ctest_line(line: str) -> tuple[float | None, str] | None:
    found = re.match(r"(\d+)/(\d+) Test +#\d+: (\S+)", line)
    return (int(found[1]) / int(found[2]), found[3]) if found else None


class _Progress:
    """Over several pytests that run side by side, a file each; or over one with all files."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._percents: dict[str, int] = {}

    def line(self, line: str) -> tuple[float | None, str] | None:
        found = re.match(r"(\S+)::(\S+).*\[ *(\d+)%\]$", line)
        if found is None:
            return None
        self._percents[found[1] if self._processes > 1 else ""] = int(found[3])
        return sum(self._percents.values()) / 100 / self._processes, found[2].split("::")[-1]
