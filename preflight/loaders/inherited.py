"""Looks at what a worker that is forked would inherit of this process, without forking one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from multiprocessing.queues import Queue
from typing import Any

from preflight.loaders.facts import Held, Inherited
from preflight.objects import where
from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.objects.forking import held
from preflight.objects.paths import PATHS, type_name
from preflight.values.names import name_of

# The threads of these have no lock that a worker would wait for, or renew it after a fork.
_HARMLESS = frozenset({"IPython", "_pydevd_bundle", "debugpy", "ipykernel", "pydevd", "tqdm"})


# What sends indices to the workers of another loader: a queue renews its locks after a fork.
_FEEDS = Queue._feed  # type: ignore[attr-defined]  # noqa: SLF001


def inherited(parts: Mapping[str, Any], root: str) -> Inherited:
    """Name what two processes must not share, in these parts of a loader and in this process."""
    walk = held.walk(list(parts.items()))
    cuda: Any = sys.modules.get("torch.cuda")  # to ask it starts nothing
    return Inherited(
        held=_by_line([_held(one, root) for one in walk.found]),
        threads=tuple(_threads()),
        cuda=cuda is not None and bool(cuda.is_initialized()),
        cut=walk.cut,
    )


def _held(found: held.OpenHandle, root: str) -> Held:
    handle = found.handle
    return Held(
        kind=handle.kind,
        type=type_name(type(found.thing)),
        paths=found.paths,
        file=None if handle.file is None else name_of(handle.file, root),
        by_position=handle.by_position,
        defined=where.kept_by_user(found.holders, root) or Definition(),
    )


def _by_line(all_held: list[Held]) -> tuple[Held, ...]:
    """Put together what one line keeps, such as the archives of a list."""
    lines: dict[object, Held] = {}
    for one in all_held:
        key = one._replace(paths=(), file=None) if one.defined.line else one
        known = lines.get(key)
        paths = one.paths if known is None else (*known.paths, *one.paths)
        lines[key] = (known or one)._replace(paths=tuple(dict.fromkeys(paths))[:PATHS])
    return tuple(lines.values())


def _threads() -> list[str]:
    """Name the threads beside the one that will fork, and beside those of Python's own tools."""
    names = []
    for thread in threading.enumerate():
        kind = type(thread)
        if thread is threading.main_thread() or thread is threading.current_thread():
            continue
        # Of a dummy (a thread that Python did not start), nobody knows whether it still runs.
        if type_name(kind).partition(".")[0] in _HARMLESS or kind is threading._DummyThread:  # noqa: SLF001
            continue
        if own_attributes(thread).get("_target") is _FEEDS:
            continue
        name = object.__getattribute__(thread, "__dict__").get("_name")
        names.append(name if type(name) is str else kind.__name__)
    return names
