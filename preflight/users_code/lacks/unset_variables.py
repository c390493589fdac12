"""Names the variable of the environment for want of which something was raised."""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Iterator

from preflight.objects.source_trees import parsed, source_of
from preflight.syntax.given_values import assigned, defaults
from preflight.users_code.in_the_way import is_foreign

_READS = r"""(?:environ(?:\.get\(|\[)|getenv\()\s*["']([A-Za-z_][A-Za-z0-9_]*)["']"""
_ASSERTED = r"""["']([A-Z][A-Z0-9_]*)["']\s+(?:not\s+)?in\s+(?:os\.)?environ"""
_GOT = re.compile(rf"{_READS}\s*\)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")

# As people say it themselves; told only of what the same file takes from the environment.
_SAYS = re.compile(
    r"\b([A-Z][A-Z0-9_]+)\b.{0,40}?\b(?:(?:not|un)[ -]?(?:set|defined|given|found)|required"
    r"|(?:must|needs to|has to|should) be (?:set|defined|given))\b"
    r"|\b(?:set|export|define|missing)\b.{0,40}?\$?\b([A-Z][A-Z0-9_]*_[A-Z0-9_]*)\b"
)
_TAKEN = r"(?:environ|getenv|expandvars)\b[^\n]*\b{}\b"


def unset_variable(error: BaseException, text: str) -> str | None:
    """Name the variable that is read in vain, in the line that raises or in one before it."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, KeyError):
        asked = frames and frames[-1].name == "__getitem__" and _is_os(frames[-1].filename)
        return str(error.args[0]) if asked and error.args else None
    own = next((one for one in reversed(frames) if one.line and not is_foreign(one.filename)), None)
    if own is None:
        return None
    line = own.line or ""
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in text:
        read = re.search(_READS, line)
        return read[1] if read is not None else _read_before(own.filename, line)
    asserted = re.search(_ASSERTED, line)
    if isinstance(error, AssertionError) and asserted is not None:
        return asserted[1]
    return _said(text, own.filename) if own is frames[-1] else None


def _is_os(file: str) -> bool:
    return file == "<frozen os>" or os.path.basename(file) == "os.py"


def _read_before(file: str, line: str) -> str | None:
    """Name what a name of the line was given: `rank = os.environ.get("RANK")`."""
    names = {*_NAME.findall(line)}
    for target, value in _given(parsed(source_of(file)) or ast.Module([], [])):
        got = _GOT.search(ast.unparse(value))
        if got is not None and got[1] not in os.environ and target in names:
            return got[1]
    return None


def _given(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from ((name, value) for name, value in defaults(node) if value is not None)
        else:
            yield from ((ast.unparse(target), value) for target, value in assigned(node))


def _said(text: str, file: str) -> str | None:
    source = source_of(file)
    for said in _SAYS.finditer(text):
        name = said[1] or said[2]
        if name not in os.environ and re.search(_TAKEN.format(re.escape(name)), source):
            return name
    return None
