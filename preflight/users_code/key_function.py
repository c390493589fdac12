"""Calls the user's own function for the keys of a cache, as the job would."""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.users_code.importing import import_named, refuse_unguarded
from preflight.values.code_name import Spec, parse_spec
from preflight.values.names import name_of, shown

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Characters of an exception's text that are told.
_LONGEST = 300

_PLACES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FIX = "A key is made by  key(path)  or  key(path, caption)  and is a text."


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersKey:
    """A function of the user's that names the entry of a sample."""

    make: Callable[[str, str | None], str]
    """Takes the path and the caption of a sample."""

    takes_caption: bool = False


def users_key(
    text: str, options: Mapping[str, Any], step: Callable[[str], AbstractContextManager[None]]
) -> UsersKey:
    """Import the function that makes the keys, such as `module:key`.

    Raises:
        CannotLookError: its module raises, or would start the training; or it is no such function.
        MistypedError: the module or the name does not exist.
    """
    spec = parse_spec(text)
    if spec is None:
        raise MistypedError(f"{text} is no module:name and no file.py:name")
    root = options["root"]
    if not options["import_anyway"]:
        refuse_unguarded(spec, root)
    with step(f"import {spec.home}"):
        function = _imported(spec, root)
    takes_caption = _takes_caption(function, text)

    def key(path: str, caption: str | None) -> str:
        try:
            given = function(path, caption) if takes_caption else function(path)
            made = os.fspath(given) if isinstance(given, os.PathLike) else given
        except BaseException as error:
            raise CannotLookError(f"{text} {_said(error, root)}, for {shown(path)}") from error
        if not isinstance(made, str):
            kind = type(made).__qualname__
            raise CannotLookError(f"{text} gives {kind} for {shown(path)}, and no text", fix=_FIX)
        return made

    return UsersKey(make=key, takes_caption=takes_caption)


def _imported(spec: Spec, root: str) -> Callable[..., object]:
    try:
        module = import_named(spec)
        function = getattr(module, spec.name, None)
    except MistypedError:
        raise
    except BaseException as error:
        raise CannotLookError(f"importing {spec.home} {_said(error, root)}") from error
    if function is None:
        raise MistypedError(f"{spec.home} has no {spec.name}")
    if not callable(function):
        raise CannotLookError(f"{spec.name} of {spec.home} is no function", fix=_FIX)
    return function  # type: ignore[no-any-return]  # what it gives is looked at when it is called


def _takes_caption(function: Callable[..., object], text: str) -> bool:
    """Whether it wants a caption beside the path; raise where it wants something else."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some things made in C have none
        return False
    needed = [one for one in parameters if one.default is inspect.Parameter.empty]
    places = [one for one in needed if one.kind in _PLACES]
    by_name = [one.name for one in needed if one.kind is inspect.Parameter.KEYWORD_ONLY]
    if len(places) > 2 or by_name:
        names = ", ".join([*(one.name for one in places), *by_name])
        raise CannotLookError(f"{text} wants more than a path and a caption: {names}", fix=_FIX)
    return len(places) == 2


def _said(error: BaseException, root: str) -> str:
    try:
        text = str(error)[:_LONGEST]
    except Exception:  # noqa: BLE001  whatever the user's __str__ raises
        text = "(its text cannot be had)"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not os.path.abspath(frame.filename).startswith(_OURS) and os.path.isfile(frame.filename)
    ]
    place = f" in {name_of(frames[-1].filename, root)}:{frames[-1].lineno}" if frames else ""
    said = f"{type(error).__qualname__}: {shown(text)}" if text else type(error).__qualname__
    return f"raises {said}{place}"
