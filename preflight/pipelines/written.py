"""Reads webdataset pipelines off a source, where they are written out; nothing of it is run."""

from __future__ import annotations

import ast
import itertools
import os
from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from preflight.objects.facts import Definition
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.handlers import handler_named
from preflight.pipelines.stages import stage_of
from preflight.pipelines.standing import ROOTS, chain_of, texts_of
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import last_name
from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts
from preflight.targets.words.braces import TooManyError, expand

_DRAWN = frozenset({"ResampledShards", "ResampledShardList"})
_LISTS = frozenset({"SimpleShardList", *_DRAWN})
_MOST = 10_000

# Lists of lists, and names that stand for themselves.
_DEEPEST = 8

# They make a list of a list; texts of paths; names of a pattern, and of braces.
_AS_IT_IS = frozenset({"sorted", "list", "tuple", "natsorted"})
_TEXT = frozenset({"str", "fspath"})
_GLOBS = frozenset({"glob", "iglob"})
_BRACES = frozenset({"braceexpand", "expand_urls", "expand_source"})


class _Shards(NamedTuple):
    shards: tuple[str, ...] = ()
    by_pattern: bool = False


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
    texts = texts_of(tree)
    chains = [chain_of(one, texts) for one in ast.walk(tree) if isinstance(one, ast.Call)]
    chains = [one for one in chains if called(one[-1]) in ROOTS]
    inner = {id(one) for chain in chains for one in chain[1:]}
    of_each: dict[int, list[Reads]] = {}
    for chain in chains:
        if id(chain[0]) not in inner:
            of_each.setdefault(id(chain[-1]), []).append(_pipeline(chain, file, texts))
    return tuple(_in_common(each) for each in of_each.values())


def _in_common(each: list[Reads]) -> Reads:
    """Give what all that is made of one pipeline goes through; any of it may be what runs."""
    first = each[0]
    if len(each) == 1:
        return first
    steps = zip(*(one.stages for one in each), strict=False)
    alike = tuple(step[0] for step in itertools.takewhile(lambda step: len(set(step)) == 1, steps))
    rest = Stage(kind="other", at=first.defined, handler="unknown")
    endless = "" if any(not one.endless for one in each) else first.endless
    return replace(first, stages=(*alike, rest), endless=endless)


def _pipeline(chain: list[ast.Call], file: str, texts: WrittenTexts) -> Reads:
    """Follow a chain of calls from the class that it begins with to its end."""
    *rest, root = chain
    at = _line(root, file)
    reads = Reads(name=f"{file}:{root.lineno}", defined=at, guess=True)
    if called(root) == "DataPipeline":
        reads = _of_pipeline(root, reads, file, texts)
    else:
        reads = _fluid(root, reads, texts)
    for one in reversed(rest):
        if called(one) in ("repeat", "with_epoch"):
            reads = replace(reads, endless=reads.endless or "repeated")
        elif called(one) == "compose":
            reads = _of_pipeline(one, reads, file, texts)
        elif called(one) != "with_length":
            reads = replace(reads, stages=(*reads.stages, *_stages(one, file, texts)))
    return reads


def _of_pipeline(root: ast.Call, reads: Reads, file: str, texts: WrittenTexts) -> Reads:
    """Take in the stages that `DataPipeline` or `compose` is handed, one by one or as a list."""
    for given in _one_by_one(root.args, texts):
        one = texts.meant(given)
        if isinstance(one, ast.Call) and called(one) in _LISTS:
            drawn = "resampled" if called(one) in _DRAWN else ""
            line = _line(one, file) if drawn else Definition()
            shards = _shards(one, texts)._asdict()
            reads = replace(reads, **shards, endless=drawn, endless_at=line)
        elif isinstance(one, ast.Call):
            reads = replace(reads, stages=(*reads.stages, *_stages(one, file, texts)))
        else:
            stage = stage_of(Stage(kind="other", at=reads.defined), last_name(one), (), {})
            stage = stage if stage.kind in ("split", "pass") else Stage(kind="other", at=stage.at)
            reads = replace(reads, stages=(*reads.stages, stage))
    return reads


def _one_by_one(
    given: Iterable[ast.expr], texts: WrittenTexts, depth: int = 0
) -> Iterator[ast.expr]:
    """Give arguments one by one, also those that a list hands over as such."""
    for one in given:
        several = texts.meant(one.value) if isinstance(one, ast.Starred) else None
        if isinstance(several, (ast.List, ast.Tuple)) and depth < _DEEPEST:
            yield from _one_by_one(several.elts, texts, depth + 1)
        else:
            yield one


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
        **_shards(root, texts)._asdict(),
        stages=tuple(reader),
        endless="resampled" if is_drawn else "",
        endless_at=reads.defined if is_drawn else Definition(),
    )


def _stages(call: ast.Call, file: str, texts: WrittenTexts) -> Iterator[Stage]:
    name, at = called(call), _line(call, file)
    args = list(_one_by_one(call.args, texts))
    words = {one.arg: texts.meant(one.value) for one in call.keywords}
    given: dict[str, Any] = {word: _value(one) for word, one in words.items() if word}
    how, handler = _handler(words.get("handler"))
    one = Stage(kind="other", at=at, handler=how, handler_name=handler)
    if any(isinstance(arg, ast.Starred) for arg in args) or None in words:
        yield one
    elif name.startswith("tarfile_to_samples"):
        yield from (one._replace(kind=kind) for kind in ("open", "expand", "group"))
    else:
        yield stage_of(one, name, [_value(texts.meant(arg)) for arg in args], given)


def _handler(node: ast.expr | None) -> tuple[str, str]:
    if node is None:
        return "raises", "reraise_exception"
    return handler_named(last_name(node)), last_name(node)


def _shards(call: ast.Call, texts: WrittenTexts) -> _Shards:
    """Give the addresses that stand there, or that a name stands for, or what finds them."""
    node = next((one.value for one in call.keywords if one.arg == "urls"), ast.Constant(None))
    node = texts.meant(call.args[0] if call.args else node)
    pattern = _pattern(node, texts)
    if pattern is not None:
        return _Shards((pattern,), by_pattern=True)
    several = _several(node, texts)
    text = texts.only(node) if several is None else None
    return _Shards(_expanded(text) if several is None else tuple(several))


def _expanded(text: str | None) -> tuple[str, ...]:
    try:
        names = () if text is None else expand(text)
    except TooManyError:
        return ()
    return tuple(itertools.islice(names, _MOST))


def _several(node: ast.expr, texts: WrittenTexts, depth: int = 0) -> list[str] | None:
    """Give the addresses of a list, each written out; None where they are not."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.List(elts=each) | ast.Tuple(elts=each):
            return _all(texts.only(one) for one in _one_by_one(each, texts))
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            parts = [_several(texts.meant(part), texts, depth + 1) for part in (one, other)]
            return None if None in parts else [name for part in parts for name in part or ()]
        case (
            ast.ListComp(elt=one, generators=[over]) | ast.GeneratorExp(elt=one, generators=[over])
        ) if not over.ifs and isinstance(over.target, ast.Name):
            name = over.target.id
            numbers, given = _range(texts.meant(over.iter)), dict(texts.values)
            with_each = (WrittenTexts(ChainMap({name: [n]}, given), texts.key) for n in numbers)
            return _all(each.only(one) for each in with_each) or None
        case ast.Call(args=[inner]) if called(node) in _BRACES:
            return list(_expanded(texts.only(inner))) or None
        case ast.Call(args=[inner, *_]) if called(node) in _AS_IT_IS:
            return _several(texts.meant(inner), texts, depth + 1)
    return None


def _all(each: Iterable[str | None]) -> list[str] | None:
    names: list[str] = []
    for one in each:
        if one is None:
            return None
        names.append(one)
    return names


def _range(node: ast.expr) -> list[ast.Constant]:
    """Give the numbers of `range(8)`; none where it is no such thing, or too many."""
    if not isinstance(node, ast.Call) or called(node) != "range":
        return []
    given = [_value(one) for one in node.args]
    if not all(type(one) is int for one in given):
        return []
    if not 0 < len(given) < 4 or given[2:] == [0]:
        return []
    numbers = range(*given)
    return [ast.Constant(one) for one in numbers] if len(numbers) <= _MOST else []


def _pattern(node: ast.expr, texts: WrittenTexts, depth: int = 0) -> str | None:
    """Give what `sorted(glob.glob("d/*.tar"))` looks for, also by way of `str(one) for one in`."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Call(args=[inner, *_]) if called(node) in _AS_IT_IS:
            return _pattern(texts.meant(inner), texts, depth + 1)
        case (
            ast.ListComp(elt=one, generators=[over]) | ast.GeneratorExp(elt=one, generators=[over])
        ) if not over.ifs:
            same = one.args[0] if isinstance(one, ast.Call) and called(one) in _TEXT else one
            is_same = isinstance(same, ast.Name) and same.id == getattr(over.target, "id", "")
            return _pattern(texts.meant(over.iter), texts, depth + 1) if is_same else None
        case ast.Call(args=[inner], keywords=[], func=callee) if called(node) in _GLOBS:
            holder = getattr(callee, "value", None)
            if isinstance(holder, ast.Name) and holder.id == "glob":
                holder = None
            parts = [texts.only(one) for one in (holder, inner) if one is not None]
            text = None if None in parts else os.path.join(*filter(None, parts))
            return None if text is None or "**" in text else text
    return None


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _Unwritten()


def _line(call: ast.Call, file: str) -> Definition:
    return Definition(file=file, line=call.func.end_lineno or call.lineno)
