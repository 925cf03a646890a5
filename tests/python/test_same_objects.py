"""What was simulated is what runs: protocol and queue laws are compiled once, and the virtual-time engine, the preloaded NIC and the switch process link
those very objects."""

from __future__ import annotations

import subprocess
from collections import Counter

import pytest
from rocelab import native

BUILD = native.build_directory()
SHARED = ("base", "irn_provider/transport", "irn_provider/cc", "irn_provider/nic", "ovs_patches/switch_model")

pytestmark = pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason=f"{BUILD} is not configured")


def objects_of(target: str) -> set[str]:
    """Object files that go into a target, archives in between opened, as paths in the build folder."""
    done = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "inputs", target], capture_output=True, text=True, check=True
    )
    return {line for line in done.stdout.splitlines() if line.endswith(".o")}


def shared(objects: set[str], folder: str) -> set[str]:
    return {o for o in objects if o.startswith(f"{folder}/CMakeFiles/")}


@pytest.fixture(scope="module")
def virtual() -> set[str]:
    targets = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "targets", "all"], capture_output=True, text=True, check=True
    )
    names = [line.partition(":")[0] for line in targets.stdout.splitlines()]
    (module,) = [name for name in names if name.startswith("emu/pybind/_rocelab") and name.endswith(".so")]
    return objects_of(module)


@pytest.mark.parametrize(
    ("target", "folders"),
    [
        (
            "irn_provider/verbs/librocelab_verbs.so",
            ("irn_provider/transport", "irn_provider/cc", "irn_provider/nic"),
        ),
        ("ovs_patches/netdev/liblossless.a", ("ovs_patches/switch_model",)),
    ],
)
def test_both_engines_link_the_same_objects(virtual: set[str], target: str, folders: tuple[str, ...]) -> None:
    real = objects_of(target)
    for folder in folders:
        assert shared(real, folder) == shared(virtual, folder)
    assert any(shared(virtual, folder) for folder in folders)


def test_no_law_is_compiled_twice() -> None:
    """One object per source of the folders without I/O, whoever links it."""
    targets = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "targets", "all"], capture_output=True, text=True, check=True
    )
    compiled = [line.partition(":")[0] for line in targets.stdout.splitlines() if "CXX_COMPILER" in line]
    sources = Counter(
        f"{folder}/{rest.partition('/')[2]}"
        for o in compiled
        for folder, _, rest in [o.partition("/CMakeFiles/")]
        if folder in SHARED and not o.endswith(("_test.cc.o", "_bench.cc.o")) and not "fuzz" in o
    )
    assert sources and [source for source, count in sources.items() if count > 1] == []


def test_the_program_posts_by_the_same_script(virtual: set[str]) -> None:
    script = "verbs_app/CMakeFiles/rl_flow_script.dir/flows/transfer_script.cc.o"
    assert script in virtual and script in objects_of("verbs_app/rocelab_flows")
