"""How the user's own function that writes an entry is called: found by names, then by trying."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from preflight.formats.by_name import NUMPY, SAFETENSORS, TORCH
from preflight.kinds.asked import CannotLookError
from preflight.users_code.named_function import said_of

FIX = (
    "A writer is called as  save(path, value)  or  save(value, path),  as the names of its "
    "parameters say, by keyword where it wants that, and writes that file; one that is called "
    "otherwise needs a function around it:  def save(path, value): …"
)

_PATH = re.compile(
    r"path|file|fname|dest|dst|target|(?<![a-z])(out|to|name|where)(?![a-z])", re.IGNORECASE
)

_PLACES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Order(NamedTuple):
    """In which places, or by which keywords, it is given both."""

    path_first: bool
    path: str = ""
    """The keyword of the path; empty: it is given by its place."""

    value: str = ""


class How(NamedTuple):
    """One way to call it."""

    order: Order
    as_text: bool
    """Whether the path is given as a text, and not as a `pathlib.Path`."""

    value: str
    """A name of `VALUES`."""

    def said(self, name: str) -> str:
        """Write it as code."""
        path, value = (f"{one}=" if one else "" for one in self.order[1:])
        words = [f"{path}path", f"{value}value"][:: 1 if self.order.path_first else -1]
        return f"{name}({', '.join(words)})" + ("" if self.as_text else " with a pathlib.Path")


def _tensor(number: int, size: int) -> Any:
    import torch

    return torch.full((max(size // 4, 1),), float(number))


def _array(number: int, size: int) -> Any:
    import numpy as np

    return np.full((max(size // 4, 1),), float(number), dtype=np.float32)


VALUES: dict[str, Callable[[int, int], Any]] = {
    "a tensor": _tensor,
    "a dict of a tensor": lambda number, size: {"latents": _tensor(number, size)},
    "an array": _array,
    "a dict of an array": lambda number, size: {"latents": _array(number, size)},
    "bytes": lambda number, size: bytes([64 + number]) * size,
}


def _kinds(suffix: str) -> tuple[str, ...]:
    tensor, tensors, array, arrays, plain = VALUES
    if suffix in NUMPY:
        return array, tensor, arrays, plain
    if suffix == SAFETENSORS:
        return tensors, tensor, arrays, array
    if suffix in TORCH:
        return tensor, tensors, array, plain
    return plain, tensor, array


def ways(function: Callable[..., object], text: str, suffix: str) -> Iterator[How]:
    """Give the ways to call it, the likeliest first.

    Raises:
        CannotLookError: it wants something else than a path and a value.
    """
    orders = _orders(function, text)
    for value in _kinds(suffix):
        for as_text in (True, False):
            for order in orders:
                yield How(order, as_text, value)


def _orders(function: Callable[..., object], text: str) -> tuple[Order, ...]:
    either = Order(path_first=True), Order(path_first=False)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some things made in C have none
        return either
    named = [one for one in parameters if one.kind in (*_PLACES, inspect.Parameter.KEYWORD_ONLY)]
    needed = [one for one in named if one.default is inspect.Parameter.empty]
    names = ", ".join(one.name for one in needed)
    if len(needed) > 2:
        raise CannotLookError(f"{text} wants more than a path and a value: {names}", fix=FIX)
    lacks_path = not any(_PATH.search(one.name) for one in needed)
    others = [one for one in named if one not in needed]
    others.sort(key=lambda one: lacks_path and not _PATH.search(one.name))
    both = [*needed, *others][:2]
    if len(both) < 2:
        if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
            return either
        raise CannotLookError(f"{text} takes no path and value, but ({names})", fix=FIX)
    both.sort(key=named.index)
    paths = [_PATH.search(one.name) is not None for one in both]
    places = [one for one in named if one.kind in _PLACES][:2]
    keywords = ["" if one in places else one.name for one in both]
    if paths[0] != paths[1]:
        return (Order(paths[0], *keywords[:: 1 if paths[0] else -1]),)
    if any(keywords):
        raise CannotLookError(f"{text} does not say which is the path: {names}", fix=FIX)
    return either


def call(function: Callable[..., object], how: How, path: str, value: Any) -> None:
    """Have an entry written."""
    at = path if how.as_text else pathlib.Path(path)
    first, of_path, of_value = how.order
    both = [(of_path, at), (of_value, value)][:: 1 if first else -1]
    by_place = [one for keyword, one in both if not keyword]
    function(*by_place, **{keyword: one for keyword, one in both if keyword})


class Learnt(NamedTuple):
    """What worked."""

    how: How
    ending: str
    """What the file's name ends with in place of the suffix: `.pt`, or `.pt.npy` by numpy.save."""

    seconds: float


def learn(
    function: Callable[..., object], text: str, folder: str, suffix: str, size: int, root: str
) -> Learnt:
    """Find out how it is called: by the first way that does not raise, and writes one file.

    Raises:
        CannotLookError: there is none.
    """
    first = ""
    for number, how in enumerate(ways(function, text, suffix)):
        here = os.path.join(folder, f"way-{number}")
        os.mkdir(here)
        try:
            value = VALUES[how.value](1, size)
        except ImportError:
            continue
        begun = time.perf_counter()
        try:
            call(function, how, os.path.join(here, f"entry{suffix}"), value)
        except BaseException as error:  # noqa: BLE001  whatever the user's code raises
            first = first or said_of(error, root)
            continue
        seconds = time.perf_counter() - begun
        made = [one for one in os.listdir(here) if not one.endswith(".lock")]
        if len(made) == 1 and made[0].startswith("entry"):
            return Learnt(how, made[0].removeprefix("entry"), seconds)
        first = first or f"leaves {len(made)} files where it is given the path of one"
    raise CannotLookError(f"{text} {first or 'cannot be called'}", fix=FIX)
