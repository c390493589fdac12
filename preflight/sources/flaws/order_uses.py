"""Says how the order of a list decides: by a place in it, a number, a part for each rank."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from preflight.syntax.bodies import Body
from preflight.syntax.running import last_name

_KEEP = frozenset({"list", "tuple", "array", "asarray", "tqdm", "deepcopy", "copy"})

_SPLITS = re.compile(
    r"(?i)(?:^|_)(?:splits?|chunks?|chunked|shards?|partition|scatter|batched)(?:_|$)"
)
NUMBERED = frozenset({"enumerate"})
_RANK = re.compile(r"(?i)(?:^|_)(?:rank|process_index|worker_id|node_id|world_size|num_processes)$")
_KINDS = (ast.expr, ast.stmt, ast.comprehension)
Node: TypeAlias = ast.expr | ast.stmt | ast.comprehension

_SHOWING = re.compile(r"(?i)(?:^|_)(?:print|log|debug|info|warn|warning|error|exception|critical)$")


class OrderUse(NamedTuple):
    """Where and how it decides."""

    node: ast.expr
    how: str
    by_rank: bool


def use_of_name(
    given: ast.Assign | ast.AnnAssign,
    nodes: list[Node],
    around: dict[int, Node],
) -> OrderUse | None:
    """Give the first use of a name on which its order decides, before it is sorted or replaced."""
    targets = given.targets if isinstance(given, ast.Assign) else [given.target]
    if len(targets) != 1 or not isinstance(targets[0], (ast.Name, ast.Attribute)):
        return None
    name = ast.unparse(targets[0])
    begun, own = False, {*map(id, ast.walk(given))}
    for node in nodes:
        if node is given:
            begun = True
        if not begun or not isinstance(node, (ast.Name, ast.Attribute)) or id(node) in own:
            continue
        if ast.unparse(node) != name:
            continue
        over = around.get(id(node))
        if isinstance(node.ctx, ast.Store) or _is_sorting(over):
            return None
        use = use_of(node, nodes, around)
        if use is not None:
            return use
    return None


def use_of_kept(name: str, bodies: Sequence[Body]) -> OrderUse | None:
    """Give the first use of an attribute in the methods of its class, unless one sorts it."""
    found: list[OrderUse] = []
    for body in bodies:
        nodes, around = laid_out(body)
        for node in nodes:
            if not isinstance(node, ast.Attribute) or ast.unparse(node) != name:
                continue
            if _is_sorting(around.get(id(node))):
                return None
            one = use_of(node, nodes, around) or _place_of(node, around)
            found += [] if one is None else [one]
    return found[0] if found else None


def laid_out(body: Body) -> tuple[list[Node], dict[int, Node]]:
    """Give what is in a body, and around each part of it what holds that."""
    nodes = [one for one in body.nodes if isinstance(one, _KINDS)]
    return nodes, {id(part): node for node in nodes for part in ast.iter_child_nodes(node)}


def _place_of(node: ast.expr, around: dict[int, Node]) -> OrderUse | None:
    """Give a call that asks for a thing's place in a list that is kept: `self.names.index(one)`."""
    method = around.get(id(node))
    call = around.get(id(method))
    if isinstance(method, ast.Attribute) and method.attr == "index" and isinstance(call, ast.Call):
        return OrderUse(call, "numbered", by_rank=False) if call.func is method else None
    return None


def _is_shown(use: ast.expr, nodes: list[Node], around: dict[int, Node]) -> bool:
    """Whether it goes into a message alone, where a few of them stand for all."""
    over: Node | None = use
    while isinstance(over, ast.expr):
        if isinstance(over, ast.JoinedStr):
            return True
        if isinstance(over, ast.Call) and _SHOWING.search(last_name(over.func)):
            return True
        over = around.get(id(over))
    if isinstance(over, ast.Raise):
        return True
    given = around.get(id(use))
    if not isinstance(given, ast.Assign) or not isinstance(given.targets[0], ast.Name):
        return False
    name = given.targets[0].id
    read = [
        one
        for one in nodes
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
    ]
    return bool(read) and all(_is_shown(one, nodes, around) for one in read)


def _is_sorting(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "sort"


def use_of(node: ast.expr, nodes: list[Node], around: dict[int, Node]) -> OrderUse | None:
    """Say how what stands around a list depends on its order, but for what is only shown."""
    use = _dependence(node, nodes, around)
    return None if use is None or _is_shown(use.node, nodes, around) else use


def _dependence(node: ast.expr, nodes: list[Node], around: dict[int, Node]) -> OrderUse | None:
    over = around.get(id(node))
    while isinstance(over, ast.Call) and last_name(over.func) in _KEEP and node in over.args:
        node, over = over, around.get(id(over))
    if isinstance(over, ast.Starred):
        over = around.get(id(over))
    if isinstance(over, ast.Subscript) and over.value is node and isinstance(over.ctx, ast.Load):
        by_rank = _is_by_rank(over.slice) or _is_number_of_rank(over.slice, nodes)
        if isinstance(over.slice, ast.Slice):
            return OrderUse(over, "split", by_rank)
        return OrderUse(over, "picked", by_rank) if by_rank else None
    if isinstance(over, ast.Call) and node in over.args:
        return _use_by_call(over, node, nodes, around)
    if isinstance(over, ast.For) and over.iter is node:
        numbered = _numbered_in(over)
        return OrderUse(numbered, "numbered", by_rank=False) if numbered is not None else None
    if isinstance(over, ast.comprehension) and over.iter is node:
        made = around.get(id(over))
        given = around.get(id(made))
        if not isinstance(made, ast.ListComp) or len(made.generators) > 1:
            return None
        if isinstance(given, (ast.Assign, ast.AnnAssign)):
            return use_of_name(given, nodes, around)
        return _dependence(made, nodes, around)
    return None


def _numbered_in(loop: ast.For) -> ast.expr | None:
    """Give what numbers the things that a loop goes through: `numbers[one] = len(numbers)`."""
    for one in (one for statement in loop.body for one in ast.walk(statement)):
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if not isinstance(target, ast.Subscript) or last_name(target.slice) == "":
            continue
        holder = ast.unparse(target.value)
        is_own = last_name(target.slice) == last_name(loop.target)
        if is_own and ast.unparse(one.value) == f"len({holder})":  # type: ignore[attr-defined]
            return target
    return None


def _use_by_call(
    call: ast.Call, node: ast.expr, nodes: list[Node], around: dict[int, Node]
) -> OrderUse | None:
    name = last_name(call.func)
    if name in NUMBERED:
        over = around.get(id(call))
        taken = _taken_by_number(over)
        if taken is not None:
            return OrderUse(taken, "picked", by_rank=True)
        over = around.get(id(over)) if isinstance(over, ast.comprehension) else over
        is_kept = isinstance(over, ast.DictComp) or (
            isinstance(over, ast.Call) and last_name(over.func) == "dict"
        )
        return OrderUse(call, "numbered", by_rank=False) if is_kept else None
    if name == "zip":
        return _zipped(call, node, nodes)
    if name == "islice" and any(map(_is_by_rank, call.args[1:])):
        return OrderUse(call, "split", by_rank=True)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    of_text = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant)
    if _SPLITS.search(words) and not of_text:
        return OrderUse(call, "split", by_rank="process" in words or "rank" in words)
    if name == "DistributedSampler":
        return OrderUse(call, "split", by_rank=True)
    return None


def _taken_by_number(over: Node | None) -> ast.expr | None:
    """Give the test by which a loop takes what the rank's numbers are: `i % world == rank`."""
    if isinstance(over, ast.comprehension):
        tests = [one for test in over.ifs for one in ast.walk(test)]
    elif isinstance(over, (ast.For, ast.AsyncFor)):
        tests = [one for statement in over.body for one in ast.walk(statement)]
    else:
        return None
    number = over.target.elts[0] if isinstance(over.target, ast.Tuple) else None
    for one in tests:
        if isinstance(one, ast.Compare) and _is_by_rank(one):
            parts = [part for part in ast.walk(one) if isinstance(part, ast.BinOp)]
            if any(
                isinstance(part.op, ast.Mod) and last_name(part.left) == last_name(number) != ""
                for part in parts
            ):
                return one
    return None


def _zipped(call: ast.Call, node: ast.expr, nodes: list[Node]) -> OrderUse | None:
    """With what was made by going through it, it makes the same pairs in any order."""
    others = [one for one in call.args if one is not node]
    if not others or all(_names(one) & _made_of(ast.unparse(node), nodes) for one in others):
        return None
    counts = all(
        isinstance(one, ast.Call) and last_name(one.func) in {"range", "count"} for one in others
    )
    return OrderUse(call, "numbered" if counts else "zipped", by_rank=False)


def _made_of(name: str, nodes: list[Node]) -> set[str]:
    """Give the names of what has a list's order: it, and what goes through that, and so on."""
    made = {name}
    pairs = [pair for node in nodes for pair in _given(node)]
    while more := {one for one, of in pairs if of & made and one not in made}:
        made |= more
    return made


def _given(node: Node) -> Iterator[tuple[str, set[str]]]:
    """Give each name that gets a value here, with the names that this is made of."""
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        targets, value = [node.target], node.iter
    else:
        return
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                yield one.id, _names(value)


def _names(value: ast.expr) -> set[str]:
    """Give the names and attributes of which the order counts here: of a `len` it does not."""
    if isinstance(value, ast.Call) and last_name(value.func) in {"len", "set", "sorted", "sum"}:
        return set()
    inner = [
        one for one in ast.iter_child_nodes(value) if isinstance(one, (ast.expr, ast.comprehension))
    ]
    parts = [
        part
        for one in inner
        for part in ([one.iter] if isinstance(one, ast.comprehension) else [one])
    ]
    own = {ast.unparse(value)} if isinstance(value, (ast.Name, ast.Attribute)) else set()
    return own.union(*map(_names, parts))


def _is_number_of_rank(index: ast.expr, nodes: list[Node]) -> bool:
    """Whether a loop gives it the numbers of a rank: `for i in range(rank, many, world)`."""
    loops = (one for one in nodes if isinstance(one, (ast.For, ast.comprehension)))
    ranges = (
        one
        for one in loops
        if isinstance(one.iter, ast.Call) and last_name(one.iter.func) == "range"
    )
    name = index.id if isinstance(index, ast.Name) else ""
    return any(last_name(one.target) == name != "" and _is_by_rank(one.iter) for one in ranges)


def _is_by_rank(index: ast.expr) -> bool:
    return any(_RANK.search(last_name(one)) for one in ast.walk(index) if last_name(one))
