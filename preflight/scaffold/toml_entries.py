"""How entries of preflight.toml are spelled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from preflight.values.names import name_of


def table(kind: str, *, remark: str | None = None, **keys: str) -> str:
    """Write one entry."""
    after = f"  # {remark}" if remark else ""
    lines = [f"{key} = {text(value)}{after}" for key, value in keys.items()]
    return "\n".join([f"[[{kind}]]", *lines, ""])


def text(value: str) -> str:
    """Write a string; JSON spells it as TOML does, but for one character that it keeps."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def texts(values: Iterable[str]) -> str:
    """Write a list of strings."""
    return f"[{', '.join(map(text, values))}]"


def spelled(path: str, folder: str) -> str:
    """Name a path as an entry does; of one that is no UTF-8, the folder above that is.

    TOML can say no other names.
    """
    while True:
        name = name_of(path, folder)
        if can_be_said(name) or path == folder:
            return name if path != folder else "."
        path = os.path.dirname(path)


def can_be_said(name: str) -> bool:
    """Whether a name is UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
