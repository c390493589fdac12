"""How a known secret may be written: quoted, escaped, in other letters, or encoded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from preflight.secrets.naming import looks_random
from preflight.values.names import shown

LONG = 12
"""Characters from which on a value is looked for between other letters as well, and in any case."""

# Characters of an encoded value that no other text has by chance.
_ENCODED = 10

_OTHER_LETTERS = str.maketrans("+/", "-_")


class WrittenForm(NamedTuple):
    """A form of a value, and how it is looked for."""

    text: str
    any_case: bool
    pattern: str


def written_forms(value: str) -> Iterator[WrittenForm]:
    """Give the forms of a value that are looked for."""
    import html  # only where there is a secret
    from urllib.parse import quote

    # A phrase, in other letters, may be the title of something.
    any_case = len(value) >= LONG and any(map(str.isdigit, value))
    plain = (value, quote(value), quote(value, safe=""), shown(value), html.escape(value))
    escaped: tuple[str, ...] = (
        json.dumps(value)[1:-1],
        repr(value)[1:-1],
        json.dumps(repr(value)[1:-1])[1:-1],
    )
    escaped = (*escaped, repr(escaped[1])[1:-1])
    of_bytes = repr(value.encode("utf-8", "surrogatepass"))[2:-1]
    for text in dict.fromkeys((*plain, *escaped, of_bytes, json.dumps(of_bytes)[1:-1])):
        yield WrittenForm(text, any_case, _pattern(text, any_case=any_case))
    yield from _encoded(value.encode("utf-8", "surrogatepass"))


def _pattern(form: str, *, any_case: bool) -> str:
    """Make a pattern of one form; what is short, or a number, only as a word of its own.

    Unless a machine drew it, which no other word holds by chance.
    """
    escaped = re.escape(form)
    if any_case:
        return f"(?i:{escaped})"
    if looks_random(form) or (len(form) >= LONG and not form.isdigit()):
        return escaped
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])"


def _encoded(value: bytes) -> Iterator[WrittenForm]:
    """Give it in base 16, and in base 64 by itself or behind a name (`user:password`)."""
    import base64

    for before in range(3):
        # What stands before and behind shares a letter with it, and is not known.
        whole = base64.b64encode(bytes(before) + value).rstrip(b"=").decode()
        first = -(-before * 8 // 6)
        text = whole[first : (before + len(value)) * 8 // 6]
        if len(text) < _ENCODED:
            continue
        for one in dict.fromkeys((text, text.translate(_OTHER_LETTERS))):
            around = "[A-Za-z0-9+/_-]"
            pattern = rf"{around}{{0,{bool(before):d}}}{re.escape(one)}{around}?={{0,2}}"
            yield WrittenForm(one, any_case=False, pattern=pattern)
    if 2 * len(value) >= _ENCODED:
        yield WrittenForm(value.hex(), any_case=True, pattern=f"(?i:{value.hex()})")
