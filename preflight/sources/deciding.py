"""Says what decides whether the job comes to a place: tests, what is given to flags, imports."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from preflight.host.environment import launcher_of
from preflight.sources.environment_reads import is_stored_before
from preflight.sources.facts import EnvironmentRead, Mentions, ScriptImports, SourceFile
from preflight.sources.mentions import function_of, stem_of
from preflight.syntax.source_files import is_test
from preflight.syntax.surroundings import launchers_in


def stored_in(files: Iterable[SourceFile]) -> dict[str, set[str]]:
    """Give the variables that sources set, each with the files that do."""
    stored: dict[str, set[str]] = {}
    for one in files:
        for store in () if is_test(one.file) else one.stores:
            stored.setdefault(store.variable, set()).add(one.file)
    return stored


def loads_dotenv(files: Iterable[SourceFile]) -> bool:
    """Whether a file sets variables of which nobody knows the names."""
    return any(one.loads_dotenv for one in files)


def reads_of(
    files: Mapping[str, SourceFile],
    named: str,
    environment: Mapping[str, str],
    lazy: Collection[str],
) -> Iterator[EnvironmentRead]:
    """Say of each read whether the variable is set, here or by the sources themselves."""
    stored, dotenv = stored_in(files.values()), loads_dotenv(files.values())
    for name, one in files.items():
        about = launchers_in(os.path.basename(name)) if name != named else frozenset()
        for read in one.reads:
            launcher = launcher_of(read.variable)
            elsewhere = bool(stored.get(read.variable, set()) - {name})
            loaded = dotenv and launcher is None
            guarded = read.guarded or elsewhere or loaded or launcher in about
            yield read._replace(
                is_set=read.variable in environment,
                guarded=guarded or is_stored_before(read, one.stores),
                is_lazy=name in lazy,
            )


def by_itself(read: EnvironmentRead) -> str | None:
    """Say why no job that is started comes to a read, as far as the place itself tells."""
    if read.stands.rehearsed is not None:
        return f"it stands in {read.stands.rehearsed}"
    return "it stands in a test" if is_test(read.file) else None


def depends(read: EnvironmentRead) -> bool:
    """Whether more has to be known before that can be said."""
    return bool(read.stands.tests or read.stands.as_main or function_of(read))


def is_called(read: EnvironmentRead, entry: str, mentions: Iterable[Mentions]) -> bool:
    """Whether what is started calls the function of another file that reads, under no test."""
    function = function_of(read)
    if function is None or function != read.inside or read.stands.tests or read.file == entry:
        return False
    written = {function, f"{stem_of(read.file).rpartition('/')[2]}.{function}"}
    calls = (call for one in mentions if one.file == entry for call in one.calls)
    return any(
        call.text in written and not (call.stands.tests or call.stands.rehearsed) for call in calls
    )


def values_given(mentions: Sequence[Mentions]) -> Iterator[tuple[str, str]]:
    """Give what names are given, as code, also by calls that do not say the name."""
    handed: dict[tuple[str, int], set[str]] = {}
    for place in (place for one in mentions for place in one.handed):
        handed.setdefault(place[:2], set()).add(place.text)
    for one in mentions:
        yield from one.given
    for place in {place for one in mentions for place in one.takes}:
        values = handed.get(place[:2], ())
        # Under its own name it is handed on, which says nothing new.
        yield from ((place.text, one) for one in values if one.rpartition(".")[2] != place.text)


def of_the_job(
    files: Iterable[SourceFile], entries: Sequence[str], ways: Mapping[str, ScriptImports]
) -> list[SourceFile]:
    """Leave out other scripts than those that may be started, and what these do not import.

    Where it is not known what they import, nothing is left out for that.
    """
    own = [one for one in files if not (entries and one.is_script) or one.file in entries]
    known = [ways[one] for one in entries if one in ways and ways[one].is_all]
    if not entries or len(known) < len(entries):
        return own
    come_to = {file for way in known for file in way.files}
    return [one for one in own if one.file in come_to]
