"""Tells programs that only ask the system something from those that a script starts."""

from __future__ import annotations

from preflight.scripts.watch import Watch

_ASK = frozenset({"ctypes.util", "platform", "uuid"})
"""Modules of Python's that start `ldconfig`, `uname` and their like."""

_IMPORT = "<frozen importlib._bootstrap>"


def is_asked(watch: Watch) -> bool:
    """Whether Python itself starts a program, or a package while it is imported.

    So torch looks for the libraries of CUDA.
    """
    frame = watch.caller()
    while frame is not None and not watch.is_own(frame):
        if frame.f_code.co_filename == _IMPORT or frame.f_globals.get("__name__") in _ASK:
            return True
        frame = frame.f_back
    return False
