"""Runs in a process of its own: says by its source whether a sampler leaves out but what is over.

One that fills batches by hand (a budget of tokens, buckets by length) and chooses among no samples
leaves out what fills no batch, and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any, TypeGuard

from preflight.objects.attributes import own_attributes
from preflight.objects.source_trees import function_tree, names_used
from preflight.users_code.frames import is_users

# By these, each rank or fold has a part.
_PARTS = frozenset({"num_replicas", "world_size", "world", "num_shards", "num_parts", "num_folds"})
_ASK = frozenset({"get_rank", "get_world_size", "process_index", "num_processes"})

# They choose some of what they are given.
_CHOOSE = frozenset({"filter", "filterfalse", "compress", "sample", "choices", "choice", "islice"})

# What a loop goes over that has a turn for each group there is.
_EACH = frozenset({"set", "unique", "Counter", "fromkeys"})

_OF_A_DICT = frozenset({"setdefault", "get", "pop", "copy", "values", "items"})
_ADD = frozenset({"append", "extend", "add", "put"})


def leaves_a_rest(sampler: object, root: str) -> bool:
    """Whether its class fills batches, and neither takes a part nor chooses among samples."""
    functions = [*_functions(type(sampler), root)]
    if has_a_part(sampler, root):
        return False
    trees = [tree for one in functions if (tree := function_tree(one)) is not None]
    lists = {name for tree in trees for name in _lists(tree)}
    is_batching = any(_fills(tree, lists) or any(map(_cuts, ast.walk(tree))) for tree in trees)
    if len(trees) < len(functions) or not is_batching or not all(map(_takes_both, trees)):
        return False
    return not any(
        _chooses(node, lists, groups)
        for tree in trees
        for groups in (_groups(tree),)
        for node in ast.walk(tree)
    )


def _functions(kind: type, root: str) -> Iterator[FunctionType]:
    """Give the methods of the job's own."""
    for base in kind.__mro__:
        for one in vars(base).values():
            made: Any = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
            if isinstance(made, FunctionType) and is_users(made.__code__.co_filename, root):
                yield made


def has_a_part(sampler: object, root: str) -> bool:
    """Whether each rank, or fold, has one of its own."""
    own = own_attributes(sampler)
    codes = (one.__code__ for one in _functions(type(sampler), root))
    asks = any(_ASK & names_used(one) for one in codes)
    return asks or any(own.get(name, 1) not in (None, 1) for name in _PARTS)


def _lists(tree: ast.AST) -> set[str]:
    """Name what is added to, and what stands for a list among others: `for pool in pools`."""
    added = {one.func.value for one in ast.walk(tree) if _is_adding(one)}  # type: ignore[attr-defined]
    added |= {one.target for one in ast.walk(tree) if isinstance(one, ast.AugAssign)}
    of_several = {_root(one) for one in added if isinstance(one, (ast.Subscript, ast.Call))}
    found = {_root(one) for one in added}
    for loop in ast.walk(tree):
        if isinstance(loop, (ast.For, ast.comprehension)) and _root(loop.iter) in of_several:
            inner = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
            found.add(ast.unparse(inner))
    return found


def _fills(tree: ast.AST, lists: set[str]) -> bool:
    """Whether lists are handed on in a loop, once a test says that they are full."""
    return any(
        isinstance(test, (ast.If, ast.While)) and any(_roots(one) & lists for one in handed)
        for loop in ast.walk(tree)
        if isinstance(loop, (ast.For, ast.While, ast.AsyncFor))
        for test in ast.walk(loop)
        if isinstance(test, (ast.If, ast.While)) and (handed := [*_handed_on(test.body)])
    )


def _is_adding(node: ast.AST) -> Any:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_call and node.func.attr in _ADD and bool(node.args)  # type: ignore[attr-defined]


def _handed_on(block: list[ast.stmt]) -> Iterator[ast.expr]:
    """Give what statements add to something, or yield."""
    for statement in block:
        for one in ast.walk(statement):
            if isinstance(one, ast.Yield) and one.value is not None:
                yield one.value
            elif _is_adding(one):
                yield one.args[0]  # type: ignore[attr-defined]


def _root(node: ast.expr) -> str:
    """Name what a thing is a part of: `buckets` of `buckets[key]`, `self.now`."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
        if isinstance(node, ast.Attribute) and node.attr in _OF_A_DICT:
            node = node.value
    return ast.unparse(node)


def _roots(node: ast.expr) -> set[str]:
    places = (ast.Name, ast.Attribute, ast.Subscript)
    return {_root(one) for one in ast.walk(node) if isinstance(one, places)}


def _cuts(node: ast.AST) -> bool:
    """Whether it gives slices of one length: `range(0, len(x) - n + 1, n)`, `len(x) // n`."""
    is_range = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("range")
    if is_range and len(node.args) == 3:  # type: ignore[attr-defined]
        return "len(" in ast.unparse(node.args[1])  # type: ignore[attr-defined]
    is_divided = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod))
    return is_divided and "len(" in ast.unparse(node.left)  # type: ignore[attr-defined]


def _groups(tree: ast.AST) -> set[str]:
    """Name what stands for each group in turn: `label` of `for label in sorted(set(labels))`."""
    return {
        one.target.id
        for one in ast.walk(tree)
        if isinstance(one, (ast.For, ast.comprehension)) and isinstance(one.target, ast.Name)
        if any(_EACH & {_last(call.func)} for call in ast.walk(one.iter) if _is_call(call))
    }


def _is_call(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call)


def _last(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def _is_of_group(test: ast.expr, groups: set[str]) -> bool:
    """Whether a test asks whether a sample is of the group whose turn it is."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return any(isinstance(one, ast.Name) and one.id in groups for one in (left, right))
    return False


def _chooses(node: ast.AST, lists: set[str], groups: set[str]) -> bool:
    """Whether it may leave out samples by what they are, or where they stand."""
    match node:
        case ast.Continue():
            return True
        case ast.Call(func=ast.Name(id="range"), args=[first, _, step]):
            return ast.unparse(first) != "0" and ast.unparse(step) not in ("1", "-1")
        case ast.Call(func=ast.Attribute(attr="sample"), args=[every, number]):
            return ast.unparse(number) != f"len({ast.unparse(every)})"
        case ast.Call(func=function):
            return _last(function) in _CHOOSE
        case ast.Slice(step=step) if step is not None:
            return ast.unparse(step) != "-1"
        case (
            ast.ListComp(generators=gens)
            | ast.SetComp(generators=gens)
            | ast.DictComp(generators=gens)
            | ast.GeneratorExp(generators=gens)
        ):
            return not all(
                _is_of_length(one.target, test) or _is_of_group(test, groups)
                for one in gens
                for test in one.ifs
            )
        case ast.If(body=body, orelse=other):
            mine, others = ([*_handed_on(one)] for one in (body, other))
            elsewhere = {name for one in (*mine, *others) for name in _roots(one)}
            for part, rest in ((mine, others), (others, mine)):
                known = {name for one in rest for name in _roots(one)} | lists
                if any(_roots(one) and _roots(one).isdisjoint(known) for one in part):
                    return not _is_kept(node, elsewhere - lists)
    return False


def _takes_both(tree: ast.AST) -> bool:
    """Whether what one slice leaves, another one takes: `pool[:n]`, and `pool[n:]`.

    A rest that is handed on is what another one has left.
    """
    rests = {id(part) for node in ast.walk(tree) if _is_adding(node) for part in ast.walk(node)}
    slices = [one for one in ast.walk(tree) if isinstance(one, ast.Slice)]
    heads = {ast.unparse(one.upper) for one in slices if one.upper and not one.lower}
    tails = {ast.unparse(one.lower): one for one in slices if one.lower and not one.upper}
    left = {name for name, one in tails.items() if id(one) not in rests} - heads
    return all("len(" in one for one in (heads - tails.keys()) | left)


def _is_of_length(one: ast.expr, test: ast.expr) -> bool:
    """Whether a test asks whether a list has anything, or how much."""
    name, text = ast.unparse(one), ast.unparse(test)
    return text == name or f"len({name})" in text


def _is_kept(test: ast.If, names: set[str]) -> bool:
    """Whether each branch of a test makes something of these names."""
    branches = (test.body, test.orelse)
    return all(
        any(
            isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in names
            for statement in branch
            for one in ast.walk(statement)
        )
        for branch in branches
    )
