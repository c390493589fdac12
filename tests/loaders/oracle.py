"""Starts loaders in earnest, one after the other, and says what became of each.

Run in the folder of the cases, as a user's script would be: `python oracle.py sound:tensors ...`.
Each case is answered by one line, so that those before a crash are known.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import sys
import traceback

STARTED, REFUSED, DIED = "started", "refused", "died"

MARK = "ORACLE "

# What torch says of a worker that ended, by its exit status or by a signal.
_ENDED = ("exited unexpectedly", "is killed by signal")

# Python's own words where shared memory is closed before the worker is started, and not after it.
_GONE = "fds_to_keep"


def start(word: str) -> tuple[str, str]:
    """Start one loader's workers, and give what became of them, and the error."""
    module, _, name = word.partition(":")
    loader = getattr(importlib.import_module(module), name)()
    try:
        next(iter(loader))
    except BaseException as error:  # also SystemExit, which pickle lets through
        if any(words in str(error) for words in (*_ENDED, _GONE)):
            return DIED, str(error)
        if not _while_starting(error):
            raise
        return REFUSED, f"{type(error).__name__}: {error}"
    return STARTED, ""


def _while_starting(error: BaseException) -> bool:
    """Whether it was raised by `Process.start()`, which pickles what it sends."""
    frames = traceback.walk_tb(error.__traceback__)
    codes = {frame.f_code for frame, _ in frames}
    return multiprocessing.Process.start.__code__ in codes


def main() -> None:
    """Start all that were named."""
    sys.path[0] = os.getcwd()
    for word in sys.argv[1:]:
        outcome, error = start(word)
        print(MARK + json.dumps({"case": word, "outcome": outcome, "error": error}), flush=True)


if __name__ == "__main__":
    main()
