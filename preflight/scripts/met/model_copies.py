"""Models that a script copies, for an average of their weights or a teacher."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from preflight.objects.facts import Definition
from preflight.scripts.facts import Met
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch


def _deepcopy(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def deepcopy(thing: Any, memo: Any = None, *more: Any) -> Any:
        if memo is not None or "torch" not in sys.modules:
            return original(thing, memo, *more)
        with watch.looking() as is_outermost:
            stuck = is_outermost and _look(thing, watch)
            try:
                return original(thing, memo, *more)
            except Exception as error:
                if stuck:
                    watch.blamed[id(error)] = "model-uncopyable"
                raise

    return deepcopy


def _look(thing: Any, watch: Watch) -> bool:
    """Give the facts of a copy of a model, and say whether it cannot be made."""
    from preflight.models.copiers import short
    from preflight.models.read import copy_model
    from preflight.objects.copying.refusing import is_module

    if not is_module(thing):
        return False
    at = watch.place()
    watch.met(Met(what="copy", at=at))
    if not watch.wants("Copied"):
        return False
    copied = copy_model(thing, name="model", root=watch.root, factory=None, sources=())
    if at is not None:
        place = Definition(file=at.file, line=at.line, line_text=at.text, qualname=at.function)
        copied = replace(copied, copied_at=place, copied_by=short(at.text))
    watch.gave(copied)
    return copied.error is not None


POINTS = (Point(module="copy", name="deepcopy", wrap=_deepcopy),)
