"""Calls the user's own function for the keys of a cache, as the job would."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from preflight.kinds.asked import CannotLookError
from preflight.users_code.named_function import named_function, said_of
from preflight.values.names import shown

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
    function = named_function(text, options, step, _FIX)
    root = options["root"]
    takes_caption = _takes_caption(function, text)

    def key(path: str, caption: str | None) -> str:
        try:
            given = function(path, caption) if takes_caption else function(path)
            made = os.fspath(given) if isinstance(given, os.PathLike) else given
        except BaseException as error:
            raise CannotLookError(f"{text} {said_of(error, root)}, for {shown(path)}") from error
        if not isinstance(made, str):
            kind = type(made).__qualname__
            raise CannotLookError(f"{text} gives {kind} for {shown(path)}, and no text", fix=_FIX)
        return made

    return UsersKey(make=key, takes_caption=takes_caption)


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
