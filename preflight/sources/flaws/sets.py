"""Says which values of a function are sets, as it is written."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from preflight.syntax.running import last_name

SETS = frozenset({"set", "frozenset"})
LISTS = frozenset({"list", "tuple"})
JOINS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
_JOINED = frozenset({"union", "difference", "intersection", "symmetric_difference"})

TEXT = re.compile(
    r"(?i)caption|prompt|text|string|name|path|file|url|word|token|label|class|key|tag|categor"
)
_NUMBERS = re.compile(
    r"(?i)(?:^|_)(?:ids?|idxs?|idx|index|indexes|indices|ints?|sizes?|len\w*|"
    r"steps?|ranks?|shapes?|num\w*|dims?|dim|axes|offsets?|devices?)$"
)


def makes_set(node: ast.AST) -> bool:
    """Whether a set may begin here."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, JOINS) and (is_view(node.left) or is_view(node.right))
    is_call = isinstance(node, ast.Call) and last_name(node.func) in SETS
    return is_call or isinstance(node, (ast.Set, ast.SetComp))


def is_set(node: ast.expr, sets: frozenset[str] = frozenset()) -> bool:
    """Whether it is a set that holds something; of names, those that are known for it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, JOINS):
        return any(is_set(one, sets) or is_view(one) for one in (node.left, node.right))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in _JOINED and is_set(node.func.value, sets)
        return isinstance(node.func, ast.Name) and node.func.id in SETS and bool(node.args)
    if isinstance(node, ast.Set):
        return any(not isinstance(one, ast.Constant) for one in node.elts)
    return isinstance(node, ast.SetComp) or name_of(node) in sets


def name_of(node: ast.AST) -> str:
    """Give the name of a variable, or of an attribute of one (`self.names`); else nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_view(node: ast.expr) -> bool:
    """Whether it is what a mapping gives of itself, of which a part is a set."""
    is_call = isinstance(node, ast.Call) and not node.args
    return is_call and last_name(node.func) in {"keys", "items"}  # type: ignore[attr-defined]


def sets_in(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Give the names that are only ever given a set."""
    given = Counter(
        name_of(one) for one in nodes if isinstance(getattr(one, "ctx", None), ast.Store)
    )
    filled, listed = _filled(nodes), _listed_first(nodes)
    known, before = frozenset[str](), frozenset({""})
    while known != before:
        before = known
        of_set = Counter(_given_sets(nodes, filled, known))
        known = frozenset(name for name, number in of_set.items() if number == given[name])
        known -= listed
    return known


def _listed_first(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Give the names that are given a list of what they were before they are given a set."""
    firsts: dict[str, ast.stmt] = {}
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            firsts.setdefault(last_name(target), node)
    return relisted(firsts.values())


def _given_sets(
    nodes: Sequence[ast.AST], filled: frozenset[str], known: frozenset[str]
) -> Iterator[str]:
    """Give a name for each time that it is given a set."""
    for node in nodes:
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
            continue
        is_joined = isinstance(node, ast.AugAssign) and isinstance(node.op, JOINS)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name in filter(None, map(name_of, targets)):
            is_filled = name in filled and _is_empty(node.value)
            if is_joined or is_filled or is_set(node.value, known) or _is_own_list(node, name):
                yield name


def _is_empty(node: ast.expr) -> bool:
    is_call = isinstance(node, ast.Call) and not node.args
    return is_call and last_name(node.func) == "set"  # type: ignore[attr-defined]


def _is_own_list(node: ast.stmt, name: str) -> bool:
    """Whether a name is given the list of what it was: that is made of the set, if it was one."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return False
    return bool(relisted([node]) and handed_alone(node.value) == name)


def handed_alone(node: ast.expr) -> str:
    """Name the only thing that is handed to a call."""
    given = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    return given.id if isinstance(given, ast.Name) else ""


def relisted(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Give the names that a list takes the place of a set for: `names = list(names)`."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value, name = node.value, node.targets[0].id
            if isinstance(value, ast.Call) and last_name(value.func) in LISTS:
                found.update({name} & {handed_alone(value)})
    return frozenset(found)


def _filled(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Give the names to which text is added one by one, as names tell, and nothing else."""
    found: dict[str, bool] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        holder = node.func.value
        is_filling = node.func.attr in ("add", "update")
        name = name_of(holder)
        if is_filling and name and len(node.args) == 1:
            one = node.args[0]
            is_text = bool(TEXT.search(f"{name} {ast.unparse(one)}")) and not is_number(one)
            found[name] = found.get(name, True) and is_text
    return frozenset(name for name, is_text in found.items() if is_text)


def of_numbers(node: ast.expr) -> bool:
    """Whether it holds numbers, whose order in a set is the same in every process."""
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, JOINS):
            return any(map(of_numbers, (one.left, one.right)))
        if isinstance(one, (ast.SetComp, ast.GeneratorExp, ast.ListComp)):
            return is_number(one.elt)
    inner = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))]
    words = [last_name(one) for one in inner if last_name(one) not in SETS | LISTS]
    called = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    if any(last_name(one.func) in {"range", "randint", "tolist", "randperm"} for one in called):
        return True
    return bool(words) and all(_NUMBERS.search(word) or word == "self" for word in words)


def is_number(node: ast.expr) -> bool:
    """Whether it is a number, as it is written, or as its name tells."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in {"int", "len", "float", "round", "id", "hash", "ord"}
    if isinstance(node, ast.BinOp):
        return is_number(node.right) or isinstance(node.op, (ast.FloorDiv, ast.Sub, ast.Pow))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    return bool(_NUMBERS.search(last_name(node)))
