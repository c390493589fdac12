"""How a failure of our own is told: as a bug of ours, and not as anything of the job."""

from __future__ import annotations

import os

from preflight.values.exit_status import ending
from preflight.values.own_files import HOME, PACKAGE, is_our_line

_OURS = (PACKAGE, os.path.join(HOME, "checks", ""))

# Lines of ours that are named: the innermost.
_LINES = 2

_CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "crashed")


class ElsewhereError(Exception):
    """Our own code has failed in a process that this one has started."""

    def __init__(self, words: str, trace: str) -> None:
        super().__init__(words)
        self.trace = trace


def report_it(*, traced: bool) -> str:
    """Say what to do about one; its traceback is written to stderr where there is one."""
    said = "the traceback on stderr" if traced else "what stderr says of it, if anything,"
    return f"Open an issue with {said} and with what this prints:  preflight report"


def is_failure(error: BaseException) -> bool:
    """Whether this is one, where nothing that the job raises is left: an exit may be of others."""
    return isinstance(error, Exception) or is_our_line(error)


def in_words(error: BaseException) -> str:
    """Say which exception it was, and which lines of ours have led to it."""
    import traceback

    if isinstance(error, ElsewhereError):
        return str(error)
    kind = type(error).__name__
    text = f"{kind}: {error}" if str(error) else kind
    lines = [
        f"{one.filename.removeprefix(HOME + os.sep).replace(os.sep, '/')}:{one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
        if one.filename.startswith(_OURS)
    ]
    at = f" ({', '.join(lines[-_LINES:])})" if lines else ""
    broken = ", or its installation is not whole" if isinstance(error, ImportError) else ""
    return f"a bug of preflight{broken}: {text}{at}"


def of_death(status: int) -> str | None:
    """Say of a process that ran no code of the job why it died; None: nobody here is to blame."""
    end = ending(status)
    if any(word in end for word in _CRASHES):
        return (
            f"the process of preflight that looked at it {end}: its bytes crash a decoder, or it "
            "is a bug of preflight"
        )
    return None if status < 0 else f"a bug of preflight: the process that looked at it {end}"
