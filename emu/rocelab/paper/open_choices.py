"""What the papers leave open and our scenarios decide, for `./rocelab paper NAME --sensitivity`. Reasons are argued in DEVIATIONS.md and docs/papers."""

from __future__ import annotations

from rocelab.paper.choices import Alternative, Choice, key_choice, seed_choice

_XON = "the papers name at most the threshold that pauses; how far below it a port lets its neighbour go on is open, and XON two frames below XOFF pauses often and briefly"
# Where no counter of bytes is shared among ports: each ingress port has its own, as in the published models of RoCC's authors.
_PER_PORT = ("switch.shared_pool=0B", "switch.lossless_buffer=1200KB")

_NO_POISSON = ("figure4.9", "incast_variants")  # of IRN's experiments

IRN = (
    key_choice(
        "timers.rto_restart",
        "any-ack",
        ['"progress"'],
        "4.2.1 and 4.5.2 do not say what restarts a timer; the authors' trace speaks for any ACK or NACK",
    ),
    key_choice(
        "workload.poisson.counts",
        "data",
        ['"acks"'],
        "4.3.1 gives the load in per cent of the link and does not say whether acknowledgements, 8 % of IRN's bytes, are in it",
        without=_NO_POISSON,
    ),
    key_choice(
        "nic.ack_interval",
        "66, RoCE's",
        ["1"],
        "the paper compares IRN, which acknowledges each packet, with a RoCE of which it says that it sends no acknowledgements (4.4.2)",
    ),
    key_choice(
        "nic.ack_class",
        "the data's",
        ["6"],
        "4.3.1 names no class of acknowledgements; one of their own, served first, keeps them out of the queues of data that goes their way",
    ),
    key_choice(
        "nic.qp_burst",
        "1",
        ["16", "64"],
        "of the order in which queue pairs of a host send 4.3.1 has only that they poll the MAC, and no interval",
    ),
    key_choice("switch.pfc.xon_frames", "2", ["40", "80"], _XON),
    key_choice(
        "congestion_control.timely.segment",
        "16KB, of chapter 3",
        ["1024B"],
        "4.3.1 has a TIMELY in the NIC with the parameters of chapter 3, whose 16 KB are what software hands to a NIC at a time",
    ),
    key_choice(
        "congestion_control.timely.alpha",
        "0.02, of the code that TIMELY's authors published",
        ["0.875"],
        "neither chapter gives the weight of the gradient's average; published simulators have 0.875",
    ),
    Choice(
        "length",
        "5 ms of arrivals, 1 ms of them warm-up",
        "queues and backlogs at 70 % load still grow after 5 ms (the fast variant's only)",
        (
            Alternative(
                "10 ms, 2 ms of them warm-up", ("workload.poisson.duration=10ms", "engine.warmup=2ms")
            ),
        ),
        without=_NO_POISSON,
        fast_only=True,
    ),
    seed_choice((2, 3)),
)

ROCC = (
    Choice(
        "gains",
        "0.3 : 1.5",
        "3.5 prints 0.3 : 1.5; the published model has 0.8 : 2.4 beside them, and the printed ones cannot settle within 2 ms",
        (
            Alternative(
                "0.8 : 2.4",
                (
                    "congestion_control.rocc.alpha=0.8",
                    "congestion_control.rocc.beta=2.4",
                    "congestion_control.rocc.allow_unstable=true",
                ),
            ),
        ),
        ("fairness", "convergence", "multi_bottleneck", "asymmetric", "comparison", "rates", "fct"),
    ),
    key_choice(
        "congestion_control.rocc.recovery_timer",
        "2T",
        ["55us"],
        "3.3.5 names no period of fast recovery; the published model has 55 us",
    ),
    Choice(
        "PFC threshold",
        "500 KB that the ports share, XON two frames below",
        "3.5 does not say of what the threshold is; the published model counts by ingress port and has XON at 10 KB",
        (
            Alternative(
                "by ingress port, 500/10 KB",
                (*_PER_PORT, "switch.pfc.xoff=500KB", "switch.pfc.xon=10KB"),
            ),
            Alternative(
                "by ingress port, 800/10 KB",
                (*_PER_PORT, "switch.pfc.xoff=800KB", "switch.pfc.xon=10KB"),
            ),
        ),
        ("rates", "fct", "comparison"),
    ),
    key_choice(
        "congestion_control.dcqcn.rate_ai",
        "40 Mb/s",
        ["4Mb/s"],
        "3.5 names DCQCN's own values; the published model has a tenth of this step",
        ("comparison", "rates", "fct", "unlimited", "multi_bottleneck", "asymmetric"),
    ),
    key_choice(
        "switch.pi_marking.form",
        "integral",
        ["direct"],
        "3.5.1 c names DCQCN+PI and no law; its own paper has an integral, the published model of RoCC's authors the same sum without it",
        ("comparison",),
    ),
    Choice(
        "length",
        "3 ms of arrivals",
        "3.5.4 does not say how long its runs are; after 3 ms the number of large flows still grows (the fast variant's only)",
        (Alternative("10 ms", ("workload.flows.duration=10ms",)),),
        ("fct", "fct_authors", "unlimited"),
        fast_only=True,
    ),
    Choice(
        "workload.flows.load",
        "0.175, 70 % of the core's links towards the receivers",
        "3.5.4 does not say of which links the 70 % are; of the receivers' links they are 140 % of the core's",
        (
            Alternative(
                "0.35 in every case, 70 % of the receivers' links",
                ("workload.flows.load=0.35", "workload.flows.overload=true"),
            ),
        ),
        ("fct", "unlimited"),
    ),
    key_choice(
        "workload.flows.queue_pairs",
        "persistent: connections that live on from flow to flow",
        ['"ahead"'],
        "3.5.4 does not say whether a flow has a connection of its own; the generators of the authors' simulator keep theirs",
        ("fct_closed",),
    ),
    key_choice(
        "congestion_control.rocc.f_first",
        "f_max",
        ['"10Mb/s"'],
        "3.3.2 does not say with which rate a congestion point begins; in the published model F is F_min after the first T",
        ("fairness", "convergence"),
    ),
    seed_choice((4, 5, 6)),
)


# Experiments that empty pools hold up.
_POOLS = ("ring", "ring_load", "ring_authors", "two_level", "innocent")


def _ring_workloads(setting: str) -> tuple[str, ...]:
    """Of each sender of scenarios/escape/ring_load.toml and of what extends it."""
    return tuple(f"workload.{name}.{setting}" for name in ("h1", "h2", "h3"))


ESCAPE = (
    Choice(
        "XOFF and XON",
        "by each link's headroom, XON two frames below",
        _XON,
        (
            Alternative(
                "500/10 KB",
                ("switch.lossless_buffer=1200KB", "switch.pfc.xoff=500KB", "switch.pfc.xon=10KB"),
            ),
            Alternative(
                "800/10 KB",
                ("switch.lossless_buffer=1200KB", "switch.pfc.xoff=800KB", "switch.pfc.xon=10KB"),
            ),
        ),
        without=("rocc_leaf_spine",),  # which has both
    ),
    key_choice(
        "topology.delay",
        "2 us",
        ["1.5us"],
        "4.6 gives no delay of links; the published model of the same group has 1.5 us",
        ("ring", "two_level", "innocent", "ring_congestion"),
    ),
    key_choice(
        "switch.escape.tokens",
        "8",
        ["32", "64"],
        "4.3.1 names no size of the pool; an empty one silences its port for the reclaim interval",
        _POOLS,
    ),
    key_choice(
        "switch.escape.reclaim",
        "1 ms",
        ["200us", "50us"],
        "4.3.3, 5 has a large interval, and no value; a token for a flow with nothing to send is missed for so long",
        _POOLS,
    ),
    Choice(
        "load",
        "70 % of each sender's link",
        "4.6 has 70 % of the average link, and does not say of which: of each sender's link it asks links of the ring for 140 %",
        (Alternative("48 %, 96 % of links of the ring", _ring_workloads("load=0.48")),),
        ("ring_authors",),
    ),
    Choice(
        "queue pairs",
        "ten for each pair of hosts, which live on",
        "4.6 does not say whether flows have connections of their own",
        (
            Alternative(
                "one for each flow",
                (*_ring_workloads('queue_pairs="ahead"'), *_ring_workloads("qps=1")),
            ),
        ),
        ("ring_authors",),
    ),
    seed_choice((11, 12, 13)),
)

TIMELY = (
    key_choice(
        "switch.pfc.xon_frames",
        "2",
        ["80"],
        _XON,
    ),
    key_choice(
        "nic.qp_burst",
        "16 packets, a segment",
        ["1"],
        "3.4 has the NIC send a segment of 16 KB as one burst, and does not say how connections share a port",
        ("table3.1",),
    ),
    key_choice(
        "congestion_control.timely.hai_factor",
        "1",
        ["5"],
        "3.3.3 calls hyperactive increase an option, and the table does not say whether it was on",
    ),
    key_choice(
        "congestion_control.timely.alpha",
        "0.02",
        ["0.1"],
        "algorithm 1 has no value for the weight of its average; ours is that of the code which its authors published",
        ("table3.1",),
    ),
    Choice(
        "length",
        "flows of 60 MB",
        "the thesis measures ten minutes",
        (
            Alternative(
                "flows of 90 MB",
                tuple(f"workload.{name}.size=90MB" for name in ("a", "b", "c", "d")),
            ),
        ),
        ("table3.1",),
    ),
    seed_choice((4, 5, 6)),
)
