"""Says which loops over epochs may tell a loader the epoch, themselves or by what they call.

What other files hold is not read for that: what is handed a loader, or is called as hooks are, may.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from preflight.syntax.bodies import Body
from preflight.syntax.running import last_name

_TELL = frozenset({"set_epoch", "prepare", "prepare_data_loader", "setup_dataloaders"})

# Functions of Python, and the like, that are given a loader and leave its sampler alone.
_LOOK = frozenset(
    {"enumerate", "len", "iter", "next", "zip", "print", "isinstance", "tqdm", "trange"}
)
_LOOK |= {"range", "list", "hasattr", "type", "str", "id", "min", "max", "track", "islice", "cycle"}

_HOOKS = re.compile(
    r"hook|callback|before|(?:^|_)on_\w*(?:epoch|begin|start)|(?:begin|start|new|set)_\w*epoch"
    r"|epoch_(?:begin|start)|fire|notify|emit|dispatch|trigger",
    re.IGNORECASE,
).search
_BEGINS = re.compile(r"begin|start|prepare|shuffle|seed|set_|update|advance", re.IGNORECASE).search

Spans: TypeAlias = "list[tuple[int, int]]"
"""First and last lines. A statement whose first line is within those of a block is in it."""


def untold_epochs(body: Body, every: Sequence[Body], over: ast.expr) -> Spans:
    """Give the bodies of loops over epochs in which nothing may tell a loader the epoch.

    Args:
        body: what the loops are looked for in.
        every: all that runs in the file.
        over: what a loop over batches goes over.
    """
    loaders = {*_names(over)}
    own = {one.name.rpartition(".")[2] for one in every}
    return [
        (one.body[0].lineno, one.body[-1].end_lineno or one.lineno)
        for one in body.nodes
        if isinstance(one, ast.For)
        and "epoch" in f"{ast.unparse(one.target)} {ast.unparse(one.iter)}".lower()
        and not any(_may_tell(call, loaders, one.target, own) for call in _calls(one, loaders))
    ]


def tells_epoch(node: ast.AST) -> bool:
    """Whether it tells a loader the epoch, or has a library prepare loaders, which do so then."""
    if isinstance(node, ast.Attribute):
        is_set = isinstance(node.ctx, ast.Store) and node.attr.strip("_") in ("epoch", "seed")
        return node.attr in _TELL or (is_set and "sampler" in ast.unparse(node.value).lower())
    return isinstance(node, ast.Constant) and node.value == "set_epoch"


def _may_tell(call: ast.Call, loaders: set[str], epoch: ast.expr, own: set[str]) -> bool:
    """Whether a function of another file may tell a loader the epoch."""
    name = last_name(call.func)
    if name in own or name in _LOOK:
        return False
    given = [*call.args, *(one.value for one in call.keywords)]
    if _HOOKS(name):
        return True
    if any("sampler" in ast.unparse(one) for one in given) or loaders & {
        each for one in given for each in _names(one)
    }:
        return True
    told = {each for one in given for each in _names(one)} & {*_names(epoch)}
    return bool(told and _BEGINS(name))


def _calls(node: ast.AST, loaders: set[str]) -> Iterator[ast.Call]:
    """Give what a loop calls, but not what a loop over batches in it does with them."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Call):
            yield one
        over_batches = isinstance(one, ast.For) and not loaders.isdisjoint(_every_name(one.iter))
        yield from _calls(one.iter if over_batches else one, loaders)  # type: ignore[attr-defined]


def _every_name(node: ast.expr) -> Iterator[str]:
    return (
        ast.unparse(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))
    )


def _names(node: ast.expr) -> Iterator[str]:
    """Give the variables of an expression, but not those of which only a number is taken."""
    if isinstance(node, ast.Call) and last_name(node.func) in _LOOK:
        return
    if isinstance(node, ast.Attribute):
        yield ast.unparse(node)
    elif isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _names(child)
