"""Reads webdataset pipelines off a source, where they are written out; nothing of it is run."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from preflight.objects.facts import Definition
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.handlers import handler_named
from preflight.pipelines.names.command_line import ANYHOW, StartOfScript
from preflight.pipelines.names.meanings import ROOTS, Meanings, chain_of
from preflight.pipelines.names.read_together import ReadTogether, read_together
from preflight.pipelines.names.standing import meanings_in
from preflight.pipelines.shard_addresses import (
    expanded,
    one_by_one,
    pattern_of,
    several_of,
    value_of,
)
from preflight.pipelines.stages import stage_of
from preflight.syntax.parsing import Parsed, nodes_of
from preflight.syntax.running import last_name
from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts

_DRAWN = frozenset({"ResampledShards", "ResampledShardList"})
_LISTS = frozenset({"SimpleShardList", *_DRAWN})

_ROOTS = re.compile("DataPipeline|WebDataset")


class _Shards(NamedTuple):
    shards: tuple[str, ...] = ()
    by_pattern: bool = False
    assumed: str = ""
    config: str = ""


@dataclass(frozen=True, slots=True)
class _Sources:
    """Files that are read together."""

    meanings: Meanings
    texts: WrittenTexts
    files: Sequence[str]

    def line(self, call: ast.Call) -> Definition:
        """Give the place of a call."""
        file = self.files[self.meanings.number(call)]
        return Definition(file=file, line=call.func.end_lineno or call.lineno)


def written_in(parsed: Parsed, file: str) -> tuple[Reads, ...]:
    """Give the pipelines of a source; most name none of the classes, and are not walked."""
    return written_in_all([(file, parsed)])


def may_open(parsed: Parsed, file: str) -> bool:
    """Whether a source has a pipeline, or a class that is one wherever it is made."""
    return bool(written_in(parsed, file)) or any(
        last_name(base) in ROOTS
        for one in ast.walk(parsed.tree)
        if isinstance(one, ast.ClassDef)
        for base in one.bases
    )


def written_in_all(
    each: Sequence[tuple[str, Parsed]], start: StartOfScript = ANYHOW
) -> tuple[Reads, ...]:
    """Give the pipelines of sources that belong together: one may call what another defines.

    Files of settings that they read are looked for where the script is started.
    """
    holders = {name for name, one in each if one.lines_of(_ROOTS)}
    if not holders:
        return ()
    lines = {name: one.lines for name, one in each}
    found = _pipelines(read_together(each, holders, start))
    return tuple(_with_text(one, lines[one.defined.file or ""]) for one in found)


def _with_text(reads: Reads, lines: Sequence[str]) -> Reads:
    text = lines[(reads.defined.line or 1) - 1].strip()
    return replace(reads, defined=reads.defined._replace(line_text=text))


def written_pipelines(tree: ast.Module, file: str) -> tuple[Reads, ...]:
    """Give what each pipeline of a piece of code says of its shards and stages, chains as one."""
    return _pipelines(ReadTogether([file], [tree], meanings_in([tree], as_handed=False)))


def _pipelines(together: ReadTogether) -> tuple[Reads, ...]:
    files, trees, meanings, configs = together
    sources = _Sources(meanings, meanings.texts, files)
    every = (one for tree in trees for one in nodes_of(tree) if isinstance(one, ast.Call))
    calls = [one for one in every if id(one) not in meanings.adding]
    chains = [chain_of(one, sources.texts) for one in (*calls, *meanings.grown.values())]
    chains = [one for one in chains if called(one[-1]) in ROOTS]
    inner = {id(one) for chain in chains for one in chain[1:]}
    of_each: dict[int, list[Reads]] = {}
    for chain in chains:
        if id(chain[0]) not in inner:
            of_each.setdefault(id(chain[-1]), []).append(_pipeline(chain, sources))
    found = [_in_common(each) for each in of_each.values()]
    found += (_of_own_class(one, sources) for one in meanings.handed.made_of(ROOTS))
    return tuple(replace(one, configs=configs) for one in found)


def _of_own_class(call: ast.Call, sources: _Sources) -> Reads:
    """Give a pipeline that a class of the job's own makes of itself, of which nothing is known."""
    at = sources.line(call)
    stage = Stage(kind="other", at=at, handler="unknown")
    return Reads(name=f"{at.file}:{at.line}", defined=at, guess=True, stages=(stage,))


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


def _pipeline(chain: list[ast.Call], sources: _Sources) -> Reads:
    """Follow a chain of calls from the class that it begins with to its end."""
    *rest, root = chain
    at = sources.line(root)
    reads = Reads(name=f"{at.file}:{root.lineno}", defined=at, guess=True)
    if called(root) == "DataPipeline":
        reads = _of_pipeline(root, reads, sources)
    else:
        reads = _fluid(root, reads, sources)
    for one in reversed(rest):
        if called(one) in ("repeat", "with_epoch"):
            reads = replace(reads, endless=reads.endless or "repeated")
        elif called(one) == "compose":
            reads = _of_pipeline(one, reads, sources)
        elif called(one) != "with_length":
            reads = replace(reads, stages=(*reads.stages, *_stages(one, sources)))
    return reads


def _of_pipeline(root: ast.Call, reads: Reads, sources: _Sources) -> Reads:
    """Take in the stages that `DataPipeline` or `compose` is handed, one by one or as a list."""
    texts = sources.texts
    lists = [isinstance(texts.meant(one), (ast.List, ast.BinOp)) for one in root.args]
    args = [
        ast.Starred(one, ast.Load()) if is_list else one
        for one, is_list in zip(root.args, lists, strict=True)
    ]
    for given in one_by_one(args, texts):
        one = texts.meant(given)
        if isinstance(one, ast.Call) and called(one) in _LISTS:
            drawn = "resampled" if called(one) in _DRAWN else ""
            line = sources.line(one) if drawn else Definition()
            shards = _shards(one, sources)._asdict()
            reads = replace(reads, **shards, endless=drawn, endless_at=line)
        elif isinstance(one, ast.Call):
            reads = replace(reads, stages=(*reads.stages, *_stages(one, sources)))
        else:
            stage = stage_of(Stage(kind="other", at=reads.defined), last_name(one), (), {})
            stage = stage if stage.kind in ("split", "pass") else Stage(kind="other", at=stage.at)
            reads = replace(reads, stages=(*reads.stages, stage))
    return reads


def _fluid(root: ast.Call, reads: Reads, sources: _Sources) -> Reads:
    given = {one.arg: one.value for one in root.keywords}
    drawn = given.get("resampled")
    is_drawn = isinstance(drawn, ast.Constant) and drawn.value is True
    how, handler = _handler(given.get("handler"))
    reader = [
        Stage(kind=kind, at=reads.defined, handler=how, handler_name=handler)
        for kind in ("open", "expand", "group")
    ]
    if {"select_files", "rename_files"} & given.keys():
        reader.append(Stage(kind="other", name="select_files", at=reads.defined))
    return replace(
        reads,
        **_shards(root, sources)._asdict(),
        stages=tuple(reader),
        endless="resampled" if is_drawn else "",
        endless_at=reads.defined if is_drawn else Definition(),
    )


def _stages(call: ast.Call, sources: _Sources) -> Iterator[Stage]:
    name, at, texts = called(call), sources.line(call), sources.texts
    args = list(one_by_one(call.args, texts))
    words = {one.arg: texts.meant(one.value) for one in call.keywords}
    given: dict[str, Any] = {word: value_of(one) for word, one in words.items() if word}
    how, handler = _handler(words.get("handler"))
    one = Stage(kind="other", at=at, handler=how, handler_name=handler)
    if any(isinstance(arg, ast.Starred) for arg in args) or None in words:
        yield one
    elif name.startswith("tarfile_to_samples"):
        yield from (one._replace(kind=kind) for kind in ("open", "expand", "group"))
    else:
        yield stage_of(one, name, [value_of(texts.meant(arg)) for arg in args], given)


def _handler(node: ast.expr | None) -> tuple[str, str]:
    if node is None:
        return "raises", "reraise_exception"
    return handler_named(last_name(node)), last_name(node)


def _shards(call: ast.Call, sources: _Sources) -> _Shards:
    """Give the addresses that stand there, or that a name stands for, or what finds them."""
    node = next((one.value for one in call.keywords if one.arg == "urls"), ast.Constant(None))
    first, texts = call.args[0] if call.args else node, sources.texts
    node, meanings = texts.meant(first), sources.meanings
    found = _Shards(assumed=meanings.assumed(first), config=meanings.config(first))
    pattern = pattern_of(node, texts)
    if pattern is not None:
        return found._replace(shards=(pattern,), by_pattern=True)
    several = several_of(node, texts)
    text = texts.only(node) if several is None else None
    return found._replace(shards=expanded(text) if several is None else tuple(several))
