"""iproute2's `rdma` (rdma(8)) for programs that `exec` starts: the kernel, which the real one asks by netlink, has no such device. Run as a script.

Its answers come from the device's files in sysfs, which librocelab_verbs.so, preloaded, gives it. `rdma link`, `rdma dev` and `rdma statistic`, each
with [show [DEV[/PORT]]], -j and -p anywhere; formats are those of iproute2 6.1. Standard library only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DEVICES, _NETS = Path("/sys/class/infiniband"), Path("/sys/class/net")
_OPTIONS = {"-j": "json", "--json": "json", "-p": "pretty", "--pretty": "pretty", "-d": "", "--details": ""}
# Of iproute2's tables what a RoCE port can be in.
_STATES = {"1": "DOWN", "4": "ACTIVE"}
_PHYSICAL_STATES = {"3": "DISABLED", "5": "LINK_UP"}

Row = dict[str, Any]


class ToolError(Exception):
    """What to say; the exit status is then 1."""


def _read(path: Path) -> str:
    return path.read_text().strip()


def _ports(device: Path) -> list[Path]:
    return sorted((device / "ports").iterdir(), key=lambda port: int(port.name))


def _netdev(port: Path) -> Row:
    """Of the first GID that has one: an interface, as the kernel names it for the port."""
    for gid in sorted((port / "gid_attrs/ndevs").glob("*")):
        name = _read(gid)
        return {"netdev": name, "netdev_index": int(_read(_NETS / name / "ifindex"))}
    return {}


def _of_port(device: Path, port: Path) -> Row:
    return {"ifname": device.name, "port": int(port.name)}


def link_rows(devices: Sequence[Path], port: int | None) -> list[Row]:
    rows = []
    for index, device in enumerate(devices):
        for p in _ports(device):
            state = _STATES[_read(p / "state").partition(":")[0]]
            physical = _PHYSICAL_STATES[_read(p / "phys_state").partition(":")[0]]
            row = {"ifindex": index, **_of_port(device, p), "state": state, "physical_state": physical}
            rows.append({**row, **_netdev(p)})
    return [row for row in rows if port in (None, row["port"])]


def dev_rows(devices: Sequence[Path], _: int | None) -> list[Row]:
    return [
        {
            "ifindex": index,
            "ifname": device.name,
            "node_type": "ca",
            "protocol": "roce",
            "fw": _read(device / "fw_ver"),
            "node_guid": _read(device / "node_guid"),
            "sys_image_guid": _read(device / "sys_image_guid"),
        }
        for index, device in enumerate(devices)
    ]


def statistic_rows(devices: Sequence[Path], port: int | None) -> list[Row]:
    return [
        {**_of_port(device, p), **{c.name: int(_read(c)) for c in sorted((p / "hw_counters").iterdir())}}
        for device in devices
        for p in _ports(device)
        if port in (None, int(p.name))
    ]


def _pairs(row: Row, *but: str) -> str:
    return "".join(f"{name} {value} " for name, value in row.items() if name not in but)


def _link_text(row: Row) -> str:
    return f"link {row['ifname']}/{row['port']} {_pairs(row, 'ifindex', 'ifname', 'port', 'netdev_index')}"


def _dev_text(row: Row) -> str:
    return f"{row['ifindex']}: {row['ifname']}: {_pairs(row, 'ifindex', 'ifname')}"


_OBJECTS: dict[str, tuple[Callable[[Sequence[Path], int | None], list[Row]], Callable[[Row], str]]] = {
    "link": (link_rows, _link_text),
    "dev": (dev_rows, _dev_text),
    "statistic": (statistic_rows, _link_text),
}


def _object(word: str) -> str:
    """As iproute2, by any of its beginnings."""
    for name in _OBJECTS:
        if word and name.startswith(word):
            return name
    raise ToolError(
        f"'{word}' cannot be answered: the kernel, which has no rocelab0, is who knows it; what can is {', '.join(_OBJECTS)}"
    )


def _chosen(words: list[str]) -> tuple[list[Path], int | None]:
    """The devices that are meant, and the port."""
    devices = sorted(_DEVICES.iterdir()) if _DEVICES.is_dir() else []
    if not words:
        return devices, None
    name, _, port = words[0].partition("/")
    found = [device for device in devices if device.name == name]
    if not found or (port and not (found[0] / "ports" / port).is_dir()):
        raise ToolError(f"Wrong device name: {words[0]}")
    return found, int(port) if port else None


def _single(words: Sequence[str]) -> list[str]:
    """-jp is -j -p."""
    cut = [
        [f"-{letter}" for letter in word[1:]] if word.startswith("-") and word[1:2] != "-" else [word]
        for word in words
    ]
    return [word for part in cut for word in part]


def answer(words: Sequence[str]) -> str:
    """What `rdma WORDS` prints."""
    words = _single(words)
    if unknown := [w for w in words if w.startswith("-") and w not in _OPTIONS]:
        raise ToolError(f"option {unknown[0]} is not known here: -j, -p, -d are")
    options = {_OPTIONS[w] for w in words if w in _OPTIONS}
    rest = [w for w in words if w not in _OPTIONS]
    name = _object(rest[0] if rest else "")
    rest = rest[1:]
    if rest and rest[0] in ("show", "list"):
        rest = rest[1:]
    elif rest and not (_DEVICES / rest[0].partition("/")[0]).is_dir() and rest[0] != "link":
        raise ToolError(f"rdma {name} {rest[0]} cannot be had: only `show`")
    if name == "statistic" and rest[:1] == ["link"]:
        rest = rest[1:]
    rows_of, text_of = _OBJECTS[name]
    rows = rows_of(*_chosen(rest))
    if "json" in options:
        return (
            json.dumps(
                rows,
                indent=4 if "pretty" in options else None,
                separators=(",", ":" if "pretty" not in options else ": "),
            )
            + "\n"
        )
    return "".join(f"{text_of(row)}\n" for row in rows)


def main() -> int:
    try:
        sys.stdout.write(answer(sys.argv[1:]))
    except ToolError as e:
        print(f"rdma (rocelab): {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
