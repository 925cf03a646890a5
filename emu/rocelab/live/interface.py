"""Programs on a network interface or over shared memory, in real time, without a topology (docs/reference/interface.md): what `exec` and `env` do with --interface."""

from __future__ import annotations

import os

from rocelab import native
from rocelab.live.exec_replace import become
from rocelab.live.programs import check_program


def environment(interface: str, transport: str = "roce", window: int | None = None) -> dict[str, str]:
    """What a program needs to find its NIC. `interface`: a device's name, or shm:NAME. `window`: packets in flight of a queue pair, where IRN bounds them."""
    variables = {
        "ROCELAB_INTERFACE": interface,
        "ROCELAB_TRANSPORT": transport,
        "LD_PRELOAD": native.preload(),
        "PATH": native.programs_path(),
    }
    return variables if window is None else {**variables, "ROCELAB_WINDOW": str(window)}


def execute(
    interface: str, program: tuple[str, ...], transport: str, window: int | None, dlopen: bool = False
) -> int:
    """`dlopen`: for a program that opens libibverbs itself."""
    variables = {**os.environ, **environment(interface, transport, window)}
    if dlopen:
        variables["LD_LIBRARY_PATH"] = native.proxy_path()
    for name in ("ROCELAB_SEGMENT", "ROCELAB_HOST"):  # of a run, which would come first
        variables.pop(name, None)
    check_program(program)
    become(program, variables)


def env(interface: str, transport: str, window: int | None) -> int:
    print(native.exports(environment(interface, transport, window)))
    return 0
