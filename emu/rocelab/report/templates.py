"""How every page of rocelab is filled in: values are escaped, and a name that is missing is an error."""

from __future__ import annotations

from pathlib import Path

import jinja2


def templates(folder: Path) -> jinja2.Environment:
    """Of the .j2 files in `folder`."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
