"""Weighs what a spawned worker would be sent, and names the parts that make it heavy.

All is weighed once by the pickler in C. Where that is much, the first levels of it are walked in
Python, as far as a reader of the code thinks in names; what lies below, such as a list of a million
samples, is weighed as a whole. So the names cost about as much as the weight does.
"""

from __future__ import annotations

import mmap
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, cast

from preflight.objects.facts import Part, Weight
from preflight.objects.paths import written
from preflight.objects.random_state import kept_random_state
from preflight.objects.sending.first_levels import Node, weighed_levels
from preflight.objects.sending.pickle_paths import steps_to
from preflight.objects.sending.pickle_trial import Roots, spawning
from preflight.objects.sending.scale import Scale

LARGE = 64 << 20
"""Bytes from which on it is worth knowing what they are."""

MOST_PARTS = 5
"""Parts that are named."""

_LEAST = 0.05  # of the whole: what is less is not named
_MOST_OF = 0.5  # of a part: where a few of its own parts hold as much, they are named in its place
_FEW = 4


def weigh(roots: Roots) -> Weight:
    """Weigh what is sent together; data is counted where it is, and nothing is copied.

    What is shared is counted once, under the first of its names.
    """
    with spawning(), kept_random_state():
        scale = Scale()
        for _, thing in roots:
            scale.put(thing)
    return Weight(bytes=scale.bytes, shared_bytes=scale.shared, parts=heaviest(roots, scale.bytes))


def heaviest(roots: Roots, total: int) -> tuple[Part, ...]:
    """Name the heaviest parts, given what all of it weighs; none where that is less than LARGE."""
    if total < LARGE:
        return ()
    with spawning(), kept_random_state():
        nodes = list(_named(weighed_levels(roots), total * _LEAST))
    nodes.sort(key=lambda node: -node.bytes)
    return tuple(_part(node) for node in nodes[:MOST_PARTS])


# --- which of them are named ----------------------------------------------------------------------


def _named(nodes: Sequence[Node], least: float) -> Iterator[Node]:
    """Choose the parts to name: of a heavy one, its few heavy parts where they are most of it."""
    for node in nodes:
        if node.bytes < least:
            continue
        heavy = [one for one in node.below if one.bytes >= least]
        held = sum(one.bytes for one in heavy)
        few = 0 < len(heavy) <= _FEW and held >= node.bytes * _MOST_OF
        named = list(_named(heavy, least)) if few else []
        if not named or any(_NO_CODE.search(_path(one)) for one in named):
            named = [node]
        yield from named


def _path(node: Node) -> str:
    above = [one.frame for one in node.chain()[:-1]]
    return written(node.root, "".join(steps_to(above, node.frame.thing)))


def _part(node: Node) -> Part:
    above = [one.frame.thing for one in node.chain()[:-1]]
    methods = [one for one in above if type(one) in _METHODS]
    path = _path(node)
    return Part(
        path=path,
        bytes=node.bytes,
        dragged_by=_method_name(methods[-1]) if methods else None,
        mapped=node.mapped * 2 > node.bytes,
        instead=_instead(node.frame.thing, path),
    )


def _instead(thing: Any, path: str) -> str | None:
    """Write in Python how a worker has the same array, and is not sent it."""
    numpy = cast("Any", sys.modules.get("numpy"))
    if numpy is None or type(thing) not in (numpy.ndarray, numpy.memmap):
        return None
    if type(thing) is numpy.ndarray:
        return _in_tensor(thing, path)
    order = "C" if thing.flags.c_contiguous else "F"
    if type(thing.base) is not mmap.mmap or thing.filename is None or thing.dtype.names:
        return None  # a part of a map, which begins who knows where
    mode = "r+" if thing.mode == "w+" else thing.mode  # which would empty the file
    how = f"dtype={thing.dtype.str!r}, mode={mode!r}, offset={thing.offset}, shape={thing.shape}"
    return f"numpy.memmap({str(thing.filename)!r}, {how}, order={order!r})"


def _in_tensor(thing: Any, path: str) -> str | None:
    """Write an assignment, where the array lies in an attribute, and torch takes it as it is."""
    torch = cast("Any", sys.modules.get("torch"))
    if torch is None or not thing.flags.writeable or not _ATTRIBUTE.fullmatch(path):
        return None
    try:
        torch.from_numpy(thing)
    except (TypeError, ValueError):  # texts, objects, other byte orders, steps backwards
        return None
    return f"loader.{path} = torch.from_numpy(loader.{path})"


_ATTRIBUTE = re.compile(r"[a-z_]+(\[\d+\]|\.(?!__self__)\w+)*\.\w+")

# Steps that only pickle knows: what is behind them is named by what is before them.
_NO_CODE = re.compile(r"\.<(state|argument \d+)>|\.__reduce__")

_METHODS = (types.MethodType, types.BuiltinMethodType)


def _method_name(method: Any) -> str:
    """Name a bound method as its class's readers do: `Trainer.decode`."""
    owner = type.__dict__["__qualname__"].__get__(type(method.__self__)).rpartition("<locals>.")[2]
    function = method.__func__ if type(method) is types.MethodType else method
    known = type(function) in (types.FunctionType, types.BuiltinMethodType)
    return f"{owner}.{function.__name__ if known else type(function).__name__}"
