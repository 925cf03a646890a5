"""Mininet hosts in the caller's network namespace, joined to the ports of a private Open vSwitch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Host, Switch

from rocelab.live.layout import HostLayout, Layout
from rocelab.live.ovs import Ovs


_IPV6 = Path("/proc/sys/net/ipv6")  # where this machine's kernel has it


class LosslessSwitch(Switch):  # type: ignore[misc]  # Mininet has no type hints
    """A switch of our private Open vSwitch as Mininet sees it; Ovs.add_bridges() makes the bridge itself."""

    def __init__(self, name: str, ovs: Ovs, **params: Any) -> None:
        params["inNamespace"] = False
        super().__init__(name, **params)
        self.ovs = ovs

    def start(self, controllers: list[Any]) -> None:
        """The bridge exists already: rules come from the scenario's routes, not from a controller."""

    def dpctl(self, *args: str) -> str:
        return self.ovs.run(
            "ovs-ofctl", "-O", "OpenFlow13", args[0], f"unix:{self.ovs.dir}/{self.name}.mgmt", *args[1:]
        )


class Network:
    """The built topology. The calling process must be in a network namespace of its own."""

    def __init__(self, layout: Layout, ovs: Ovs) -> None:
        self.layout = layout
        self.ovs = ovs
        Mininet.inited = True  # its init() raises limits of the whole machine; ours need none
        self.net = Mininet(controller=None, build=False, autoSetMacs=False)

    def start(self) -> None:
        hosts: dict[str, Host] = {}
        for name in self.layout.machines():
            hosts[name] = self.net.addHost(name, ip=None)
        switches = {
            s.name: self.net.addSwitch(s.name, cls=LosslessSwitch, ovs=self.ovs) for s in self.layout.switches
        }
        owner = {p.interface: s.name for s in self.layout.switches for p in s.ports}
        numbers = {p.interface: p.ofport for s in self.layout.switches for p in s.ports}
        for h in self.layout.hosts:
            Link(
                hosts[h.machine],
                switches[owner[h.peer]],
                port1=h.number,
                port2=numbers[h.peer],
                intfName1=h.interface,
                intfName2=h.peer,
                addr1=h.mac,
                addr2="0a" + h.mac[2:],  # Mininet wants both or none
                fast=True,
            )
        self._configure_switch_side()
        self.ovs.add_bridges(self.layout)
        for name, host in hosts.items():
            self._configure_host(host, name)

    def pid(self, host: str) -> int:
        """Process whose namespaces are the host's."""
        return int(self.net.get(host).pid)

    def stop(self) -> None:
        for node in self.net.hosts + self.net.switches:
            node.terminate()

    def _configure_switch_side(self) -> None:
        lines = [f"link set dev {h.peer} mtu {self.layout.mtu} up" for h in self.layout.hosts]
        _ip_batch(lines, [])
        for h in self.layout.hosts:
            _no_offloads(h.peer, [])

    def _configure_host(self, node: Host, name: str) -> None:
        nics = self.layout.nics(name)
        inside = ["mnexec", "-a", str(node.pid)]
        lines = ["link set dev lo up"]
        for me in nics:
            lines.append(f"link set dev {me.interface} mtu {self.layout.mtu} up")
            lines += self.layout.address_lines(me, _IPV6.exists())
            for other in self.layout.reached_from(me):
                lines += [
                    f"neigh replace {address} lladdr {other.mac} dev {me.interface} nud permanent"
                    for address in ([other.ip, other.ipv6] if _IPV6.exists() else [other.ip])
                ]
        _ip_batch(lines, inside)
        if len(nics) > 1:
            self._route_by_nic(nics, inside)
        for me in nics:
            _no_offloads(me.interface, inside)

    def _route_by_nic(self, nics: list[HostLayout], inside: list[str]) -> None:
        """Layout.route_lines says how."""
        # Who answers may do so from an address that the route back would not choose.
        names = ["all", *(me.interface for me in nics)]
        unfiltered = "; ".join(f"echo 0 > /proc/sys/net/ipv4/conf/{name}/rp_filter" for name in names)
        subprocess.run([*inside, "sh", "-c", unfiltered], check=True)
        for option in ("-4", "-6") if _IPV6.exists() else ("-4",):
            lines = []
            for me in nics:
                lines += self.layout.route_lines(me, option == "-6")
                lines.append(f"rule add from {me.ipv6 if option == '-6' else me.ip} lookup {me.table}")
            _ip_batch(lines, inside, option)


def _ip_batch(lines: list[str], prefix: list[str], *options: str) -> None:
    done = subprocess.run(
        [*prefix, "ip", *options, "-batch", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        raise RuntimeError(f"ip: {words[0] if words else f'exit status {done.returncode}'}")


def _no_offloads(interface: str, prefix: list[str]) -> None:
    """Checksums and segments are made by the kernel: the userspace datapath forwards frames as they are."""
    features = [x for f in ("tx", "rx", "gso", "tso", "gro") for x in (f, "off")]
    subprocess.run([*prefix, "ethtool", "-K", interface, *features], capture_output=True, check=False)
