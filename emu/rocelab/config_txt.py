"""config.txt of the HPCC-family simulators (HPCC, ConWeave, ns3-rdma, SimAI) in keys of a scenario: what each of its keys becomes, and what is said of those
that have no counterpart. The table of docs/reference/interchange.md, as code; their code is the source (third.cc, switch-mmu.cc, rdma-hw.cc)."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from rocelab.config_words import Config
from rocelab.errors import RocelabError

PATH_MTUS = (256, 512, 1024, 2048, 4096)
CC_MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc"}
_MARKED = ("dcqcn", "dctcp")

# Keys for output files and their times: `./rocelab run` has its own results, and `./rocelab export` their files.
_OUTPUT = ("TRACE_FILE", "ENABLE_TRACE", "SW_MONITORING_INTERVAL")
_OUTPUT_ENDS = ("_OUTPUT_FILE", "_MON_FILE", "_MON_DETAIL_FILE", "_MON_START", "_MON_END")
_OUTPUT_INPUTS = ("FLOW_INPUT_FILE",)  # which ConWeave writes, too
# Without an effect there, or here, where the value is in another key or is computed.
_NO_EFFECT = {
    "DATA_RATE": "the topology has the rates",
    "LINK_DELAY": "the topology has the delays",
    "PAUSE_TIME": "a pause lasts until it is taken back",
    "L2_CHUNK_SIZE": "only go-back-0 has chunks",
    "INT_MULTI": "the unit of a header's fields, which have their own here",
    "LOAD": "the traffic is in the flow file",
    "FLOWGEN_START_TIME": "the flow file has the starts",
}
# Values with which they do what is done here, and what is different with others.
_AS_HERE = {
    "USE_DYNAMIC_PFC_THRESHOLD": ("1", "thresholds stay dynamic: set switch.shared_pool = 0B for fixed ones"),
    "L2_BACK_TO_ZERO": ("0", "go-back-0 is not here: retransmission is go-back-N"),
    "GLOBAL_T": ("1", "one base RTT serves all pairs of hosts"),
    "FAST_REACT": ("1", "HPCC reacts to each ACK"),
    "MULTI_RATE": ("0", "HPCC has one rate for all hops"),
    "SAMPLE_FEEDBACK": ("0", "HPCC's telemetry is in every packet"),
    "RATE_BOUND": ("1", "rates are always limited"),
    "ACK_HIGH_PRIO": ("0", "ACKs are in the class of the data"),
    "LB_MODE": ("0", "load balancing is ECMP by flow"),
}
_HPCC_ONLY = ("FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "U_TARGET", "MI_THRESH")
_DCQCN = {
    "ALPHA_RESUME_INTERVAL": ("alpha_interval", "us"),
    "RATE_DECREASE_INTERVAL": ("decrease_interval", "us"),
    "RP_TIMER": ("rate_timer", "us"),
    "FAST_RECOVERY_TIMES": ("fast_recovery", ""),
    "RATE_AI": ("rate_ai", "rate"),
    "RATE_HAI": ("rate_hai", "rate"),
    "MIN_RATE": ("min_rate", "rate"),
    "CNP_INTERVAL": ("cnp_interval", "us"),
    "BYTE_COUNTER": ("byte_counter", "B"),
}
_ALGORITHM_ONLY = {
    "dcqcn": (*_DCQCN, "EWMA_GAIN", "DCTCP_GAIN", "CLAMP_TARGET_RATE"),
    "timely": ("RATE_AI", "MIN_RATE"),
    "dctcp": ("EWMA_GAIN", "DCTCP_RATE_AI"),
    "hpcc": ("RATE_AI", "MIN_RATE", *_HPCC_ONLY),
}


@dataclass(frozen=True)
class Network:
    """What the topology says, for numbers that follow from it."""

    rates: tuple[int, ...]  # of links, in bit/s
    most_ports: int  # of a switch
    headroom: int  # bytes, of the port that needs most
    base_rtt_s: float


@dataclass
class Converted:
    """Tables of a scenario as lines, the label, and what there is to say: `warnings` of what differs, `notes` of what needs no counterpart."""

    label: str = ""
    seeds: int | None = None
    tables: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def set(self, table: str, key: str, value: str) -> None:
        self.tables.setdefault(table, []).append(f"{key} = {value}")

    def warn(self, entry: object, why: str) -> None:
        self.warnings.append(f"{entry}: {why}")


def plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def convert(config: Config, network: Network) -> Converted:
    """All keys but those of files, faults and times, which the importer asks for before."""
    made = Converted()
    mode = config.integer("CC_MODE", 1)
    if mode not in CC_MODES:
        known = ", ".join(f"{m} {cc}" for m, cc in CC_MODES.items())
        raise config.fail("CC_MODE", f"{mode} is not known here: {known}")
    algorithm = CC_MODES[mode]
    if mode == 10:
        made.warn(config.entries["CC_MODE"], "HPCC-PINT is not here: HPCC with its whole telemetry")
    _transport(config, made, algorithm)
    _marking(config, made, algorithm, network)
    _buffers(config, made, network)
    _algorithm(config, made, algorithm, network)
    seed = config.word("RANDOM_SEED")
    made.seeds = None if seed is None else config.integer("RANDOM_SEED", 1)
    _rest(config, made, algorithm)
    return made


def _transport(config: Config, made: Converted, algorithm: str) -> None:
    """Go-back-N with an ACK on every n-th packet is mode roce; with a window besides, which RoCE has not, mode irn with go_back_n and the BDP cap."""
    window = config.integer("HAS_WIN", 1) != 0
    pfc = config.integer("ENABLE_PFC", 1) != 0
    irn = config.integer("ENABLE_IRN", 0) != 0
    acks = max(1, config.integer("L2_ACK_INTERVAL", 1))
    varies = config.integer("VAR_WIN", 0) != 0
    roce = not irn and (algorithm == "hpcc" or (not window and algorithm != "dctcp"))
    made.label = ("roce" if roce else "irn") + ("+pfc" if pfc else "") + f"+{algorithm}"
    if roce:
        made.set("nic", "ack_interval", str(acks))
        if algorithm == "hpcc" and acks > 1:
            made.warn(config.entries["L2_ACK_INTERVAL"], "HPCC needs an ACK of every packet: write 1")
    else:
        if not irn:
            made.set("irn", "go_back_n", "true")
            made.notes.append(
                "HAS_WIN 1: go-back-N with a window and an ACK of every packet is mode irn with go_back_n"
            )
        if not window:
            made.set("irn", "bdp_cap", "0")
        if acks > 1:
            made.warn(config.entries["L2_ACK_INTERVAL"], "with a window every packet is acknowledged")
        if varies and window and algorithm != "dctcp":
            made.warn(config.entries["VAR_WIN"], "the window is the BDP, and does not follow the rate")
    if algorithm == "hpcc" and not (window and varies):
        made.warnings.append(
            f"HAS_WIN {int(window)}, VAR_WIN {int(varies)}: HPCC always has a window, which follows its rate"
        )
    payload = config.number("PACKET_PAYLOAD_SIZE")
    mtu = min(PATH_MTUS, key=lambda m: (abs(m - (payload or 1000)), -m))
    made.set("nic", "path_mtu", f'"{mtu}B"')
    if payload is not None and payload != mtu:
        made.warn(config.entries["PACKET_PAYLOAD_SIZE"], f"RoCE's path MTU nearest to it is {mtu} B")


def _marking(config: Config, made: Converted, algorithm: str, network: Network) -> None:
    on = config.integer("ENABLE_QCN", 1) != 0
    maps = {name: config.by_rate(name) for name in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")}
    single = {key: config.number(key) for key in ("KMIN", "KMAX", "PMAX")}  # ns3-rdma, in bytes
    if algorithm not in _MARKED:
        made.notes += [
            f"{config.entries[k]}: marks change nothing in {algorithm.upper()}"
            for k in ("ENABLE_QCN", *maps, *single)
            if k in config.entries
        ]
        return
    if not on:
        made.set("switch.ecn", "enabled", "false")
    for key, value in single.items():
        if value is not None:
            made.set("switch.ecn", key.lower(), plain(value) if key == "PMAX" else f'"{plain(value)}B"')
    if not any(maps.values()):
        return
    for rate in network.rates:
        found = {name: of[rate] for name, of in maps.items() if of and rate in of}
        if missing := sorted(maps.keys() - found.keys()):
            raise RocelabError(
                f"{config.name}: {missing[0]} has no entry for {rate} bit/s, a rate of the topology's links"
            )
        made.tables.setdefault("[switch.ecn.by_rate]", []).append(
            f'[[switch.ecn.by_rate]]\nrate = "{plain(Decimal(rate) / 10**9)}Gb/s"\nkmin = "{plain(found["KMIN_MAP"])}KB"\n'
            f'kmax = "{plain(found["KMAX_MAP"])}KB"\npmax = {plain(found["PMAX_MAP"])}'
        )


def _buffers(config: Config, made: Converted, network: Network) -> None:
    """Theirs: of the switch's memory each port has headroom and 4 KiB of its own, and an eighth of what is then free."""
    size = config.number("BUFFER_SIZE")
    if not size:
        made.notes.append("no BUFFER_SIZE: buffers as by default")
        return
    mtu = max(int(line.split('"')[1][:-1]) for line in made.tables["nic"] if line.startswith("path_mtu"))
    own = network.headroom + max(4096, 3 * (mtu + 100))
    total = int(size * 1024 * 1024)
    pool = total - network.most_ports * own
    made.set("switch", "lossless_buffer", f'"{own}B"')
    made.set("switch", "shared_pool", f'"{max(pool, 0)}B"')
    made.set("switch", "alpha_lossless", "0.125")
    made.notes.append(
        f"BUFFER_SIZE {size}: {own} B for each port, headroom included, and what is left of {total} B is shared"
    )
    if pool <= 0:
        made.warn(
            config.entries["BUFFER_SIZE"], f"{network.most_ports} ports need more than it: nothing is shared"
        )


def _algorithm(config: Config, made: Converted, algorithm: str, network: Network) -> None:
    table = f"congestion_control.{algorithm}"

    def take(key: str, name: str, unit: str = "") -> None:
        word = config.word(key)
        if word is not None:
            value = f'"{word}"' if unit == "rate" else plain(config.number(key) or Decimal(0))
            made.set(table, name, f'"{value}{unit}"' if unit in ("us", "B") else value)

    def rate(key: str) -> Decimal:
        word = config.word(key) or ""
        for unit, factor in (("Gb", 10**9), ("Mb", 10**6), ("Kb", 10**3), ("kb", 10**3), ("b", 1)):
            number, found, rest = word.partition(unit)
            if found and rest in ("/s", "ps"):
                try:
                    return Decimal(number) * factor
                except InvalidOperation:
                    break
        raise config.fail(key, f"must be a rate such as 50Mb/s, not {word}")

    if algorithm == "dcqcn":
        periodic = "RATE_DECREASE_INTERVAL" in config.entries  # ns3-rdma's cuts at each CNP
        made.set(table, "preset", '"conweave-ns3"' if periodic else '"paper"')
        for key, (name, unit) in _DCQCN.items():
            take(key, name, unit)
        take("EWMA_GAIN" if "EWMA_GAIN" in config.entries else "DCTCP_GAIN", "g")
        clamp = config.word("CLAMP_TARGET_RATE")
        if clamp is not None:
            made.set(table, "clamp_target", "true" if config.integer("CLAMP_TARGET_RATE", 0) else "false")
    elif algorithm == "timely":
        made.set(table, "preset", '"conweave-ns3"')
        take("RATE_AI", "delta", "rate")
        take("MIN_RATE", "min_rate", "rate")
    elif algorithm == "dctcp":
        take("EWMA_GAIN", "g")
        if "DCTCP_RATE_AI" in config.entries:  # a rate per round trip; here packets
            packets = (
                rate("DCTCP_RATE_AI")
                * Decimal(network.base_rtt_s)
                / (8 * (config.number("PACKET_PAYLOAD_SIZE") or 1000))
            )
            made.set(table, "increase", plain(round(packets, 3)))
    else:
        take("U_TARGET", "eta")
        take("MI_THRESH", "max_stage")
        take("MIN_RATE", "min_rate", "rate")
        if "RATE_AI" in config.entries:  # W_AI / T
            step = rate("RATE_AI") * Decimal(network.base_rtt_s) / 8
            made.set(table, "w_ai", f'"{max(1, round(step))}B"')


def _rest(config: Config, made: Converted, algorithm: str) -> None:
    """Everything that nobody asked for, each with a word."""
    mine = _ALGORITHM_ONLY[algorithm]
    others = {key for keys in _ALGORITHM_ONLY.values() for key in keys} - set(mine)
    for entry in config.repeated:
        made.warn(entry, "stands there again further down, which counts")
    for entry in config.left():
        key = entry.key
        if key in _OUTPUT or key in _OUTPUT_INPUTS or key.endswith(_OUTPUT_ENDS):
            made.notes.append(f"{entry}: results are in out/NAME, and ./rocelab export writes theirs")
        elif key in _NO_EFFECT:
            made.notes.append(f"{entry}: {_NO_EFFECT[key]}")
        elif key in others or key.startswith("PINT_") or (key in _HPCC_ONLY and algorithm != "hpcc"):
            made.notes.append(f"{entry}: not of {algorithm.upper()}")
        elif key in _AS_HERE and entry.values == (_AS_HERE[key][0],):
            made.notes.append(f"{entry}: as here")
        elif key in _AS_HERE:
            made.warn(entry, _AS_HERE[key][1])
        elif key.startswith("CONWEAVE_"):
            made.notes.append(f"{entry}: of ConWeave's load balancing, which is not here")
        else:
            made.warn(entry, "has no counterpart here, and is left out")
