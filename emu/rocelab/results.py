"""Results: what a scenario's runs add up to, run by an engine and kept as files. Scripts call rocelab.run() (experiment.py)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rocelab import store
from rocelab.errors import RocelabError
from rocelab.files import Content, check_writable, write_all
from rocelab.labels import only_label
from rocelab.model import SCENARIO_FILE, RunOutcome, RunPlan, Scenario
from rocelab.recordings import Recordings
from rocelab.result import Result
from rocelab.scenario import make_plans, read_scenario, with_overrides
from rocelab.scratch import scratch_folder

ENGINES = ("live", "des")
Execute = Callable[[RunPlan], RunOutcome]
OnOutcome = Callable[[RunOutcome], None]


_ELSEWHERE = "what was there is as it was; free some space or say --out DIR, and repeat the command"


def save(result: Result, folder: Path) -> None:
    """summary.json, run.sqlite and report.html, all of them or none; a result that broke off is saved too, and marked."""
    from rocelab.report import render  # matplotlib: only when there is something to draw

    summary = json.dumps(result.summary, indent=1, allow_nan=False) + "\n"
    tables = (result.summary, result.outcomes, result.flows, result.samples)
    files: dict[Path, Content] = {
        folder / "summary.json": summary.encode(),
        folder / "run.sqlite": lambda part: store.write(part, *tables),
        folder / "report.html": render(result).encode(),
    }
    if result.scenario.text is not None:  # it has no file of its own
        files[folder / SCENARIO_FILE] = result.scenario.to_toml().encode()
    write_all(files, _ELSEWHERE)
    result.folder = folder


def run(
    path: Path | str | Scenario,
    engine: str = "live",
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: Path | str | None = None,
    pcap: bool = False,
    execute: Execute | None = None,
    report: Callable[[Any], None] = lambda _: None,
    on_outcome: OnOutcome = lambda _: None,
    watched: bool = False,
    label: str | None = None,
) -> Result:
    """Runs all labels and seeds of a scenario and saves the result (default: out/NAME).

    `report` is told where a run stands (rocelab.progress.Progress), `on_outcome` of each run that ended. `execute` drives
    one plan; without it the engine does. `watched`: somebody reads event files while runs last. `label`: only that one. What ends the whole thing early is raised
    after saving what there is.
    """
    if engine not in ENGINES:
        raise RocelabError(f"engine {engine!r} does not exist; use {' or '.join(ENGINES)}")
    more = tuple(overrides) if seed is None else (*overrides, f"seeds=[{seed}]")
    if isinstance(path, Scenario):
        scenario = with_overrides(path, more) if more else path
    else:
        scenario = read_scenario(path, more)
    if label is not None:
        scenario = only_label(scenario, label)
    plans = make_plans(scenario)
    if not any(p.flows for p in plans):
        raise RocelabError(
            f"{scenario.file}: no [[workload]], so there is nothing to run; `./rocelab up` keeps its topology for programs"
        )
    folder = Path(out) if out is not None else Path("out") / scenario.name
    check_writable(folder, _ELSEWHERE)
    outcomes: list[RunOutcome] = []
    try:
        replays = any(plan.native.original for plan in plans)
        with _driver(engine, execute, folder, pcap, report, watched, replays) as drive:
            for plan in plans:
                outcomes.append(drive(plan))
                on_outcome(outcomes[-1])
    except BaseException:
        if outcomes:
            save(Result(scenario, tuple(outcomes), len(plans), engine), folder)
        raise
    result = Result(scenario, tuple(outcomes), len(plans), engine)
    save(result, folder)
    return result


@contextmanager
def _driver(
    engine: str,
    execute: Execute | None,
    folder: Path,
    pcap: bool,
    report: Callable[[Any], None],
    watched: bool,
    replays: bool,
) -> Iterator[Execute]:
    if execute is not None:
        yield execute
        return
    if engine == "des":
        from rocelab.des import ranks
        from rocelab.des.engine import DesEngine

        with scratch_folder() if replays else nullcontext() as scratch:
            recordings = Recordings(scratch) if scratch is not None else None
            virtual = DesEngine(report, ranks=ranks.joined(), watched=watched, recordings=recordings)
            yield lambda plan: virtual.execute(plan, folder, pcap)
        return
    from rocelab.live.engine import LiveEngine

    with LiveEngine(report, watched) as live:
        yield lambda plan: live.execute(plan, folder, pcap)
