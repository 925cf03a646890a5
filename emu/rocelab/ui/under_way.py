"""A run that is under way, up to the present: the overview of its ports, from what its event files have gained since the last look.

Only files of switches are read. What a host sends its switch receives; that a host is paused its switch's XOFF and XON say.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rocelab import native
from rocelab.model import TRACE_DTYPE, Array
from rocelab.ui.network import links_of, nodes_of

_MOST_BINS = 200
_MOST_CELLS = 400_000  # ports times stretches of time
_MOST_READ = 1 << 26  # bytes of one file a look: a run that writes faster is shown a little late
_MOST_NETWORK = 1 << 28
_NODE_COLUMNS = ("node", "is_host", "x", "y")
_COLUMNS = ("bytes", "queue", "paused", "drops", "marks")


class RunUnderWay:
    """Asked by several threads; one looks at a time."""

    def __init__(self, file: Path) -> None:
        """`file`: of `./rocelab run --watch`."""
        self._file = file
        self._lock = threading.Lock()
        self._stamp = 0
        self._glance: Glance | None = None

    def look(self, progress: Mapping[str, Any] | None) -> dict[str, Any]:
        """As network.network() gives it, up to the last flush that `progress` tells; `nodes` empty: nothing is known yet."""
        with self._lock:
            return self._look(progress or {})

    def _look(self, progress: Mapping[str, Any]) -> dict[str, Any]:
        try:
            stamp = self._file.stat().st_mtime_ns
            if stamp != self._stamp:
                found = (
                    json.loads(self._file.read_text()) if self._file.stat().st_size < _MOST_NETWORK else {}
                )
                self._glance = Glance(found) if found else None
                self._stamp = stamp
        except (OSError, ValueError):  # the run has ended meanwhile
            self._glance = None
        if self._glance is None:
            return {"nodes": []}
        mine = (progress.get("label"), progress.get("seed")) == (self._glance.label, self._glance.seed)
        until = int(progress.get("flushed_ps", -1)) if mine else -1
        if until >= 0:
            self._glance.read(until)
        return self._glance.answer()


class Glance:
    def __init__(self, found: Mapping[str, Any]) -> None:
        self.label, self.seed = str(found["label"]), int(found["seed"])
        self._head = {"run": found["run"], "label": self.label, "seed": self.seed, "error": None}
        self._sample_ps = int(found["sample_ps"])
        nodes = [(node, is_host, x, y) for _, node, is_host, _, _, x, y in found["nodes"]]
        rows = [row[1:] for row in found["ports"]]
        self._nodes = nodes_of(nodes)
        self._links = links_of(
            [(p, n, peer, pp, rate, delay, xoff) for p, n, _, peer, pp, rate, delay, xoff, _ in rows]
        )
        index = {link["port"]: i for i, link in enumerate(self._links)}
        traces = Path(found["traces"])
        self._switches: dict[str, _Switch] = {}
        for port, node, number, peer, peer_port, *_ in rows:
            switch = self._switches.setdefault(node, _Switch(traces / f"{node}.events"))
            switch.add(number, index[port], index[peer] if peer_port is None else -1)
        for switch in self._switches.values():
            switch.begin()
        bins = max(20, min(_MOST_BINS, _MOST_CELLS // max(1, len(self._links))))
        self._sums = Sums(len(self._links), bins, max(1, self._sample_ps))
        self._until = 0

    def read(self, until: int) -> None:
        for switch in self._switches.values():
            switch.read(self._sums, until)
        for switch in self._switches.values():
            switch.hold(self._sums, until)
        self._until = max(self._until, until)

    def answer(self) -> dict[str, Any]:
        notes = ["this run takes no samples (engine.sample_interval is 0): queues and rates are unknown"]
        return {
            **self._head,
            "end_ps": self._until,
            "bin_ps": self._sums.width,
            "bins": self._until // self._sums.width + 1,
            "nodes": self._nodes,
            "links": self._links,
            "frames": self._sums.frames(self._until),
            "deadlocks": [],
            "notes": notes if self._sample_ps == 0 else [],
        }


class Sums:
    """By port and stretch of time: wire bytes, longest queue, time paused by class, frames dropped and marked. When time outgrows the
    stretches, two become one."""

    def __init__(self, ports: int, bins: int, width: int) -> None:
        self.width = width
        self._ports, self._bins = ports, bins
        self._tables: dict[str, Array] = {}

    def add(self, name: str, ports: Array, times: Array, amounts: Array | int) -> None:
        """Each amount at an instant."""
        if len(times):
            self._fit(int(times.max()))
            np.add.at(self._table(name), (ports, times // self.width), amounts)

    def hold(self, ports: Array, begins: Array, ends: Array, values: Array) -> None:
        """A queue's length from `begins` to `ends`: the longest of each stretch stays."""
        which, bins, _ = self._spread(begins, ends)
        np.maximum.at(self._table("queue"), (ports[which], bins), values[which])

    def pause(self, tc: int, ports: Array, begins: Array, ends: Array) -> None:
        which, bins, inside = self._spread(begins, ends)
        np.add.at(self._table(f"paused {tc}"), (ports[which], bins), inside)

    def frames(self, until: int) -> dict[str, list[Any]]:
        """As of the table `overview`: columns of the rows that are not all 0, `paused` in thousandths of the stretch, the present one's as well."""
        count = min(self._bins, until // self.width + 1)
        paused = [table for name, table in self._tables.items() if name.startswith("paused")]
        most = np.max(paused, axis=0) if paused else np.zeros((self._ports, self._bins), dtype=np.int64)
        tables = {name: self._table(name)[:, :count].T for name in ("bytes", "queue", "drops", "marks")}
        tables["paused"] = np.minimum(1000, most[:, :count].T * 1000 // self.width)
        bins, ports = np.nonzero(np.any(list(tables.values()), axis=0))
        return {
            "bin": bins.tolist(),
            "port": ports.tolist(),
            **{name: tables[name][bins, ports].tolist() for name in _COLUMNS},
        }

    def _table(self, name: str) -> Array:
        return self._tables.setdefault(name, np.zeros((self._ports, self._bins), dtype=np.int64))

    def _fit(self, until: int) -> None:
        while until >= self._bins * self.width:
            self.width *= 2
            for name, table in self._tables.items():
                even = table if self._bins % 2 == 0 else np.pad(table, ((0, 0), (0, 1)))
                pairs = even.reshape(self._ports, -1, 2)
                joined = pairs.max(axis=2) if name == "queue" else pairs.sum(axis=2)
                self._tables[name] = np.pad(joined, ((0, 0), (0, self._bins - joined.shape[1])))

    def _spread(self, begins: Array, ends: Array) -> tuple[Array, Array, Array]:
        """For each stretch that each span touches: index of the span, of the stretch, and how long it is inside."""
        if len(begins) == 0:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty
        self._fit(int(ends.max()))
        first = begins // self.width
        counts = np.maximum(first, (ends - 1) // self.width) - first + 1
        which = np.repeat(np.arange(len(begins)), counts)
        bins = first[which] + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        inside = np.minimum(ends[which], (bins + 1) * self.width) - np.maximum(
            begins[which], bins * self.width
        )
        return which, bins, inside


class _Switch:
    """What is read of one event file, and what holds at its end."""

    def __init__(self, file: Path) -> None:
        self._file, self._read = file, 0
        self._port = _grown(0)  # by number of the port: its index among the links
        self._host = _grown(0)  # of the host at its other end; -1: none
        self._kinds = {name: number for number, (name, _) in enumerate(native.runner.TRACE_KINDS)}

    def add(self, number: int, port: int, host: int) -> None:
        self._port, self._host = (_grown(number + 1, values) for values in (self._port, self._host))
        self._port[number], self._host[number] = port, host

    def begin(self) -> None:
        """All ports are known."""
        ports = len(self._port)
        self._carried = np.zeros(2 * ports, dtype=np.int64)  # by port and direction: bytes so far
        self._queue = np.zeros(8 * ports, dtype=np.int64)  # by port and class
        self._known = np.zeros(8 * ports, dtype=np.int64)  # up to here, of these
        self._since = _grown(
            16 * ports
        )  # by port, whether its host is meant, and class: paused since, or known up to; -1: is not

    def read(self, sums: Sums, until: int) -> None:
        """New records up to this time."""
        records = self._new(until)
        records = records[records["port"] < len(self._port)]
        of = {name: records[records["kind"] == kind] for name, kind in self._kinds.items() if name in _READ}
        for kind, name in (("drop", "drops"), ("mark", "marks")):
            sums.add(name, self._port[of[kind]["port"]], of[kind]["time_ps"], 1)
        self._add_carried(of["carried"], sums)
        self._add_samples(of["sample"], sums)
        first, last = self._kinds["xoff"], self._kinds["resumed"]
        self._add_pauses(records[(records["kind"] >= first) & (records["kind"] <= last)], sums)

    def _new(self, until: int) -> Array:
        try:
            with self._file.open("rb") as file:
                file.seek(self._read)
                content = file.read(_MOST_READ)
        except OSError:  # not made yet, or gone with its run
            content = b""
        records = np.frombuffer(content, TRACE_DTYPE, len(content) // TRACE_DTYPE.itemsize)
        known = int(np.searchsorted(records["time_ps"], until, side="right"))
        self._read += known * TRACE_DTYPE.itemsize
        return records[:known]

    def _add_carried(self, records: Array, sums: Sums) -> None:
        """Of a count that holds until its next record; one of an instant counts what was carried before it."""
        keys = records["port"].astype(np.int64) * 2 + records["mark"]
        records, keys = _sorted(records, keys)
        counts = records["bytes"].astype(np.int64)
        amounts = counts - _before(keys, counts, self._carried)
        self._carried[keys] = counts  # the last of each key stays
        index = np.where(records["mark"] == 0, self._port[records["port"]], self._host[records["port"]])
        there = index >= 0
        sums.add("bytes", index[there], np.maximum(0, records["time_ps"] - 1)[there], amounts[there])

    def _add_samples(self, records: Array, sums: Sums) -> None:
        """Of a length that holds until its next record."""
        records, keys = _sorted(records, records["port"].astype(np.int64) * 8 + records["psn"])
        lengths, times = records["bytes"].astype(np.int64), records["time_ps"].astype(np.int64)
        ports = self._port[records["port"]]
        since, held = _before(keys, times, self._known), _before(keys, lengths, self._queue)
        self._queue[keys], self._known[keys] = lengths, times
        more = held > 0
        sums.hold(ports[more], since[more], times[more], held[more])
        sums.hold(ports, times, times + 1, lengths)

    def _add_pauses(self, records: Array, sums: Sums) -> None:
        """`mark` is the class; XOFF and XON are for the host at the port's other end."""
        told = (records["kind"] == self._kinds["xoff"]) | (records["kind"] == self._kinds["xon"])
        there = ~told | (self._host[records["port"]] >= 0)
        records, told = records[there], told[there]
        keys = (records["port"].astype(np.int64) * 2 + told) * 8 + records["mark"]
        records, keys = _sorted(records, keys)
        on = (records["kind"] == self._kinds["xoff"]) | (records["kind"] == self._kinds["paused"])
        changes = on != _before(keys, on, self._since >= 0)
        times, keys, on = records["time_ps"][changes].astype(np.int64), keys[changes], on[changes]
        since = _before(keys, times, self._since)
        self._since[keys] = np.where(on, times, -1)
        self._pause(sums, keys[~on], since[~on], times[~on])

    def hold(self, sums: Sums, until: int) -> None:
        """What holds at the end goes on to `until`."""
        keys = np.flatnonzero((self._queue > 0) & (self._known < until))
        ends = np.full(len(keys), until, dtype=np.int64)
        sums.hold(self._port[keys // 8], self._known[keys], ends, self._queue[keys])
        self._known[keys] = until
        keys = np.flatnonzero((self._since >= 0) & (self._since < until))
        self._pause(sums, keys, self._since[keys], np.full(len(keys), until, dtype=np.int64))
        self._since[keys] = until

    def _pause(self, sums: Sums, keys: Array, begins: Array, ends: Array) -> None:
        numbers, at_host = keys // 16, keys // 8 % 2 == 1
        index = np.where(at_host, self._host[numbers], self._port[numbers])
        for tc in np.unique(keys % 8).tolist():
            mine = keys % 8 == tc
            sums.pause(tc, index[mine], begins[mine], ends[mine])


_READ = ("carried", "sample", "drop", "mark")


def _grown(size: int, values: Array | None = None) -> Array:
    """At least so long; what is new is -1."""
    known = np.zeros(0, dtype=np.int64) if values is None else values
    return np.concatenate([known, np.full(max(0, size - len(known)), -1, dtype=np.int64)])


def _sorted(records: Array, keys: Array) -> tuple[Array, Array]:
    """By key; those of one key stay in the order of time."""
    order = np.argsort(keys, kind="stable")
    return records[order], keys[order]


def _before(keys: Array, values: Array, at_first: Array) -> Array:
    """Of sorted keys: the value before each of the same key; of the first of a key what `at_first` has for it."""
    found: Array = np.roll(values, 1)
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    found[first] = at_first[keys[first]]
    return found
