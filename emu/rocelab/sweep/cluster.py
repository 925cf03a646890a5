"""Points over a Dask cluster: a scheduler and workers that were started beforehand (docs/tutorial/sweeps.md), with the same work tree on each machine.

A worker runs a point in a process of its own, so that a crash is the point's failure and not the worker's."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rocelab.errors import RocelabError
from rocelab.sweep.local import Ended
from rocelab.sweep.points import Point, check_same
from rocelab.sweep.store import PointStore
from rocelab.sweep.work import PointResult, execute

_CONNECT_S = 10
_TICK_S = 0.5
_PACKAGE = Path(__file__).resolve().parents[2]


def run_cluster(
    address: str,
    points: Sequence[Point],
    store: PointStore,
    on_tick: Callable[[Sequence[Point]], None],
    on_ended: Callable[[Ended], None],
) -> None:
    """As run_local(). The store is here; workers send results over the network."""
    from distributed import Client, wait

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as e:
        raise RocelabError(
            f"--cluster {address}: no Dask scheduler answers; start one with: dask-scheduler"
        ) from e
    with client:
        if not client.scheduler_info()["workers"]:
            raise RocelabError(
                f"--cluster {address}: the scheduler has no workers; start some with: PYTHONPATH=emu dask-worker {address} --nworkers 2 --nthreads 1"
            )
        futures = {client.submit(_on_worker, dataclasses.asdict(p), pure=False): p for p in points}
        try:
            while futures:
                on_tick(list(futures.values()))
                try:
                    done, _ = wait(list(futures), timeout=_TICK_S, return_when="FIRST_COMPLETED")
                except TimeoutError:
                    continue
                for future in done:
                    on_ended(_ended(future, futures.pop(future), store))
        finally:
            client.cancel(list(futures))


def _ended(future: object, point: Point, store: PointStore) -> Ended:
    error = future.exception()  # type: ignore[attr-defined]
    if error is not None:
        return Ended(point, f"{type(error).__name__}: {error}")
    status, content = future.result()  # type: ignore[attr-defined]
    if status != "done":
        return Ended(point, content)
    store.put(point, PointResult(**content))
    return Ended(point)


def _on_worker(fields: dict[str, object]) -> tuple[str, object]:
    """Runs on a worker: ("done", fields of a PointResult) or ("failed", why)."""
    environment = {**os.environ, "PYTHONPATH": str(_PACKAGE)}
    argv = [sys.executable, "-m", "rocelab.sweep.cluster"]
    done = subprocess.run(argv, input=json.dumps(fields).encode(), capture_output=True, env=environment)
    if done.returncode == 0:
        result: tuple[str, object] = pickle.loads(done.stdout)
        return result
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    how = (
        f"ended by signal {-done.returncode}"
        if done.returncode < 0
        else f"ended with status {done.returncode}"
    )
    return "failed", f"{how}: {lines[-1]}" if lines else how


def _answer(fields: dict[str, object]) -> tuple[str, object]:
    fields["overrides"] = tuple(fields["overrides"])  # type: ignore[arg-type]
    point = Point(**fields)  # type: ignore[arg-type]
    try:
        check_same(point)
        result = execute(point)
    except RocelabError as e:
        return "failed", str(e)
    return "done", {"run": result.run, "flows": result.flows}


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(_answer(json.load(sys.stdin))))
