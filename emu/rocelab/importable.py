"""`import rocelab` in Debian's Python: a link to this package in a folder that it searches, made by `./rocelab setup`, removed by `./rocelab clean --python`.

Standard library only. Why a link: docs/tutorial/python.md.
"""

from __future__ import annotations

import os
import site
from dataclasses import dataclass
from pathlib import Path

from rocelab import paths
from rocelab.privileges import is_root

PACKAGE = paths.ROOT / "emu" / "rocelab"


def folder() -> Path:
    """Of all users for root (/usr/local/lib/python3.11/dist-packages), else of the user. Of /usr/bin/python3, in which this runs."""
    return Path(site.getsitepackages()[0] if is_root() else site.getusersitepackages())


@dataclass(frozen=True)
class Link:
    """The link, in the folder that holds it."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "rocelab"

    def target(self) -> Path | None:
        """The package that is imported; None: no link is here, or none that this user may see."""
        try:
            return Path(os.readlink(self.path))
        except OSError:
            return None

    def make(self) -> str | None:
        """Makes it, unless it is there. What there is to say of one that is another work tree's, which stays."""
        target = self.target()
        if target == PACKAGE:
            return None
        if target is not None and target.exists():
            return f"`import rocelab` is that of {target.parents[1]} ({self.path}); ./rocelab python has this one"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if target is not None:
                self.path.unlink()  # of a work tree that is gone
            self.path.symlink_to(PACKAGE)
        except FileExistsError:
            return f"{self.path} is in the way of `import rocelab`; ./rocelab python has it"
        except OSError as e:
            return f"{self.path}: {e.strerror}; ./rocelab python has rocelab importable all the same"
        return None

    def remove(self) -> bool:
        """Whether one of this work tree, or of one that is gone, was there."""
        target = self.target()
        if target is None or (target != PACKAGE and target.exists()):
            return False
        self.path.unlink()
        return True
