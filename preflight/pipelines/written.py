"""Reads webdataset pipelines off a source, where they are written out; nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from preflight.objects.facts import Definition
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.handlers import handler_named
from preflight.pipelines.stages import stage_of
from preflight.syntax.given_values import constants_of
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import last_name
from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts
from preflight.targets.words.braces import TooManyError, expand

ROOTS = frozenset({"WebDataset", "DataPipeline"})
"""The classes that a pipeline begins with."""

_DRAWN = frozenset({"ResampledShards", "ResampledShardList"})
_LISTS = frozenset({"SimpleShardList", *_DRAWN})
_MOST = 10_000


class _Unwritten:
    """Stands for a value that only a run knows."""


def written_in(parsed: Parsed, file: str) -> tuple[Reads, ...]:
    """Give the pipelines of a source; most name none of the classes, and are not walked."""
    named = any("DataPipeline" in one or "WebDataset" in one for one in parsed.lines)
    found = written_pipelines(parsed.tree, file) if named else ()
    return tuple(_with_text(one, parsed) for one in found)


def _with_text(reads: Reads, parsed: Parsed) -> Reads:
    text = parsed.lines[(reads.defined.line or 1) - 1].strip()
    return replace(reads, defined=reads.defined._replace(line_text=text))


def written_pipelines(tree: ast.AST, file: str) -> tuple[Reads, ...]:
    """Give what each pipeline of a source says of its shards and stages, chains as one."""
    texts = WrittenTexts(constants_of(tree))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    inner = {id(one.func.value) for one in calls if isinstance(one.func, ast.Attribute)}
    found = (_pipeline(one, file, texts) for one in calls if id(one) not in inner)
    return tuple(one for one in found if one is not None)


def _pipeline(call: ast.Call, file: str, texts: WrittenTexts) -> Reads | None:
    """Follow a chain of calls from its end to the class that it begins with."""
    chain = [call]
    while isinstance(chain[-1].func, ast.Attribute) and isinstance(chain[-1].func.value, ast.Call):
        chain.append(chain[-1].func.value)
    root = chain.pop()
    if called(root) not in ROOTS:
        return None
    at = _line(root, file)
    reads = Reads(name=f"{file}:{root.lineno}", defined=at, guess=True)
    if called(root) == "DataPipeline":
        reads = _of_pipeline(root, reads, file, texts)
    else:
        reads = _fluid(root, reads, texts)
    for one in reversed(chain):
        if called(one) in ("repeat", "with_epoch"):
            reads = replace(reads, endless=reads.endless or "repeated")
        elif called(one) not in ("compose", "with_length"):
            reads = replace(reads, stages=(*reads.stages, *_stages(one, file)))
    return reads


def _of_pipeline(root: ast.Call, reads: Reads, file: str, texts: WrittenTexts) -> Reads:
    for one in root.args:
        if isinstance(one, ast.Call) and called(one) in _LISTS:
            drawn = "resampled" if called(one) in _DRAWN else ""
            line = _line(one, file) if drawn else Definition()
            shards = _shards(one, texts)
            reads = replace(reads, shards=shards, endless=drawn, endless_at=line)
        elif isinstance(one, ast.Call):
            reads = replace(reads, stages=(*reads.stages, *_stages(one, file)))
        else:
            stage = stage_of(Stage(kind="other", at=reads.defined), last_name(one), (), {})
            stage = stage if stage.kind in ("split", "pass") else Stage(kind="other", at=stage.at)
            reads = replace(reads, stages=(*reads.stages, stage))
    return reads


def _fluid(root: ast.Call, reads: Reads, texts: WrittenTexts) -> Reads:
    given = {one.arg: one.value for one in root.keywords}
    drawn = given.get("resampled")
    is_drawn = isinstance(drawn, ast.Constant) and drawn.value is True
    how, handler = _handler(given.get("handler"))
    reader = [
        Stage(kind=kind, at=reads.defined, handler=how, handler_name=handler)
        for kind in ("open", "expand", "group")
    ]
    if {"select_files", "rename_files"} & given.keys():
        reader.append(Stage(kind="other", at=reads.defined))
    return replace(
        reads,
        shards=_shards(root, texts),
        stages=tuple(reader),
        endless="resampled" if is_drawn else "",
        endless_at=reads.defined if is_drawn else Definition(),
    )


def _stages(call: ast.Call, file: str) -> Iterator[Stage]:
    name, at = called(call), _line(call, file)
    given: dict[str, Any] = {one.arg: _value(one.value) for one in call.keywords if one.arg}
    how, handler = _handler(next((k.value for k in call.keywords if k.arg == "handler"), None))
    one = Stage(kind="other", at=at, handler=how, handler_name=handler)
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(
        k.arg is None for k in call.keywords
    ):
        yield one
    elif name.startswith("tarfile_to_samples"):
        yield from (one._replace(kind=kind) for kind in ("open", "expand", "group"))
    else:
        yield stage_of(one, name, [_value(arg) for arg in call.args], given)


def _handler(node: ast.expr | None) -> tuple[str, str]:
    if node is None:
        return "raises", "reraise_exception"
    return handler_named(last_name(node)), last_name(node)


def _shards(call: ast.Call, texts: WrittenTexts) -> tuple[str, ...]:
    """Give the addresses that stand there, or under a name for a constant."""
    node = next((one.value for one in call.keywords if one.arg == "urls"), ast.Constant(None))
    node = texts.meant(call.args[0] if call.args else node)
    if isinstance(node, (ast.List, ast.Tuple)):
        each = [texts.only(one) for one in node.elts]
        return tuple(one for one in each if one is not None) if None not in each else ()
    text = texts.only(node)
    try:
        names = () if text is None else expand(text)
    except TooManyError:
        return ()
    return tuple(one for one, _ in zip(names, range(_MOST), strict=False))


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _Unwritten()


def _line(call: ast.Call, file: str) -> Definition:
    return Definition(file=file, line=call.func.end_lineno or call.lineno)
