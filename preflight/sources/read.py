"""Reads Python sources, and never runs them."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from preflight.kinds.asked import Asked
from preflight.pipelines.image_folder_calls import with_told_folders
from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.written import written_in
from preflight.sources.all_sources import facts_of_sources
from preflight.sources.facts import (
    ComesTo,
    EnvironmentRead,
    Mentions,
    Opens,
    ReadAt,
    ScriptImports,
    SourceFacts,
    SourceFile,
    Unparsed,
)
from preflight.sources.flaws.tuples import returned_in
from preflight.sources.job_sources import JobSources
from preflight.sources.mentions import Wanted, wanted_for
from preflight.sources.one_source import (
    Words,
    look_into,
    of_parsed,
    speaks_of_environment,
    words_in,
)
from preflight.sources.search import (
    SearchedText,
    importers,
    pipelines_of,
    search,
    ways,
    written_on_the_way,
)
from preflight.sources.unguarded import unguarded_file
from preflight.syntax.bodies import bodies
from preflight.syntax.config_files import given_by_configs
from preflight.syntax.copies import Code, copier_of
from preflight.syntax.imports.modules import Modules
from preflight.syntax.imports.needed_modules import on_the_way
from preflight.syntax.imports.reached import unnamed
from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.source_files import content_of, is_test
from preflight.targets.targets import Source
from preflight.values.names import name_of
from preflight.values.this_process import uncollected
from preflight.values.wire import from_wire

_LOOPS = Words(environment=False, loops=True)


def look(asked: Asked) -> Iterator[SourceFacts]:
    """Read a script that is asked about, with what it imports."""
    with uncollected():
        yield _read_script(from_wire(Source, asked.wire), asked.root, asked.alive)


def look_into_files(asked: Asked) -> Iterator[SourceFile]:
    """Look at each of several files of a folder, by itself."""
    with uncollected():
        for place, path in enumerate(asked.wire["paths"]):
            asked.opening(place)
            name, told = name_of(path, asked.root), asked.wire
            found = look_into(path, name, place, loops=told["loops"], whole=told["whole"])
            if found is not None:
                yield found
            asked.alive()


def look_for_names(
    asked: Asked,
) -> Iterator[ComesTo | Mentions | Opens | ScriptImports | Unparsed]:
    """Look in all files of a folder for what decides whether reads, and shards, are come to."""
    with uncollected():
        yield from _named_in(asked)


def _named_in(
    asked: Asked,
) -> Iterator[ComesTo | Mentions | Opens | ScriptImports | Unparsed]:
    texts = [
        SearchedText(name=name_of(path, asked.root), path=path) for path in asked.wire["paths"]
    ]
    wanted = Wanted(*map(frozenset, asked.wire["wanted"]))
    yield from _deciding(texts, wanted, asked.root, asked.alive)
    pipelines = tuple(pipelines_of(texts, asked.wire["holders"], asked.root, asked.alive))
    if pipelines:
        yield Opens(pipelines=pipelines)
    yield from _returned(
        SearchedText(name=name_of(path, asked.root), path=path) for path in asked.wire["returns"]
    )
    yield from importers(texts, asked.wire["perhaps"], asked.alive)
    yield from _come_to(asked.wire["starts"], asked.root, asked.alive)
    yield from ways(texts, asked.wire["ways"], asked.alive)
    for path in asked.wire["parsed_with"]:
        if stops := on_the_way(path, asked.root, asked.alive).stops:
            yield Unparsed(name_of(path, asked.root), stops)


def _come_to(scripts: Iterable[str], root: str, alive: Callable[[], None]) -> Iterator[ComesTo]:
    """Follow scripts of a folder one by one, as if each had been named alone, for their reads."""
    for path in scripts:
        way = on_the_way(path, root, alive)
        if not way.modules:
            continue  # the look at the file itself has said why
        name = way.modules[0].file
        own = JobSources(name, os.environ, is_folder=False, lazy=way.lazy, started=way.started)
        each = [SearchedText(name=one.file, code=one.parsed) for one in way.modules]
        for one in each:
            alive()
            words = Words(environment=speaks_of_environment(one.content()))
            own.files[one.name] = of_parsed(one.parsed(), one.name, words)
        own.mentions += _given_on_the_way(each, path, root, own.open(), alive)
        judged = facts_of_sources(own).reads
        come_to = [one for one in judged if one.off is None]
        by_imports = [one for one in come_to if one.inside is None and not one.is_lazy]
        yield ComesTo(name, tuple(map(_place, come_to)), tuple(map(_place, by_imports)))


def _place(read: EnvironmentRead) -> ReadAt:
    return ReadAt(read.file, read.line)


def _given_on_the_way(
    each: Sequence[SearchedText],
    path: str,
    root: str,
    flags: Sequence[EnvironmentRead],
    alive: Callable[[], None],
) -> Iterator[Mentions]:
    """Say what a script, its modules, and config files that they name, give to flags."""
    found = list(search(each, wanted_for(flags), alive))
    yield from found
    if any(one.stands.tests for one in flags) or found:
        for file, given in given_by_configs((one.content() for one in each), path, root):
            yield Mentions(file=file, given=given)


def _deciding(
    texts: Sequence[SearchedText], wanted: Wanted, root: str, alive: Callable[[], None]
) -> Iterator[Mentions]:
    """Say what sources, and config files that they name, give to flags."""
    if not any(wanted):
        return
    yield from search(texts, wanted, alive)
    told: set[str] = set()
    for one in texts:
        if is_test(one.name):
            continue
        try:
            content = one.content()
        except OSError:
            continue
        for file, given in given_by_configs([content], one.path, root):
            if file not in told:
                told.add(file)
                yield Mentions(file=file, given=given)


def _returned(texts: Iterable[SearchedText]) -> Iterator[Mentions]:
    """Say which functions of some files return one tuple; of those that can be parsed."""
    for one in texts:
        try:
            found = returned_in(bodies(one.parsed().tree), one.name)
        except (OSError, UnparsableError):
            continue
        if any(found.values()):
            yield Mentions(file=one.name, returned=tuple(filter(None, found.values())))


def _read_script(source: Source, root: str, alive: Callable[[], None]) -> SourceFacts:
    path = os.path.join(root, source.path)
    name = name_of(path, root)
    own = JobSources(name, os.environ, is_folder=False, implied=source.implied, count=1)
    try:
        parsed = parse(content_of(path))
    except UnparsableError as error:
        told = str(error.line or ""), str(error)
        own.files[name] = SourceFile(file=name, unreadable=told)
        return facts_of_sources(own)
    each = [SearchedText(name=name, code=parsed)]
    if not source.implied:  # a module that makes a loader is no script that is started
        way = on_the_way(path, root, alive)
        own.lazy, own.started = way.lazy, way.started
        own.broken(Unparsed(name, way.stops))
        for module in way.broken:
            told = module.line, module.reason
            own.files[module.file] = SourceFile(file=module.file, unreadable=told)
        each += [
            SearchedText(name=one.file, code=one.parsed) for one in way.modules if one.file != name
        ]
        own.count = len(each) + len(own.files)
        code = [Code(one.name, one.parsed()) for one in each]
        own.model_copy = copier_of(code, entry=name)
    elif source.holds:
        own.unnamed = tuple(unnamed(parsed, source.holds))
    for one in each:
        alive()
        words = words_in(one.content(), one.name)
        # All are parsed by now, and a loader may be handed on by any name.
        flaws = words.flaws._replace(loops=True)
        words = words._replace(flaws=flaws, loops=not is_test(one.name))
        own.files[one.name] = of_parsed(one.parsed(), one.name, words)
    if source.implied:
        own.files |= _handed_to(own.files[name], path, root)
    trees = [(one.name, one.parsed()) for one in each]
    start = StartOfScript((root, os.path.dirname(path)), source.words)
    own.pipelines += (
        written_in(parsed, name) if source.implied else written_on_the_way(trees, name, way, start)
    )
    for file, its in own.files.items() if not source.implied else ():
        folders = with_told_folders(its.class_folders, trees, start)
        own.files[file] = its._replace(class_folders=folders)
    own.names = [one.name for one in each]
    called = own.looped_over()
    own.take(_returned(one for one in each if one.name in called))
    own.mentions += _given_on_the_way(each, path, root, own.open(), alive)
    return facts_of_sources(own, [unguarded_file(path, parsed, root, name)])


def _handed_to(first: SourceFile, path: str, root: str) -> dict[str, SourceFile]:
    """Look for loops in the own modules to which a file, and what it calls, hands loaders."""
    home = os.path.abspath(root)
    modules = Modules(folders=(os.path.dirname(os.path.abspath(path)), home), root=root)
    found, waiting = {first.file: first}, [first]
    while waiting:
        calls = dict.fromkeys((one.to_module, one.to) for one in waiting.pop().handed)
        places = [(tuple(module.removeprefix("./").split("/")), to) for module, to in calls]
        for dotted, to in places:  # which grows by what packages hand on
            there = modules.find(dotted)
            if there is None:
                continue
            if os.path.basename(there.file) == "__init__.py":
                handed_on = [(one, to) for one in _imported_from(there.parsed.tree, dotted, to)]
                places += [one for one in handed_on if one not in places]
            if there.file not in found:
                found[there.file] = of_parsed(there.parsed, there.file, _LOOPS)
                waiting.append(found[there.file])
    return found


def _imported_from(
    tree: ast.Module, package: tuple[str, ...], name: str
) -> Iterator[tuple[str, ...]]:
    """Give the modules from which a package has a name, by the imports of its `__init__.py`."""
    own = name.partition(".")[0]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and any(
            own == (one.asname or one.name) for one in node.names
        ):
            inner = tuple(node.module.split(".")) if node.module else ()
            yield package[: len(package) + 1 - node.level] + inner if node.level else inner
