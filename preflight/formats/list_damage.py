"""Tells a list of images that was cut, or of which only a pointer or a page is here."""

from __future__ import annotations

import os
import re

from preflight.formats.magic import HEAD, head_of, what_is, with_article

# As JSON begins; templates and settings with remarks go on otherwise.
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*([\[{])\s*[\"\[{}\]\d\-tfn]").match
_IN_ITS_PLACE = {"Git LFS pointer": (), "HTML page": (".txt", ".lst")}
"""What is often found in the place of a file, and the suffixes of what may be so itself."""


def damage_of(path: str) -> str:
    """Say what stops every reader of a list, by its ends; empty: nothing that is known."""
    head = head_of(path)
    if head is None:
        return ""  # whoever reads it says so
    what = what_is(head) or ""
    if not path.endswith(_IN_ITS_PLACE.get(what, path)):
        return f"is {with_article(what)}, and not the list"
    if not path.endswith((".json", ".jsonl")):
        return ""
    if not head:
        return "is empty" if path.endswith(".json") else ""
    first = _JSON(head)
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - HEAD))
        last = file.read().rstrip()[-1:]
    if first is None or last in (b"", b"}", b"]"):
        return ""
    return f"is cut: it begins with {first[1].decode()}, and does not end in }} or ]"
