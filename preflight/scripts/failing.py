"""Tells failures of our own in the script's process, so that none is taken for the script's."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from preflight.scripts.watch import Watch
from preflight.values.own_files import is_ours, passes_on


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
    from preflight.batches.tracebacks import Printed, in_worker, our_failure
    from preflight.users_code.frames import text_of

    said, calls = in_worker(error)
    return our_failure(Printed("", said, calls), text_of(error)) if calls else None


def tell_failure(error: BaseException, watch: Watch) -> None:
    """Tell of a failure of ours, with the traceback."""
    from preflight.findings import our_failures

    watch.shows_us = True
    trace = getattr(error, "trace", None) or "".join(traceback.format_exception(error))
    watch.write({"crashed": our_failures.in_words(error), "trace": trace})
