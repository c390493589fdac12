"""Where our own files lie, for processes that start with them and tracebacks without them."""

from __future__ import annotations

import os

HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder that has `preflight` in it, and `checks` where nothing was installed."""

PACKAGE = os.path.join(HOME, "preflight", "")

# Our folder is on the path only while we are imported.
_BOOT = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); "
    "home, main = sys.argv[1:]; sys.argv[1:] = []; sys.path.insert(0, home); "
    "import importlib; module, _, name = main.partition(':'); "
    "run = getattr(importlib.import_module(module), name); sys.path.remove(home); run()"
)


def running(main: str) -> list[str]:
    """Give the words that have an interpreter run a function of ours, by its `module:name`."""
    return ["-c", _BOOT, HOME, main]
