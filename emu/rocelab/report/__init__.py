"""report.html: one self-contained page (inline SVG and one script, no network) that says what was run, what came out and how far it can be trusted."""

from __future__ import annotations

from rocelab.report.page import render

__all__ = ["render"]
