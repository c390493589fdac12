"""Looks in all sources for the names on which it depends whether a place is come to.

What they are given may ask others, so this goes in rounds. Of names that stand in too many files
nothing is known, and those files are not parsed for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from preflight.sources.facts import Mentions
from preflight.sources.mentions import ANYTHING, Wanted, asked_by, mentions_in, spellings
from preflight.syntax.listing import content_of
from preflight.syntax.parsing import Parsed, UnparsableError, parse

# How often what a name is given may ask others that have to be looked for.
_ROUNDS = 3

# Names that are looked for, and files that are parsed for their sake, all rounds taken together.
_MOST_NAMES = 64
_MOST_FILES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
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
    texts: Sequence[Text], wanted: Wanted, alive: Callable[[], None] = lambda: None
) -> Iterator[Mentions]:
    """Give what sources say of names, and of those that these ask; one that cannot be read nothing.

    What was not looked for may be anything.
    """
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


def _holding(
    texts: Sequence[Text], wanted: Wanted, alive: Callable[[], None]
) -> dict[str, list[Text]]:
    """Give the sources in which each name stands, in order."""
    words = {
        name: [
            (one.encode(), re.compile(rf"(?<![^\W_]){one}\b".encode())) for one in spellings(name)
        ]
        for name in wanted.names
    }
    holding: dict[str, list[Text]] = {name: [] for name in words}
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


def _few(wanted: Wanted, holding: dict[str, list[Text]], most: int) -> tuple[Wanted, list[Text]]:
    """Choose the rarest names, whose files are no more than so many, and give these files."""
    chosen: list[str] = []
    those: dict[Text, None] = {}
    for name in sorted(holding, key=lambda name: (len(holding[name]), name)):
        more = those | dict.fromkeys(holding[name])
        if len(more) > most:
            break
        those = more
        chosen.append(name)
    return wanted.only(chosen), list(those)
