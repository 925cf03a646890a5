"""What a scenario resolves to, and what a run gives back: frozen values that know nothing of how a run is driven.

The first half mirrors emu/runner (C++ reads and resolves scenarios; Python only looks). The second half is the contract
between whoever drives a run (rocelab.live) and whoever judges it (rocelab.results): a driver fills one RunOutcome per plan.
Times are integers of picoseconds of experiment time, rates bits per second, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SCENARIO_FILE = "scenario.toml"  # in the folder of a result whose scenario was made by a program

# base/trace.h, TraceRecord: 32 bytes, little-endian, as the event files hold it.
TRACE_DTYPE = np.dtype(
    [
        ("time_ps", "<i8"),
        ("kind", "u1"),
        ("mark", "u1"),
        ("port", "<u2"),
        ("flow", "<u4"),
        ("bytes", "<u8"),
        ("psn", "<u4"),
        ("peer", "<u4"),
    ]
)


@dataclass(frozen=True)
class Parameter:
    key: str
    value: str


@dataclass(frozen=True)
class HostPlan:
    name: str
    ipv4: str
    ipv6: str
    mac: str
    node: int
    port: int  # index into RunPlan.ports: the switch port that the host hangs on
    number: int = 0  # of the node in other simulators' files
    nic: int = 0  # of a host with several NICs, each of which is one of these: its number
    plane: int = 0  # equal for NICs between which there is a way

    @property
    def machine(self) -> str:
        """The host's name: "h3" of the NIC "h3.1"."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class PortPlan:
    interface: str
    switch: str
    port_id: int  # within the switch; OpenFlow number port_id + 1
    peer: str  # name of a host, or interface of another switch's port
    peer_is_host: bool
    rate_bps: int
    delay_ps: int
    buffer: int  # limits in bytes; 0 where the port has no lossless class
    headroom: int
    xoff: int
    xon: int


@dataclass(frozen=True)
class SwitchPlan:
    name: str
    node: int
    ports: tuple[int, ...]  # indices into RunPlan.ports
    openflow: tuple[str, ...]  # lines for `ovs-ofctl add-flows`
    number: int = 0  # of the node in other simulators' files


@dataclass(frozen=True)
class RouteChange:
    """From `at_ps` on the switches named have these rules and no others."""

    at_ps: int
    openflow: Mapping[str, tuple[str, ...]]  # by switch, lines for `ovs-ofctl add-flows`


@dataclass(frozen=True)
class FlowPlan:
    id: int
    group: str
    src: str
    dst: str
    op: str
    size: int
    message_size: int
    start_ps: int
    qps: int
    packets: int
    alone_ps: int  # completion time on an idle network
    dst_port: int = 100  # in other simulators' files: 200 an incast's, 100 others
    service: str = "rc"
    request: int = (
        0  # of a periodic incast: which one; of a collective: which iteration and group; which RPC; from 0
    )
    step: int = 0  # of a collective, from 0; of an RPC: 0 of the request, 1 of the response
    is_stream: bool = False  # open loop: it takes as long as it says, and has no FCT


@dataclass(frozen=True)
class RunPlan:
    scenario: str
    label: str
    seed: int
    mode: str  # "roce" | "irn"
    pfc: bool
    hosts: tuple[HostPlan, ...]
    switches: tuple[SwitchPlan, ...]
    ports: tuple[PortPlan, ...]
    flows: tuple[FlowPlan, ...]
    route_changes: tuple[RouteChange, ...]  # in the order of time
    parameters: tuple[Parameter, ...]
    expected_participants: int
    path_mtu: int
    wire_mtu: int
    verbs_timeout: int
    verbs_retry_cnt: int
    lookahead_ps: int
    base_rtt_ps: int
    bdp_cap: int
    limit_ps: int  # experiment time after which an unfinished run is ended
    sample_interval_ps: int
    clock: str  # "lockstep" | "wall"
    dilation: float  # of the wall clock: its seconds per second of experiment
    native: Any = field(repr=False, compare=False)  # _rocelab.RunPlan, for create_segment() and measure()

    @property
    def machines(self) -> tuple[str, ...]:
        """The hosts: `hosts` has an entry for each of their NICs."""
        return tuple(dict.fromkeys(h.machine for h in self.hosts))

    @property
    def nics_per_host(self) -> int:
        return len(self.hosts) // len(self.machines)

    @property
    def name(self) -> str:
        """Folder-safe name of the run, for example `roce+pfc-seed3`."""
        return f"{self.label}-seed{self.seed}"


@dataclass(frozen=True)
class Comparison:
    """Ratio of a metric's means between two labels, beside the paper's (NaN: it gives none)."""

    of: str
    over: str
    metric: str
    paper: float


@dataclass(frozen=True)
class Scenario:
    """What is to be run, read and checked. It does not change: with_set() makes another one."""

    name: str
    title: str
    file: str
    labels: tuple[str, ...]
    seeds: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]  # what is allowed, and hardly meant, each with its place
    native: Any = field(repr=False, compare=False)
    overrides: tuple[str, ...] = ()  # of --set: `key=value`
    text: str | None = field(
        default=None, repr=False
    )  # of one without a file; `file` then is its name in messages

    @staticmethod
    def load(path: Path | str, *, set: Mapping[str, Any] | None = None) -> Scenario:
        """Reads a TOML file. `set`: values by dotted key, as of with_set(). Raises ScenarioError with the place of a mistake."""
        from rocelab import document, scenario

        return scenario.read_scenario(path, document.overrides_of(set or {}))

    @staticmethod
    def from_dict(data: Mapping[str, Any], *, folder: Path | str = ".") -> Scenario:
        """Of tables, lists and values as a file has them (docs/reference/scenarios.md). Files that it names lie in `folder`."""
        from rocelab import document, scenario

        name = str(data.get("name", "scenario")).replace("/", "_")
        return scenario.parse_scenario(document.text_of(data), str(Path(folder, f"{name}.toml")))

    def with_set(self, changes: Mapping[str, Any]) -> Scenario:
        """Another scenario, with these values by dotted key (`{"topology.rate": "100Gb/s"}`; docs/reference/scenarios.md), for every label."""
        from rocelab import document, scenario

        return scenario.with_overrides(self, document.overrides_of(changes))

    def to_toml(self) -> str:
        """A file that says the same: what it extends and what was set are in it, and names of files are absolute.

        Raises RocelabError where a label or a case of it sets a key that with_set() has set.
        """
        from rocelab import document

        text = Path(self.file).read_text() if self.text is None else self.text
        return document.whole(text, self.file, self.overrides, self.name, self.native)

    def __repr__(self) -> str:
        seeds = f"{len(self.seeds)} seed" + ("s" if len(self.seeds) != 1 else "")
        return f"<rocelab.Scenario {self.name}: {', '.join(self.labels[:6])}{' ..' if len(self.labels) > 6 else ''}; {seeds}>"


@dataclass(frozen=True)
class FlowRecord:
    """What the traffic program and the sink's NIC recorded of one flow; None: it did not happen."""

    id: int
    posted_ps: int | None
    placed_ps: int | None
    cqe_ps: int | None
    status: int = 0  # ibv_wc_status of the first CQE that was not a success
    bytes: int = 0  # placed at the sink
    verified: bool = False  # payload compared end to end
    src_qpn: int = 0  # of the flow's first queue pair
    dst_qpn: int = 0
    src_qpns: tuple[int, ...] = ()  # of all, when it has several
    dst_qpns: tuple[int, ...] = ()
    stopped: bool = False  # its source was, by its stop
    settled: bool = False  # its sink waits no longer for what has not come
    sent: int = 0  # messages, of flows whose messages are counted
    delivered: int = 0
    latency_sum_ps: int = 0  # from the time at which a message was due until it was in place
    latency_max_ps: int = 0
    last_ps: int | None = None  # when the last of them came

    def source_qpns(self) -> tuple[int, ...]:
        return self.src_qpns or (self.src_qpn,)

    def sink_qpns(self) -> tuple[int, ...]:
        return self.dst_qpns or (self.dst_qpn,)


def end_ps(flows: Iterable[FlowRecord]) -> int:
    """Of a complete run: its last flow. How far the clock went on behind it is the engine's affair."""
    return max((t for f in flows for t in (f.placed_ps, f.cqe_ps) if t is not None), default=0)


@dataclass(frozen=True)
class FidelityInputs:
    clock: str = "lockstep"
    dilation: float | None = None  # of the wall clock
    wall_slips: int = 0  # how often the machine lost touch with it
    windows: int = 0
    detaches: int = 0
    late_frames: int = 0
    first_detach_ps: int = -1
    last_detach_ps: int = -1


@dataclass(frozen=True)
class RunOutcome:
    """Everything that one run left behind. `error` is set when it did not end in order; the rest is then partial."""

    plan: RunPlan
    flows: tuple[FlowRecord, ...] = ()
    # NIC counters per (host name, VF index), names as in irn_provider/transport/counters.h
    nic_counters: Mapping[tuple[str, int], Mapping[str, int]] = field(default_factory=dict)
    # switch port counters per interface, names as in ovs_patches/switch_model/counters.h, and link_in_*, link_out_*
    port_counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # 32-byte digests: of every VF that took part, hosts in index order, then of every switch
    node_digests: tuple[bytes, ...] = ()
    # TRACE_DTYPE arrays per event file: "h1.0" for VF 0 of host h1, "s1" for a switch
    events: Mapping[str, Array] = field(default_factory=dict)
    # of switches with queueing policies: what was in force from when on, and the counts of the last one's queues
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    records: int = 0  # trace records made, recorded in files or not
    fidelity: FidelityInputs = FidelityInputs()
    end_ps: int = 0  # experiment time at the end
    wall_s: float = 0.0
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    # of mpirun, by rank: wall_s, waited_s (for the others, and for the network), sent_bytes; none: one process
    processes: tuple[Mapping[str, float], ...] = ()
    error: str | None = None
