"""Has processes watched that a script starts to train in, by torch or by multiprocessing.

A copy that is forked is watched as the script was. One that is spawned begins with a file of ours,
before it comes to any of the script's: what tells it to is sent with what Python tells it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from preflight.scripts.facts import Met
from preflight.scripts.inside import ASKED, BOOT, boot_of
from preflight.scripts.points import Point
from preflight.scripts.saving.log import log_of
from preflight.scripts.started.itself import Other, other_of, words_of_itself
from preflight.scripts.started.rank_ends import ends
from preflight.scripts.started.system_asked import is_asked
from preflight.scripts.started.told_of import asked_in
from preflight.scripts.watch import OF_PROCESS, Watch
from preflight.users_code.facts import Lack
from preflight.values.own_files import HOME
from preflight.values.this_process import full_path

# What a loader reads is asked of each process; all else of one of them.
_OF_EACH = ("Reads",)

_BOOT_BESIDE = boot_of("preflight.scripts.started.laid_over")

# Our folder is on the path only while we are imported.
_BEGIN = """
import importlib, os, sys
begun = {*sys.modules}
sys.path[:0] = [os.path.dirname(os.__file__), home]
try:
    there = importlib.import_module("preflight.scripts.started." + told["with"])
finally:
    del sys.path[:2]
there.begin(told, begun)
"""


class NoneStartedError(Exception):
    """A script starts a process for each GPU, and there is none."""

    of_job = True


NoneStartedError.__module__ = "builtins"  # by its own name alone it is printed


class Told:
    """Has the process that it is sent to begin with us; it needs no name of ours there."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._space = {"home": HOME, "told": told}

    def __reduce__(self) -> tuple[Any, ...]:
        """Be what is run there."""
        return exec, (_BEGIN, self._space)


class RankStarts:
    """The processes that one process starts."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.home = watch.scratch
        """The scratch folder of the script itself."""

        self.is_to_begin = False
        """Whether this process is itself one that was spawned, and has not begun its work."""

        self._folders: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._at_work = threading.local()

    def _folder(self) -> str:
        """Make one in which the next process tells of itself."""
        numbers = (os.path.join(self.home, f"{OF_PROCESS}{one}") for one in itertools.count(1))
        return next(filter(_made, numbers))

    def program(self, python: Sequence[str], words: Sequence[str]) -> list[str]:
        """Say how an interpreter runs the script itself once more, with other words, watched."""
        asked = asked_in(self.home)
        folder, layer = self._folder(), self._watch.layer
        script = asked["script"]
        script = {
            **script,
            "path": script["path"] and full_path(sys.modules["__main__"].__file__ or ""),
            "args": [*words],
            "layer": script.get("layer") or self.home,
            "folders": None if layer is None else layer.always,
            "scratch": folder,
            "stdin": None,
        }
        options = {**asked["options"], "wants": _OF_EACH}
        with open(os.path.join(folder, ASKED), "w", encoding="utf-8") as file:
            json.dump({"script": script, "options": options}, file)
        return [*python, "-c", BOOT, HOME, folder]

    def beside(self, other: Other) -> list[str]:
        """Say how an interpreter runs another script, which nobody watches: it writes as we do."""
        told = {**self._told(self._watch.scratch, {}), "path": None, "runs": other.runs}
        return [*other.python, "-c", _BOOT_BESIDE, HOME, json.dumps(told), *other.words]

    def start(self, process: Any, begin: Callable[[], Any]) -> Any:
        """Start one that is to be watched."""
        folder = self._folder()
        self._folders[process] = folder
        is_other = _is_of_torch(process) and process._args[1] > 0  # noqa: SLF001  its number
        options = {"wants": _OF_EACH} if is_other else {}
        with self._telling({**self._told(folder, options), "with": "in_rank"}):
            return begin()

    def start_beside(self, begin: Callable[[], Any]) -> Any:
        """Start one that nobody watches: it writes where the script does."""
        if self._watch.layer is None or not self._watch.is_here:
            return begin()
        with self._telling({**self._told(self._watch.scratch, {}), "with": "laid_over"}):
            return begin()

    @contextlib.contextmanager
    def _telling(self, told: Mapping[str, Any]) -> Iterator[None]:
        before, self._at_work.told = getattr(self._at_work, "told", None), told
        try:
            yield
        finally:
            self._at_work.told = before

    def _told(self, folder: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        watch = self._watch
        return {
            "home": self.home,
            "scratch": folder,
            "root": watch.root,
            "folder": watch.folder,
            "always": None if watch.layer is None else watch.layer.always,
            "path": list(sys.path),
            "has_way": log_of(watch).has_way,
            "options": options,
        }

    def prepared(self, data: dict[str, Any]) -> dict[str, Any]:
        """Add what a process begins with that is spawned now, where it is one of these."""
        told = getattr(self._at_work, "told", None)
        return data if told is None else {**data, "begins with": Told(told)}

    def begin(self, process: Any) -> None:
        """Watch what this process is about to do, where it is one of these."""
        watch, folder = self._watch, self._folders.get(process)
        if folder is not None and not watch.is_here:
            watch.moves_to(folder)
        elif not (self.is_to_begin and watch.is_here):
            return
        self.is_to_begin = False
        if _is_of_torch(process):
            function, *more = process._args  # noqa: SLF001  what it runs
            process._args = (ends(function, watch, self.home), *more)  # noqa: SLF001
        else:
            process.run = ends(process.run, watch, self.home)


def _made(folder: str) -> bool:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
        return True
    return False


@functools.lru_cache(maxsize=1)
def starts_of(watch: Watch) -> RankStarts:
    """Give those of this process."""
    return RankStarts(watch)


# --- which processes train


def _is_of_torch(process: Any) -> bool:
    """Whether `torch.multiprocessing.spawn` or one of its kin starts it."""
    target = getattr(process, "_target", None)
    named = getattr(target, "__module__", ""), getattr(target, "__name__", "")
    return named == ("torch.multiprocessing.spawn", "_wrap")


def _is_own(process: Any, watch: Watch) -> bool:
    """Whether it runs a function of the script's, or one that torch is given to run."""
    if _is_of_torch(process):
        return True
    run, plain = type(process).run, sys.modules["multiprocessing.process"].BaseProcess.run
    called: Any = getattr(process, "_target", None) if run is plain else run
    while isinstance(called, functools.partial):
        called = called.func
    called = inspect.unwrap(getattr(called, "__func__", called))
    code = getattr(called, "__code__", None) or getattr(type(called).__call__, "__code__", None)
    return code is not None and watch.own.has(code.co_filename)


# --- entry points


def _start(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note who starts a process, but for the workers of loaders."""
    starts = starts_of(watch)

    @functools.wraps(original)
    def start(process: Any, *args: Any, **named: Any) -> Any:
        with watch.looking() as is_outermost:
            is_own = is_outermost and _is_own(process, watch)
            if is_outermost:
                watch.met(Met(what="rank" if is_own else "process", at=watch.place()))
        if is_own:
            return starts.start(process, lambda: original(process, *args, **named))
        return starts.start_beside(lambda: original(process, *args, **named))

    return start


def _program(original: Callable[..., None], watch: Watch) -> Callable[..., None]:
    """Note who starts a program, and have it watched where it is the script itself.

    So Lightning starts its other ranks. Another script of the user's writes where this one does.
    """
    starts = starts_of(watch)

    @functools.wraps(original)
    def start(process: Any, args: Any, *more: Any, **named: Any) -> None:
        other = None if more else other_of(args, named, watch)
        begun = None if other is None else starts.beside(other)
        with watch.looking() as is_outermost:
            is_plain = is_outermost and not (named.get("shell") or named.get("executable"))
            itself = words_of_itself(args) if is_plain and not more else None
            if is_outermost and not is_asked(watch):
                watch.met(Met(what="beside" if itself else "process", at=watch.place()))
            if itself:
                begun = starts.program(*itself)
        original(process, args if begun is None else begun, *more, **named)
        if begun is not None:
            process.args = args

    return start


def _prepared(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    starts = starts_of(watch)

    @functools.wraps(original)
    def get_preparation_data(*args: Any, **named: Any) -> Any:
        return starts.prepared(original(*args, **named))

    return get_preparation_data


def _bootstrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    starts = starts_of(watch)

    @functools.wraps(original)
    def bootstrap(process: Any, *args: Any, **named: Any) -> Any:
        starts.begin(process)
        return original(process, *args, **named)

    return bootstrap


def _processes(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Hear of one process for each GPU, where there is none."""
    watch.lacks.append(_lack_of_gpus)

    @functools.wraps(original)
    def start_processes(*args: Any, **named: Any) -> Any:
        from preflight.users_code.gpu_here import sees_gpu

        count = named.get("nprocs", args[2] if len(args) > 2 else 1)
        if not count and not sees_gpu():
            raise NoneStartedError("it starts a process for each GPU, and there is none")
        return original(*args, **named)

    return start_processes


def _lack_of_gpus(error: BaseException) -> Lack | None:
    return Lack(kind="gpu", name="CUDA") if isinstance(error, NoneStartedError) else None


POINTS = (
    Point(module="multiprocessing.process", name="BaseProcess.start", wrap=_start),
    Point(module="multiprocessing.process", name="BaseProcess._bootstrap", wrap=_bootstrap),
    Point(module="subprocess", name="Popen.__init__", wrap=_program),
    Point(module="multiprocessing.spawn", name="get_preparation_data", wrap=_prepared),
    Point(module="torch.multiprocessing.spawn", name="start_processes", wrap=_processes),
    Point(module="torch.multiprocessing", name="start_processes", wrap=_processes),
)
