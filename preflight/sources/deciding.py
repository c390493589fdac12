"""Says what decides whether the job comes to a place: tests, what is given to flags, imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from preflight.sources.facts import EnvironmentRead, Mentions, ScriptImports, SourceFile
from preflight.sources.mentions import function_of, stem_of
from preflight.syntax.source_files import is_test


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
