"""How multiprocessing starts processes where nobody has said how."""

from __future__ import annotations

import sys

SPAWNING = frozenset({"spawn", "forkserver"})
"""The ways in which a process imports the main module again, and is sent what it needs."""


def default_start_method(
    system: str = sys.platform, version: tuple[int, ...] = sys.version_info[:2]
) -> tuple[str, str]:
    """Say how processes are started by default, and what makes it so."""
    if system in ("win32", "darwin"):
        return "spawn", f"the default of {'Windows' if system == 'win32' else 'macOS'}"
    python = "{}.{}".format(*version)
    method = "forkserver" if version >= (3, 14) else "fork"
    return method, f"the default of Python {python} on {system.capitalize()}"
