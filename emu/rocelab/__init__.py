"""rocelab: end-to-end RDMA experiments on a laptop.

    import rocelab

    result = rocelab.run("scenarios/incast.toml")        # in virtual time; engine="live": through Open vSwitch, as root
    result.table                                         # means over seeds, a row for each label
    result.runs, result.flows, result.samples            # pandas frames; result.columns("flows") says what is in them
    result.plot.fct_cdf().save("fct.pdf")

docs/tutorial/python.md has the rest: scenarios made in Python, sweeps, and programs on a live topology.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocelab.errors import RocelabError, ScenarioError
    from rocelab.experiment import SweepResult, run, run_sweep
    from rocelab.live.topology import Topology, up
    from rocelab.model import Scenario
    from rocelab.result import Result

__version__ = "0.1.0"
__all__ = [
    "Result",
    "RocelabError",
    "Scenario",
    "ScenarioError",
    "SweepResult",
    "Topology",
    "run",
    "run_sweep",
    "up",
]

_HOMES = {
    "errors": ("RocelabError", "ScenarioError"),
    "experiment": ("SweepResult", "run", "run_sweep"),
    "live.topology": ("Topology", "up"),
    "model": ("Scenario",),
    "result": ("Result",),
}


def __getattr__(name: str) -> Any:
    """What __all__ has is loaded when it is asked for: set-up imports this package before pandas is there."""
    import importlib
    import sys

    for home, names in _HOMES.items():
        if name in names:
            try:
                return getattr(importlib.import_module(f"rocelab.{home}"), name)
            except ModuleNotFoundError as e:
                hint = "rocelab needs Debian's python3 and its packages: use ./rocelab python, or run ./rocelab setup"
                raise ImportError(f"{sys.executable} has no module {e.name}; {hint}") from e
    raise AttributeError(f"module 'rocelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
