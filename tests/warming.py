"""Lets what starts workers have them sooner: torch is imported once, and not by each of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HERE = Path(__file__).parent / "warm"


def warm(number: int) -> dict[str, str]:
    """Give the variables by which a process of Python has so many workers at hand.

    Where a process cannot be copied after it has imported much, they are started as ever.
    """
    if sys.platform != "linux":
        return {}
    path = os.environ.get("PYTHONPATH")
    return {
        "WARM_WORKERS": str(number),
        "PYTHONPATH": os.pathsep.join([str(_HERE), *([path] if path else [])]),
    }
