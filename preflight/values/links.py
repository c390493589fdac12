"""Says of links where they lead, as far as a walk over a tree has to know."""

from __future__ import annotations

import os


def leads_to_system(path: str) -> bool:
    """Whether a path is a link to the root of the file system, and so to everything there is."""
    return os.path.islink(path) and os.path.realpath(path) == os.path.abspath(os.sep)
