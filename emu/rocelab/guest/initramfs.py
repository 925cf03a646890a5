"""An initramfs for a stock kernel with Soft-RoCE (rdma_rxe): busybox, the kernel's own modules, and this machine's RDMA programs with their
libraries. Nothing is compiled."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

MODULES = ("virtio_pci", "virtio_net", "virtio_console", "crc32_generic", "rdma_rxe", "rdma_ucm", "ib_uverbs")
PROGRAMS = (
    *(
        "rdma",
        "ibv_devices",
        "ibv_devinfo",
        "ibv_rc_pingpong",
        "ibv_uc_pingpong",
        "ibv_ud_pingpong",
        "ibv_srq_pingpong",
    ),
    *(
        "rping",
        "ucmatose",
        "udaddy",
        "ib_write_bw",
        "ib_read_bw",
        "ib_send_bw",
        "ib_atomic_bw",
        "ib_write_lat",
    ),
)
PROVIDER = Path("/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so")
# Programs load it when a thread is cancelled; ldd does not know.
THREAD_END = Path("/lib/x86_64-linux-gnu/libgcc_s.so.1")
PORT = "rocelab.control"  # the virtio-serial port on which commands come

_INIT = f"""#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for m in {' '.join(MODULES)}; do modprobe $m || echo "no module $m"; done
. /parameters
ip link set lo up
ip link set eth0 mtu $MTU up
ip addr add $ADDRESS/8 dev eth0
rdma link add rxe0 type rxe netdev eth0 || echo "no rxe device"
for p in /sys/class/virtio-ports/*; do
  [ "$(cat $p/name)" = {PORT} ] && exec sh /serve /dev/$(basename $p)
done
echo "no control port"
"""
# A line is a command; its output comes back, then a line with the token and the exit status. Without a client a read ends at once.
_SERVE = """exec 3<>$1
echo "up" >&3
while true; do
  while read -r token command <&3; do
    sh -c "$command" > /tmp/out 2>&1 < /dev/null
    status=$?
    cat /tmp/out >&3
    echo "
$token $status" >&3
  done
  usleep 50000
done
"""


class _Cpio:
    """The kernel's "newc" archive format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.names: set[str] = set()

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        parent = os.path.dirname(name)
        if parent and parent not in self.names:
            self.add(parent, stat.S_IFDIR | 0o755)
        if name in self.names:
            return
        self.names.add(name)
        self._entry(name, mode, data, device)

    def _entry(self, name: str, mode: int, data: bytes, device: tuple[int, int]) -> None:
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def bytes(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"", (0, 0))
        return b"".join(self.parts)


def build(modules: Path, out: Path, address: str, mtu: int, more: Iterable[Path] = ()) -> None:
    """Writes the initramfs of a machine that has `address` on its eth0. `modules`: lib/modules/VERSION of the kernel, with its modules.dep;
    `more`: programs beside PROGRAMS."""
    cpio = _Cpio()
    for name in ("proc", "sys", "dev", "tmp", "etc"):
        cpio.add(name, stat.S_IFDIR | 0o755)
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    cpio.add("init", stat.S_IFREG | 0o755, _INIT.encode())
    cpio.add("serve", stat.S_IFREG | 0o755, _SERVE.encode())
    cpio.add("parameters", stat.S_IFREG | 0o644, f"ADDRESS={address}\nMTU={mtu}\n".encode())
    _add_busybox(cpio)
    programs = [Path(p) for p in map(shutil.which, PROGRAMS) if p]
    for file in _with_libraries([*programs, *more, PROVIDER, THREAD_END]):
        cpio.add(str(file), stat.S_IFREG | 0o755, file.read_bytes())
    cpio.add("etc/libibverbs.d/rxe.driver", stat.S_IFREG | 0o644, b"driver rxe\n")
    _add_modules(cpio, modules)
    out.write_bytes(gzip.compress(cpio.bytes(), 1))


def _add_busybox(cpio: _Cpio) -> None:
    cpio.add("bin/busybox", stat.S_IFREG | 0o755, Path("/bin/busybox").read_bytes())
    listed = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout
    for applet in listed.split():
        cpio.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")


def _with_libraries(files: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for file in files:
        found[file] = None
        listed = subprocess.run(["ldd", str(file)], capture_output=True, text=True).stdout
        for path in re.findall(r"(/\S+)", listed):
            found[Path(path)] = None
    return list(found)


def _add_modules(cpio: _Cpio, modules: Path) -> None:
    where = f"lib/modules/{modules.name}"
    depends: dict[str, list[str]] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        file, _, needed = line.partition(":")
        depends[file] = needed.split()
    wanted = [f for f in depends if Path(f).stem in MODULES]
    for file in dict.fromkeys(f for w in wanted for f in (w, *depends[w])):
        cpio.add(f"{where}/{file}", stat.S_IFREG | 0o644, (modules / file).read_bytes())
    for name in ("modules.dep", "modules.alias", "modules.symbols"):
        if (modules / name).exists():
            cpio.add(f"{where}/{name}", stat.S_IFREG | 0o644, (modules / name).read_bytes())
