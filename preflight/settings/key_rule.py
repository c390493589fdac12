"""Reads the rule of a cache's keys: what the entry of a sample is called."""

from __future__ import annotations

import re
from dataclasses import dataclass

from preflight.settings.key_expression import (
    OF_FOLDERS,
    KeyPart,
    Make,
    RuleError,
    begins_with_call,
    expression,
    joined,
    literal,
)
from preflight.values.code_name import parse_spec

AUTO = (
    *("stem", "name", "md5(stem)", "sha256(stem)", "md5(name)", "sha256(name)"),
    *("md5(relative)", "sha256(relative)", "md5(path)", "sha256(path)"),
)
"""What is tried where no rule was said."""

AUTO_PATHS = ("md5(path)", "sha256(path)")
"""What is tried last, by every other spelling of the path."""

AUTO_STEMS = ("stem", "sha256(stem)")
"""And these, where there are accents."""

AUTO_CAPTIONS = ("md5(caption)", "sha256(caption)")
"""What is tried after them, since each caption has to be read for it."""

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,12}$")


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
        """Whether captions have to be read for it."""
        return "caption" in self.needs

    @property
    def is_shared(self) -> bool:
        """Whether several samples have one entry on purpose: those of one caption, or all."""
        return self.by_caption or not self.needs - {"dataset"}

    def may_replace(self, other: KeyRule) -> bool:
        """Whether it is another one, and tells as many samples apart.

        A stem tells files of two suffixes from each other no more, and no name those of two
        folders.
        """
        least = 0 if other.is_shared else _apart(other)
        return self.text != other.text and (self.by_caption or _apart(self) >= least)


def _apart(rule: KeyRule) -> int:
    """Say how well a rule tells samples apart: by their stems, their names, or their folders."""
    if rule.needs & OF_FOLDERS:
        return 2
    return 1 if "name" in rule.needs else 0


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
    if ("{" in text or "}" in text) and not begins_with_call(text):
        return _template(text)
    part = expression(text, 0)
    if part.end < len(text):
        rest = text[part.end :]
        raise RuleError(
            f"{rest!r} at character {part.end + 1} belongs to no expression; in a template, "
            f'expressions stand in braces: "{{{text[: part.end].strip()}}}{rest}"'
        )
    return KeyRule(text=text, make=part.make, needs=part.needs, placed=part.placed)


def _template(text: str) -> KeyRule:
    parts: list[KeyPart] = []
    at = 0
    while at < len(text):
        opened = text.find("{", at)
        end = opened if opened >= 0 else len(text)
        closed = text.find("}", at, end)
        if closed >= 0:
            raise RuleError(f"at character {closed + 1} no brace is open")
        if end > at:
            parts.append(literal(text[at:end], end))
        if opened < 0:
            break
        part = expression(text, opened + 1)
        if text[part.end : part.end + 1] != "}":
            raise RuleError(f"at character {part.end + 1} a }} is missing")
        parts.append(part)
        at = part.end + 1
    whole = joined(parts)
    ending = _SUFFIX.search(text)
    return KeyRule(
        text=text,
        make=whole.make,
        needs=whole.needs,
        suffix=None if ending is None else ending[0],
        shape=re.compile(whole.shape, re.DOTALL),
        placed=whole.placed,
    )
