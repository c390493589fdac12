"""Tells what the user's code raises from what we raise, and says it as facts."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import replace

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.objects.stand_in import StoodIn
from preflight.targets.targets import Built
from preflight.users_code.facts import Frame, Lack, MadeOnCpu, Unbuilt
from preflight.users_code.lacking import chain, lacking
from preflight.users_code.unfound import unfound
from preflight.values.names import name_of

# Characters of an exception's text that are kept.
_LONGEST = 2_000

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class RaisedError(Exception):
    """The user's code raised while a target was made."""

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(step)
        self.step = step
        self.error = error


@contextlib.contextmanager
def blaming(step: str) -> Iterator[None]:
    """Whatever the user's code raises, `sys.exit` too, is the user's."""
    try:
        yield
    except (CannotLookError, MistypedError):
        raise
    except BaseException as error:
        raise RaisedError(step, error) from error


@contextlib.contextmanager
def blaming_users(root: str) -> Iterator[None]:
    """Put down to the user what raises in the user's own lines while we look."""
    try:
        yield
    except (CannotLookError, MistypedError):
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        base = os.path.abspath(root) + os.sep
        if frames and is_users(os.path.abspath(frames[-1].filename), base):
            raise RaisedError("look", error) from error
        raise


def is_users(path: str, base: str) -> bool:
    """Whether a file lies below a folder, and is neither ours nor of an installed package.

    What an extension was compiled from is told relative to where that was done, and is not here.
    """
    mine = path.startswith(base) and not path.startswith(_OURS)
    installed = "site-packages" in path.split(os.sep)
    return mine and not installed and os.path.isfile(path)


# Nothing of this is raised because a tensor is on the CPU.
_ON_ANY_DEVICE = (NameError, SyntaxError, ImportError, FileNotFoundError)


def unbuilt(
    built: Built, raised: RaisedError, root: str, factory: object, stood_in: StoodIn
) -> Unbuilt:
    """Say as facts what was raised, and what it was raised for want of."""
    error = raised.error
    folders = (root, os.getcwd(), sys.path[0] if sys.path else root)
    lacks = lacking(error, folders)
    if lacks is None and stood_in.frames is not None and not isinstance(error, _ON_ANY_DEVICE):
        lacks = Lack(kind="stand-in", name="CUDA")
    if lacks is not None and _takes_device(factory):
        lacks = replace(lacks, takes_device=True)
    return Unbuilt(
        name=built.name or built.spec,
        step=raised.step,
        error=said_by(error),
        frames=(
            *_user_frames(traceback.extract_tb(error.__traceback__), root),
            *_unparsed(error, root),
        ),
        lacks=lacks,
        unfound=unfound(chain(error), folders) if lacks is None else None,
    )


def made_on_cpu(name: str, stood_in: StoodIn, root: str) -> MadeOnCpu:
    """Say where a GPU was asked for first, for which the CPU stood in."""
    frames = _user_frames(stood_in.frames or (), root)
    return MadeOnCpu(name=name, at=frames[-1] if frames else None)


def _takes_device(factory: object) -> bool:
    try:
        return callable(factory) and "device" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False


def said_by(error: BaseException) -> str:
    """Give an exception's type and text; its `__str__` is the user's code too, and may raise."""
    kind = type(error)
    home = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:  # noqa: BLE001  whatever the user's __str__ raises
        text = "(its text cannot be had)"
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"{home}{kind.__qualname__}" + (f": {text}" if text else "")


def _unparsed(error: BaseException, root: str) -> tuple[Frame, ...]:
    """Give the line that is no Python, which is no frame of the traceback."""
    if not isinstance(error, SyntaxError) or not error.filename or not error.lineno:
        return ()
    if not os.path.isfile(error.filename):
        return ()
    file = name_of(error.filename, root)
    text = (error.text or "").strip()
    return (Frame(file=file, line=error.lineno, function="<module>", text=text),)


def _user_frames(trace: Iterable[traceback.FrameSummary], root: str) -> tuple[Frame, ...]:
    """Keep the user's own lines of a traceback: those under the job's folder or the current one."""
    base = os.path.abspath(root) + os.sep
    here = os.path.abspath(os.getcwd()) + os.sep
    return tuple(
        Frame(
            file=name_of(frame.filename, root),
            line=frame.lineno or 0,
            function=frame.name,
            text=frame.line or "",
        )
        for frame in trace
        if is_users(os.path.abspath(frame.filename), base)
        or is_users(os.path.abspath(frame.filename), here)
    )
