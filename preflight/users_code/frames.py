"""The user's own lines among those of a traceback, and an exception in words."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import replace

from preflight.users_code.facts import Frame
from preflight.values.names import name_of
from preflight.values.own_files import PACKAGE
from preflight.values.this_process import full_path

_INSTALLED = f"{os.sep}site-packages{os.sep}"
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")

# Characters of an exception's text that are kept.
_LONGEST = 2_000

# How libraries colour a terminal, and break lines; a page has its own.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BREAKS = re.compile(r"\s*[\r\n]\s*")

NO_TEXT = "(its text cannot be had)"

# Exceptions that each were raised from the next; a chain may lead back to its beginning.
_MOST_CAUSES = 20


def is_users(file: str, *folders: str) -> bool:
    """Whether a file lies below one of these, and is not Python's, ours, or an installed package's.

    What an extension was compiled from is told relative to where that was done, and is not here.
    """
    is_known = _INSTALLED in file or file.startswith((_STANDARD, PACKAGE))
    if is_known and os.pardir not in file:  # as nearly all are that are asked about
        return False
    path = full_path(file)
    if _INSTALLED in path or path.startswith(PACKAGE):
        return False
    bases = tuple(os.path.join(full_path(one), "") for one in folders)
    return path.startswith(bases) and os.path.isfile(path)


def text_of(thing: object, otherwise: str = "") -> str:
    """Give the text of an exception, whose `__str__` is the user's code, too, and may raise."""
    try:
        return str(thing)
    except Exception:  # noqa: BLE001  whatever the user's __str__ raises
        return otherwise


def said_by(error: BaseException) -> str:
    """Give an exception's type and text, and those of the one that it was raised from first.

    A library often says only there what was wrong: `raise DatasetGenerationError(…) from error`.
    """
    said, first = _said_by(error), error
    for _ in range(_MOST_CAUSES):
        first = first.__cause__ or first
    if first is error or text_of(first) in said:
        return said
    from preflight.secrets.exception_text import hidden_of

    return hidden_of(f"{said} (from {_said_by(first)})", error)


def _said_by(error: BaseException) -> str:
    from preflight.secrets.exception_text import hidden_of

    kind = type(error)
    home = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    text = text_of(error.msg if isinstance(error, SyntaxError) else error, NO_TEXT)
    text = in_one_line(hidden_of(text, error))
    return f"{home}{kind.__qualname__}" + (f": {text}" if text else "")


def in_one_line(text: str) -> str:
    """Give the text of an exception in one line, without colours, and not for ever."""
    text = _BREAKS.sub(" ", _COLOURS.sub("", text))
    if len(text) <= _LONGEST:
        return text
    from preflight.secrets.hiding import Secrets  # what is cut in two is known no more

    return f"{Secrets().text(text)[:_LONGEST]}…"


def user_frames(trace: Iterable[traceback.FrameSummary], root: str) -> tuple[Frame, ...]:
    """Keep the user's own lines of a traceback: those under the job's folder or the current one."""
    return tuple(
        Frame(
            file=name_of(frame.filename, root),
            line=frame.lineno or 0,
            function=frame.name,
            text=frame.line or "",
        )
        for frame in trace
        if is_users(frame.filename, root, os.curdir)
    )


def hidden_lines(frames: Iterable[Frame], error: BaseException) -> tuple[Frame, ...]:
    """Take out of lines what an exception says is secret: it may be written there."""
    from preflight.secrets.exception_text import hidden_of

    frames = tuple(frames)
    # A stack that is too deep is a thousand times the same line.
    hidden = {text: hidden_of(text, error) for text in {one.text for one in frames}}
    return tuple(replace(one, text=hidden[one.text]) for one in frames)


def own_sources(root: str) -> list[str]:
    """Files of the job's own modules that are imported by now."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    texts = [file for file in files if isinstance(file, str)]
    # Nearly all are Python's, ours, and of installed packages: to make paths of them takes longer.
    known = (_STANDARD, PACKAGE)
    others = [one for one in texts if _INSTALLED not in one and not one.startswith(known)]
    return sorted(file for file in set(map(full_path, others)) if is_users(file, root))
