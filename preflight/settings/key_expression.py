"""Reads the expressions of which keys are made: `stem`, `md5('a photo of ' + caption)[:16]`."""

from __future__ import annotations

import difflib
import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

Values: TypeAlias = Mapping[str, str]
"""What is known of a sample, by the names that an expression may use."""

Make: TypeAlias = Callable[[Values], str]

NAMES = ("stem", "name", "relative", "path", "absolute", "key", "caption", "dataset")
"""`stem` and `name` of the file, its path `relative` to the data set's folder, its `path` as the
settings spell that folder, and from the root on (`absolute`); the `key` of a sample in a shard, its
`caption`; and the name of its `dataset`."""

OF_FOLDERS = frozenset({"relative", "path", "absolute", "key"})
"""Those that tell files of one name in two folders apart."""

_DIGESTS = ("md5", "sha1", "sha256", "blake2b")

_WORD = re.compile(r"([^\W\d]\w*)\s*")
_CALL = re.compile(rf"\s*(?:{'|'.join(_DIGESTS)})\s*\(")
_FIRST = re.compile(r"\[\s*:\s*([0-9]{1,3})\s*\]\s*")

# Functions within functions that are followed.
_DEEPEST = 20


class RuleError(ValueError):
    """A rule that means nothing; the text says where it goes wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """An expression that was read."""

    make: Make
    needs: frozenset[str]
    """Names that it uses."""

    end: int
    """Where it ends, with the white space behind it."""

    shape: str
    """What it gives, as a regular expression."""

    placed: bool = False
    """Whether what it gives may hold slashes."""


def begins_with_call(text: str) -> bool:
    """Whether a function stands at the beginning, so that the text is no template."""
    return _CALL.match(text) is not None


def expression(text: str, at: int, depth: int = 0) -> KeyPart:
    """Read names, functions of expressions and quoted texts, with a `+` between them.

    Raises:
        RuleError: it is none.
    """
    parts = [_term(text, at, depth)]
    while text[parts[-1].end : parts[-1].end + 1] == "+":
        parts.append(_term(text, parts[-1].end + 1, depth))
    return joined(parts)


def joined(parts: Sequence[KeyPart]) -> KeyPart:
    """Make one of parts that stand behind one another."""
    if len(parts) == 1:
        return parts[0]
    makes = [part.make for part in parts]
    return KeyPart(
        make=lambda values: "".join([make(values) for make in makes]),
        needs=frozenset().union(*(part.needs for part in parts)),
        end=parts[-1].end,
        shape="".join(part.shape for part in parts),
        placed=any(part.placed for part in parts),
    )


def literal(text: str, end: int) -> KeyPart:
    """Give what stands for itself."""
    return KeyPart(
        make=lambda _: text, needs=frozenset(), end=end, shape=re.escape(text), placed="/" in text
    )


def _term(text: str, at: int, depth: int) -> KeyPart:
    at = _behind(text, at)
    if text[at : at + 1] in ("'", '"'):
        return _quoted(text, at)
    found = _WORD.match(text, at)
    if found is None:
        here = repr(text[at : at + 10]) if text[at:] else "nothing"
        raise RuleError(f"at character {at + 1} a name is expected, and {here} stands there")
    if text[found.end() : found.end() + 1] == "(":
        return _call(text, at, found, depth)
    word = found[1]
    if word not in NAMES:
        raise _unknown(word, at, NAMES, "name")
    return KeyPart(
        make=lambda values: values[word],
        needs=frozenset({word}),
        end=found.end(),
        shape=".+",
        placed=word in OF_FOLDERS,
    )


def _quoted(text: str, at: int) -> KeyPart:
    end = text.find(text[at], at + 1)
    if end < 0:
        raise RuleError(
            f"at character {at + 1} a text begins that has no end: {text[at]} is missing"
        )
    return literal(text[at + 1 : end], _behind(text, end + 1))


def _call(text: str, at: int, found: re.Match[str], depth: int) -> KeyPart:
    word = found[1]
    if word not in _DIGESTS:
        raise _unknown(word, at, _DIGESTS, "function")
    if depth == _DEEPEST:
        raise RuleError(f"at character {at + 1} it goes deeper than {_DEEPEST} functions")
    inner = expression(text, found.end() + 1, depth + 1)
    if text[inner.end : inner.end + 1] != ")":
        raise RuleError(f"at character {inner.end + 1} a ) is missing")
    make, digest = inner.make, functools.partial(getattr(hashlib, word), usedforsecurity=False)
    length = 2 * digest().digest_size
    whole = KeyPart(
        # Bytes of a name that are no UTF-8 are hashed as the file system has them.
        make=lambda values: digest(make(values).encode("utf-8", "surrogateescape")).hexdigest(),
        needs=inner.needs,
        end=_behind(text, inner.end + 1),
        shape=f"[0-9a-f]{{{length}}}",
    )
    return _cut(text, whole, length)


def _cut(text: str, whole: KeyPart, length: int) -> KeyPart:
    """Read how many characters of a hash are taken, where it says that: `[:16]`."""
    if text[whole.end : whole.end + 1] != "[":
        return whole
    found = _FIRST.match(text, whole.end)
    if found is None or not 0 < int(found[1]) <= length:
        raise RuleError(f"at character {whole.end + 1} [:N] is expected, with N from 1 to {length}")
    make, kept = whole.make, int(found[1])
    return replace(
        whole, make=lambda values: make(values)[:kept], end=found.end(), shape=f"[0-9a-f]{{{kept}}}"
    )


def _behind(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _unknown(word: str, at: int, known: tuple[str, ...], kind: str) -> RuleError:
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return RuleError(f"at character {at + 1} there is no {kind} {word}; {hint}")
