"""The formats of a report: one module each, with `render(report) -> str`, loaded when asked for."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import cast

from preflight.findings.report import Report

FORMATS = ("terminal", "json", "markdown")
"""The names that `--format` takes: each is a module, whose `render(report)` gives the text."""

SUFFIXES: Mapping[str, str] = {".json": "json", ".md": "markdown"}
"""The format of a file, where `-o FILE` does not say it."""


def renderer(name: str) -> Callable[[Report], str]:
    """Load one format."""
    module = importlib.import_module(f"preflight.render.{name}")
    return cast("Callable[[Report], str]", module.render)


def format_of(path: str) -> str | None:
    """Tell the format of a file by its suffix; None where the suffix says nothing."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower())


def _page(report: Report) -> str:
    return renderer("terminal")(report).rstrip("\n")


# The report lies on a lower floor, and cannot ask for its page itself.
Report.page = _page
