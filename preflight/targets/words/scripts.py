"""Takes words for a script and its own arguments: everything after the script is its own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from preflight.targets.near_paths import near_path, nearest_path
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import Script
from preflight.targets.words.code_words import is_installed


def begins_script(word: str) -> bool:
    """Whether a script begins with this word: `x.py`, `-m` or `--`."""
    if word in {"-m", "--"}:
        return True
    is_named = word.endswith(".py") and not word.startswith("-") and "=" not in word
    return is_named and not any(sign in word for sign in "*?[{")


def divide(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide words into those of targets, and those of a script, which come last."""
    at = next((place for place, word in enumerate(words) if begins_script(word)), len(words))
    return tuple(words[:at]), tuple(words[at:])


def read_script(words: Sequence[str], folder: str, python: str | None = None) -> Script:
    """Take words for a script and its arguments: `train.py --lr 1`, `-m package.train`.

    The job's interpreter may have other modules than ours.

    Raises:
        UnknownWordError: no script is named, or it is not there.
    """
    first, *rest = (words[1:] if words[:1] == ("--",) else words) or ("",)
    if first == "-m":
        if not rest:
            raise UnknownWordError("-m names no module")
        if python is None:
            _expect_module(rest[0], folder)
        return Script(module=rest[0], args=tuple(rest[1:]), folder=folder)
    if not first:
        raise UnknownWordError("-- names no script; was a variable not set?")
    path = os.path.join(folder, first)
    if not os.path.isfile(path):
        near = nearest_path(first, folder)
        raise UnknownWordError(f"{first}: there is no such script in {folder}{near}")
    if not (first.endswith((".py", ".pyw")) or _says_python(path)):
        raise UnknownWordError(f"{first} is no Python script: its name does not end in .py")
    return Script(path=first, args=tuple(rest), folder=folder)


def read_line(line: str, folder: str, python: str | None = None) -> Script:
    """Take one line for a script and its arguments, as it would be typed."""
    if os.path.isfile(os.path.join(folder, line)):
        return read_script((line,), folder)
    try:
        words = tuple(shlex.split(line, posix=os.name != "nt"))
    except ValueError as error:
        raise UnknownWordError(f"{line!r} is no line of a shell: {error}") from error
    return read_script(words, folder, python)


def _expect_module(name: str, folder: str) -> None:
    """Refuse a module that neither lies here nor is installed; nothing is imported for it."""
    top = name.partition(".")[0]
    here = os.path.join(folder, top)
    if not (os.path.isfile(f"{here}.py") or os.path.isdir(here) or is_installed(top)):
        near = near_path(f"{here}.py")
        hint = f"; did you mean {near.removesuffix('.py')}?" if near else ""
        raise UnknownWordError(f"-m {name}: there is no module {top} in {folder}{hint}")


def _says_python(path: str) -> bool:
    """Whether the first line of a file has Python run it."""
    try:
        with open(path, "rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first
