"""A running virtual machine (QEMU without KVM: any processor will do)."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from rocelab.errors import RocelabError
from rocelab.guest import initramfs
from rocelab.guest.console import Console
from rocelab.guest.kernel import Kernel

_BOOT_SECONDS = 120.0  # 11 s on a quiet machine


class Machine:
    """close() ends it (contextlib.closing).

    `folder`: has its initramfs. `inside`: words before the command line that bring it into a network namespace, e.g. mnexec -a PID. `tap`: a
    TAP device there.
    """

    def __init__(self, kernel: Kernel, folder: Path, inside: list[str], tap: str, mac: str) -> None:
        self.begin = time.monotonic()
        self.boot_seconds = 0.0
        self.log = folder / "console"
        self.control = folder / "control"
        argv = [
            *(*inside, "qemu-system-x86_64", "-accel", "tcg", "-m", "384", "-smp", "1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", str(kernel.image), "-initrd", str(folder / "initramfs")),
            *("-append", "console=ttyS0 quiet panic=-1 mitigations=off"),
            *("-serial", f"file:{self.log}"),
            *("-chardev", f"socket,id=control,path={self.control},server=on,wait=off"),
            *("-device", "virtio-serial-pci"),
            *("-device", f"virtserialport,chardev=control,name={initramfs.PORT}"),
            # Without vnet_hdr the guest makes its own checksums and segments: what it sends are frames.
            *("-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no,vnet_hdr=off"),
            *("-device", f"virtio-net-pci,netdev=net,mac={mac},romfile="),
        ]
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            self._wait_for_boot()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _wait_for_boot(self) -> None:
        deadline = time.monotonic() + _BOOT_SECONDS
        console = None
        while console is None:
            try:
                console = Console(self.control)
            except OSError:
                if self.process.poll() is not None:
                    error = self.process.stderr.read() if self.process.stderr else ""
                    raise RocelabError(f"qemu-system-x86_64: {error.strip()}") from None
                if time.monotonic() > deadline:
                    raise RocelabError("qemu-system-x86_64 does not start") from None
                time.sleep(0.05)
        try:
            console.socket.settimeout(_BOOT_SECONDS)
            while console.line() != "up":
                pass
        except OSError:
            said = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise RocelabError(f"the virtual machine does not boot; its console says:\n{said}") from None
        finally:
            console.close()
        self.boot_seconds = time.monotonic() - self.begin
