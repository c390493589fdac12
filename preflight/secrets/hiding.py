"""Takes secrets out of texts, values and finished pages; the only place that does.

Three things say that something is one: the name that it stands under (`DB_PASSWORD=…`), its shape
(`hf_…`, the password of an address), and that the very value stands in the environment or in the
settings under such a name: then it is taken out wherever it turns up.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from preflight.secrets.in_texts import (
    InBrackets,
    held_behind,
    in_brackets,
    in_query,
    is_secret,
    of_option,
)
from preflight.secrets.naming import (
    Says,
    is_about,
    is_no_word,
    is_password,
    looks_random,
    may_be_secret,
    says,
)
from preflight.secrets.shapes import ELEMENT, ENCLOSED, NAMED, NAMES, OPTION, PATTERNS, QUERY, VALUE
from preflight.secrets.written_forms import written_forms

REDACTED = "<redacted>"

T = TypeVar("T")

# Numbers and names of fields, of which a finished report is made; its texts were looked through.
_OF_A_PAGE = re.compile(r"[0-9]+|[a-z_-]{1,12}")

# Names of people and machines, which may be passwords too, and tell nothing as such.
_NAMES = ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME")

# Characters of a value that stand for it at the end of a text that was cut.
_BEGINNING = 6

# Where a text was cut: it says so, or simply ends.
_CUT = re.compile(r"\.\.\.|…|\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What is known to be secret, wherever it turns up."""

    values: tuple[str, ...] = ()
    """As they were given; the longest first."""

    mark: str = REDACTED
    """Stands where one was."""

    _forms: tuple[str, ...] = field(init=False)
    """The values as pages write them: quoted, escaped, encoded, or as they are."""

    _low: tuple[str, ...] = field(init=False)
    """Those that are looked for in any case, in small letters."""

    _written: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Make one pattern of all values."""
        found = {one for value in self.values for one in written_forms(value)}
        forms = sorted(found, key=lambda one: (-len(one.text), one))
        exact = tuple(one.text for one in forms if not one.any_case)
        object.__setattr__(self, "_forms", exact)
        low = tuple(one.text.lower() for one in forms if one.any_case)
        object.__setattr__(self, "_low", low)
        object.__setattr__(self, "_written", re.compile("|".join(one.pattern for one in forms)))

    @classmethod
    def known(
        cls, environ: Mapping[str, str], said: Iterable[str] = (), settings: Any = None
    ) -> Secrets:
        """Learn the values of variables, of words that were typed, and of settings (plain ones)."""
        found = {value for name, text in environ.items() for value in _of_variable(name, text)}
        found |= found_in([*said, settings])
        names = {environ.get(name, "").lower() for name in _NAMES}
        told = {one for one in found if is_no_word(one)}
        told |= {text for name, text in environ.items() if is_password(name, text)}
        values = {one for one in told if one.lower() not in names}
        return cls(values=tuple(sorted(values, key=lambda one: (-len(one), one))))

    def text(self, text: str) -> str:
        """Take out what is secret by value, by name or by shape."""
        return self._hidden(text, set())

    def bytes_of(self, finished: str, *, whole: bool = False) -> str:
        """Take the known values out of a finished page, whose form stays as it is; or of a text."""

        def cut(match: re.Match[str]) -> str:
            return match[0] if not whole and _OF_A_PAGE.fullmatch(match[0]) else self.mark

        return self._written.sub(cut, finished) if self._stands_in(finished) else finished

    def holds(self, text: str) -> bool:
        """Whether a known value stands in a text, or what has the shape of a secret."""
        low = text.lower()
        return self._stands_in(text) or any(
            pattern.search(text) for hints, pattern in PATTERNS if any(one in low for one in hints)
        )

    def _stands_in(self, text: str) -> bool:
        low = text.lower() if self._low else ""
        return any(form in text for form in self._forms) or any(form in low for form in self._low)

    def plain(self, value: T) -> T:
        """Take them out of all texts of a frozen value, or of a plain one.

        What is found by its name in one text is taken out of the others as well.
        """
        found = set[str]()
        hidden: T = self._walk(value, found)
        drawn = tuple(sorted(filter(looks_random, found), key=len, reverse=True))
        more = Secrets(values=drawn, mark=self.mark)
        return more._walk(hidden, set()) if drawn else hidden

    def _walk(self, value: Any, found: set[str]) -> Any:
        if isinstance(value, str):
            return self._hidden(value, found)
        if isinstance(value, Mapping):
            pairs = [
                (self._walk(key, found), self._under(str(key), value[key], found)) for key in value
            ]
            same = all(new is value.get(key) for key, new in pairs)
            return value if same else dict(pairs)
        if isinstance(value, (list, tuple)):
            new = [self._walk(one, found) for one in value]
            if all(map(_is, new, value)):
                return value
            return type(value)(*new) if hasattr(value, "_fields") else type(value)(new)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            old = {
                one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init
            }
            changed = {
                name: new for name, one in old.items() if (new := self._walk(one, found)) is not one
            }
            return dataclasses.replace(value, **changed) if changed else value
        return value

    def _under(self, name: str, value: Any, found: set[str]) -> Any:
        """Take out all that stands under a name that says so: `kwargs.auth.user`, `api_key`."""
        inner = name.partition("kwargs.")[2] or name
        said = max(map(says, inner.split(".")), default=Says.NOTHING)
        if said is Says.NOTHING or is_about(inner.rpartition(".")[2]):
            return self._walk(value, found)
        held = getattr(value, "value", value)  # a setting keeps where it came from
        new = self._blank(held, said, found, numbers=held is not value)
        return new if held is value else dataclasses.replace(value, value=new)

    def _blank(self, value: Any, said: Says, found: set[str], *, numbers: bool) -> Any:
        if isinstance(value, Mapping):
            return {
                key: self._walk(one, found)
                if is_about(str(key))
                else self._blank(one, said, found, numbers=numbers)
                for key, one in value.items()
            }
        if isinstance(value, (list, tuple)):
            return type(value)(self._blank(one, said, found, numbers=numbers) for one in value)
        is_number = isinstance(value, int) and numbers and said is Says.SECRET
        if not (isinstance(value, str) or (is_number and is_no_word(str(value)))):
            return self._walk(value, found)
        text = str(value)
        if (may_be_secret if said is Says.SECRET else looks_random)(text):
            found.update(_parts(text))
            return self.mark
        return self._walk(value, found)

    def _hidden(self, text: str, found: set[str]) -> str:
        if self.values:
            text = self.bytes_of(text, whole=True)
            text = self._cut_off(text)
        low = text.lower()

        def cut(match: re.Match[str], group: str = "secret") -> str:
            found.update(_parts(match[group]))
            begin, end = (at - match.start() for at in match.span(group))
            return match[0][:begin] + self.mark + match[0][end:]

        def cut_where(right: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], str]:
            return lambda match: cut(match) if right(match) else match[0]

        for hints, pattern in PATTERNS:
            if any(hint in low for hint in hints):
                text = pattern.sub(cut, text)
        if "=" in low and ("?" in low or "&" in low or ";" in low):
            text = QUERY.sub(cut_where(in_query), text)
        if not any(name in low for name in NAMES):
            return text
        if "--" in low:
            text = OPTION.sub(cut_where(of_option), text)
        if "</" in low:
            text = ELEMENT.sub(cut_where(in_query), text)
        return self._without_named(ENCLOSED.sub(cut_where(in_brackets), text), found)

    def _without_named(self, text: str, found: set[str]) -> str:
        """Take out what stands behind a name that says so."""
        pieces, done, looked = [], 0, 0
        for named in NAMED.finditer(text):
            held = held_behind(text, named) if named.start() >= looked else InBrackets()
            looked = max(looked, held.end)
            for begin, end in held.places if named.start() >= done else ():
                found.update(_parts(text[begin:end]))
                pieces += [text[done:begin], self.mark]
                done = end
            value = VALUE.match(text, named.end()) if says(named["name"]) else None
            if value is None or named.start() < done or not is_secret(named, value):
                continue
            group = "bare" if value["quoted"] is None else "quoted"
            found.update(_parts(value[group]))
            pieces += [text[done : value.start(group)], self.mark]
            done = value.end(group)
        return "".join([*pieces, text[done:]]) if pieces else text

    def _cut_off(self, text: str) -> str:
        """Take out what is left of a value where a text was cut in it: its beginning, its end."""
        for value in self.values:
            if value[:_BEGINNING] not in text and value[-_BEGINNING:] not in text:
                continue
            for cut in (*_CUT.finditer(text),):
                before, after = text[: cut.start()], text[cut.end() :]
                begun, ended = _common(before, value), _common(value, after)
                if begun or ended:
                    before = before[: len(before) - begun] + self.mark if begun else before
                    text = before + cut[0] + (self.mark + after[ended:] if ended else after)
                    break
        return text


def _common(one: str, other: str) -> int:
    """Give how many characters one text ends with, and the other begins with."""
    lengths = range(min(len(one), len(other)), _BEGINNING - 1, -1)
    found = next((length for length in lengths if one.endswith(other[:length])), 0)
    return found if is_no_word(other[:found]) else 0


def hidden_here(text: str) -> str:
    """Take the secrets of this process's environment, as it is now, out of a finished text."""
    return Secrets.known(os.environ).bytes_of(text)


def found_in(value: object) -> set[str]:
    """Give what is secret in a text, or in any texts of a value, by its name or its shape."""
    found: set[str] = set()
    Secrets()._walk(value, found)  # noqa: SLF001  its own
    return found


def _is(new: object, old: object) -> bool:
    return new is old


def _of_variable(name: str, text: str) -> Iterator[str]:
    """Give what a variable holds that must not be told."""
    said = Says.SECRET if name.upper() == "KEY" else says(name)
    if said is Says.SECRET or (said and looks_random(text)):
        if not (os.path.isabs(text) and os.path.exists(text)):
            yield from _parts(text)
    elif "://" in text:
        yield from found_in(text)


def _parts(text: str) -> Iterator[str]:
    """Give a value, and what it is put together of: `Bearer abc…`, `user:abc…`."""
    yield text.strip()
    if "\n" in text:  # which pages write as one line, or as several of their own
        yield from map(str.strip, text.splitlines())
    pieces = re.split(r"[\s:;,@/?&=\"'{}\[\]]+", text) if len(text) < 4_000 else []
    if len(pieces) > 1:
        yield from filter(looks_random, pieces)
    if text.lstrip()[:1] == "{":
        yield from found_in(text) - {text}
        with contextlib.suppress(ValueError):
            yield from _texts_in(json.loads(text))


def _texts_in(value: object) -> Iterator[str]:
    """Give the texts of a secret that is JSON, but those whose names tell of it: `project_id`."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from () if is_about(name) else _texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts_in(one)
    elif isinstance(value, str):
        yield value.strip()
