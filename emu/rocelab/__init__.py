"""rocelab: end-to-end RDMA experiments on a laptop."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """rocelab.run() and rocelab.Result, loaded when they are asked for: set-up imports this package before pandas is there."""
    if name == "run":
        from rocelab.results import run

        return run
    if name == "Result":
        from rocelab.result import Result

        return Result
    raise AttributeError(f"module 'rocelab' has no attribute {name!r}")
