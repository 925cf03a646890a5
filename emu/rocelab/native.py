"""Where what is built lies, and `_rocelab`, the C++ runner, beside which this package lies in the work tree."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocelab import paths
from rocelab.errors import RocelabError

if TYPE_CHECKING:  # _rocelab.pyi says what is in it
    from rocelab import _rocelab

    runner = _rocelab


def build_directory() -> Path:
    """$ROCELAB_BUILD, for those who build elsewhere, or build/release."""
    return Path(os.environ.get("ROCELAB_BUILD", paths.RELEASE))


def hosts_build() -> Path:
    """The build whose programs and library run on hosts: $ROCELAB_HOSTS_BUILD, for one under a sanitizer, or build_directory()."""
    named = os.environ.get("ROCELAB_HOSTS_BUILD")
    return Path(named).resolve() if named else build_directory()


def preload(build: Path | None = None) -> str:
    """LD_PRELOAD of a program that is to have an RDMA device: our library and, in a build (default: hosts_build()) under a sanitizer, that one's runtime.
    Raises RocelabError where nothing is built."""
    folder = (build or hosts_build()) / "irn_provider" / "verbs"
    try:
        files = (folder / "preload").read_text().strip()
    except OSError:
        files = ""
    if not (folder / "librocelab_verbs.so").exists() or not files:
        raise RocelabError(
            f"{folder} holds no librocelab_verbs.so: ./rocelab setup builds build/release, "
            "./rocelab test --label asan and --label tsan the others"
        )
    return files


def proxy_path() -> str:
    """LD_LIBRARY_PATH of a program that dlopens libibverbs: ours (irn_provider/verbs/proxy) before anything else."""
    proxy = hosts_build() / "irn_provider" / "verbs" / "proxy"
    return ":".join(filter(None, (str(proxy), os.environ.get("LD_LIBRARY_PATH"))))


PROGRAMS = Path(__file__).resolve().parent / "live" / "bin"  # that stand for the system's on hosts: `rdma`


def programs_path() -> str:
    """PATH of a program that is to have an RDMA device: ours before anything else."""
    return ":".join(filter(None, (str(PROGRAMS), os.environ.get("PATH"))))


def exports(variables: Mapping[str, str]) -> str:
    """For a shell's `eval`: PATH is put before the shell's own."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items() if name != "PATH"]
    return "\n".join([*lines, f'export PATH={shlex.quote(str(PROGRAMS))}:"$PATH"'])


def ovs_tree() -> Path:
    """The built Open vSwitch: $ROCELAB_OVS_TREE, for another one, or build/ovs/src."""
    return Path(os.environ.get("ROCELAB_OVS_TREE", paths.OVS_TREE)).resolve()


def __getattr__(name: str) -> Any:
    """`native.runner` is the C++ runner, loaded when it is asked for, with the types of _rocelab.pyi."""
    if name == "runner":
        return module()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def module() -> Any:
    folder = build_directory() / "emu" / "pybind"
    fits = [f"_rocelab{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    found = sorted(folder.glob("_rocelab*.so"))
    if not found:
        raise RocelabError(f"{folder} holds no _rocelab module: build it with ./rocelab setup")
    if not (fitting := [file for file in found if file.name in fits]):
        raise RocelabError(
            f"{found[0].name} is built for another Python than {sys.executable}: use /usr/bin/python3 or ./rocelab python"
        )
    spec = importlib.util.spec_from_file_location("_rocelab", fitting[0])
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
