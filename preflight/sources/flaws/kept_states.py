"""States of models that a statement keeps with the model's own tensors, and where they are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.syntax.given_values import assigned
from preflight.syntax.running import is_none, last_name

_HOLDS_TENSORS = re.compile(
    r"(?i)(?:^|[._(])(?:\w*model\w*|\w*net\w*|module|\w*encoder|\w*decoder|backbone|classifier|"
    r"student|teacher|generator|discriminator|actor\w*|critic\w*|policy\w*|vae|\w*transformer|"
    r"optim\w*|opt)\b"
)
_HOLDS_NUMBERS = re.compile(r"(?i)sched|scaler|loader|sampler|ema\b|average|shadow")
_SHALLOW = frozenset({"copy", "dict", "OrderedDict"})
_CHANGES = frozenset({"pop", "popitem", "setdefault", "update"})


class Kept(NamedTuple):
    """A statement that keeps states as they are given."""

    node: ast.Assign | ast.AnnAssign
    name: str
    states: dict[object, str]
    """Whose state it is, as code, by its key in a dict; by None where it is no dict."""


class Used(NamedTuple):
    """A call that takes what was kept: `model.load_state_dict(best["model"])`, `torch.save`."""

    node: ast.Call
    name: str
    key: object
    into: str | None
    """What it is put back into; None: it is saved."""


def kept_by(node: ast.AST) -> Kept | None:
    """Give the states that an assignment keeps: of models and optimizers, with their tensors."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None
    if isinstance(node, ast.Assign) and len(node.targets) != 1:
        return None
    for target, value in assigned(node):
        holder, entry = _picked(target)
        whose = {key: _whose(one) for key, one in _entries(value)}
        known = {key: one for key, one in whose.items() if one is not None}
        if entry is not None:
            known = {entry: known[None]} if None in known else {}
        if known and isinstance(holder, (ast.Name, ast.Attribute)):
            return Kept(node, ast.unparse(holder), known)
    return None


def _entries(value: ast.expr | None) -> Iterator[tuple[object, ast.expr | None]]:
    if not isinstance(value, ast.Dict):
        yield None, value
        return
    for key, one in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant):
            yield key.value, one


def _whose(value: ast.expr | None) -> str | None:
    """Say whose state this is; a dict that is made of another one holds the same tensors."""
    if isinstance(value, ast.IfExp):
        return _whose(value.body) or _whose(value.orelse)
    if isinstance(value, ast.DictComp):
        return _whose_items(value)
    if not isinstance(value, ast.Call):
        return None
    if last_name(value.func) in _SHALLOW:
        inner = value.args[0] if value.args else getattr(value.func, "value", None)
        return _whose(inner) if len(value.args) <= 1 else None
    is_method = isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict"
    if not is_method or value.args or value.keywords:
        return None
    whose = ast.unparse(value.func.value)  # type: ignore[attr-defined]
    return whose if holds_tensors(whose) else None


def _whose_items(made: ast.DictComp) -> str | None:
    """Say whose tensors go into a dict as they are: `{k: v for k, v in net.state_dict().items()}`.

    What `detach` gives is the same tensor.
    """
    over, value = made.generators[0].iter, made.value
    if isinstance(value, ast.Call) and last_name(value.func) == "detach":
        value = value.func.value  # type: ignore[attr-defined]
    is_plain = isinstance(value, ast.Name) and len(made.generators) == 1
    if not is_plain or not isinstance(over, ast.Call) or last_name(over.func) != "items":
        return None
    return _whose(getattr(over.func, "value", None))


def holds_tensors(code: str) -> bool:
    """Whether something is called as models and optimizers are, and not as a schedule is."""
    return bool(_HOLDS_TENSORS.search(code)) and not _HOLDS_NUMBERS.search(code)


def uses_in(nodes: Sequence[ast.AST]) -> Iterator[Used]:
    """Give the calls that put a state back, or save it."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not node.args or node.func.attr not in ("load_state_dict", "save"):
            continue
        given, key = _picked(node.args[0])
        owner = ast.unparse(node.func.value)
        is_saved = node.func.attr == "save"
        if isinstance(given, (ast.Name, ast.Attribute)) and (owner == "torch" or not is_saved):
            yield Used(node, ast.unparse(given), key, None if is_saved else owner)


def _picked(given: ast.expr) -> tuple[ast.expr, object]:
    """Take apart `best["model"]`; of anything else, None is picked."""
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
        return given.value, given.slice.value
    return given, None


def is_untouched(kept: Kept, nodes: Sequence[ast.AST]) -> bool:
    """Whether nothing else is put into the name, and nothing into what it holds."""
    others = (node for node in nodes if node is not kept.node)
    changed = [one for node in others for one in _changed(node)]
    keys = {None, *kept.states}
    own = (one for one in changed if None in kept.states or _picked(one)[1] in keys)
    return not any(_is_or_in(one, kept.name) for one in own)


def _changed(node: ast.AST) -> Sequence[ast.expr]:
    """Give what a statement or call changes, unless it keeps a state in the same way, or none."""
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        if kept_by(node) is not None:
            return []
        return [target for target, value in assigned(node) if not is_none(value)]
    if isinstance(node, ast.Delete):
        return node.targets
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [node.func.value] if node.func.attr in _CHANGES else []
    return []


def _is_or_in(node: ast.expr, name: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_is_or_in(one, name) for one in node.elts)
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == name
