"""Finds the line by which the job's own sources seed all ranks alike before they make a loader.

Of a factory that draws by random numbers, preflight calls it without what a script does before.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.syntax.bodies import Body, bodies
from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.running import last_name
from preflight.syntax.source_files import content_of, python_files
from preflight.values.names import name_of

_MOST_FILES = 1_000

# Functions that call one another on the way to the factory.
_DEEPEST = 5

_SEEDS = re.compile(r"(?i)(^|_)(manual_)?seed(_|$)|^seed|seed_?(all|everything|everywhere)").search

# What tells ranks, or devices, apart.
_BY_RANK = re.compile(r"(?i)rank|process_index|device_specific|task_?id|procid|urandom|time\(")

# What seeds the generators of each library, and what draws by them. A function of a package is
# taken for one that seeds all of them.
_SEEDING = {
    "python": re.compile(r"(?<![.\w])random\.seed\b"),
    "numpy": re.compile(r"\b(np|numpy)\.random\.seed\b"),
    "torch": re.compile(r"\btorch\.(manual_seed|random\.manual_seed)\b"),
}
_DRAWING = {
    "python": re.compile(r"(?<![.\w])random\.(?!seed|Random|getstate|setstate)\w+|import shuffle"),
    "numpy": re.compile(r"\b(np|numpy)\.random\.(?!seed|default_rng|RandomState|Generator)\w+"),
    "torch": re.compile(r"\btorch\.(rand|normal|multinomial|bernoulli)|\brandom_split\("),
}


class Seeding(NamedTuple):
    """A line that seeds all ranks alike before a factory is called."""

    place: str
    """`train.py:25`."""

    is_sure: bool
    """Whether no test stands around it."""


def seeded_before(factory: str, home: str, folder: str, root: str) -> Seeding | None:
    """Say where a script seeds before it calls a factory; None: nowhere, as far as is known.

    Only where each call of the factory, in files that seed anything, stands behind lines that seed
    all that it may draw by.

    Args:
        factory: the function, by its name.
        home: the file that it is written in.
        folder: where the job's sources are.
        root: the job's folder.
    """
    texts, every = {}, list[tuple[str, list[Body]]]()
    with contextlib.suppress(OSError):
        for file in itertools.islice(python_files(folder), _MOST_FILES):
            with contextlib.suppress(OSError, UnparsableError):
                texts[file] = content_of(file).decode("utf-8", "replace")
                if "seed" in texts[file]:
                    every.append((file, bodies(parse(texts[file].encode()).tree)))
    drawing = {name for name, draws in _DRAWING.items() if draws.search(texts.get(home, ""))}
    own = {body.name.rpartition(".")[2]: body for _, found in every for body in found if body.name}
    seeding = {name for name, body in own.items() if _libraries(ast.unparse(body.node))}
    told: list[Seeding] = []
    for file, found in every:
        for body, line in _calls(found, factory):
            seeds = _seeds_before(found, body, line, seeding)
            known = [_seeded(seed, own) for seed in seeds]
            every_one = {*itertools.chain.from_iterable(one or () for one in known)}
            if not seeds or None in known or not drawing <= every_one:
                return None
            told.append(_at(file, found, seeds[0], root))
    return told[0] if told else None


def _at(file: str, found: Sequence[Body], seed: ast.Call, root: str) -> Seeding:
    tests = (
        node
        for body in found
        for node in body.nodes
        if isinstance(node, ast.If) and "__main__" not in ast.dump(node.test)
    )
    is_tested = any(one.lineno < seed.lineno <= (one.end_lineno or 0) for one in tests)
    return Seeding(f"{name_of(file, root)}:{seed.lineno}", is_sure=not is_tested)


def _calls(every: Sequence[Body], name: str) -> Iterator[tuple[Body, int]]:
    for body in every:
        for node in body.nodes:
            if isinstance(node, ast.Call) and last_name(node.func) == name:
                yield body, node.lineno


def _seeds_before(
    every: Sequence[Body], body: Body, line: int, seeding: set[str], depth: int = 0
) -> list[ast.Call]:
    """Give what seeds before a line of a body, or else before whatever calls that."""
    found = [
        node
        for node in body.nodes
        if isinstance(node, ast.Call)
        and node.lineno < line
        and (_SEEDS(last_name(node.func)) or last_name(node.func) in seeding)
    ]
    name = body.name.rpartition(".")[2]
    if found or not name or depth > _DEEPEST:
        return found
    callers = _calls(every, name)
    calls = [_seeds_before(every, other, at, seeding, depth + 1) for other, at in callers]
    return calls[0] if calls and all(calls) else []


def _seeded(seed: ast.Call, own: dict[str, Body]) -> set[str] | None:
    """Name the libraries that a call seeds; None where ranks may have seeds of their own."""
    body = own.get(last_name(seed.func))
    is_bare = body is None and not (seed.args or seed.keywords)
    text = ast.unparse(seed if body is None else body.node)
    if is_bare or _BY_RANK.search(text) or _BY_RANK.search(ast.unparse(seed)):
        return None
    return _libraries(text) or (set() if body is not None else {*_SEEDING})


def _libraries(text: str) -> set[str]:
    return {name for name, seeds in _SEEDING.items() if seeds.search(text)}
