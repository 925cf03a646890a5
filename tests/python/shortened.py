"""Shipped scenarios, whatever is in them, made short and crowded: each of their schemes meets what it is for within some ten thousand frames."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import native
from rocelab.errors import RocelabError
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.points import points_of

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("scenarios", "tests/same/scenarios")
_SEED = 1
_LOAD = "0.9"  # of Poisson arrivals, and so many of them
_FLOWS = 1200
_MOST_GROUPS = 4  # of arrivals that have as many each; where there are more, they share them
_EVERY = "20us"  # between flows of the network, where a scenario says that in place of a load
_RPCS = "300us"  # in which clients of an open loop send requests
_LATEST_PS = 10**9  # starts and link events that are later come earlier, in proportion
_BUFFERS = ("switch.lossless_buffer", "switch.lossy_buffer", "switch.input_buffer", "switch.shared_pool")
_SMALLEST_BUFFER = 60_000  # some frames above the headroom of a link of 40 Gb/s and 2 us
# What tells the cases of a label apart, but no transport, congestion control or mechanism of switches.
_SURROUNDINGS = ("workload.", "topology.", "engine.", "timers.rto_", *_BUFFERS)


@dataclass(frozen=True)
class Short:
    """One label of a scenario, to be read with the overrides."""

    file: str
    overrides: tuple[str, ...]
    label: str
    seed: int
    key: str  # equal keys, equal runs, whichever file they come from
    parameters: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.file} {self.label}"

    @property
    def congestion_control(self) -> str:
        return _text(self.parameters["congestion_control.name"])

    def plan(self, seed: int, *more: str) -> Any:
        return plan_of(read_scenario(ROOT / self.file, (*self.overrides, *more)), self.label, seed)


def shipped() -> list[str]:
    """A new folder is taken up by itself."""
    files = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.toml"))
    return sorted(str(path.relative_to(ROOT)) for path in files)


def shortened(file: str) -> list[Short]:
    """The first case of all labels of a scenario that differ by more than their surroundings."""
    settings = [dict(s["parameters"]) for s in read_scenario(ROOT / file).native.settings]
    crowded = tuple(_crowded(settings[0]))
    for part in (4, 2, 1):  # where headroom or thresholds need more, less is taken away
        overrides = (*crowded, *_smaller_buffers(settings, part))
        try:
            return _schemes(file, overrides)
        except RocelabError as e:
            refused = e
    raise refused


def _schemes(file: str, overrides: tuple[str, ...]) -> list[Short]:
    scenario, points = points_of(ROOT / file, overrides, [_SEED])
    found: dict[str, Short] = {}
    for settings, point in zip(scenario.native.settings, points, strict=True):
        parameters = dict(settings["parameters"])
        short = Short(file, overrides, point.label, _SEED, point.key, parameters)
        if found.setdefault(_scheme(parameters), short) is short:
            short.plan(_SEED)  # raises when a switch cannot be as small
    return list(found.values())


def _scheme(parameters: dict[str, str]) -> str:
    kept = {k: v for k, v in parameters.items() if not k.startswith(_SURROUNDINGS)}
    if kept["irn.bdp_cap"] != "0":
        kept["irn.bdp_cap"] = "by rate"
    return repr(kept)


def _crowded(parameters: dict[str, str]) -> Iterator[str]:
    yield "engine.warmup=0us"
    late = {}
    groups = sum(re.fullmatch(r"workload\.[^.]+\.load", key) is not None for key in parameters)
    flows = _FLOWS if groups <= _MOST_GROUPS else _FLOWS // groups
    if _text(parameters["slack.law"]) != "none":  # networks of 100 hosts, and replays, which run twice
        flows //= 4
    for key, value in parameters.items():
        if re.fullmatch(r"workload\.[^.]+\.(flow\.\d+\.)?start|link_event\.\d+\.at", key):
            late[key] = native.module().parse_duration_ps(_text(value))
        elif re.fullmatch(r"workload\.[^.]+\.kind", key) and _text(value) == "closed-loop":
            yield from _few_connections(key.removesuffix(".kind"), parameters)
        elif re.fullmatch(r"workload\.[^.]+\.load", key):
            group = key.removesuffix(".load")
            rate = f"{group}.every={_EVERY}" if _text(value) == "none" else f"{key}={_LOAD}"
            if _text(parameters[f"{group}.kind"]) != "rpc":
                yield from (rate, f"{group}.overload=true", f"{group}.flows={flows}")
            elif _text(parameters[f"{group}.duration"]) != "none":  # an open loop
                yield from (f"{group}.duration={_RPCS}", f"{group}.overload=true")
                if _text(value) != "none":
                    yield rate
    latest = max(late.values(), default=0)
    if latest > _LATEST_PS:
        yield from (f"{key}={at * _LATEST_PS // latest}ps" for key, at in late.items() if at)


def _few_connections(group: str, parameters: dict[str, str]) -> Iterator[str]:
    """Of a closed loop with many: four senders and two receivers, without long pauses."""
    senders, receivers = (
        json.loads(parameters.get(f"{group}.{ends}", "[]")) for ends in ("senders", "receivers")
    )
    if len(senders) * len(receivers) > 8:
        yield from (
            f"{group}.senders={json.dumps(senders[:4])}",
            f"{group}.receivers={json.dumps(receivers[:2])}",
        )
        yield from (f"{group}.think={_EVERY}", f"{group}.jitter={_EVERY}")


def _smaller_buffers(settings: list[dict[str, str]], part: int) -> Iterator[str]:
    """Of those that no label and no case is about, to no less than marking needs. An original that is replayed must lose nothing."""
    if any(parameters["slack.law"].startswith('"replay') for parameters in settings):
        return
    size = native.module().parse_bytes
    marking = max(size(_text(parameters["switch.ecn.kmin"])) for parameters in settings)
    least = max(_SMALLEST_BUFFER, 2 * marking)
    for key in _BUFFERS:
        values = {_text(parameters[key]) for parameters in settings}
        if len(values) == 1 and (now := size(values.pop())) > least:
            yield f"{key}={max(now // part, least)}B"


def _text(value: str) -> str:
    return value.strip('"')


# --- what is to happen in a run, and what has happened ------------------------------------------------------------------


def wanted(short: Short) -> set[str]:
    """What the scheme can have where it is crowded."""
    p, control = short.parameters, short.congestion_control
    words = set()
    if p["pfc"] == "true":
        words |= {"pauses"}
    elif control not in ("dctcp", "bfc"):
        words |= {"drops", "retransmissions", "timeouts"}
        if control == "aimd":  # a loss in a flow of few packets leaves its window wide enough
            words |= {"many repairs"}
    words |= {
        "dcqcn": {"marks", "cuts"},
        "dcqcn-pi": {"marks", "cuts"},
        "dctcp": {"marks"},
        "rocc": {"fair rates"},
        "p4qcn": {"fair rates"},
        "p4qcn3": {"marks", "cuts"},
        "qcn": {"fair rates"},
        "bfc": {"queue pauses"},
    }.get(control, set())
    for key, word in (
        ("switch.escape.enabled", "escapes"),
        ("switch.loop_breaker.enabled", "broken loops"),
    ):
        if p[key] == "true":
            words.add(word)
    if _text(p["switch.pfc.watchdog.period"]) != "off":
        words.add("storms")
    if "link_event.0.at" in p:
        words.add("losses on failed links")
    return words


def totals(run: Any) -> Counter[str]:
    """Every counter, summed over hosts and ports."""
    found: Counter[str] = Counter()
    for counters in (*run.hosts.values(), *run.ports.values()):
        found.update(counters)
    return found


def happened(counters: Counter[str]) -> set[str]:
    def any_of(*starts: str) -> bool:
        return any(v for k, v in counters.items() if k.startswith(starts))

    words = {
        "pauses": any_of("xoff_sent"),
        "drops": any_of("data_drops", "link_out_lost_data"),
        "retransmissions": any_of("retransmitted_packets"),
        "timeouts": any_of("rto_low_timeouts", "rto_high_timeouts", "read_responder_timeouts"),
        "many repairs": counters["retransmitted_packets"] - counters["timeout_retransmissions"] >= 100,
        "marks": any_of("ecn_marked"),
        "cuts": any_of("rp_cnp_handled"),
        "fair rates": any_of("rp_fair_rates_handled"),
        "queue pauses": any_of("rx_queue_pauses"),
        "escapes": any_of("escaped_frames"),
        "broken loops": any_of("loops_broken"),
        "storms": any_of("pfc_storms"),
        "losses on failed links": any_of("link_out_down"),
    }
    return {word for word, yes in words.items() if yes}
