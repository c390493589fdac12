"""Says how a script ends by an exception, and tells failures of our own from those of the script's.

Each process that the script trains in ends by itself, and is told of so.
"""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from preflight.scripts.facts import Ended, Raised
from preflight.scripts.surroundings.our_name import NameTakenError
from preflight.scripts.watch import Stopped, Watch
from preflight.users_code.facts import Lack
from preflight.values.own_files import is_our_line, is_ours, passes_on
from preflight.values.this_process import working_folder

LEFT = "left"
"""In the scratch folder: there once a process was cut short that the script has started."""

# So many exceptions that came of each other are looked at.
_MOST_LINKS = 10

# The exit code of who was given arguments that it does not take, which is found as it reads them.
_USAGE = 2

# What may come of a state that the script would have reached by its own loop, or of its counts.
_OF_STATE = (FileNotFoundError, NameError, IndexError, ZeroDivisionError, KeyboardInterrupt)


def guarded(ours: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have a failure of ours end the script, which might catch it as one of the library's."""

    @passes_on
    @functools.wraps(ours)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return ours(*given, **named)
        except Exception as error:
            if has_failed(error, watch):
                watch.stop("preflight has failed")
            raise

    return call


def has_failed(error: BaseException, watch: Watch) -> bool:
    """Say whether our own code has raised this, and tell of it; from a forked copy, too."""
    if getattr(error, "of_preflight", False):
        return False
    failure = error if is_ours(error, watch.own.has) else _in_worker(error)
    if failure is not None:
        tell_failure(failure, watch)
    return failure is not None


def _in_worker(error: BaseException) -> BaseException | None:
    """Give the failure of ours in a worker that torch has raised again here."""
    from preflight.batches.tracebacks import in_worker, our_failure
    from preflight.users_code.frames import text_of

    said = in_worker(error)
    return None if said is None else our_failure(said, text_of(error))


def tell_failure(error: BaseException, watch: Watch) -> None:
    """Tell of a failure of ours, with the traceback."""
    from preflight.findings import our_failures

    watch.shows_us = True
    trace = getattr(error, "trace", None) or "".join(traceback.format_exception(error))
    watch.write({"crashed": our_failures.in_words(error), "trace": trace})


# --- how it ends


def ended_by(error: BaseException, watch: Watch) -> Ended | None:
    """Say how the script ends by this; None: it is a failure of ours, which was told."""
    if isinstance(error, Stopped):
        return Ended(how="stopped")
    watch.left |= os.path.exists(os.path.join(watch.scratch, LEFT))
    if isinstance(error, SystemExit) and not is_our_line(error):
        return _exited(error, watch)
    if is_stop(error, watch):
        return Ended(how="stopped")
    if has_failed(error, watch):
        return None
    watch.has_raised = True
    return _raised_at_end(error, watch)


def _exited(error: SystemExit, watch: Watch) -> Ended:
    lines = traceback.walk_tb(error.__traceback__)
    watch.exited_at = {(frame.f_code, line) for frame, line in lines}
    code = error.code if isinstance(error.code, int) else int(error.code is not None)
    if code and watch.left:
        watch.shortened(f"behind that, exit code {code}, which may come of it")
    if code and (watch.left or is_stop(error, watch)):
        return Ended(how="stopped")
    left = None if watch.given or watch.steps else raised(error, watch)
    lacks = left is not None and left.lacks is not None and left.lacks.kind != "variable"
    if lacks:
        return Ended(how="exited", code=code, raised=left)
    handled = error.__context__
    if code not in (0, _USAGE) and isinstance(handled, Exception):
        watch.has_raised = True
        return replace(_raised_at_end(handled, watch), code=code)
    said = error.code if isinstance(error.code, str) else ""
    return Ended(how="exited", code=code, said=said)


def is_stop(error: BaseException, watch: Watch) -> bool:
    """Whether it comes of an epoch that we have cut short, or of our stop.

    Each epoch ends: what fails in that which the script does then is its own, unless it says itself
    that it has expected no end.
    """
    one: BaseException | None = error
    is_handled = False
    for _ in range(_MOST_LINKS):
        if one is None:
            break
        if isinstance(one, Stopped):
            return True
        if getattr(one, "of_preflight", False):
            fails = is_handled and isinstance(one, StopIteration)
            return not fails or _says_so_itself(error, watch)
        is_handled = one.__cause__ is None
        one = one.__cause__ or one.__context__
    return False


def _says_so_itself(error: BaseException, watch: Watch) -> bool:
    """Whether the script has a line for it: an exit, a `raise`, an `assert`."""
    own = watch.own.frames(traceback.extract_tb(error.__traceback__))[-1:]
    is_exit = isinstance(error, (SystemExit, AssertionError))
    return is_exit or any(one.text.startswith("raise") for one in own)


def _may_come_of_us(error: BaseException, told: Raised) -> bool:
    is_number = isinstance(error, KeyError) and not all(isinstance(one, str) for one in error.args)
    is_empty = any(one in told.error for one in ("NoneType", "empty"))
    return isinstance(error, _OF_STATE) or is_number or is_empty or told.lacks is not None


def _raised_at_end(error: BaseException, watch: Watch) -> Ended:
    """Tell of an exception; behind a loop that we have left, not of what may come of that."""
    told = raised(error, watch)
    if any(one(error) for one in watch.too_early):
        at = told.frames[-1]
        what = f"{type(error).__name__} at {at.file}:{at.line}"
        watch.shortened(f"what comes then to {what}, which may come of steps that it lacks")
        return Ended(how="stopped")
    if not watch.left:
        return Ended(how="raised", code=1, raised=told)
    if _may_come_of_us(error, told) or _says_so_itself(error, watch):
        watch.shortened(f"behind that, {type(error).__name__}, which may come of it")
        return Ended(how="stopped")
    return Ended(how="stopped", raised=replace(told, behind=True))


def raised(error: BaseException, watch: Watch, *, thread: str = "") -> Raised:
    """Say as facts what nothing in the script has caught."""
    from preflight.batches.tracebacks import in_worker
    from preflight.secrets.exception_text import hidden_of
    from preflight.users_code.frames import hidden_lines, said_by
    from preflight.users_code.lacks.lacking import lacking
    from preflight.users_code.unfound import unfound

    if isinstance(error, NameTakenError):
        return Raised(error=str(error), lacks=Lack(kind="name", name=error.name))
    frames = watch.own.frames(traceback.extract_tb(error.__traceback__))
    file = error.filename if isinstance(error, SyntaxError) else None
    if isinstance(error, SyntaxError) and file and watch.own.has(file):
        frames = (*frames, watch.own.frame(file, error.lineno or 1, "<module>"))
    inner = in_worker(error)
    folders = (watch.root, working_folder(), watch.folder)
    lacks = lacking(error, folders) or next(
        filter(None, (lack(error) for lack in watch.lacks)), None
    )
    return Raised(
        error=hidden_of(said_by(error) if inner is None else inner.error, error),
        frames=(*hidden_lines(frames, error), *watch.own.frames(inner.calls if inner else ())),
        while_at=watch.while_at,
        thread=thread,
        lacks=lacks,
        unfound=unfound(iter([error]), folders) if lacks is None else None,
        told_by=watch.blamed.get(id(error), ""),
    )
