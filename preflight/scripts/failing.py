"""Tells failures of our own in the script's process, so that none is taken for the script's."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from preflight.findings import our_failures
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
    means_it = getattr(error, "of_preflight", False)
    if means_it or not is_ours(error, watch.own.has):
        return False
    tell_failure(error, watch)
    return True


def tell_failure(error: BaseException, watch: Watch) -> None:
    """Tell of a failure of ours, with the traceback."""
    watch.shows_us = True
    trace = "".join(traceback.format_exception(error))
    watch.write({"crashed": our_failures.in_words(error), "trace": trace})
