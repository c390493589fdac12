"""Has a worker that is not forked begin with a function of ours, by where our own files lie.

A worker may have a module of the job's that is called as ours is: each finds its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from preflight.values.own_files import HOME

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
