"""The netdev class `lossless` inside a private Open vSwitch: management traffic over veths, RoCE frames in lock step, both through one flow table.

Hosts are played by build/.../lossless_traffic. Needs root, the patched Open vSwitch (ROCELAB_OVS_TREE or build/ovs/src) and the release build (ROCELAB_BUILD or
build/release). Everything lives in namespaces of its own and is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rocelab import native

ROOT = Path(__file__).resolve().parents[2]
TREE = native.ovs_tree()
TRAFFIC = native.hosts_build() / "ovs_patches/netdev/lossless_traffic"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: namespaces and packet sockets"),
    pytest.mark.skipif(
        not (TREE / "vswitchd/ovs-vswitchd").exists(), reason=f"no patched Open vSwitch in {TREE}"
    ),
    pytest.mark.skipif(not TRAFFIC.exists(), reason=f"{TRAFFIC} is not built"),
]

# 1000 bytes of payload at 40 Gb/s over 2 us: serialisation and propagation per hop, in ps.
FRAME_BYTES = 14 + 20 + 8 + 12 + 1000 + 4
HOP_PS = (FRAME_BYTES + 24) * 200 + 2_000_000


@dataclass
class Ovs:
    """One daemon in a namespace; switches s1.. in a line with `hosts` hosts each, as lossless_traffic has them."""

    directory: Path
    switches: int
    hosts: int
    name: str = field(default_factory=lambda: f"rlt{uuid.uuid4().hex[:6]}")
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)

    def inside(self, namespace: str, *argv: str | Path) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, *map(str, argv)],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def environment(self) -> dict[str, str]:
        folders = {key: str(self.directory) for key in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR")}
        return {**os.environ, **folders}

    def vsctl(self, *argv: str) -> str:
        return self.inside(self.name, TREE / "utilities/ovs-vsctl", "--timeout=20", *argv)

    def appctl(self, *argv: str) -> str:
        return self.inside(
            self.name, TREE / "utilities/ovs-appctl", "--timeout=30", "-t", self.directory / "ctl", *argv
        )

    def add_namespace(self, name: str) -> str:
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.namespaces.append(name)
        self.inside(name, "ip", "link", "set", "lo", "up")
        return name

    def start(self) -> None:
        self.add_namespace(self.name)
        database = self.directory / "conf.db"
        schema = TREE / "vswitchd/vswitch.ovsschema"
        self.inside(self.name, TREE / "ovsdb/ovsdb-tool", "create", database, schema)
        socket = self.directory / "db.sock"
        self.spawn(TREE / "ovsdb/ovsdb-server", database, f"--remote=punix:{socket}")
        self.until(socket.exists)
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x1")
        self.spawn(TREE / "vswitchd/ovs-vswitchd", f"unix:{socket}", f"--unixctl={self.directory / 'ctl'}")
        self.until((self.directory / "ctl").exists)
        for switch in range(1, self.switches + 1):
            self.add_switch(switch)

    def spawn(self, program: Path, *argv: str | Path) -> None:
        with (self.directory / f"{program.name}.log").open("wb") as log:
            command = ["ip", "netns", "exec", self.name, *map(str, (program, *argv))]
            self.processes.append(subprocess.Popen(command, env=self.environment(), stdout=log, stderr=log))

    def add_switch(self, switch: int) -> None:
        bridge = f"s{switch}"
        neighbours = [n for n in (switch - 1, switch + 1) if 1 <= n <= self.switches]
        commands = [f"add-br {bridge}", f"set bridge {bridge} datapath_type=netdev fail_mode=secure"]
        for i in range(self.hosts):
            self.add_host(switch, i)
            commands.append(self.add_port(bridge, i + 1, ""))
        for i, neighbour in enumerate(neighbours):
            back = self.hosts + (1 if neighbour == 1 or neighbour > switch else 2)
            commands.append(
                self.add_port(bridge, self.hosts + i + 1, f" options:peer=s{neighbour}-eth{back}")
            )
        self.vsctl(*" -- ".join(commands).split())
        flows = self.directory / f"{bridge}.flows"
        flows.write_text("\n".join(self.flows(switch, neighbours)))
        self.inside(
            self.name,
            TREE / "utilities/ovs-ofctl",
            "--bundle",
            "add-flows",
            f"unix:{self.directory / bridge}.mgmt",
            flows,
        )

    def add_port(self, bridge: str, number: int, options: str) -> str:
        port = f"{bridge}-eth{number}"
        return (
            f"add-port {bridge} {port} -- set Interface {port} type=lossless"
            f" ofport_request={number} options:switch={bridge}{options}"
        )

    def add_host(self, switch: int, index: int) -> None:
        host = (switch - 1) * self.hosts + index + 1
        namespace = self.add_namespace(f"{self.name}h{host}")
        port = f"s{switch}-eth{index + 1}"
        argv = ["ip", "link", "add", "eth0", "netns", namespace, "type", "veth"]
        subprocess.run([*argv, "peer", "name", port, "netns", self.name], check=True)
        self.inside(namespace, "ip", "addr", "add", f"10.0.0.{host}/24", "dev", "eth0")
        self.inside(namespace, "ip", "link", "set", "eth0", "up")
        self.inside(self.name, "ip", "link", "set", port, "up")
        self.inside(namespace, "ethtool", "-K", "eth0", "tx", "off", "gso", "off", "tso", "off")

    def flows(self, switch: int, neighbours: list[int]) -> Iterator[str]:
        for host in range(1, self.switches * self.hosts + 1):
            home = (host - 1) // self.hosts + 1
            if home == switch:
                out = (host - 1) % self.hosts + 1
            else:
                towards = switch + (1 if home > switch else -1)
                out = self.hosts + 1 + neighbours.index(towards)
            yield f"ip,nw_dst=10.0.0.{host} actions=output:{out}"
            yield f"arp,arp_tpa=10.0.0.{host} actions=output:{out}"

    def until(self, condition: Callable[[], bool], seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "timed out"
            time.sleep(0.01)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "delete", namespace], check=False)


@dataclass(frozen=True)
class Run:
    result: dict[str, object]
    counters: dict[str, object]
    shown: str
    digests: dict[str, str]


@contextmanager
def running(ovs: Ovs, frames: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    """lossless_traffic over the switches, attached; killed at the end if it still runs."""
    segment = Path(f"/dev/shm/{ovs.name}.segment")
    argv = [
        str(TRAFFIC),
        str(segment),
        f"--switches={ovs.switches}",
        f"--hosts={ovs.hosts}",
        f"--frames={frames}",
    ]
    try:
        with subprocess.Popen([*argv, *options], stdout=subprocess.PIPE, text=True) as traffic:
            assert traffic.stdout is not None
            try:
                assert json.loads(traffic.stdout.readline())["ready"]
                ovs.appctl("lossless/attach", str(segment))
                yield traffic
            finally:
                traffic.kill()
    finally:
        segment.unlink(missing_ok=True)


def exchange(ovs: Ovs, frames: int, *options: str) -> Run:
    """One run of lossless_traffic over the switches, to its end."""
    traces = ovs.directory / "traces"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    with running(ovs, frames, f"--trace-dir={traces}", f"--pcap-dir={traces}", *options) as traffic:
        result = json.loads(traffic.communicate(timeout=60)[0])
        counters = json.loads(ovs.appctl("lossless/counters"))
        shown = ovs.appctl("lossless/show")
        ovs.appctl("lossless/detach")
    digests = {path.stem: path.read_text().strip() for path in traces.glob("*.digest")}
    return Run(result, counters, shown, digests)


@pytest.fixture
def ovs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ovs]:
    switches, hosts = request.param
    instance = Ovs(tmp_path, switches, hosts)
    try:
        instance.start()
        yield instance
    finally:
        instance.stop()


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_one_frame_crosses_the_switch_at_the_picosecond(ovs: Ovs) -> None:
    run = exchange(ovs, 1)
    assert run.result["error"] == ""
    assert run.result["received"] == run.result["intact"] == 2
    assert run.result["last_due_ps"] == 2 * HOP_PS
    columns = ("get", "Interface", "s1-eth1", "statistics")  # refreshed every 5 s
    ovs.until(lambda: "rx_frames=1" in ovs.vsctl(*columns))
    assert "drops_headroom=0" in ovs.vsctl(*columns)
    assert "s1-eth1" in run.shown and "lossless" in run.shown


@pytest.mark.parametrize("ovs", [(3, 2)], indirect=True)
def test_switches_in_a_line_give_the_same_digest_every_time(ovs: Ovs) -> None:
    runs = [exchange(ovs, 200, "--distance=4", "--gap-ns=600") for _ in range(3)]
    for run in runs:
        assert run.result["error"] == ""
        assert run.result["intact"] == 6 * 200
        assert run.result["last_due_ps"] == runs[0].result["last_due_ps"]
        assert len(run.digests) == 3 and run.digests == runs[0].digests


@pytest.mark.parametrize("ovs", [(2, 1)], indirect=True)
def test_ping_crosses_veths_and_memory_links_with_and_without_a_run(ovs: Ovs) -> None:
    ping = ("ping", "-c", "3", "-i", "0.05", "-W", "2", "10.0.0.2")
    assert "3 received" in ovs.inside(f"{ovs.name}h1", *ping)
    with running(ovs, 200_000):
        assert "3 received" in ovs.inside(f"{ovs.name}h1", *ping)
    ovs.appctl("lossless/detach")
    assert "3 received" in ovs.inside(f"{ovs.name}h1", *ping)


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_a_missing_port_is_named(ovs: Ovs) -> None:
    ovs.vsctl("del-port", "s1-eth2")
    with pytest.raises(AssertionError, match="s1-eth2"), running(ovs, 1):
        pass


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_a_missing_rule_ends_the_run_with_a_line(ovs: Ovs) -> None:
    mgmt = f"unix:{ovs.directory / 's1'}.mgmt"
    ovs.inside(ovs.name, TREE / "utilities/ovs-ofctl", "del-flows", mgmt, "ip,nw_dst=10.0.0.2")
    with running(ovs, 1) as traffic:
        result = json.loads(traffic.communicate(timeout=20)[0])
        assert "s1-eth1" in result["error"] and "rule" in result["error"]
        with pytest.raises(AssertionError, match="rule"):
            ovs.appctl("lossless/detach")


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_a_removed_port_ends_the_run_with_a_line(ovs: Ovs) -> None:
    with running(ovs, 500_000) as traffic:
        ovs.vsctl("del-port", "s1-eth2")
        assert "removed" in json.loads(traffic.communicate(timeout=20)[0])["error"]
    with pytest.raises(AssertionError, match="removed"):
        ovs.appctl("lossless/detach")


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_a_second_polling_thread_ends_the_run_with_a_line(ovs: Ovs) -> None:
    if os.cpu_count() == 1:
        pytest.skip("needs two CPUs")
    with running(ovs, 500_000) as traffic:
        ovs.vsctl("set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x3")
        assert "pmd-cpu-mask" in json.loads(traffic.communicate(timeout=20)[0])["error"]
    ovs.vsctl("set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x1")
    with pytest.raises(AssertionError, match="pmd-cpu-mask"):
        ovs.appctl("lossless/detach")
    assert exchange(ovs, 1).result["error"] == ""


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_control_operations_do_not_change_a_run(ovs: Ovs) -> None:
    digests = exchange(ovs, 20_000, "--gap-ns=300").digests
    traces = ovs.directory / "again"
    traces.mkdir()
    with running(ovs, 20_000, "--gap-ns=300", f"--trace-dir={traces}") as traffic:
        for i in range(5):
            ovs.vsctl(
                "add-port",
                "s1",
                f"extra{i}",
                "--",
                "set",
                "Interface",
                f"extra{i}",
                "type=lossless",
                f"options:peer=nobody{i}",
            )
            ovs.appctl("dpif-netdev/pmd-rxq-rebalance")
            ovs.appctl("revalidator/purge")
            ovs.vsctl("del-port", f"extra{i}")
        result = json.loads(traffic.communicate(timeout=60)[0])
        assert result["error"] == "" and result["intact"] == result["expected"]
        ovs.appctl("lossless/detach")
    assert {path.stem: path.read_text().strip() for path in traces.glob("*.digest")} == digests


@pytest.mark.parametrize("ovs", [(1, 2)], indirect=True)
def test_an_idle_daemon_sleeps(ovs: Ovs) -> None:
    pid = ovs.processes[-1].pid

    def cpu_ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.5)
    before = cpu_ticks()
    time.sleep(3)
    used = (cpu_ticks() - before) / os.sysconf("SC_CLK_TCK") / 3
    assert used < 0.1, f"{used:.0%} of a CPU"
