"""Finds the line of the job's sources that copies a model, and who makes the copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from preflight.objects.facts import ModelCopy
from preflight.syntax.copies import Code, copier_of
from preflight.syntax.parsing import UnparsableError, parse
from preflight.values.names import name_of

_LONGEST = 60


def find_copier(sources: Iterable[str], root: str) -> ModelCopy | None:
    """Find the call that copies a model, or else keeps an average of its parameters."""
    return copier_of([*_parsed(sources, root)])


def short(code: str) -> str:
    """Cut code that is too long to be read in a sentence."""
    return code if len(code) <= _LONGEST else f"{code[: _LONGEST - 3]}..."


def _parsed(sources: Iterable[str], root: str) -> Iterator[Code]:
    for file in sources:
        try:
            with open(file, "rb") as stream:
                yield Code(name_of(file, root), parse(stream.read()))
        except (OSError, UnparsableError):
            continue  # what cannot be read as Python names no line; other checks speak of it
