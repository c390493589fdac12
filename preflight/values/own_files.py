"""Where our own files lie: for processes that start with them, and to tell whose an error is."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

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


# A worker may have a module of the job's that is called as ours is: each finds its own.
_THERE = """
def begin(worker):
    import importlib, sys
    ours = lambda: [one for one in sys.modules if one.partition(".")[0] == "preflight"]
    theirs = {one: sys.modules.pop(one) for one in ours()}
    sys.path.insert(0, home)
    try:
        module, _, name = called.partition(":")
        getattr(importlib.import_module(module), name)(*given)
    finally:
        sys.path.remove(home)
        for one in ours():
            del sys.modules[one]
        sys.modules.update(theirs)
    return None if then is None else then(worker)
"""


def sent_there(
    called: str, given: tuple[Any, ...], then: Callable[[int], Any] | None
) -> tuple[Any, ...]:
    """Give what a worker makes of a thing that is sent to it, without a name that it would import.

    Args:
        called: the `module:function` that it begins with.
        given: plain values that this one is given.
        then: what the job has its workers begin with.
    """
    space = {"home": HOME, "called": called, "given": given, "then": then}
    return eval, ("(exec(code, space), space['begin'])[1]", {"code": _THERE, "space": space})


# --- whose an error is

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PASSING_ON: set[CodeType] = set()


def passes_on(function: _Function) -> _Function:
    """Say of a function of ours that what is raised in its own lines is the job's.

    It stands in the place of one that the job calls, and calls that.
    """
    _PASSING_ON.add(function.__code__)
    return function


def theirs(called: Callable[..., Any]) -> Callable[..., Any]:
    """Have what is not ours told from us by a frame of its own, in tracebacks that lead to it."""

    @passes_on
    @functools.wraps(called)
    def call(*given: Any, **named: Any) -> Any:
        return called(*given, **named)

    return call


def is_ours(error: BaseException, is_jobs: Callable[[str], bool]) -> bool:
    """Whether our own code has failed, where it stands among code of the job.

    Too deep a stack, and memory that is used up, are told of wherever it happens to be; what has
    `of_job` tells of the job. What is no file of ours, and not `is_jobs`, is one that we call.
    """
    if isinstance(error, (RecursionError, MemoryError)) or getattr(error, "of_job", False):
        return False
    found, trace = False, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(PACKAGE):
            found = code not in _PASSING_ON
        elif is_jobs(code.co_filename):
            found = False
        trace = trace.tb_next
    return found


def is_our_line(error: BaseException) -> bool:
    """Whether a line of ours has raised this, and nothing that it calls, nor the system.

    No line of ours ends the process while it looks: an exit of ours has failed as well.
    """
    is_error = isinstance(error, (Exception, SystemExit)) and not isinstance(error, OSError)
    return is_error and is_ours(error, lambda _: True)


def is_of_ours(file: str, function: str) -> bool:
    """Whether a call that a worker has printed is of a function of ours that does not pass on."""
    own = (one for one in _PASSING_ON if one.co_filename == file)
    return file.startswith(PACKAGE) and all(one.co_name != function for one in own)
