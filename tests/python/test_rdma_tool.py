"""`rdma` for programs under `exec`: what it makes of the device's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rocelab.live import rdma_tool
from rocelab.live.rdma_tool import ToolError, answer


@pytest.fixture(autouse=True)
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a port that is down, and whose third GID has an interface."""
    files = {
        "infiniband/rocelab0/fw_ver": "0.1.0",
        "infiniband/rocelab0/node_guid": "0011:22ff:fe33:4455",
        "infiniband/rocelab0/sys_image_guid": "0011:22ff:fe33:4455",
        "infiniband/rocelab0/ports/1/state": "1: DOWN",
        "infiniband/rocelab0/ports/1/phys_state": "3: Disabled",
        "infiniband/rocelab0/ports/1/gid_attrs/ndevs/2": "h1-eth0",
        "infiniband/rocelab0/ports/1/hw_counters/out_of_sequence": "5",
        "net/h1-eth0/ifindex": "7",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(rdma_tool, "_DEVICES", tmp_path / "infiniband")
    monkeypatch.setattr(rdma_tool, "_NETS", tmp_path / "net")
    return tmp_path / "infiniband/rocelab0"


_LINK = {
    "ifindex": 0,
    "ifname": "rocelab0",
    "port": 1,
    "state": "DOWN",
    "physical_state": "DISABLED",
    "netdev": "h1-eth0",
    "netdev_index": 7,
}


@pytest.mark.parametrize(
    "line", ["link show -j", "-j link", "link -jp show rocelab0/1", "--json l list rocelab0"]
)
def test_options_stand_anywhere_and_objects_may_be_cut_short(line: str) -> None:
    assert json.loads(answer(line.split())) == [_LINK]


def test_texts_are_those_of_iproute2() -> None:
    assert answer(["link"]) == "link rocelab0/1 state DOWN physical_state DISABLED netdev h1-eth0 \n"
    assert answer(["dev"]) == (
        "0: rocelab0: node_type ca protocol roce fw 0.1.0 node_guid 0011:22ff:fe33:4455 sys_image_guid 0011:22ff:fe33:4455 \n"
    )
    assert answer(["stat", "show", "link", "rocelab0/1"]) == "link rocelab0/1 out_of_sequence 5 \n"


def test_a_port_without_interface_has_no_netdev(device: Path) -> None:
    (device / "ports/1/gid_attrs/ndevs/2").unlink()
    (row,) = json.loads(answer(["link", "-j"]))
    assert "netdev" not in row and row["state"] == "DOWN"


@pytest.mark.parametrize(
    "line, said",
    [
        ("resource show", "'resource' cannot be answered"),
        ("", "cannot be answered"),
        ("link show mlx5_0", "Wrong device name: mlx5_0"),
        ("link show rocelab0/2", "Wrong device name"),
        ("link add rxe0 type rxe netdev eth0", "rdma link add cannot be had"),
        ("link -x", "option -x is not known"),
    ],
)
def test_questions_without_an_answer_are_reported(line: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        answer(line.split())
