"""Reads the rule of a cache's keys: what the entry of a sample is called."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from preflight.spec import parse_spec

Values: TypeAlias = Mapping[str, str]
"""What is known of a sample, by the names that a rule may use."""

Make: TypeAlias = Callable[[Values], str]

NAMES = ("stem", "name", "relative", "path", "key", "caption")
"""`stem` and `name` of the file, its path `relative` to the data set's folder, its `path` as the
settings spell that folder; the `key` of a sample in a shard; its `caption`."""

AUTO = (
    *("stem", "name", "md5(stem)", "sha256(stem)", "md5(name)", "sha256(name)"),
    *("md5(relative)", "sha256(relative)", "md5(path)", "sha256(path)"),
)
"""What is tried where no rule was said."""

AUTO_CAPTIONS = ("md5(caption)", "sha256(caption)")
"""What is tried after them, since each caption has to be read for it."""

_DIGESTS: Mapping[str, Callable[[bytes], str]] = {
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(),
    "sha256": lambda data: hashlib.sha256(data).hexdigest(),
    "blake2b": lambda data: hashlib.blake2b(data).hexdigest(),
}

_LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64, "blake2b": 128}

_WORD = re.compile(r"\s*([^\W\d]\w*)\s*")

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,12}$")

# Functions within functions that are followed.
_DEEPEST = 20


class RuleError(ValueError):
    """A rule that means nothing; the text says where it goes wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """How the name of an entry is made of what is known of its sample."""

    text: str
    """As it was written."""

    make: Make
    needs: frozenset[str]
    """Names that it uses."""

    suffix: str | None = None
    """The suffix with which the entry's name ends (`.pt`); None: whatever it is."""

    shape: re.Pattern[str] | None = None
    """What the names of its entries look like, where a template says so."""

    placed: bool = False
    """Whether it says the folder of an entry too, and not its name alone."""

    @property
    def by_caption(self) -> bool:
        """Whether equal captions share an entry on purpose."""
        return "caption" in self.needs


def is_function(text: str) -> bool:
    """Whether a rule is a function of the user's: `module:key`, `file.py:key`."""
    return parse_spec(text) is not None


def mistake_in(text: str) -> str | None:
    """Say what is wrong with a rule of the settings; None where nothing is."""
    spec = parse_spec(text)
    if spec is not None:
        return "a function is named as module:name, without a part of it" if spec.pick else None
    try:
        parse_rule(text)
    except RuleError as error:
        return str(error)
    return None


def parse_rule(text: str) -> KeyRule:
    """Read an expression (`sha256(stem)`) or a template (`"{md5(caption)}-flux.pt"`).

    Raises:
        RuleError: it is neither.
    """
    if "{" in text or "}" in text:
        return _template(text)
    part = _expression(text, 0)
    if part.end < len(text):
        rest = text[part.end :]
        raise RuleError(
            f"{rest!r} at character {part.end + 1} belongs to no expression; in a template, "
            f'expressions stand in braces: "{{{text[: part.end].strip()}}}{rest}"'
        )
    return KeyRule(
        text=text, make=part.make, needs=part.needs, placed=part.digest is None and part.has_folder
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """An expression that was read, and where it ends."""

    make: Make
    needs: frozenset[str]
    end: int
    digest: str | None = None
    """The function that makes it; None: it is a name by itself."""

    @property
    def has_folder(self) -> bool:
        """Whether what it gives may hold slashes."""
        return bool(self.needs & {"relative", "path", "key"})

    @property
    def shape(self) -> str:
        """As a regular expression."""
        return ".+" if self.digest is None else f"[0-9a-f]{{{_LENGTHS[self.digest]}}}"


def _expression(text: str, at: int, depth: int = 0) -> _Part:
    """Read a name, or a function of an expression."""
    found = _WORD.match(text, at)
    if found is None:
        here = repr(text[at : at + 10]) if text[at:].strip() else "nothing"
        raise RuleError(f"at character {at + 1} a name is expected, and {here} stands there")
    word, end = found[1], found.end()
    if text[end : end + 1] != "(":
        if word not in NAMES:
            raise _unknown(word, found.start(1), is_function=False)
        return _Part(make=_named(word), needs=frozenset({word}), end=end)
    if word not in _DIGESTS:
        raise _unknown(word, found.start(1), is_function=True)
    if depth == _DEEPEST:
        raise RuleError(f"at character {at + 1} it goes deeper than {_DEEPEST} functions")
    inner = _expression(text, end + 1, depth + 1)
    if text[inner.end : inner.end + 1] != ")":
        raise RuleError(f"at character {inner.end + 1} a ) is missing")
    after = re.compile(r"\s*").match(text, inner.end + 1)
    end = after.end() if after else inner.end + 1
    return _Part(make=_digested(word, inner.make), needs=inner.needs, end=end, digest=word)


def _unknown(word: str, at: int, *, is_function: bool) -> RuleError:
    known = tuple(_DIGESTS) if is_function else NAMES
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    kind = "function" if is_function else "name"
    return RuleError(f"at character {at + 1} there is no {kind} {word}; {hint}")


def _named(word: str) -> Make:
    return lambda values: values[word]


def _digested(word: str, inner: Make) -> Make:
    digest = _DIGESTS[word]
    # Bytes of a name that are no UTF-8 are hashed as the file system has them.
    return lambda values: digest(inner(values).encode("utf-8", "surrogateescape"))


def _template(text: str) -> KeyRule:
    """Read literals, and expressions in braces."""
    makes: list[Make] = []
    needs: set[str] = set()
    shape = ""
    placed = False
    at = 0
    while at < len(text):
        opened = text.find("{", at)
        literal = text[at : opened if opened >= 0 else len(text)]
        if "}" in literal:
            raise RuleError(f"at character {at + literal.find('}') + 1} no brace is open")
        if literal:
            makes.append(_literal(literal))
            shape += re.escape(literal)
            placed = placed or "/" in literal
        if opened < 0:
            break
        part = _expression(text, opened + 1)
        if text[part.end : part.end + 1] != "}":
            raise RuleError(f"at character {part.end + 1} a }} is missing")
        makes.append(part.make)
        needs |= part.needs
        shape += part.shape
        placed = placed or (part.digest is None and part.has_folder)
        at = part.end + 1
    ending = _SUFFIX.search(text)
    return KeyRule(
        text=text,
        make=lambda values: "".join([make(values) for make in makes]),
        needs=frozenset(needs),
        suffix=None if ending is None else ending[0],
        shape=re.compile(shape, re.DOTALL),
        placed=placed,
    )


def _literal(text: str) -> Make:
    return lambda _: text
