"""Says what a call that joins a process group of torch needs of the environment."""

from __future__ import annotations

import ast
import re

from preflight.syntax.full_names import imported
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import text_of
from preflight.syntax.surroundings import walk

JOINS = "init_process_group"

# The last part of what is imported, by which a file comes to it.
_LEADS = frozenset({"torch", "distributed", "distributed_c10d", JOINS})

_ARGUMENTS = ("backend", "init_method", "timeout", "world_size", "rank", "store")

# In the order in which torch asks for them; of the first two, a call may say the value itself.
_NEEDED = {"RANK": "rank", "WORLD_SIZE": "world_size", "MASTER_ADDR": "", "MASTER_PORT": ""}


def names_of_torch(parsed: Parsed) -> frozenset[str]:
    """Give the names by which a file knows torch, torch.distributed and what joins a group.

    None are given where it joins none, which is so of most.
    """
    if not any(JOINS in line for line in parsed.lines):
        return frozenset()
    places = parsed.lines_of(re.compile(r"torch\b"))
    names = imported(node for node, _ in walk(parsed.tree, places))
    split = {name: full.split(".") for name, full in names.items()}
    return frozenset(n for n, full in split.items() if full[0] == "torch" and full[-1] in _LEADS)


def needed_by(node: ast.AST, torch: frozenset[str]) -> tuple[str, ...]:
    """Give the variables without which torch raises there; none where another way may be meant."""
    if not isinstance(node, ast.Call) or not _is_of_torch(node.func, torch):
        return ()
    said = {one.arg: one.value for one in node.keywords}
    if None in said or any(isinstance(one, ast.Starred) for one in node.args):
        return ()
    said.update(zip(_ARGUMENTS, node.args, strict=False))
    given = {name for name, value in said.items() if not _is_default(value)}
    backend, method = said.get("backend"), said.get("init_method")
    by_environment = "init_method" not in given or (text_of(method) or "").startswith("env://")
    # The query may say more: `env://?rank=0`. MPI brings its own ranks.
    if not by_environment or "store" in given or "?" in (text_of(method) or ""):
        return ()
    if (text_of(backend) or "").lower() == "mpi":
        return ()
    return tuple(name for name, argument in _NEEDED.items() if argument not in given)


def _is_of_torch(function: ast.expr, torch: frozenset[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in torch and function.id not in {"torch", "distributed"}
    if not isinstance(function, ast.Attribute) or function.attr != JOINS:
        return False
    owner = function.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id in torch


def _is_default(value: ast.expr) -> bool:
    """Whether it is what the parameter has by itself."""
    return ast.unparse(value) in {"None", "-1"}
