"""Finds what the sources of a job have to name: a command for each part nobody looked at."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from preflight.settings.nearest import nearest
from preflight.sources.makers.script_arguments import needed_by
from preflight.sources.unguarded import work_at_import
from preflight.syntax.source_files import is_test
from preflight.targets.folders import look_for_sources
from preflight.values.code_name import command_for
from preflight.values.names import first_of, name_of
from preflight.values.small_files import OddFileError, read_small

if TYPE_CHECKING:
    from preflight.sources.makers.factories import Maker

# A run must not wait for its hints: some tenths of a second's worth of reading and parsing.
_MOST_FILES = 500
_MOST_NAMES = 10_000
_MOST_BYTES = 160 << 10

_LIKELY = re.compile(r"train|data|load|model|main", re.IGNORECASE)
_WORDS = re.compile(
    rb"DataLoader|WebLoader|DataModule|Trainer|nn\.Module|def \w*(?:loader|batch|model)"
)

# Functions as most trainers call them, and lines that stand at the left and call something.
_MAKES = re.compile(rb"^def (?:create|get|build|make)_(?:model|\w*loaders?)\b", re.MULTILINE)
_ENTERS = re.compile(rb"^\w+(?:\.\w+)*\(|^(?:for|while|with) ", re.MULTILINE)

_LOOPS = re.compile(rb"^(?:for|while) ", re.MULTILINE)

_FIRST = re.compile(r"train|main|finetune|pretrain", re.IGNORECASE)
_LAST = re.compile(
    r"(?:^|_)(?:sampl|eval|test|infer|predict|generat|demo|export|convert|metric|plot|visuali"
    r"|create|download|(?:web_?)?ui|gui|gradio|streamlit|app[_.])",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"(?:(?:\w+_)?(?:train|main|finetune|pretrain)\w*|run)\.py", re.IGNORECASE)

# Of models, what their names say of their sizes, in millions of parameters.
_PARAMETERS = re.compile(r"(?<![A-Za-z0-9])(\d+(?:[._]\d+)?)([bmk])(?![A-Za-z0-9])", re.IGNORECASE)
_MILLIONS = {"k": 0.001, "m": 1.0, "b": 1000.0}
_SIZES = {
    **dict.fromkeys(("toy", "debug", "dummy", "nano", "pico", "micro"), 1.0),
    **dict.fromkeys(("tiny", "mini"), 5.0),
    **dict.fromkeys(("small", "s"), 20.0),
    **dict.fromkeys(("large", "l", "big"), 300.0),
    **dict.fromkeys(("xl", "huge", "xxl", "giant", "gigantic"), 1000.0),
}

# What a script does that trains, whatever it is called.
_TRAINS = re.compile(rb"\.backward\(|(?:\b|_)[tT]rainer\w*\.(?:fit|run|train)\(")


def offers(folder: str, places: Iterable[str]) -> Mapping[str, tuple[str, str | None]]:
    """Give, by part of a job, the command that looks at it, and where what it names stands.

    `places` are sources that were named, or folders of them; the files directly in the folder are
    looked at in any case.
    """
    at_top = _at_top(folder)
    paths = dict.fromkeys([*at_top, *(path for place in places for path in _files_of(place))])
    scripts = _likely_scripts(at_top, paths)[:1]
    started = _started_in_short(scripts[0], folder) if scripts else ("", "")
    text = _text_of(scripts[0]) if scripts else b""
    found = _made_in(folder, tuple(_worth_parsing(paths)), started[0], text)
    if scripts:
        found["source"] = (command_for(f"source={name_of(scripts[0], folder)}"), None)
        found["script"] = started
    return found


def _started_in_short(script: str, folder: str) -> tuple[str, str]:
    command, needs = command_for(*_started_as(script, folder)), needed_by(script)
    if not needs:
        return command, "runs it in short"
    return f"{command} …", f"runs it in short, and needs {first_of(needs, len(needs))}"


def scripts_in(folder: str) -> list[str]:
    """Name what seems to start a training in a folder, the likeliest first: `-m package.train`."""
    found = _likely_scripts(_at_top(folder), _files_of(folder))
    return [shlex.join(_started_as(one, folder)) for one in found]


def _started_as(script: str, folder: str) -> tuple[str, ...]:
    """Name a script; one that imports the package that it lies in, as a module of that."""
    name = name_of(script, folder)
    module = name.removesuffix(".py").replace("/", ".")
    top, *inner = module.split(".")
    own = re.compile(rf"^\s*(?:from|import) {re.escape(top)}\b".encode(), re.MULTILINE)
    is_module = inner and all(map(str.isidentifier, (top, *inner)))
    return ("-m", module) if is_module and own.search(_text_of(script)) else (name,)


def _likely_scripts(at_top: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Give those of usual names, at the top or else deeper; or else any that trains.

    Of those that lie deeper, only their guard tells them from modules, or a loop at the left.
    """
    paths = tuple(paths)
    at_top = tuple(at_top)
    found = [*filter(_is_script, at_top)]
    found = found or [*filter(_trains, filter(_is_guarded, at_top))]
    found = found or [*filter(_is_guarded, filter(_is_script, paths))]
    found = found or [*filter(_trains, filter(_is_guarded, paths))]
    found = found or [*filter(_trains_at_once, paths)]
    found = found or [*filter(_fits_at_import, at_top)]
    return sorted(found, key=lambda one: (_is_command(one), one.count(os.sep), *_how_likely(one)))


def _text_of(path: str) -> bytes:
    """Give what is in a file; nothing of one that is no file, or cannot be read."""
    try:
        return read_small(path)
    except (OSError, OddFileError):
        return b""


def _is_guarded(path: str) -> bool:
    return b"__main__" in _text_of(path)


def _is_command(path: str) -> bool:
    """Whether it is what a package does when it is run, which mostly waits for a word."""
    return os.path.basename(path) == "__main__.py"


def _trains(path: str) -> bool:
    text = _text_of(path)
    by_trainer = b"Trainer(" in text and b".fit(" in text  # under whatever name
    return not is_test(os.path.basename(path)) and (by_trainer or bool(_TRAINS.search(text)))


def _trains_at_once(path: str) -> bool:
    """Whether a file trains as soon as it is read: a script, from which nothing is imported."""
    return not _is_guarded(path) and _trains(path) and _LOOPS.search(_text_of(path)) is not None


def _fits_at_import(path: str) -> bool:
    """Whether a trainer trains in a file as soon as it is read, under whatever name."""
    is_test_file = is_test(os.path.basename(path))
    return not is_test_file and b".fit(" in _text_of(path) and _works_at_import(path)


def _works_at_import(path: str) -> bool:
    """Whether nothing can be made of a file without what it starts: its import is refused."""
    return work_at_import(_text_of(path).decode("utf-8", "replace"), path) is not None


def _made_in(
    folder: str, paths: tuple[str, ...], script: str, text: bytes
) -> dict[str, tuple[str, str | None]]:
    """Give the command that has each made.

    What needs arguments is made by the script, where that speaks of it and so has them, or else
    from what is to be filled in: by its name alone nothing could be made.
    """
    if not paths:
        return {}
    from preflight.sources.makers.factories import factories_in, worth_offering

    found: dict[str, tuple[str, str | None]] = {}
    every = worth_offering(factories_in(folder, paths=paths))
    files = {one.file for one in every}
    working = {one for one in files if _works_at_import(os.path.join(folder, one))}
    makers = tuple(
        one._replace(is_called=one.is_called or _is_called(one, text))
        for one in every
        if one.file not in working
    )
    makers = tuple(one for one in makers if not text or not _is_of_another(one, folder, text))
    alike = Counter(map(_alike, makers))
    as_good = Counter(map(_how_good, makers))
    rivals = {one: as_good[_how_good(one)] for one in makers}
    for maker in sorted(makers, key=_how_good):
        # Of several classes that nothing here starts, any may be a block of another.
        if not maker.is_guess or maker.is_called or alike[_alike(maker)] == 1:
            command = command_for(maker.call)
            if maker.needs:
                name = maker.call.rpartition(":")[2].encode()
                has_them = maker.is_called or re.search(rb"\b%s\b" % re.escape(name), text)
                command = script if script and has_them else _filled_in(folder)
            if command:
                # Nothing speaks for this one rather than for the others of its size.
                is_one_of = maker.kind == "model" and not maker.is_called and rivals[maker] > 1
                guess = ", a guess of several" if is_one_of else ""
                found.setdefault(maker.kind, (command, _said_of(maker) + guess))
    return found


def _is_called(maker: Maker, text: bytes) -> bool:
    """Whether the script calls it, which itself may hold nothing that is worth parsing."""
    name = re.escape(maker.call.rpartition(":")[2].encode())
    return maker.kind == "model" and re.search(rb"(?<!def )\b%s\(" % name, text) is not None


def _is_of_another(maker: Maker, folder: str, text: bytes) -> bool:
    """Whether a model, by what a function gives alone, is that of a script which this one is not.

    A module that is imported may have a guard as well, for its own trial.
    """
    if maker.kind != "model" or maker.is_called or maker.is_usual:
        return False
    module = os.path.basename(maker.file).removesuffix(".py").encode()
    is_named = re.search(rb"\b%s\b" % re.escape(module), text) is not None
    path = os.path.join(folder, maker.file)
    return not is_named and _is_guarded(path) and _text_of(path) != text


def _filled_in(folder: str) -> str:
    """Give the command that writes down what is to be filled in; empty where settings are there."""
    return "preflight init" if nearest(folder).file is None else ""


def _how_good(maker: Maker) -> tuple[bool, bool, bool, float]:
    size = _size_of(maker) if maker.kind == "model" else 0.0
    return not maker.is_called, bool(maker.needs), not _LIKELY.search(maker.file), size


def _size_of(maker: Maker) -> float:
    """Say how large a model is by its name, in millions of parameters; of no such name, middling.

    What is offered is made in its full size.
    """
    name = maker.call.rpartition(":")[2]
    number = _PARAMETERS.search(name)
    if number is not None:
        return float(number[1].replace("_", ".")) * _MILLIONS[number[2].lower()]
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return next((_SIZES[word] for word in words if word in _SIZES), 100.0)


def _alike(maker: Maker) -> tuple[str, bool, bool]:
    """Give what a maker has in common with others, whatever it needs: a block has defaults, too."""
    return maker.kind, maker.is_called, _LIKELY.search(maker.file) is not None


def _said_of(maker: Maker) -> str:
    """Say where it stands and what it is, and what it cannot be called without."""
    needs = f", and needs {first_of(maker.needs, len(maker.needs))}" if maker.needs else ""
    return f"{maker.file}:{maker.line} {maker.what}{needs}"


def _worth_parsing(paths: Iterable[str]) -> Iterable[str]:
    """Choose files that may hold what is looked for: those of usual functions, of usual names."""
    left = _MOST_BYTES
    worth: list[tuple[bool, bool, str]] = []
    for path in paths:
        text = _text_of(path)
        if _WORDS.search(text):
            is_likely = _LIKELY.search(os.path.basename(path)) is not None
            worth.append((_MAKES.search(text) is None, not is_likely, path))
    for *_, path in sorted(worth):
        size = os.path.getsize(path)
        if size <= left:
            left -= size
            yield path


def _is_script(path: str) -> bool:
    """Whether a file is called as what starts a training, and does something when it is run."""
    return _SCRIPT.fullmatch(os.path.basename(path)) is not None and (
        b"__main__" in (text := _text_of(path)) or _ENTERS.search(text) is not None
    )


def _how_likely(path: str) -> tuple[bool, bool, str]:
    name = os.path.basename(path)
    return _FIRST.match(name) is None, _LAST.search(name) is not None, name


def _at_top(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".py")][:_MOST_FILES]


def _files_of(place: str) -> Iterable[str]:
    """Give files to read; where there are many, those that are called as scripts before others."""
    if not os.path.isdir(place):
        return (place,)
    every = islice(look_for_sources(place), _MOST_NAMES)
    return sorted(every, key=lambda one: _SCRIPT.fullmatch(os.path.basename(one)) is None)[
        :_MOST_FILES
    ]
