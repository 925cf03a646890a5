"""The libFuzzer programs of the fuzz build, for a share of the time each."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from rocelab import paths
from rocelab.selftest.outcome import Failed, Passed, Result, Verdict
from rocelab.setup_progress import Step, run_to_end, tail

_SEED = 1  # the run of a finding can be repeated; by hand use others
_GRACE = 60.0


def fuzz(seconds: int, step: Step) -> list[Result]:
    fuzzers = sorted(path for path in (paths.FUZZ / "fuzzers").glob("*") if os.access(path, os.X_OK))
    if not fuzzers:
        return [Result("fuzzers", Failed("the fuzz build has no fuzzer"))]
    share = max(2, seconds // len(fuzzers))
    return [_one(fuzzer, share, step) for fuzzer in fuzzers]


def _one(fuzzer: Path, seconds: int, step: Step) -> Result:
    found = paths.FUZZ / "findings"
    corpus = paths.FUZZ / "corpus" / fuzzer.name  # grows from run to run
    for folder in (found, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = paths.ROOT / "tests" / "corpora" / fuzzer.name
    log = paths.LOGS / f"{fuzzer.name}.log"
    argv: list[str | Path] = [
        fuzzer,
        f"-max_total_time={seconds}",
        f"-seed={_SEED}",
        "-timeout=10",
        "-rss_limit_mb=2048",
    ]
    argv += [f"-artifact_prefix={found}/{fuzzer.name}-", corpus, *([seeds] if seeds.is_dir() else [])]
    begin = time.monotonic()

    def read(line: str) -> tuple[float | None, str] | None:
        executions = re.match(r"#(\d+)", line)
        return (None, f"{fuzzer.name}, {executions[1]} inputs") if executions else None

    step.update(note=fuzzer.name)
    status = run_to_end(argv, step, log, read, limit=seconds + _GRACE)
    verdict: Verdict = Passed()
    if status != 0:
        written = re.search(r"Test unit written to (\S+)", log.read_text(errors="replace"))
        again = f"repeat it with {fuzzer} {written[1]}" if written else f"the log is {log}"
        verdict = Failed(f"a finding: {again}\n{tail(log, 30)}")
    return Result(fuzzer.name, verdict, time.monotonic() - begin)
