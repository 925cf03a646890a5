"""Style: clang-format, clang-tidy, black, mypy and pyflakes over the files of the project."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rocelab import paths
from rocelab.selftest.outcome import Failed, Passed, Result, Verdict
from rocelab.setup_build import jobs
from rocelab.setup_progress import Step

FOLDERS = ("base", "lockstep", "irn_provider", "ovs_patches", "verbs_app", "emu", "results", "tests")
_SHOWN_LINES = 40
_COMPLAINT = re.compile(r"^\S+:\d+:|would reformat|^error")  # in what all of these tools print


def sources(*suffixes: str) -> list[Path]:
    """Our files with these endings. C files of ovs_patches/netdev follow Open vSwitch's style instead: ask for them by ".c"."""
    found = (
        path for folder in FOLDERS for path in (paths.ROOT / folder).rglob("*") if path.suffix in suffixes
    )
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def check(step: Step) -> list[Result]:
    """The quick ones."""
    cpp = [path for path in sources(".h", ".cc", ".cpp") if not path.with_suffix(".c").exists()]
    python = sources(".py")
    return [
        _run("clang-format", ["clang-format", "--dry-run", "-Werror"], cpp, step),
        _run("black", ["black", "--check"], python, step),
        _run("mypy --strict", ["mypy", "--no-error-summary"], [], step),
        _run("pyflakes", ["pyflakes3"], python, step),
    ]


def tidy(step: Step) -> list[Result]:
    """clang-tidy over what the release build compiles. Its compiler is g++; clang reads the same flags."""
    commands = json.loads((paths.RELEASE / "compile_commands.json").read_text())
    compiled = {entry["file"] for entry in commands if not entry["file"].endswith("_test.cc")}
    files = sorted(
        file for file in compiled if paths.BUILD not in Path(file).parents
    )  # the rest is generated
    begin = time.monotonic()
    complaints: dict[str, str] = {}
    with ThreadPoolExecutor(jobs()) as pool:
        waiting = {pool.submit(_tidy_file, file): file for file in files}
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                step.update(done / len(files), Path(waiting[future]).name)
                complaints.update({line: waiting[future] for line in future.result()})
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    lines = sorted(complaints)  # a complaint about a header comes once
    verdict: Verdict = Passed()
    if lines:
        verdict = Failed("\n".join([f"{len(lines)} complaints", *lines[:_SHOWN_LINES]]))
    return [Result("clang-tidy", verdict, time.monotonic() - begin)]


def _tidy_file(file: str) -> list[str]:
    argv = ["clang-tidy", "--quiet", "-p", str(paths.RELEASE), file]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=paths.ROOT)
    found = [line for line in done.stdout.splitlines() if ": error: " in line or ": warning: " in line]
    return found or ([f"{file}: clang-tidy failed: {done.stderr.strip()[-500:]}"] if done.returncode else [])


def _run(name: str, argv: Sequence[str], files: Sequence[Path], step: Step) -> Result:
    step.update(note=name)
    begin = time.monotonic()
    output: list[str] = []
    status = 0
    for chunk in _chunks([str(path.relative_to(paths.ROOT)) for path in files]):
        done = subprocess.run([*argv, *chunk], capture_output=True, text=True, cwd=paths.ROOT)
        status = status or done.returncode
        output += [line for line in (done.stdout + done.stderr).splitlines() if _COMPLAINT.search(line)]
        step.tick()
    verdict: Verdict = Passed()
    if status != 0:
        # One line a file of what `clang-format -i` or `black` would put right.
        lines = list(
            dict.fromkeys(
                re.sub(r":\d+:\d+: .*code should be clang-formatted.*", "", line) for line in output
            )
        )
        verdict = Failed("\n".join([f"{len(lines)} complaints", *lines[:_SHOWN_LINES]]))
    return Result(name, verdict, time.monotonic() - begin)


def _chunks(files: Sequence[str], size: int = 200) -> Iterator[Sequence[str]]:
    """At least one, so that tools which find their files themselves are run too."""
    for first in range(0, max(1, len(files)), size):
        yield files[first : first + size]
