"""Tells how a process ends that a script has started, and has it end well where we stop it."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from preflight.scripts.facts import Ended
from preflight.scripts.failing import LEFT, ended_by
from preflight.scripts.watch import Watch
from preflight.scripts.without_our_lines import leave_us_out
from preflight.values.own_files import passes_on
from preflight.values.wire import to_brief


def ends(called: Callable[..., Any], watch: Watch, home: str) -> Callable[..., Any]:
    """Have what a process runs told of when it is over."""

    @passes_on
    @functools.wraps(called)
    def run(*args: Any, **named: Any) -> Any:
        try:
            given = called(*args, **named)
        except KeyboardInterrupt:  # who has started it ends it
            raise
        except BaseException as error:
            ended = ended_by(error, watch)
            _over(ended, watch, home)
            leave_us_out(error)
            if ended is None:
                raise SystemExit(1) from None
            if ended.how != "stopped":
                raise
            if watch.has_raised:
                sys.excepthook(type(error), error, error.__traceback__)
            return None
        _over(Ended(how="returned", code=0), watch, home)
        return given

    return run


def _over(ended: Ended | None, watch: Watch, home: str) -> None:
    if watch.left or (ended is not None and ended.how == "stopped"):
        with open(os.path.join(home, LEFT), "ab"):
            pass
    if ended is not None:
        watch.tell(ended=to_brief(ended), when=time.time())
    watch.over()
