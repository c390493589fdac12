"""Reads Python sources, and never runs them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from preflight.kinds.asked import Asked
from preflight.sources.facts import Mentions, SourceFacts, SourceFile
from preflight.sources.mentions import mentions_in, names_in, names_wanted, pattern_of
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
    """Look for names in each of several files."""
    names = frozenset(asked.wire["names"])
    for place, path in enumerate(asked.wire["paths"]):
        asked.opening(place)
        yield from mentions_of([path], names, asked.root)
        asked.alive()


def mentions_of(paths: Iterable[str], names: frozenset[str], root: str) -> Iterator[Mentions]:
    """Give what files say of names; a file that cannot be read says nothing."""
    pattern = pattern_of(names)
    for path in paths:
        try:
            content = content_of(path)
            if pattern.search(content):
                yield mentions_in(parse(content), name_of(path, root), names)
        except (OSError, UnparsableError):
            continue  # the look at the file itself has said so


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
    names = names_wanted(own.open())
    for _ in range(_ROUNDS if names else 0):
        pattern = pattern_of(names)
        those = (one for one in each if pattern.search(one.content))
        own.mentions = [mentions_in(one.parsed, one.name, names) for one in those]
        values = {text for one in own.mentions for _, text in one.given}
        more = names.union(*map(names_in, values))
        if more == names:
            break
        names = more
    return own.facts([unguarded_file(path, parsed, root, name)])


class _Read(NamedTuple):
    name: str
    parsed: Parsed
    content: bytes


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
    names = names_wanted(own.open())
    if names:
        own.mentions = list(mentions_of(files, names, root))
    return own.facts(one.unguarded for one in own.files.values())
