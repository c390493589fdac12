"""How far this process has come in the file that it reads, for whoever says that it is at work.

One for the whole process, which reads one large file at a time: to hand it down to every format
would take an argument of each function on the way.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ReadSoFar:
    """Bytes of a file before the one that was read last, and those of all of it."""

    at: int = 0
    size: int = 0
    """0: nobody has said."""


HERE = ReadSoFar()
