"""The NIC in real time under ThreadSanitizer: its lock, its helper thread and the program's own threads. `./rocelab test --label tsan` runs this.

Programs that poll memory are not here: ThreadSanitizer delivers signals when a thread next calls the C library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from interface_runs import run_pair
from rocelab import native, paths
from rocelab.live.veth_pair import DEVICE, End, veth_pair

_LIBRARY = paths.TSAN / "irn_provider" / "verbs" / "librocelab_verbs.so"
if not _LIBRARY.exists():
    pytest.skip("no ThreadSanitizer build: ./rocelab test --label tsan makes it", allow_module_level=True)
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

_PERFTEST = ("-d", "rocelab0", "-x", "1", "-F")
_PINGPONG = ("ibv_rc_pingpong", "-d", "rocelab0", "-g", "1", "-n", "500")
# Four queue pairs' windows take a receiver under ThreadSanitizer, on a busy machine, longer than eight of perftest's timeouts of 67 ms.
_PATIENT = ("-u", "18")
_PROGRAMS = (
    _PINGPONG,
    (*_PINGPONG, "-e"),
    ("ib_send_lat", *_PERFTEST, "-n", "2000"),
    ("ib_write_bw", *_PERFTEST, "-n", "500", "-q", "4", *_PATIENT),
    ("ib_write_bw", *_PERFTEST, "-n", "5000", "-s", "8"),
    ("ib_read_bw", *_PERFTEST, "-n", "300"),
    ("ib_send_bw", *_PERFTEST, "-n", "300", "-e"),
    ("ib_atomic_lat", *_PERFTEST, "-n", "500"),
    ("ib_send_bw", *_PERFTEST, "-n", "300", "-R"),
)


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[End, End]]:
    with veth_pair() as pair:
        yield pair


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize("program", _PROGRAMS, ids=" ".join)
def test_nothing_is_touched_by_two_threads_at_once(
    ends: tuple[End, End], program: tuple[str, ...], transport: str
) -> None:
    variables = {
        "ROCELAB_INTERFACE": DEVICE,
        "ROCELAB_TRANSPORT": transport,
        "LD_PRELOAD": native.preload(paths.TSAN),
        "TSAN_OPTIONS": "exitcode=66",
    }
    argv = list(program)
    port = 0 if "-R" in program else 18515
    outputs = run_pair(ends, argv, [*argv, ends[0].ipv4], variables, port)  # status 0
    for output in outputs:
        assert "ThreadSanitizer" not in output, output
