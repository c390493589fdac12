"""Reads Python sources, and never runs them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from preflight.kinds.asked import Asked
from preflight.pipelines.written import written_in
from preflight.sources.facts import Mentions, SourceFacts, SourceFile
from preflight.sources.mentions import Wanted, mentions_in, wanted_for
from preflight.sources.one_file import look_into, of_parsed, words_in
from preflight.sources.unguarded import unguarded_file
from preflight.sources.whole import JobSources
from preflight.syntax.listing import MOST_FILES, content_of, python_files
from preflight.syntax.on_the_way import on_the_way
from preflight.syntax.parsing import Parsed, UnparsableError, parse
from preflight.targets.targets import Source
from preflight.values.names import name_of
from preflight.values.wire import from_wire

# How often what a name is given may name others that have to be looked for.
_ROUNDS = 3


def look(asked: Asked) -> Iterator[SourceFacts]:
    """Read a script that is asked about, with what it imports."""
    source = from_wire(Source, asked.wire)
    yield read_source(source, asked.root, os.environ, alive=asked.alive)


def look_into_files(asked: Asked) -> Iterator[SourceFile]:
    """Look at each of several files of a folder, by itself."""
    for place, path in enumerate(asked.wire["paths"]):
        asked.opening(place)
        found = look_into(path, name_of(path, asked.root), place)
        if found is not None:
            yield found
        asked.alive()


def look_for_names(asked: Asked) -> Iterator[Mentions]:
    """Look in all files of a folder for what decides whether reads are come to."""
    wanted = Wanted(*map(frozenset, asked.wire["wanted"]))
    paths = asked.wire["paths"]
    yield from _in_rounds(
        wanted, lambda more: mentions_of(paths, more, asked.root, alive=asked.alive)
    )


def mentions_of(
    paths: Iterable[str], wanted: Wanted, root: str, alive: Callable[[], None] = lambda: None
) -> Iterator[Mentions]:
    """Give what files say of it; a file that cannot be read says nothing."""
    pattern = re.compile(wanted.words.encode())
    for path in paths:
        alive()
        try:
            content = content_of(path)
            if pattern.search(content):
                yield mentions_in(parse(content), name_of(path, root), wanted)
        except (OSError, UnparsableError):
            continue  # the look at the file itself has said so


def _in_rounds(
    wanted: Wanted, find: Callable[[Wanted], Iterable[Mentions]]
) -> tuple[Mentions, ...]:
    """Look for names, and again with those on which it depends what was found."""
    found: tuple[Mentions, ...] = ()
    for _ in range(_ROUNDS if any(wanted) else 0):
        found = tuple(find(wanted))
        before, wanted = wanted, wanted.with_more(found)
        if wanted == before:
            break
    return found


def read_source(
    source: Source,
    root: str,
    environment: Mapping[str, str],
    alive: Callable[[], None] = lambda: None,
) -> SourceFacts:
    """Read a script and what it imports, or all sources below a folder, against an environment.

    Raises:
        OSError: the file or folder that was named cannot be opened.
    """
    path = os.path.join(root, source.path)
    if os.path.isdir(path):
        return _read_folder(source, path, root, environment)
    return _read_script(source, path, root, environment, alive)


def _read_script(
    source: Source,
    path: str,
    root: str,
    environment: Mapping[str, str],
    alive: Callable[[], None],
) -> SourceFacts:
    name = name_of(path, root)
    own = JobSources(name, environment, is_folder=False, implied=source.implied, count=1)
    try:
        content = content_of(path)
        parsed = parse(content)
    except UnparsableError as error:
        told = str(error.line or ""), str(error)
        own.files[name] = SourceFile(file=name, unreadable=told)
        return own.facts()
    each = [_Read(name, parsed, content)]
    if not source.implied:  # a module that makes a loader is no script that is started
        way = on_the_way(path, root, alive)
        own.lazy = way.lazy
        each += [
            _Read(one.file, one.parsed, "\n".join(one.parsed.lines).encode("utf-8", "replace"))
            for one in way.modules
            if one.file != name
        ]
        own.count = len(each)
    for one in each:
        alive()
        own.files[one.name] = of_parsed(one.parsed, one.name, words_in(one.content))
        own.pipelines += written_in(one.parsed, one.name)
    own.mentions += _in_rounds(wanted_for(own.open()), lambda wanted: _in_modules(each, wanted))
    return own.facts([unguarded_file(path, parsed, root, name)])


class _Read(NamedTuple):
    name: str
    parsed: Parsed
    content: bytes


def _in_modules(each: Iterable[_Read], wanted: Wanted) -> Iterator[Mentions]:
    pattern = re.compile(wanted.words.encode())
    for one in each:
        if pattern.search(one.content):
            yield mentions_in(one.parsed, one.name, wanted)


def _read_folder(
    source: Source, path: str, root: str, environment: Mapping[str, str]
) -> SourceFacts:
    """Do at once what processes are asked for in parts."""
    files = list(itertools.islice(python_files(path), MOST_FILES))
    name = name_of(path, root)
    own = JobSources(name, environment, is_folder=True, implied=source.implied, count=len(files))
    for file in files:
        found = look_into(file, name_of(file, root))
        if found is not None:
            own.files[found.file] = found
    own.mentions += _in_rounds(
        wanted_for(own.open()), lambda wanted: mentions_of(files, wanted, root)
    )
    return own.facts(one.unguarded for one in own.files.values())
