"""Finds where sources make loaders of batches: their workers, how those start, their shards."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from preflight.pipelines.facts import RESAMPLED
from preflight.sources.facts import Draws, LoaderCall
from preflight.sources.work.work_names import LOADER_CLASSES
from preflight.syntax.given_values import Given, given_in
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name, text_of
from preflight.syntax.surroundings import always_runs, called, walk

_METHODS = frozenset({"fork", "spawn", "forkserver"})

# The place of `num_workers` among the arguments of a DataLoader.
_PLACE = 5

_WORKERS = ("num_workers", "dataloader_num_workers")

# What is called so and given a number of workers makes a loader of its own.
_MAKES_LOADER = re.compile(r"(?<!down)(?<!up)load|data_?module", re.IGNORECASE)

_LONGEST_VALUE = 60

# Words of whoever makes a loader.
_SPEAKS = re.compile("Loader|num_workers")

_OTHER_WAYS = frozenset({"mode", "workersplitter", "empty_check"})
"""Words to WebDataset by which a worker may do without a shard of its own."""


class MethodCall(NamedTuple):
    """A call of `set_start_method` with a literal, which no test of the sources may pass over."""

    method: str
    place: str
    inside: str | None
    """The function that holds it."""


class LoaderCalls(NamedTuple):
    """The loaders of one file."""

    loaders: tuple[LoaderCall, ...] = ()
    methods: tuple[MethodCall, ...] = ()


def makes_loaders(parsed: Parsed) -> bool:
    """Whether a file makes any loader."""
    nodes = walk(parsed.tree, parsed.lines_of(_SPEAKS))
    return any(isinstance(node, ast.Call) and _makes_loader(node) for node, _ in nodes)


def loader_calls(parsed: Parsed, file: str) -> LoaderCalls:
    """Find the calls of one file that make loaders, and those that set the start method."""
    if not any("oader" in line or "num_workers" in line for line in parsed.lines):
        return LoaderCalls()
    walked = list(walk(parsed.tree))
    given = given_in(node for node, _ in walked)
    calls = [(node, around) for node, around in walked if isinstance(node, ast.Call)]
    calls.sort(key=lambda one: (one[0].lineno, one[0].col_offset))
    contexts = {method_of(call) for call, _ in calls if called(call) == "get_context"}
    context = contexts.pop() if len(contexts) == 1 else None
    return LoaderCalls(
        loaders=tuple(
            LoaderCall(
                file=file,
                line=call.lineno,
                num_workers=_written(call, parsed.lines),
                has_workers=_has_workers(call, given),
                start_method=_own_method(call, context),
            )
            for call, _ in calls
            if _makes_loader(call)
        ),
        methods=tuple(
            MethodCall(method, f"{file}:{call.lineno}", around.inside)
            for call, around in calls
            if called(call) == "set_start_method" and always_runs(around)
            for method in [method_of(call)]
            if method is not None
        ),
    )


# --- loaders --------------------------------------------------------------------------------------


def _makes_loader(call: ast.Call) -> bool:
    """Whether it is a call of a loader's class, or of what makes one with so many workers."""
    if _class_called(call) in LOADER_CLASSES:
        return True
    keywords = {one.arg for one in call.keywords}
    if "dataloader_num_workers" in keywords:
        return True
    return "num_workers" in keywords and bool(_MAKES_LOADER.search(called(call)))


def _class_called(call: ast.Call) -> str:
    """Give the name of what is called, also by what `partial(DataLoader, …)` makes."""
    is_partial = called(call) == "partial" and bool(call.args)
    return last_name(call.args[0]) if is_partial else called(call)


def _workers(call: ast.Call) -> ast.expr | None:
    """Give what a call says of its workers; None where it says nothing."""
    for keyword in call.keywords:
        if keyword.arg in _WORKERS:
            return keyword.value
    places = call.args[1:] if called(call) == "partial" else call.args
    if _class_called(call) in LOADER_CLASSES and len(places) > _PLACE and not _starred(places):
        return places[_PLACE]
    return None


def _starred(arguments: Sequence[ast.expr]) -> bool:
    return any(isinstance(one, ast.Starred) for one in arguments)


def _written(call: ast.Call, lines: Sequence[str]) -> str:
    workers = _workers(call)
    return "" if workers is None else code_of(workers, lines)[:_LONGEST_VALUE]


def _has_workers(call: ast.Call, given: Given) -> bool | None:
    workers = _workers(call)
    if workers is not None:
        return given.is_some(workers)
    if any(keyword.arg is None for keyword in call.keywords):
        return given.of_name("num_workers")  # among `**options`, under its own name
    is_open = _starred(call.args) or called(call) == "partial"
    return None if is_open else False


# --- start methods --------------------------------------------------------------------------------


def _own_method(call: ast.Call, context: str | None) -> str | None:
    """Say how a loader's own context starts its workers, all of the file's being this one."""
    for keyword in call.keywords:
        if keyword.arg == "multiprocessing_context":
            value = keyword.value
            if isinstance(value, ast.Constant):
                return value.value if value.value in _METHODS else None
            is_made = isinstance(value, ast.Call) and called(value) == "get_context"
            return method_of(value) if is_made else context  # type: ignore[arg-type]
    return None


def method_of(call: ast.Call) -> str | None:
    """Give the start method that a call is handed as a literal."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "method")]
    if not given or not isinstance(given[0], ast.Constant):
        return None
    method = given[0].value
    return method if method in _METHODS else None


# --- shards ---------------------------------------------------------------------------------------


def draws_in(tree: ast.AST) -> Draws:
    """Say how a source draws shards."""
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        how = _draws(node) if isinstance(node, ast.Call) else None
        if how is not None:
            lines[how] = min(node.lineno, lines.get(how, node.lineno))  # type: ignore[attr-defined]
    told = None if _opens_zstd_by_name(tree) else min(_unpacking_zstd(tree), default=None)
    return Draws(**lines, zstd=told)


_COMMAND = re.compile(
    r"""
    \b(?:unzstd|zstdcat|p?zstd(?:mt)?\s(?:[^|]*\s)?(?:-[a-zA-Z0-9]*d|-{2}(?:de|un)compress))
    """,
    re.VERBOSE,
)
"""A command that unpacks zstd: `pipe:zstd -dc {url}`."""

_OF_ANOTHER = re.compile(r"(?<!\.tar)\.zst(?:d)?\b")
"""The name of a file that is packed so, and no shard."""

_UNPACKS = frozenset({"ZstdDecompressor", "ZstdFile", "decompress", "open", "stream_reader"})
"""What the packages for it have that unpacks."""

_ZSTD_SHARD = re.compile(r"\.(?:tar\.zstd?|tzst)$")

_READERS = frozenset({"WebDataset", "SimpleShardList", *RESAMPLED})

_WRITES = re.compile(r"^(?:to|write|save|dump)_|_?writer$", re.IGNORECASE)


def _opens_zstd_by_name(tree: ast.AST) -> bool:
    """Whether shards of zstd are given to webdataset as they are called, and none through a pipe.

    What else the file unpacks is no shard then, unless it has webdataset open them in its own way.
    """
    nodes = list(ast.walk(tree))
    texts = [text for node in nodes if (text := text_of(node))]
    through_pipe = any(one.startswith("pipe:") and "zst" in one for one in texts)
    in_own_way = any("gopen" in last_name(one) for one in nodes)
    if through_pipe or in_own_way:
        return False
    calls = [one for one in nodes if isinstance(one, ast.Call) and called(one) in _READERS]
    given = [one for call in calls for one in (*call.args, *(k.value for k in call.keywords))]
    return any(_ZSTD_SHARD.search(text_of(one) or "") for one in given)


def _unpacking_zstd(tree: ast.AST) -> Iterator[int]:
    """Give the lines of commands, and of calls of packages, that unpack zstd."""
    nodes = list(ast.walk(tree))
    remarks = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
    packages = {
        (one.asname or one.name).partition(".")[0]
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
        if "zst" in one.name
    }
    for node in nodes:
        if isinstance(node, ast.expr) and id(node) not in remarks and _unpacks_zstd(node, packages):
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and "zst" in (node.module or ""):
            yield from (node.lineno for one in node.names if one.name in _UNPACKS)


def _unpacks_zstd(node: ast.expr, packages: Collection[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _UNPACKS and ast.unparse(node.value).partition(".")[0] in packages
    parts = [node, *ast.iter_child_nodes(node)]
    words = " ".join(filter(None, map(text_of, parts)))
    if _COMMAND.search(words):
        return _OF_ANOTHER.search(words) is None
    if not isinstance(node, ast.Call) or _WRITES.search(called(node) or ""):
        return False
    return any(one.arg == "compression" and text_of(one.value) == "zstd" for one in node.keywords)


def _draws(call: ast.Call) -> str | None:
    if called(call) in RESAMPLED:
        return "resampled"
    given = {one.arg: one.value for one in call.keywords}
    value = given.get("resampled")
    if value is not None:
        if not isinstance(value, ast.Constant):
            return "perhaps"
        if value.value:
            return "resampled"
    if called(call) != "WebDataset" or None in given or not given.keys().isdisjoint(_OTHER_WAYS):
        return None
    return "once"
