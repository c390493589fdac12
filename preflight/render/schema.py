"""The JSON Schema of the report, made from the very types that the report is made of."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import textwrap
import types
import typing
from collections.abc import Mapping
from typing import Any, Union

from preflight.findings.finding import Scope
from preflight.findings.parts import NOT_NAMED, PART, PARTS, UNREAD, WHOLE
from preflight.findings.report import SCHEMA, Report

# Words that the types leave open, by class and field.
_WORDS = {
    ("Report", "verdict"): ["go", "no-go", "cannot-judge"],
    ("Report", "fail_on"): ["error", "warning", "note", "never"],
    ("Covered", "part"): list(PARTS),
    ("Covered", "state"): [WHOLE, PART, UNREAD, NOT_NAMED],
    ("Outcome", "outcome"): ["broken", "found", "passed", "skipped"],
    ("Outcome", "scope"): [scope.value for scope in Scope],
}
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}

# JSON numbers end there; what is larger is written as a string (preflight.values.wire).
_NUMBERS = (int, float)


def schema() -> dict[str, Any]:
    """Give the schema (JSON Schema 2020-12). Fields that it does not know are left alone."""
    definitions: dict[str, Any] = {}
    report = _of_dataclass(Report, definitions)
    report["properties"]["schema"]["const"] = SCHEMA
    report["required"] = ["schema", "tool", *report["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "preflight report",
        **report,
        "$defs": definitions,
    }


def _of_dataclass(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    said = docstrings(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        one = _of(hints[field.name], definitions)
        if words := _WORDS.get((kind.__name__, field.name)):
            one["enum"] = words
        if field.name in said:
            one["description"] = said[field.name]
        properties[field.name] = one
    return {
        "type": "object",
        "description": inspect.cleandoc(kind.__doc__ or ""),
        "properties": properties,
        "required": [field.name for field in dataclasses.fields(kind) if _is_required(field)],
    }


def _of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe one type; a class is described once, in the definitions."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one, definitions) for one in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return {"enum": [member.name.lower() for member in kind]}
    if dataclasses.is_dataclass(kind):
        name = typing.cast("type", kind).__name__
        if name not in definitions:
            definitions[name] = {}  # first, for types that hold themselves
            definitions[name] = _of_dataclass(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    return {"type": [_NAMES[kind], "string"] if kind in _NUMBERS else _NAMES[kind]}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def docstrings(kind: type) -> dict[str, str]:
    """Read the sentences that stand under fields; none where the source is not at hand."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError):
        return {}
    if not isinstance(body, ast.ClassDef):
        return {}
    said = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            said[field.target.id] = inspect.cleandoc(str(below.value.value))
    return said
