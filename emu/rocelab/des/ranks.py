"""One run over several processes, on one machine or several, as mpirun starts them: `mpirun -n 4 ./rocelab run SCENARIO --engine des`. Each process makes the same
plans and runs some of the parts of each network; the first one gathers what they found, and alone prints and writes results. Captures are written by the process
that has the switch."""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rocelab import native
from rocelab.errors import RocelabError, UsageError

# How launchers tell a process how many there are: Open MPI, MPICH and its relatives, Slurm's own.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_LATE_S = 0.5  # what is wrong everywhere is said by the first process


@dataclass
class Found:
    """What a process knows of a run when it is over: the parts of it that ran there."""

    flows: list[dict[str, Any]]
    hosts: dict[str, dict[str, int]]
    ports: dict[str, dict[str, int]]
    policies: dict[str, str]
    node_digests: dict[int, bytes]
    events: Mapping[str, np.ndarray[Any, Any]]
    records: int
    late_frames: int
    complete: bool
    rounds: int
    now_ps: int
    processes: list[dict[str, float]]  # of mpirun, by rank: wall_s, waited_s, sent_bytes

    @classmethod
    def of(
        cls, run: Any, events: Mapping[str, np.ndarray[Any, Any]], processes: list[dict[str, float]]
    ) -> Found:
        rest = {f.name: getattr(run, f.name) for f in fields(cls) if f.name not in ("events", "processes")}
        return cls(events=events, processes=processes, **rest)


def merged(parts: list[Found]) -> Found:
    """Of all processes: a node's results are where it ran, an end of a flow is where its host is."""
    first = parts[0]
    ports = first.ports
    for part in parts[1:]:
        for name, counts in part.ports.items():  # another process's are zeros
            ports[name] = {key: ports[name][key] + value for key, value in counts.items()}
    return Found(
        flows=[_merged_flow(ends) for ends in zip(*(p.flows for p in parts), strict=True)],
        hosts={name: counts for p in parts for name, counts in p.hosts.items()},
        ports=ports,
        policies={name: text for p in parts for name, text in p.policies.items()},
        node_digests=dict(sorted(pair for p in parts for pair in p.node_digests.items())),
        events={name: records for p in parts for name, records in p.events.items()},
        records=sum(p.records for p in parts),
        late_frames=sum(p.late_frames for p in parts),
        complete=first.complete,
        rounds=first.rounds,
        now_ps=first.now_ps,
        processes=[process for p in parts for process in p.processes],
    )


def _merged_flow(ends: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Each field is set at one end, but for the status, of which the source's comes first."""
    flow = {key: next((end[key] for end in ends if end[key]), ends[0][key]) for key in ends[0]}
    times = [key for key in flow if key.endswith("_ps")]
    flow |= {key: next((end[key] for end in ends if end[key] is not None), None) for key in times}
    flow |= {key: max(end[key] for end in ends) for key in ("latency_sum_ps", "latency_max_ps")}
    statuses = [end["status"] for end in sorted(ends, key=lambda end: not end["has_source"])]
    return flow | {"status": next((status for status in statuses if status), 0)}


class Ranks:
    """This process among those that mpirun has started."""

    def __init__(self, size: int) -> None:
        self._peers = _module().MpiPeers()
        atexit.register(self.close)
        if self._peers.ranks != size:
            raise UsageError(
                f"{size} processes were started, but not by the Open MPI that rocelab is built with (mpirun.openmpi): they do not know of each other"
            )

    @property
    def peers(self) -> Any:
        return self._peers

    @property
    def first(self) -> bool:
        return int(self._peers.rank) == 0

    def used(self) -> dict[str, float]:
        """What this process has spent on the others so far."""
        return {"waited_s": self._peers.waited_s, "sent_bytes": self._peers.sent_bytes}

    def close(self) -> None:
        self._peers.close()

    def abort(self, error: str, status: int) -> NoReturn:
        """Ends all processes, with one line that says why."""
        if not self.first:
            time.sleep(_LATE_S)
        print(f"rocelab: error: process {self._peers.rank}: {error}", file=sys.stderr, flush=True)
        self._peers.abort(status)
        raise AssertionError("MPI_Abort has returned")

    def check_same(self, what: str) -> None:
        """Raises where another process would run something else."""
        mine = hashlib.sha256(what.encode()).digest()
        theirs = self._peers.exchange([mine] * self._peers.ranks)
        others = [rank for rank, digest in enumerate(theirs) if rank != self._peers.rank and digest != mine]
        if others:
            raise RocelabError(
                f"processes {', '.join(map(str, others))} have another build of rocelab or another scenario: give all machines the same work tree and the same arguments"
            )

    def gathered(self, found: Found) -> Found | None:
        """All of the run at the first process, None at the others."""
        nothing = [b""] * self._peers.ranks
        if not self.first:
            self._peers.exchange([pickle.dumps(found), *nothing[1:]])
            return None
        answers = self._peers.exchange(
            nothing
        )  # pickles of our own processes, which check_same() has compared
        return merged([found, *(pickle.loads(answer) for answer in answers[1:])])


@functools.cache
def joined() -> Ranks | None:
    """None: no mpirun has started this process, or it alone."""
    size = next((int(text) for name in _SIZES[:2] if (text := os.environ.get(name, "")).isdecimal()), 1)
    return Ranks(size) if size > 1 else None


def run(
    ranks: Ranks,
    scenario: Path,
    label: str | None,
    seed: int | None,
    pcap: bool,
    overrides: tuple[str, ...],
    out: Path | None,
    first: Callable[[], int],
) -> int:
    """`./rocelab run` of one of several processes: `first()` is what the first one does. Whatever goes wrong in one of them ends all."""
    from rocelab.des.engine import DesEngine
    from rocelab.labels import only_label, read_label
    from rocelab.scenario import bare_plans
    from rocelab.sweep.points import points_of

    try:
        points = points_of(scenario, overrides, () if seed is None else (seed,))[1]
        ranks.check_same(" ".join((*(point.key for point in points), str(label), str(pcap))))
        if ranks.first:
            return first()
        read = read_label(scenario, overrides if seed is None else (*overrides, f"seeds=[{seed}]"), label)
        if label is not None:
            read = only_label(read, label)
        engine = DesEngine(ranks=ranks)
        for plan in bare_plans(read):
            ranks.gathered(engine.run(plan, out or Path("out") / read.name, pcap)[0])
        return 0
    except UsageError as e:
        ranks.abort(str(e), 2)
    except Exception as e:
        ranks.abort(str(e), 1)


def _module() -> Any:
    native.module()  # has the classes that it builds on
    folder = native.build_directory() / "emu" / "mpi"
    fitting = [folder / f"_rocelab_mpi{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    found = next((file for file in fitting if file.exists()), None)
    if found is None:
        raise RocelabError(
            "this build knows no MPI: `apt-get install libopenmpi-dev`, then `./rocelab setup`, and repeat the command"
        )
    spec = importlib.util.spec_from_file_location("_rocelab_mpi", found)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
