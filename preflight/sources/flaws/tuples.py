"""Finds loops that take apart what is of another size: one tuple, or what `zip` gives."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.sources.flaws.facts import Returned, TupleLoop
from preflight.syntax.bodies import DEFINITIONS, Body, parameters, stored, text_at
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import is_none, last_name

# Decorators that leave what a function gives as it is.
_PLAIN = frozenset({"staticmethod", "classmethod", "no_grad", "inference_mode", "torch_no_grad"})

# What gives several things at once, of a text, a path, an image or a tensor.
_HOLD_SEVERAL = frozenset({"split", "rsplit", "partition", "splitext", "chunk", "size", "shape"})


_LOOPS = (ast.For, ast.comprehension)


class _Loop(NamedTuple):
    node: ast.For | ast.comprehension
    call: ast.Call
    size: int


def tuple_loops(
    body: Body,
    parsed: Parsed,
    file: str,
    known: Mapping[str, Returned | None],
    imports: Mapping[str, str],
) -> Iterator[TupleLoop]:
    """Give the loops of a function over one tuple, and those over what an import may give."""
    loops = tuple(_loops(body.nodes))
    is_function = not isinstance(body.node, ast.Module)
    hidden = parameters(body) | stored(body.node.body) if loops and is_function else set()
    yield from _miscounted(body, parsed, file, {*known, *imports})
    for loop in loops:
        name = _called(loop.call, body)
        module = "" if name in known else imports.get(name.partition(".")[0], "")
        told = known.get(name)
        if not name or name in hidden or (told is None and not module):
            continue
        if told is not None and told.size != loop.size:
            continue
        line = loop.node.target.lineno
        yield TupleLoop(
            file=file,
            line=line,
            text=text_at(parsed.lines, line),
            code=f"for {ast.unparse(loop.node.target)} in {code_of(loop.node.iter, parsed.lines)}",
            function=name.rpartition(".")[2] if not module else _original(name, module),
            size=loop.size,
            module=module.partition(":")[0],
            defined=f"{file}:{told.line}" if told is not None else "",
            scalar=told.scalar if told is not None else "",
        )


def _original(name: str, module: str) -> str:
    inner, method = module.partition(":")[2], name.partition(".")[2]
    if inner and method:
        return f"{inner}.{method}"
    return inner or name.rpartition(".")[2]


def _loops(nodes: Sequence[ast.AST]) -> Iterator[_Loop]:
    given: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node.value)
    stores = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in nodes:
        if not isinstance(node, _LOOPS):
            continue
        over, target = node.iter, node.target
        if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
            counted = isinstance(target, ast.Tuple) and len(target.elts) == 2
            over, target = over.args[0], target.elts[1] if counted else target  # type: ignore[attr-defined]
        if isinstance(over, ast.Name) and stores.count(over.id) == len(given.get(over.id, ())) == 1:
            over = given[over.id][0] or over
        if not isinstance(over, ast.Call) or not isinstance(target, (ast.Tuple, ast.List)):
            continue
        if not any(isinstance(one, ast.Starred) for one in target.elts):
            yield _Loop(node, over, len(target.elts))


def _miscounted(body: Body, parsed: Parsed, file: str, others: set[str]) -> Iterator[TupleLoop]:
    """Give loops that take more or fewer parts than `zip` or `enumerate` gives."""
    for node in (one for one in body.nodes if isinstance(one, _LOOPS)):
        unfit = _unfit(node.target, node.iter)
        if unfit is None:
            continue
        function = last_name(unfit[1].func)
        if function in others | parameters(body) | stored(body.node.body):
            continue
        yield TupleLoop(
            file=file,
            line=node.target.lineno,
            text=text_at(parsed.lines, node.target.lineno),
            code=f"for {ast.unparse(node.target)} in {code_of(node.iter, parsed.lines)}",
            function=function,
            size=len(unfit[0].elts),
            defined=f"{file}:{node.target.lineno}",
            gives=_given_at_once(unfit[1]) or 0,
        )


def _unfit(target: ast.expr, over: ast.expr) -> tuple[ast.Tuple | ast.List, ast.Call] | None:
    """Give the call that gives parts of another number than a target takes."""
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name) or not over.args:
        return None
    if over.func.id == "tqdm":
        return _unfit(target, over.args[0])
    number = _given_at_once(over)
    if number is None or not isinstance(target, (ast.Tuple, ast.List)):
        return None
    if any(isinstance(one, ast.Starred) for one in target.elts):
        return None
    if len(target.elts) != number:
        return target, over
    first = [None, *over.args] if over.func.id == "enumerate" else over.args
    inner = (_unfit(one, two) for one, two in zip(target.elts, first, strict=False) if two)
    return next((one for one in inner if one is not None), None)


def _given_at_once(call: ast.Call) -> int | None:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    return {"enumerate": 2, "zip": len(call.args)}.get(last_name(call.func))


def _called(call: ast.Call, body: Body) -> str:
    """Name what is called as it is named in its file; empty where that is not known."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        holder = function.value.id
        if holder in {"self", "cls"}:
            return f"{body.owner}.{function.attr}" if body.owner else ""
        return f"{holder}.{function.attr}"
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        made = function.value.func  # `Feed().pull()`; that its name is a class's is seen later
        return f"{made.id}.{function.attr}" if isinstance(made, ast.Name) else ""
    return ""


def imports_in(every: Sequence[Body], file: str) -> dict[str, str]:
    """Give where names are imported from: `data`, `./core/data`, with `:name` of what is in it."""
    found: dict[str, str] = {}
    for node in (one for body in every for one in body.nodes):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.asname or "." not in one.name:
                    found[one.asname or one.name] = one.name.replace(".", "/")
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").replace(".", "/")
            if node.level:
                up = file.split("/")[: -node.level]
                base = "./" + "/".join([*up, *([base] if base else [])])
            for one in node.names:
                found[one.asname or one.name] = f"{base}:{one.name}"
    return found


# --- what functions give --------------------------------------------------------------------------


def returned_in(every: Sequence[Body], file: str) -> dict[str, Returned | None]:
    """Say what the functions of a file give, by their names; None where it is not one tuple."""
    found: dict[str, Returned | None] = {}
    again = stored(one for one in every[0].node.body if not isinstance(one, DEFINITIONS))
    for body in every:
        if isinstance(body.node, ast.Module):
            continue
        top = "." not in body.name
        told = _given(body, file)
        twice = body.name in found or (top and body.name in again)
        found[body.name] = None if twice else told
    return found


def _given(body: Body, file: str) -> Returned | None:
    function = body.node
    if not isinstance(function, ast.FunctionDef):
        return None
    decorators = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    if not all(last_name(one) in _PLAIN for one in decorators):
        return None
    nodes = body.nodes
    if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in nodes):
        return None
    values = [one.value for one in nodes if isinstance(one, ast.Return)]
    given = [one for one in values if one is not None and not is_none(one)]
    tuples = [one for one in given if isinstance(one, ast.Tuple)]
    sizes = {len(one.elts) for one in tuples}
    if not tuples or len(tuples) != len(given) or len(sizes) != 1:
        return None
    scalar = _scalar(tuples, nodes)
    named = _given_once(nodes)
    if not scalar and any(_may_hold_pairs(one.elts, named) for one in tuples):
        return None
    handed = _handed_over(body)
    if not scalar and any({last_name(one) for one in each.elts} <= handed for each in tuples):
        return None  # whoever calls it knows what they are
    return Returned(file, function.lineno, body.name, sizes.pop(), scalar)


def _handed_over(body: Body) -> set[str]:
    """Give the names of what a function is handed, and of the parts of that."""
    handed = set(parameters(body))
    for node in body.nodes:
        if isinstance(node, ast.Assign) and last_name(node.value) in handed:
            handed |= {last_name(one) for target in node.targets for one in ast.walk(target)}
    return handed - {""}


def _may_hold_pairs(parts: Iterable[ast.expr], given: Mapping[str, ast.expr]) -> bool:
    """Whether one of them holds several things as it is written, or one function gives all."""
    made = [given.get(one.id, one) if isinstance(one, ast.Name) else one for one in parts]
    functions = {_function_of(one) for one in made}
    return any(_holds_several(one) for one in made) or (len(functions) == 1 and functions != {""})


def _function_of(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ""


def _holds_several(node: ast.expr) -> bool:
    """Whether it is written out as what holds several, or is cut out of something, or split."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice)
    if isinstance(node, ast.Call):
        return last_name(node.func) in _HOLD_SEVERAL
    if isinstance(node, ast.Attribute):
        return node.attr in _HOLD_SEVERAL
    kinds = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
    return isinstance(node, (*kinds, ast.GeneratorExp, ast.Starred, ast.JoinedStr))


def _given_once(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """Give what is assigned to names that are bound there once."""
    stores = Counter(
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    )
    return {
        target.id: one.value
        for one in nodes
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name) and stores[target.id] == 1
    }


def _scalar(tuples: Iterable[ast.Tuple], nodes: Sequence[ast.AST]) -> str:
    """Give what is no more than a number in each of the tuples, in the same place."""
    numbers = _numbers(nodes)
    for parts in zip(*(one.elts for one in tuples), strict=True):
        if all(_is_number(part, numbers) for part in parts):
            return ast.unparse(parts[0])
    return ""


def _numbers(nodes: Sequence[ast.AST]) -> set[str]:
    """Give the names that are counted up, or that a count is given to."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
                found.add(node.target.id)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if _is_number(node.value, set()):
                found.add(node.targets[0].id)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            name = last_name(node.iter.func)
            if isinstance(first, ast.Name) and name in {"range", "enumerate"}:
                found.add(first.id)
    return found


def _is_number(node: ast.expr, numbers: set[str]) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    if isinstance(node, ast.Name):
        return node.id in numbers
    if isinstance(node, ast.BinOp):
        of_numbers = (ast.Constant, ast.Name)
        return all(
            isinstance(one, of_numbers)
            and (_is_number(one, numbers) or (isinstance(one, ast.Name) and one is node.left))
            for one in (node.left, node.right)
        ) and isinstance(node.right, ast.Constant)
    return isinstance(node, ast.Call) and last_name(node.func) in {"len", "int", "float"}


def file_called(loop: TupleLoop, names: Iterable[str]) -> str | None:
    """Name the file in which stands what a loop calls, where one alone is what its import names."""
    end = f"{loop.module.removeprefix('./')}.py"
    files = [one for one in names if one == end or one.endswith(f"/{end}")]
    return files[0] if len(files) == 1 else None
