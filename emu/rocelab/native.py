"""Finds and loads `_rocelab`, the C++ runner, beside which this package lies in the work tree."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

from rocelab import paths
from rocelab.errors import RocelabError


def build_directory() -> Path:
    """$ROCELAB_BUILD, for those who build elsewhere, or build/release."""
    return Path(os.environ.get("ROCELAB_BUILD", paths.RELEASE))


@functools.cache
def module() -> Any:
    folder = build_directory() / "emu" / "pybind"
    found = sorted(folder.glob("_rocelab*.so"))
    if not found:
        raise RocelabError(f"{folder} holds no _rocelab module: build it by ./rocelab setup")
    spec = importlib.util.spec_from_file_location("_rocelab", found[0])
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
