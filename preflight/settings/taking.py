"""How a loop takes a batch apart: `images, labels`, `(image, mask), label`, `batch["image"]`."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

_LOOP = re.compile(r"\s*for\s+(.+?)\s+in\s.*", re.DOTALL)


class Taking(NamedTuple):
    """What a loop takes a batch, or a part of one, for."""

    text: str
    """As it is written."""

    parts: tuple[Taking, ...] | None = None
    """What is taken apart by its order; None: it is taken as it is."""

    starred: int | None = None
    """The place of the part that takes the rest: `first, *rest`."""

    keys: tuple[str | int, ...] = ()
    """What is asked of it by key or place: `batch["image"]`."""

    @property
    def takes_apart(self) -> bool:
        """Whether there is anything that can be wrong with a batch."""
        return self.parts is not None or bool(self.keys)


def parse_taking(text: str) -> Taking | None:
    """Read what a loop names: the target of a `for`, or keys; None where it is neither."""
    loop = _LOOP.fullmatch(text)
    try:
        body = ast.parse(f"({(loop[1] if loop else text).strip()}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return taking_of(body)


def taking_of(node: ast.expr) -> Taking | None:
    """Say what the target of a loop takes; None where it is no target."""
    text = ast.unparse(node)
    if isinstance(node, ast.Set):
        return _by_keys(text, node.elts)
    if isinstance(node, (ast.Tuple, ast.List)):
        if node.elts and all(isinstance(one, ast.Subscript) for one in node.elts):
            asked = [one.slice for one in node.elts if isinstance(one, ast.Subscript)]
            return _by_keys(text, asked)
        return _in_order(text, node.elts)
    if isinstance(node, ast.Subscript):
        return _by_keys(text, [node.slice])
    return Taking(text) if isinstance(node, (ast.Name, ast.Attribute)) else None


def _by_keys(text: str, nodes: list[ast.expr]) -> Taking | None:
    keys = tuple(one.value for one in nodes if isinstance(one, ast.Constant))
    known = tuple(one for one in keys if isinstance(one, (str, int)))
    return Taking(text, keys=known) if known and len(known) == len(nodes) else None


def _in_order(text: str, nodes: list[ast.expr]) -> Taking | None:
    stars = [place for place, one in enumerate(nodes) if isinstance(one, ast.Starred)]
    inner = [taking_of(one.value if isinstance(one, ast.Starred) else one) for one in nodes]
    parts = tuple(one for one in inner if one is not None)
    if not nodes or len(stars) > 1 or len(parts) != len(inner):
        return None
    return Taking(text, parts, stars[0] if stars else None)
