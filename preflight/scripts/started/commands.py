"""Has programs that a script starts find what it has written apart from the job."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from typing import Any

from preflight.overlay.command_paths import Command
from preflight.scripts.points import Point
from preflight.scripts.started.itself import other_of
from preflight.scripts.watch import Watch
from preflight.users_code.facts import APART, Lack

_GIVEN: list[object] = []
"""What programs were to be started with that were told of other places."""


def _popen(original: Callable[..., None], watch: Watch) -> Callable[..., None]:
    watch.lacks.append(_lack_of_place)

    @functools.wraps(original)
    def start(process: Any, args: Any, *more: Any, **named: Any) -> None:
        layer, folder = watch.layer, named.get("cwd")
        is_plain = folder is None or isinstance(folder, (str, os.PathLike))
        if layer is None or not is_plain or len(more) > _BEFORE_FOLDER:
            original(process, args, *more, **named)
            return
        command = Command(layer, None if folder is None else os.fspath(folder))
        # Another script of the user's finds by itself what was written.
        finds = not more and other_of(args, named, watch) is not None
        told = args if finds else _told(command, args)
        if not command.is_other:
            original(process, args, *more, **named)
            return
        _GIVEN.append(args)
        original(process, told, *more, **{**named, "cwd": command.folder})
        process.args = args

    return start


# Arguments of `Popen` between the words and the folder.
_BEFORE_FOLDER = 8


def _told(command: Command, args: Any) -> Any:
    if isinstance(args, str):
        return command.line(args)
    if isinstance(args, (list, tuple)):
        return [command.word(one) if isinstance(one, str) else one for one in map(_text, args)]
    return args


def _text(word: object) -> object:
    return os.fspath(word) if isinstance(word, os.PathLike) else word


def _system(original: Callable[[Any], int], watch: Watch) -> Callable[[Any], int]:
    @functools.wraps(original)
    def system(command: Any) -> int:
        layer = watch.layer
        if layer is None or not isinstance(command, str):
            return original(command)
        return original(Command(layer, None).line(command))

    return system


def _lack_of_place(error: BaseException) -> Lack | None:
    """Say that a program has failed which may have missed what was written apart from the job."""
    is_of_one = isinstance(error, subprocess.SubprocessError)
    if is_of_one and any(getattr(error, "cmd", None) == one for one in _GIVEN):
        return Lack(kind="apart", name=APART)
    return None


POINTS = (
    Point(module="subprocess", name="Popen.__init__", wrap=_popen),
    Point(module="os", name="system", wrap=_system),
)
