"""From a resolved run plan to the layout that a session builds."""

from __future__ import annotations

from rocelab.errors import RocelabError
from rocelab.live.layout import HostLayout, Layout, PortLayout, SwitchLayout
from rocelab.model import RunPlan

_SHIM_AND_TRAILER = 128  # bytes beyond the wire MTU that a veth lets pass
_IPV6_MTU = 1280  # RFC 8200, 5: an interface below has no IPv6
_MOST_HOSTS = 1024  # each is a namespace with processes of its own


def layout_of(plan: RunPlan) -> Layout:
    """Equal for plans that can share one topology: names, links, addresses and rules; not the parameters of NICs and switches."""
    if len(plan.hosts) > _MOST_HOSTS:
        raise RocelabError(
            f"{len(plan.hosts)} hosts are more than the {_MOST_HOSTS} that one machine starts as processes: use --engine des, which gives the same results"
        )
    hosts = tuple(
        HostLayout(
            *(h.name, h.ipv4, h.ipv6, h.mac, f"{h.machine}-eth{h.nic}", plan.ports[h.port].interface),
            *(h.machine if h.machine != h.name else "", h.nic, h.plane),
        )
        for h in plan.hosts
    )
    switches = []
    for s in plan.switches:
        ports = [plan.ports[i] for i in s.ports]
        switches.append(
            SwitchLayout(
                s.name,
                tuple(
                    PortLayout(p.interface, p.port_id + 1, None if p.peer_is_host else p.peer) for p in ports
                ),
                s.openflow,
            )
        )
    return Layout(hosts, tuple(switches), max(plan.wire_mtu + _SHIM_AND_TRAILER, _IPV6_MTU))
