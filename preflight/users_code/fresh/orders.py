"""Runs in a process that makes a loader anew: takes its orders, and says what comes of them."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from preflight.findings.our_failures import in_words, is_failure

Ask: TypeAlias = Callable[[], dict[str, Any]]
"""Waits for an order."""

Tell: TypeAlias = Callable[..., None]
"""Says a line."""


def _settle(folder: str) -> None:
    """Keep what is left at an early end in a folder that is removed, and leave no core behind."""
    from multiprocessing import process

    config: Any = process.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    config["tempdir"] = folder
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def main() -> None:
    """Run in a fresh process: hear what is asked, and serve as is said."""
    orders, answers = os.dup(0), os.dup(1)  # out of the way of the user's code
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    told = next_order(orders)
    module, _, name = told["serve"].partition(":")
    serve = getattr(importlib.import_module(module), name)
    begin(functools.partial(serve, told), told["folder"], orders, answers)


def begin(serve: Callable[[Ask, Tell], None], folder: str, orders: int, answers: int) -> None:
    """Serve in a process of its own, by the ends of its two pipes."""
    _settle(folder)
    with telling_failures(answers):
        serve(functools.partial(next_order, orders), teller(answers))


@contextlib.contextmanager
def telling_failures(descriptor: int) -> Iterator[None]:
    """Tell of a failure of our own code, and end."""
    try:
        yield
    except (Exception, SystemExit) as error:  # what is none of the user's, and is told as ours
        if not is_failure(error):
            raise
        trace = getattr(error, "trace", None) or "".join(traceback.format_exception(error))
        teller(descriptor)(crashed=in_words(error), trace=trace)
        os._exit(1)


def next_order(descriptor: int) -> dict[str, Any]:
    """Wait for an order; where whoever gives them is gone, end."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1)  # and none of the next one
        if not piece:
            os._exit(0)
        line += piece
    given: dict[str, Any] = json.loads(line)
    return given


def teller(descriptor: int) -> Tell:
    """Give what says a line; a copy that the user's code forked says nothing."""
    owner = os.getpid()

    def tell(**said: Any) -> None:
        if os.getpid() != owner:
            os._exit(0)
        data = memoryview(json.dumps(said).encode() + b"\n")
        while data:
            data = data[os.write(descriptor, data) :]

    return tell
