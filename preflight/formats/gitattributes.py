"""Reads files of git attributes, and says what they give a path, by git's own rules.

The way is that of git's `attr.c`: later lines win over earlier ones, deeper files over those above
them, and a line that git would refuse is passed over.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from preflight.formats.path_patterns import matcher, plain_length

Value: TypeAlias = bytes | bool | None
"""What an attribute is set to: a text, True (`name`), False (`-name`), or None (`!name`)."""

States: TypeAlias = tuple[tuple[bytes, Value], ...]

MOST_WILD = 1_000
"""Lines with wildcards that a file may hold to be looked at."""

MOST_BRACKETS = 10_000
"""Bytes `[` in all of them."""

# git leaves out longer lines since 2.39.1.
_LONGEST_LINE = 2048

_BLANK = b" \t\r\n"
_MACRO = b"[attr]"
_BOM = b"\xef\xbb\xbf"
_NAME = re.compile(rb"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_WORD = re.compile(rb"[^ \t\r\n]+")
_NO_BLANKS = re.compile(rb"[^ \t\r\n]*")
_ESCAPED = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7][0-7]))*)"')
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')


class TooManyError(ValueError):
    """More patterns than are looked at."""


class Wild(NamedTuple):
    """A line whose pattern has to be tried on each path."""

    line: int
    of_name: bool
    """Whether it is held against the last part of a path only."""

    begin: bytes
    """What a path has to begin with, before the pattern's first wildcard."""

    matches: Callable[[bytes], bool]
    """Says of the rest of the path."""


class Attributes(NamedTuple):
    """What one file says."""

    plain: Mapping[bytes, tuple[int, ...]]
    """Lines without wildcards, by the name they are for, or by `/` and the path."""

    wild: tuple[Wild, ...]
    states: Mapping[int, States]
    """What each line sets, by its number."""

    macros: Mapping[bytes, States]


def parse(content: bytes, *, macros: bool, folded: bool) -> Attributes:
    """Read a file of attributes.

    Args:
        content: all of it.
        macros: whether `[attr]` may stand in it, as at the top of a work tree.
        folded: whether the case of names does not matter.

    Raises:
        TooManyError: it holds more wildcards than are looked at.
    """
    if content.count(b"[") > MOST_BRACKETS:
        raise TooManyError(f"more than {MOST_BRACKETS:,} sets in brackets")
    plain: dict[bytes, list[int]] = {}
    wild: list[Wild] = []
    states: dict[int, States] = {}
    defined: dict[bytes, States] = {}
    for number, text in enumerate(content.removeprefix(_BOM).split(b"\n")):
        line = _parse_line(text.partition(b"\0")[0])
        if line is None:
            continue
        name, sets = line
        if isinstance(name, _Macro):
            if macros:
                defined[name.name] = sets
            continue
        states[number] = sets
        if plain_length(name) == len(name):
            key = name.lower() if folded else name
            if b"/" in key and key[:1] != b"/":
                key = b"/" + key
            plain.setdefault(key, []).append(number)
            continue
        wild.append(_wild(number, name, folded=folded))
        if len(wild) > MOST_WILD:
            raise TooManyError(f"more than {MOST_WILD:,} lines with wildcards")
    return Attributes(
        plain={key: tuple(numbers) for key, numbers in plain.items()},
        wild=tuple(wild),
        states=states,
        macros=defined,
    )


def value_of(
    attribute: bytes, path: bytes, files: Sequence[tuple[bytes, Attributes]], *, folded: bool
) -> Value:
    """Say what a path's attribute is set to; None where nothing sets it.

    Args:
        attribute: its name.
        path: of a file, from the top of the work tree, with slashes.
        files: what is in force, the strongest first, each with its folder (`b"a/b/"`, or `b""`).
        folded: whether the case of names does not matter, as `parse` was told.
    """
    path = path.lower() if folded else path
    macros: dict[bytes, States] = {}
    for _, one in files:
        macros = {**one.macros, **macros}
    known: dict[bytes, Value] = {}
    for folder, one in files:
        inside = path[len(folder) :]
        for line in _matching(one, inside):
            _fill(known, one.states[line], macros)
            if attribute in known:
                return known[attribute]
    return None


def _matching(one: Attributes, path: bytes) -> Iterator[int]:
    """Give the numbers of the lines that match, the last first."""
    name = path.rpartition(b"/")[2]
    exact = sorted((*one.plain.get(name, ()), *one.plain.get(b"/" + path, ())))
    tried = (wild.line for wild in reversed(one.wild) if _matches(wild, path, name))
    return heapq.merge(tried, reversed(exact), reverse=True)


def _matches(wild: Wild, path: bytes, name: bytes) -> bool:
    text = name if wild.of_name else path
    return text.startswith(wild.begin) and wild.matches(text[len(wild.begin) :])


def _fill(known: dict[bytes, Value], states: States, macros: Mapping[bytes, States]) -> None:
    """Set what is not set yet, the last first, and at once what a macro stands for."""
    todo: list[Iterator[tuple[bytes, Value]]] = [iter(states[::-1])]
    while todo:
        for name, value in todo[-1]:
            if name in known:
                continue
            known[name] = value
            if value is True and name in macros:
                todo.append(iter(macros[name][::-1]))
                break
        else:
            todo.pop()


def _wild(number: int, pattern: bytes, *, folded: bool) -> Wild:
    if b"/" not in pattern:
        end = pattern[1:].lower() if folded else pattern[1:]
        if pattern[:1] == b"*" and plain_length(end) == len(
            end
        ):  # the usual case, and the quickest
            return Wild(number, of_name=True, begin=b"", matches=lambda text: text.endswith(end))
        return Wild(number, of_name=True, begin=b"", matches=matcher(pattern, folded=folded))
    pattern = pattern.removeprefix(b"/")
    length = plain_length(pattern)
    begin = pattern[:length].lower() if folded else pattern[:length]
    return Wild(
        number, of_name=False, begin=begin, matches=matcher(pattern[length:], folded=folded)
    )


class _Macro(NamedTuple):
    name: bytes


def _parse_line(text: bytes) -> tuple[bytes | _Macro, States] | None:
    """Read a line; None where it says nothing, or git refuses it."""
    if len(text) >= _LONGEST_LINE:
        return None
    line = text.lstrip(_BLANK)
    if not line or line[:1] == b"#":
        return None
    quoted = _QUOTED.match(line)
    if quoted:
        name, rest = _ESCAPE.sub(_unescaped, quoted[1]), line[quoted.end() :]
    else:
        name = _NO_BLANKS.match(line)[0]  # type: ignore[index]
        rest = line[len(name) :]
    is_macro = name.startswith(_MACRO) and len(name) > len(_MACRO)
    if is_macro:
        name = _NO_BLANKS.match(name[len(_MACRO) :].lstrip(_BLANK))[0]  # type: ignore[index]
        if not _NAME.fullmatch(name):
            return None
    states = _states(_WORD.findall(rest))
    if states is None:
        return None
    if is_macro:
        return _Macro(name), states
    name = name.partition(b"\0")[0]
    if name[:1] == b"!" or name[-1:] == b"/":
        return None  # negative ones are forbidden, and what is a folder's is no file's
    return name, states


def _unescaped(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said, 8)]) if len(said) == 3 else bytes([_ESCAPED[said[0]]])


def _states(words: Iterable[bytes]) -> States | None:
    """Read what a line sets; None where a name in it is none."""
    states: list[tuple[bytes, Value]] = []
    for word in words:
        name, equals, said = word.partition(b"=")
        sign = name[:1] if name[:1] in (b"-", b"!") else b""
        name = name[len(sign) :]
        if not _NAME.fullmatch(name) or name.startswith(b"builtin_"):
            return None
        value: Value = said if equals else True
        states.append((name, {b"-": False, b"!": None}.get(sign, value)))
    return tuple(states)
