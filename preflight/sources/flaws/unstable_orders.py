"""Finds lists that are made of sets, where what follows depends on their order."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from preflight.sources.flaws.facts import Spot, UnstableOrder
from preflight.syntax.bodies import Body, text_at
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name

_SETS = frozenset({"set", "frozenset"})
_LISTS = frozenset({"list", "tuple"})
_JOINS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
_KEEP = frozenset({"list", "tuple", "array", "asarray", "tqdm", "deepcopy", "copy"})

_SPLITS = re.compile(
    r"(?i)(?:^|_)(?:splits?|chunks?|chunked|shards?|partition|scatter|batched)(?:_|$)"
)
_NUMBERED = frozenset({"enumerate"})
_RANK = re.compile(r"(?i)(?:^|_)(?:rank|process_index|worker_id|node_id|world_size|num_processes)$")
_TEXT = re.compile(
    r"(?i)caption|prompt|text|string|name|path|file|url|word|token|label|class|key|tag|categor"
)
_NUMBERS = re.compile(
    r"(?i)(?:^|_)(?:ids?|idxs?|idx|index|indexes|indices|ints?|sizes?|len\w*|"
    r"steps?|ranks?|shapes?|num\w*|dims?|dim|axes|offsets?|devices?)$"
)

_KINDS = (ast.expr, ast.stmt, ast.comprehension)
_Node: TypeAlias = ast.expr | ast.stmt | ast.comprehension

_SHOWING = re.compile(r"(?i)(?:^|_)(?:print|log|debug|info|warn|warning|error|exception|critical)$")


class _Use(NamedTuple):
    node: ast.expr
    how: str
    by_rank: bool


def unstable_orders(body: Body, parsed: Parsed, file: str) -> Iterator[UnstableOrder]:
    """Give lists of a function that are made of a set, and are then taken by their places."""
    if not any(map(_makes_set, body.nodes)):
        return
    nodes = [one for one in body.nodes if isinstance(one, _KINDS)]
    around = {id(part): node for node in nodes for part in ast.iter_child_nodes(node)}
    sets = _sets(nodes)
    for node in nodes:
        if not isinstance(node, ast.expr):
            continue
        if not _is_unsorted(node, sets) and not _is_counted(node, around):
            continue
        if _of_numbers(node):
            continue
        if isinstance(around.get(id(node)), (ast.Assign, ast.AnnAssign)):
            use = _use_of_name(around[id(node)], nodes, around)  # type: ignore[arg-type]
        else:
            use = _use(node, nodes, around)
        if use is None:
            continue
        code = code_of(node, parsed.lines)
        yield UnstableOrder(
            file=file,
            line=node.lineno,
            text=text_at(parsed.lines, node.lineno),
            code=code,
            used=Spot(use.node.lineno, code_of(use.node, parsed.lines)),
            how=use.how,
            by_rank=use.by_rank,
            of_text=bool(_TEXT.search(code)),
        )


def _makes_set(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and last_name(node.func) in _SETS
    return is_call or isinstance(node, (ast.Set, ast.SetComp))


def _sets(nodes: list[_Node]) -> frozenset[str]:
    """Give the names that are only ever given a set."""
    given, of_set = Counter[str](), Counter[str]()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given[node.id] += 1
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            is_joined = isinstance(node, ast.AugAssign) and isinstance(node.op, _JOINS)
            if is_joined or (node.value is not None and _is_set(node.value)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                of_set.update(one.id for one in targets if isinstance(one, ast.Name))
    return frozenset(name for name, number in of_set.items() if number == given[name])


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _SETS and bool(node.args)
    if isinstance(node, ast.Set):
        return any(not isinstance(one, ast.Constant) for one in node.elts)
    return isinstance(node, ast.SetComp)


def _is_unsorted(node: ast.expr, sets: frozenset[str]) -> bool:
    """Whether it is a list that has its order of a set, or a set that is counted through."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        star = node.elts[0]
        return isinstance(star, ast.Starred) and _is_of_set(star.value, sets)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id in _LISTS:
        return len(node.args) == 1 and _is_of_set(node.args[0], sets)
    return False


def _is_counted(node: ast.expr, around: dict[int, _Node]) -> bool:
    """Whether it is a set that is numbered as it is."""
    over = around.get(id(node))
    return _is_set(node) and isinstance(over, ast.Call) and last_name(over.func) in _NUMBERED


def _is_of_set(node: ast.expr, sets: frozenset[str]) -> bool:
    return _is_set(node) or (isinstance(node, ast.Name) and node.id in sets)


def _of_numbers(node: ast.expr) -> bool:
    """Whether it holds numbers, whose order in a set is the same in every process."""
    for one in ast.walk(node):
        if isinstance(one, (ast.SetComp, ast.GeneratorExp, ast.ListComp)):
            return _is_number(one.elt)
    inner = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))]
    words = [last_name(one) for one in inner if last_name(one) not in _SETS | _LISTS]
    called = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    if any(last_name(one.func) in {"range", "randint", "tolist", "randperm"} for one in called):
        return True
    return bool(words) and all(_NUMBERS.search(word) or word == "self" for word in words)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) in {"int", "len", "float", "round", "id", "hash", "ord"}
    if isinstance(node, ast.BinOp):
        return _is_number(node.right) or isinstance(node.op, (ast.FloorDiv, ast.Sub, ast.Pow))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    return bool(_NUMBERS.search(last_name(node)))


def _use_of_name(
    given: ast.Assign | ast.AnnAssign,
    nodes: list[_Node],
    around: dict[int, _Node],
) -> _Use | None:
    """Give the first use of a name on which its order decides, before it is sorted or replaced."""
    targets = given.targets if isinstance(given, ast.Assign) else [given.target]
    if len(targets) != 1 or not isinstance(targets[0], (ast.Name, ast.Attribute)):
        return None
    name = ast.unparse(targets[0])
    begun = False
    for node in nodes:
        if node is given:
            begun = True
        if not begun or not isinstance(node, (ast.Name, ast.Attribute)) or node is targets[0]:
            continue
        if ast.unparse(node) != name:
            continue
        over = around.get(id(node))
        if isinstance(node.ctx, ast.Store) or _is_sorting(over):
            return None
        use = _use(node, nodes, around)
        if use is not None:
            return use
    return None


def _is_shown(use: ast.expr, nodes: list[_Node], around: dict[int, _Node]) -> bool:
    """Whether it goes into a message alone, where a few of them stand for all."""
    over: _Node | None = use
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


def _use(node: ast.expr, nodes: list[_Node], around: dict[int, _Node]) -> _Use | None:
    """Say how what stands around a list depends on its order, but for what is only shown."""
    use = _dependence(node, nodes, around)
    return None if use is None or _is_shown(use.node, nodes, around) else use


def _dependence(node: ast.expr, nodes: list[_Node], around: dict[int, _Node]) -> _Use | None:
    over = around.get(id(node))
    while isinstance(over, ast.Call) and last_name(over.func) in _KEEP and node in over.args:
        node, over = over, around.get(id(over))
    if isinstance(over, ast.Starred):
        over = around.get(id(over))
    if isinstance(over, ast.Subscript) and over.value is node and isinstance(over.ctx, ast.Load):
        by_rank = _is_by_rank(over.slice)
        if isinstance(over.slice, ast.Slice):
            return _Use(over, "split", by_rank)
        return _Use(over, "picked", by_rank) if by_rank else None
    if isinstance(over, ast.Call) and node in over.args:
        return _use_by_call(over, node, nodes, around)
    return None


def _use_by_call(
    call: ast.Call, node: ast.expr, nodes: list[_Node], around: dict[int, _Node]
) -> _Use | None:
    name = last_name(call.func)
    if name in _NUMBERED:
        over = around.get(id(call))
        over = around.get(id(over)) if isinstance(over, ast.comprehension) else over
        is_kept = isinstance(over, ast.DictComp) or (
            isinstance(over, ast.Call) and last_name(over.func) == "dict"
        )
        return _Use(call, "numbered", by_rank=False) if is_kept else None
    if name == "zip":
        return _zipped(call, node, nodes)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    of_text = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant)
    if _SPLITS.search(words) and not of_text:
        return _Use(call, "split", by_rank="process" in words or "rank" in words)
    if name == "DistributedSampler":
        return _Use(call, "split", by_rank=True)
    return None


def _zipped(call: ast.Call, node: ast.expr, nodes: list[_Node]) -> _Use | None:
    """With what was made by going through it, it makes the same pairs in any order."""
    others = [one for one in call.args if one is not node]
    if not others or all(_names(one) & _made_of(ast.unparse(node), nodes) for one in others):
        return None
    counts = all(
        isinstance(one, ast.Call) and last_name(one.func) in {"range", "count"} for one in others
    )
    return _Use(call, "numbered" if counts else "zipped", by_rank=False)


def _made_of(name: str, nodes: list[_Node]) -> set[str]:
    """Give the names of what has a list's order: it, and what goes through that, and so on."""
    made = {name}
    pairs = [pair for node in nodes for pair in _given(node)]
    while more := {one for one, of in pairs if of & made and one not in made}:
        made |= more
    return made


def _given(node: _Node) -> Iterator[tuple[str, set[str]]]:
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


def _is_by_rank(index: ast.expr) -> bool:
    return any(_RANK.search(last_name(one)) for one in ast.walk(index) if last_name(one))
