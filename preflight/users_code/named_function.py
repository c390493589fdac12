"""Finds a function of the user's by its name, and says what became of a call of it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.users_code.frames import NO_TEXT, text_of
from preflight.users_code.importing import import_named, refuse_unguarded
from preflight.values.code_name import Spec, parse_spec, write_pick
from preflight.values.names import name_of, shown
from preflight.values.own_files import PACKAGE, is_our_line, theirs
from preflight.values.this_process import full_path

# Characters of an exception's text that are told.
_LONGEST = 300


def named_function(
    text: str,
    options: Mapping[str, Any],
    step: Callable[[str], AbstractContextManager[None]],
    fix: str,
) -> Callable[..., Any]:
    """Import a function, such as `module:key`.

    Raises:
        CannotLookError: its module raises, or would start the training; or it is no function.
        MistypedError: the module or the name does not exist.
    """
    spec = parse_spec(text)
    if spec is None:
        raise MistypedError(f"{text} is no module:name and no file.py:name")
    root = options["root"]
    if not options["import_anyway"]:
        refuse_unguarded(spec, root)
    with step(f"import {spec.home}"):
        return imported(spec, root, fix)


def imported(spec: Spec, root: str, fix: str) -> Callable[..., Any]:
    """Import a function of the user's.

    Raises:
        CannotLookError: its module raises, or it is no function.
        MistypedError: the module or the name does not exist.
    """
    name = f"{spec.name}{write_pick(spec.pick)}"
    try:
        function: Any = getattr(import_named(spec), spec.name, None)
        for kind, key in spec.pick if function is not None else ():
            function = getattr(function, str(key), None) if kind == "attr" else function[key]
    except MistypedError:
        raise
    except BaseException as error:
        raise CannotLookError(f"importing {spec.home} {said_of(error, root)}") from error
    if function is None:
        raise MistypedError(f"{spec.home} has no {name}")
    if not callable(function):
        raise CannotLookError(f"{name} of {spec.home} is no function", fix=fix)
    return theirs(function)


def said_of(error: BaseException, root: str) -> str:
    """Say what the user's code raised, and in which of its lines; our own failures are raised."""
    if is_our_line(error):
        raise error
    text = text_of(error, NO_TEXT)[:_LONGEST]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.isfile(frame.filename) and not full_path(frame.filename).startswith(PACKAGE)
    ]
    place = f" in {name_of(frames[-1].filename, root)}:{frames[-1].lineno}" if frames else ""
    said = f"{type(error).__qualname__}: {shown(text)}" if text else type(error).__qualname__
    return f"raises {said}{place}"
