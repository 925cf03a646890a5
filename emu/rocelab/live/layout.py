"""What a topology is made of, as the session process that builds it is told: plain data, JSON both ways."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class HostLayout:
    """One NIC: an interface of a Mininet host. Where hosts have several NICs its name is that of the NIC, "h3.1"."""

    name: str
    ip: str  # dotted IPv4
    ipv6: str
    mac: str  # aa:bb:cc:dd:ee:ff
    interface: str  # inside the host
    peer: str  # the switch's end of the veth, which is also the OVS port's name
    of: str = ""  # the Mininet host's name; empty: the same
    number: int = 0  # among the host's NICs
    plane: int = 0  # equal for NICs between which there is a way

    @property
    def machine(self) -> str:
        """The Mininet host's name."""
        return self.of or self.name

    @property
    def table(self) -> int:
        """Of routes for what is sent from its address, where its host has several NICs."""
        return 100 + self.number

    def ipv6_line(self) -> str:
        """For `ip`. The host has the address at once, without asking whether anybody else has."""
        return f"addr add {self.ipv6}/64 dev {self.interface} nodad"


@dataclass(frozen=True)
class PortLayout:
    """One port of a switch: a veth to a host, or an in-process link to another switch's port."""

    interface: str
    ofport: int  # OpenFlow number, from 1
    peer: str | None  # name of the other switch's port; None for a host port


@dataclass(frozen=True)
class SwitchLayout:
    name: str
    ports: tuple[PortLayout, ...]
    flows: tuple[str, ...]  # OpenFlow rules in ovs-ofctl's syntax


@dataclass(frozen=True)
class Layout:
    """A topology; equal layouts can be used by one run after the other."""

    hosts: tuple[HostLayout, ...]
    switches: tuple[SwitchLayout, ...]
    mtu: int  # of the veths: room for the wire MTU, shim and trailer

    def machines(self) -> list[str]:
        """The Mininet hosts."""
        return list(dict.fromkeys(h.machine for h in self.hosts))

    def nics(self, machine: str) -> list[HostLayout]:
        """Those of a Mininet host, by number."""
        return [h for h in self.hosts if h.machine == machine]

    def address_lines(self, me: HostLayout, ipv6: bool) -> list[str]:
        """For `ip`: the NIC's own addresses. A host with several NICs has routes of ours in place of the kernel's (`route_lines`)."""
        own = " noprefixroute" if len(self.nics(me.machine)) > 1 else ""
        lines = [f"addr add {me.ip}/8 dev {me.interface}{own}"]
        return [*lines, me.ipv6_line() + own] if ipv6 else lines

    def route_lines(self, me: HostLayout, ipv6: bool) -> list[str]:
        """For `ip`, of a host with several NICs: what is sent from the address of a NIC leaves by it. What has no source yet leaves by the NIC of the
        destination's number, which is what rdma_cm chooses, too (LiveProcess::nic_towards)."""
        network, mine = ("fd00::/64", me.ipv6) if ipv6 else ("10.0.0.0/8", me.ip)
        by_me = f"dev {me.interface} src {mine}"
        lines = [f"route replace {network} {by_me} table {me.table}"]
        lines += [
            f"route replace {other.ipv6 if ipv6 else other.ip} {by_me}"
            for other in self.reached_from(me)
            if other.number == me.number
        ]
        return [*lines, f"route replace {network} {by_me}"] if me.number == 0 else lines

    def reached_from(self, me: HostLayout) -> list[HostLayout]:
        """NICs of other hosts to which there is a way."""
        return [h for h in self.hosts if h.machine != me.machine and h.plane == me.plane]

    def host(self, name: str) -> HostLayout:
        for host in self.hosts:
            if host.name == name:
                return host
        raise KeyError(name)

    def neighbour(self, port: PortLayout) -> str:
        """The host or switch at the other end of a port's link."""
        if port.peer is None:
            return next(h.name for h in self.hosts if h.peer == port.interface)
        return next(s.name for s in self.switches if any(p.interface == port.peer for p in s.ports))

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Layout:
        data = json.loads(text)
        return Layout(
            hosts=tuple(HostLayout(**h) for h in data["hosts"]),
            switches=tuple(
                SwitchLayout(
                    name=s["name"],
                    ports=tuple(PortLayout(**p) for p in s["ports"]),
                    flows=tuple(s["flows"]),
                )
                for s in data["switches"]
            ),
            mtu=data["mtu"],
        )
