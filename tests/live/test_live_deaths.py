"""Every process of a kept topology, killed and stopped while two programs talk: what the programs and the commands say, how soon, and what is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kept_hosts import Hosts, kept_hosts
from live_runs import ROOT, SCENARIOS, command, daemon, error_of, leftovers, live, recorded, stays, wait_for
from rocelab import native
from rocelab.live.commands import find

pytestmark = live

_PINGPONG = SCENARIOS / "pingpong.toml"
_WORDS = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1", "-n", "100000000"]  # for hours
_PORT = 18515
_GONE = "the switch process (ovs-vswitchd) is gone; this program ends"
_SOON = 10.0  # seconds; it takes a fraction of one on a machine that has nothing else to do


@dataclass
class Talk:
    """Two programs in the midst of a ping-pong."""

    hosts: Hosts
    server: subprocess.Popen[bytes]
    client: subprocess.Popen[bytes]
    folder: Path

    @property
    def run_id(self) -> str:
        return self.hosts.kept.directory.run_id

    def segment(self) -> Any:
        return native.module().open_segment(str(self.hosts.kept.segment))

    def goes_on(self) -> None:
        since = self.packets()
        wait_for(lambda: self.packets() > since + 100, "traffic", 20)
        assert self.server.poll() is None and self.client.poll() is None, self.said()

    def packets(self) -> int:
        """From h1."""
        return sum(v["counters"]["tx_packets"] for v in self.segment().vfs if v["host"] == "h1")

    def stands(self, seconds: float) -> bool:
        since = self.segment().now_ps
        time.sleep(seconds)
        return bool(self.segment().now_ps == since)

    def said(self) -> str:
        return "".join((self.folder / name).read_text(errors="replace") for name in ("server", "client"))

    def both_end(self, why: str) -> None:
        for program in (self.server, self.client):
            assert program.wait(_SOON) != 0
        assert self.said().count(why) == 2, self.said()

    def pid_of(self, who: str) -> int:
        if who in ("server", "client"):
            return int(getattr(self, who).pid)
        if who == "session":
            return next(p.pid for p, role in recorded(self.run_id) if role == who)
        return daemon(self.run_id, who)


@contextmanager
def _talk(hosts: Hosts, folder: Path) -> Iterator[Talk]:
    folder.mkdir(exist_ok=True)
    with hosts.program("h1", _WORDS, folder / "server") as server:
        hosts.wait_for_listener("h1", _PORT, server)
        with hosts.program("h2", [*_WORDS, "10.0.0.1"], folder / "client") as client:
            talk = Talk(hosts, server, client, folder)
            talk.goes_on()
            yield talk


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _stat(run_id: str) -> Any:
    return command("stat", "--run", run_id)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    folder = tmp_path_factory.mktemp("talk")
    with kept_hosts(_PINGPONG, "roce") as hosts, _talk(hosts, folder) as made:
        yield made


@pytest.mark.parametrize("who", ["server", "client"])
def test_a_stopped_program_stops_the_experiment_and_nothing_is_lost(talk: Talk, who: str) -> None:
    with _stopped(talk.pid_of(who)):
        time.sleep(0.3)  # fifteen times the grace
        assert talk.stands(1.0)
        assert not any(v["excluded"] for v in talk.segment().vfs)
    talk.goes_on()
    (lost,) = {p["counters"]["link_out_undeliverable_frames"] for p in talk.segment().ports}
    assert lost == 0


def test_when_the_switch_process_is_stopped_programs_and_commands_say_so(talk: Talk) -> None:
    pid = talk.pid_of("ovs-vswitchd")
    with _stopped(pid):
        wait_for(lambda: talk.said().count(f"(ovs-vswitchd, {pid}) is stopped") == 2, "a line each", _SOON)
        assert f"ovs-vswitchd (process {pid}) is stopped: kill -CONT" in error_of(_stat(talk.run_id))
    talk.goes_on()
    assert _stat(talk.run_id).returncode == 0


@pytest.mark.parametrize("who", ["session", "ovsdb-server"])
def test_programs_do_not_need_the_session_and_the_database(talk: Talk, who: str) -> None:
    pid = talk.pid_of(who)
    with _stopped(pid):
        talk.goes_on()
        done = _stat(talk.run_id)
        if who == "session":
            assert f"the session (process {pid}) is stopped: kill -CONT {pid}" in error_of(done)
        else:
            assert done.returncode == 0
    assert _stat(talk.run_id).returncode == 0


def test_a_killed_process_ends_those_that_depend_on_it_and_no_others(tmp_path: Path) -> None:
    with kept_hosts(_PINGPONG, "irn") as hosts:
        run_id, kept = hosts.kept.directory.run_id, hosts.kept
        processes = recorded(run_id)
        with _talk(hosts, tmp_path / "a program") as talk:
            talk.server.kill()
            # Its peer waits for a message for ever, or for an acknowledgement as long as it tries again.
            wait_for(
                lambda: not any(v["pid"] for v in talk.segment().vfs if v["host"] == "h1"),
                "that its virtual function is free",
                20,
            )
        with _talk(hosts, tmp_path / "the others") as talk:  # the virtual function is free
            os.kill(daemon(run_id, "ovsdb-server"), signal.SIGKILL)
            talk.goes_on()
            assert _stat(run_id).returncode == 0
            os.kill(kept.host_pid("h2"), signal.SIGKILL)
            talk.goes_on()
            wait_for(lambda: not kept.directory.processes("host h2"), "the end of h2's process", _SOON)
            done = command("exec", "--run", run_id, "--host", "h2", "--", "true")
            assert error_of(done).startswith("h2 is gone, its process ")
            os.kill(daemon(run_id, "ovs-vswitchd"), signal.SIGKILL)
            talk.both_end(_GONE)
        said = error_of(_stat(run_id))
        assert (
            "ovs-vswitchd ended" in said and "killed by signal 9" in said and "./rocelab down ends it" in said
        )
        done = command("exec", "--run", run_id, "--host", "h1", "--", *_WORDS)
        assert done.returncode == 1 and _GONE in done.stderr, done.stdout + done.stderr
    assert leftovers(run_id, processes) == []


def test_programs_that_wait_for_the_outside_end_with_the_switch_process(tmp_path: Path) -> None:
    """accept(2), in which nobody waits for a window."""
    with kept_hosts(_PINGPONG, "roce") as hosts, hosts.program("h1", _WORDS, tmp_path / "alone") as waiting:
        hosts.wait_for_listener("h1", _PORT, waiting)
        os.kill(daemon(hosts.kept.directory.run_id, "ovs-vswitchd"), signal.SIGKILL)
        assert waiting.wait(_SOON) == 1
        assert _GONE in (tmp_path / "alone").read_text()


def test_a_topology_whose_record_is_gone_ends_by_itself(tmp_path: Path) -> None:
    done = command("up", _PINGPONG)
    run_id = done.stdout.partition(":")[0]
    hosts = Hosts(find(run_id), "roce")
    processes = recorded(run_id)
    with _talk(hosts, tmp_path) as talk:
        shutil.rmtree(f"/dev/shm/rocelab.{run_id}")
        for program in (talk.server, talk.client):
            assert program.wait(_SOON) != 0
        assert talk.said().count(_GONE) == 2
    assert stays(run_id, processes) == []


def test_a_topology_whose_folder_is_gone_is_ended_by_its_id() -> None:
    done = command("up", _PINGPONG)
    run_id = done.stdout.partition(":")[0]
    processes = recorded(run_id)
    shutil.rmtree(f"/tmp/rocelab.{run_id}")
    assert f"./rocelab down --run {run_id} ends {run_id}" in error_of(_stat(run_id))
    done = command("down", "--run", run_id)
    assert done.returncode == 0, done.stderr
    assert leftovers(run_id, processes) == []


_ON_A_SMALL_SHM = """
mount -t tmpfs -o size=8m tmpfs /dev/shm
! ./rocelab up $SCENARIO 2>&1 || exit 1
umount /dev/shm; mount -t tmpfs -o size=96m tmpfs /dev/shm
run=$(./rocelab up $SCENARIO | cut -d: -f1 | head -1)
dd if=/dev/zero of=/dev/shm/fill bs=64k 2>/dev/null
./rocelab exec --run $run --host h1 -- ibv_rc_pingpong -d rocelab0 -g 1 -n 300 & server=$!
until ./rocelab exec --run $run --host h2 -- ibv_rc_pingpong -d rocelab0 -g 1 -n 300 10.0.0.1; do sleep 0.2; kill -0 $server || break; done
wait $server; status=$?
./rocelab down --run $run && exit $status
"""


def test_programs_run_on_a_dev_shm_that_something_else_has_filled() -> None:
    """And where there is no room from the beginning `up` says so."""
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", _ON_A_SMALL_SHM],
        env={**os.environ, "SCENARIO": str(_PINGPONG)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "/segment: no room for " in done.stdout and "make /dev/shm larger" in done.stdout
    assert done.stdout.count("300 iters in") == 2, done.stdout + done.stderr
