"""Looks in all sources for the names on which it depends whether a place is come to.

What they are given may ask others, so this goes in rounds. Of names that stand in too many files
nothing is known, and those files are not parsed for them. And looks for the scripts of a folder
that come to pipelines of webdataset, each of which is followed as if it had been named.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from preflight.pipelines.facts import Reads
from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.written import written_in_all
from preflight.sources.facts import Mentions, ScriptImports
from preflight.sources.mentions import (
    ANYTHING,
    Wanted,
    asked_by,
    mentions_in,
    spellings,
    stem_of,
    trains,
)
from preflight.sources.work.work_names import TRAINS
from preflight.syntax.imports.needed_modules import NeededModules, on_the_way
from preflight.syntax.imports.reached import Reached
from preflight.syntax.parsing import Parsed, UnparsableError, parse
from preflight.syntax.source_files import content_of, is_test

# How often what a name is given may ask others that have to be looked for.
_ROUNDS = 3

# Names that are looked for, and files that are parsed for their sake, all rounds taken together.
_MOST_NAMES = 64
_MOST_FILES = 100

# Scripts of a folder that are followed.
_MOST_SCRIPTS = 16

# What imports by a name that is made while it runs, or by one of a config file, or starts a script.
_BY_NAME = re.compile(
    rb"import_module\(\s*[^\"'\s]|__import__\(|instantiate|_target_|entry_points|get_obj_from_str|"
    rb"pydoc|pkgutil|runpy|subprocess|os\.system"
)

_WORDS = re.compile(rb"\w+")

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t][^\n]*(?:\([^)]*\))?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedText:
    """A source that can be searched, and parsed where that finds something."""

    name: str
    path: str = ""
    code: Parsed | None = None
    """Where it is parsed already."""

    def content(self) -> bytes:
        """Give its bytes, which are not kept."""
        if self.code is None:
            return content_of(self.path)
        return "\n".join(self.code.lines).encode("utf-8", "replace")

    def parsed(self) -> Parsed:
        """Give what they say."""
        return self.code or parse(self.content())


def search(
    texts: Sequence[SearchedText], wanted: Wanted, alive: Callable[[], None] = lambda: None
) -> Iterator[Mentions]:
    """Give what sources say of names, and of those that these ask; one that cannot be read nothing.

    What was not looked for may be anything.
    """
    nowhere = tuple(_uncalled(texts, sorted(wanted.functions), alive))
    if nowhere:
        yield Mentions(file="", uncalled=nowhere)
    names, files = _MOST_NAMES, _MOST_FILES
    every: list[Mentions] = []
    looked_for = Wanted()
    for _ in range(_ROUNDS):
        chosen = wanted.only(sorted(wanted.names)[:names])
        chosen, those = _few(chosen, _holding(texts, chosen, alive), files)
        names, files = names - len(chosen.names), files - len(those)
        looked_for = looked_for.with_all(chosen)
        found: list[Mentions] = []
        for text in those:
            alive()
            try:
                found.append(mentions_in(text.parsed(), text.name, chosen))
            except (OSError, UnparsableError):
                continue  # the look at the file itself has said so
        every += found
        asked = asked_by(every).with_all(wanted)
        wanted = asked.but(looked_for)
        if not wanted.names:
            break
    yield from (one for one in every if one != Mentions(file=one.file))
    unknown = set(wanted.flags)
    for one in every:  # what other calls may give to them is not known
        unknown.update(place.text for place in one.takes if place.function in wanted.callees)
    if unknown:
        yield Mentions(file="", given=tuple((name, ANYTHING) for name in sorted(unknown)))


def _uncalled(
    texts: Iterable[SearchedText], functions: Iterable[str], alive: Callable[[], None]
) -> Iterator[str]:
    """Name functions whose names stand in no source but where each is defined, once.

    Whoever is in doubt is believed: a word in a text or a comment counts as a call, a decorator
    may hand the function on, and methods are called by what a class inherits.
    """
    names = dict.fromkeys(functions, 0)
    words = {one: re.compile(rf"\b{re.escape(one)}\b".encode()) for one in names}
    plain = {
        one: re.compile(
            rf"(?:\A|^\n|^[^@)\s#].*\n|^[ \t].*\n)(?:async )?def {one}\b".encode(), re.MULTILINE
        )
        for one in names
    }
    left, defined = set(names), set[str]()
    for text in texts if left else ():
        alive()
        try:
            content = text.content()
        except (OSError, UnparsableError):
            return  # which may call any
        for one in [one for one in left if one.encode() in content]:
            names[one] += len(words[one].findall(content))
            defined |= {one} if plain[one].search(content) else set()
            left -= {one} if names[one] > 1 else set()
    yield from (one for one, count in names.items() if count == 1 and one in defined)


def _holding(
    texts: Sequence[SearchedText], wanted: Wanted, alive: Callable[[], None]
) -> dict[str, list[SearchedText]]:
    """Give the sources in which each name stands, in order."""
    words = {
        name: [
            (one.encode(), re.compile(rf"(?<![^\W_]){one}\b".encode())) for one in spellings(name)
        ]
        for name in wanted.names
    }
    holding: dict[str, list[SearchedText]] = {name: [] for name in words}
    for text in texts:
        alive()
        try:
            content = text.content()
        except (OSError, UnparsableError):
            continue
        for name, each in words.items():
            if any(word in content and pattern.search(content) for word, pattern in each):
                holding[name].append(text)
    return holding


def _few(
    wanted: Wanted, holding: dict[str, list[SearchedText]], most: int
) -> tuple[Wanted, list[SearchedText]]:
    """Choose the rarest names, whose files are no more than so many, and give these files."""
    chosen: list[str] = []
    those: dict[SearchedText, None] = {}
    for name in sorted(holding, key=lambda name: (len(holding[name]), name)):
        more = those | dict.fromkeys(holding[name])
        if len(more) > most:
            break
        those = more
        chosen.append(name)
    return wanted.only(chosen), list(those)


def importers(
    texts: Iterable[SearchedText], files: Iterable[str], alive: Callable[[], None]
) -> Iterator[Mentions]:
    """Give what imports a file that has one of these names, as far as that can be told."""
    stems = frozenset(stem_of(one).rpartition("/")[2] for one in files)
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(stems)))})\b".encode())
    for text in texts if stems else ():
        alive()
        with contextlib.suppress(OSError, UnparsableError):  # the look at itself has said so
            if word.search(_imports(text)):
                yield mentions_in(text.parsed(), text.name, Wanted(stems=stems))


# --- scripts that lead to pipelines ---------------------------------------------------------------


def pipelines_of(
    texts: Sequence[SearchedText], holders: Iterable[str], root: str, alive: Callable[[], None]
) -> Iterator[Reads]:
    """Give the pipelines that the scripts of a folder come to, each once.

    Args:
        texts: all sources of the folder.
        holders: the names of those in which pipelines are written out.
        root: the job's folder.
        alive: says that it goes on.
    """
    found: dict[tuple[str | None, int | None], Reads] = {}
    for script in _scripts(texts, holders):
        alive()
        try:
            way = on_the_way(script.path, root, alive)
            each = [(one.file, one.parsed) for one in way.modules]
        except (OSError, UnparsableError):
            continue  # the look at the file itself has said so
        start = StartOfScript((root, os.path.dirname(script.path)))
        for one in written_on_the_way(each, script.name, way, start):
            place = one.defined.file, one.defined.line
            if place not in found or (one.sure and not found[place].sure):
                found[place] = one
    yield from found.values()


def written_on_the_way(
    each: Sequence[tuple[str, Parsed]], entry: str, way: NeededModules, start: StartOfScript
) -> Iterator[Reads]:
    """Give the pipelines of a script and its modules, and say whether every run comes to them."""
    written = written_in_all(each, start)
    if not written:
        return
    run = Reached(each, entry, way)
    for one in written:
        at = one.defined
        is_sure = not one.assumed and run.is_come_to(at.file or "", at.line or 0)
        yield replace(one, sure=is_sure, script=entry)


def _scripts(texts: Sequence[SearchedText], holders: Iterable[str]) -> list[SearchedText]:
    """Give the files that are started and lead to those, as far as names and imports tell.

    That is `train.py` and the like, or what nobody imports: `train_vae.py`, or else any.
    """
    leading = [name for name in holders if not is_test(name)]
    contents = {one.name: _imports(one) for one in texts if leading and not is_test(one.name)}
    imported: set[str] = set()
    for name in leading:  # grows while it is gone through
        stem = stem_of(name).rpartition("/")[2].encode()
        pattern = re.compile(rb"\b" + re.escape(stem) + rb"\b")
        those = [one for one, said in contents.items() if one != name and pattern.search(said)]
        imported |= {name} if those else set()
        leading += [one for one in those if one not in leading]
    starts = [*filter(_is_train, leading)]
    if not any(map(_is_train, contents)):
        alone = [one for one in leading if one not in imported]
        starts = [*filter(trains, alone)] or alone
    by_name = {one.name: one for one in texts}
    return [by_name[name] for name in starts[:_MOST_SCRIPTS]]


def _is_train(name: str) -> bool:
    return TRAINS.match(stem_of(name).rpartition("/")[2]) is not None


def _imports(text: SearchedText) -> bytes:
    """Give the lines of a source that import something."""
    try:
        return b"\n".join(_IMPORT.findall(text.content()))
    except (OSError, UnparsableError):
        return b""


def ways(
    texts: Sequence[SearchedText], scripts: Iterable[str], alive: Callable[[], None]
) -> Iterator[ScriptImports]:
    """Give the files to which each of some scripts may lead by imports, by their words alone.

    No file is parsed for it: one is come to where what imports says its name.
    """
    starts = list(scripts)
    if not starts:
        return
    words: dict[str, frozenset[bytes]] = {}
    by_name: set[str] = set()
    for one in texts:
        alive()
        with contextlib.suppress(OSError, UnparsableError):  # the look at itself has said so
            content = one.content()
            words[one.name] = frozenset(_WORDS.findall(b"\n".join(_IMPORT.findall(content))))
            by_name |= {one.name} if _BY_NAME.search(content) else set()
    stems = {name: stem_of(name).rpartition("/")[2].encode() for name in words}
    for start in starts:
        files, waiting = {start}, [start]
        while waiting:
            said = words.get(waiting.pop(), frozenset())
            new = [name for name, stem in stems.items() if stem in said and name not in files]
            files.update(new)
            waiting += new
        yield ScriptImports(start, tuple(sorted(files)), by_name.isdisjoint(files))
