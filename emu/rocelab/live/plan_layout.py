"""From a resolved run plan to the layout that a session builds."""

from __future__ import annotations

from rocelab.live.layout import HostLayout, Layout, PortLayout, SwitchLayout, interface_id
from rocelab.model import RunPlan

_SHIM_AND_TRAILER = 128  # bytes beyond the wire MTU that a veth lets pass


def layout_of(plan: RunPlan) -> Layout:
    """Equal for plans that can share one topology: names, links, addresses and rules; not the parameters of NICs and switches."""
    hosts = tuple(
        HostLayout(h.name, h.ipv4, h.mac, f"{h.name}-eth0", plan.ports[h.port].interface) for h in plan.hosts
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
                rules(plan, s.openflow),
            )
        )
    return Layout(hosts, tuple(switches), plan.wire_mtu + _SHIM_AND_TRAILER)


def rules(plan: RunPlan, openflow: tuple[str, ...]) -> tuple[str, ...]:
    """What a switch is given: the plan's rules, and those for link-local addresses."""
    return (*openflow, *_ipv6_rules(plan, openflow))


def _ipv6_rules(plan: RunPlan, openflow: tuple[str, ...]) -> list[str]:
    """GID 0 is a link-local IPv6 address: every IPv4 rule for one host has a twin for it."""
    addresses = {h.ipv4: interface_id(h.mac) for h in plan.hosts}
    twins = []
    for rule in openflow:
        fields = rule.replace(" ", ",").split(",")
        target = next(
            (f.split("=", 1)[1].removesuffix("/32") for f in fields if f.startswith("nw_dst=")), None
        )
        if target not in addresses:
            continue
        twin = rule.replace(f"nw_dst={target}/32", f"nw_dst={target}")
        twin = twin.replace(f"nw_dst={target}", f"ipv6_dst={addresses[target]}")
        for v4, v6 in (("udp,", "udp6,"), ("tcp,", "tcp6,"), ("ip,", "ipv6,")):
            if v4 in twin.split("actions")[0]:
                twin = twin.replace(v4, v6, 1)
                break
        twins.append(twin)
    return twins
