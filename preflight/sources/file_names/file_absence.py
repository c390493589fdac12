"""Finds what a source does where a file is not there: goes on without it, or raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.pairing.beside_images import kinds_in
from preflight.pairing.rules import PLAIN
from preflight.syntax.running import FUNCTIONS, last_name, text_of

ASKS = frozenset({"exists", "isfile", "is_file", "lexists", "access"})

ASIDE = re.compile(r"ck?pt|checkpoint|cache|out|save|config|resume|model|weight|log|meta|latent")
"""What is asked for is no part of a sample."""

# How many files were found, where it is some, and where it is none, or not the one.
_SOME = ((ast.Eq, 1), (ast.Gt, 0), (ast.GtE, 1), (ast.NotEq, 0))
_NONE = ((ast.NotEq, 1), (ast.Lt, 1), (ast.LtE, 0), (ast.Eq, 0))

_OPENS = frozenset({"open", "imread", "read_image", "decode_image", "decode_jpeg", "imdecode"})
_MISSING = frozenset({"", "Exception", "BaseException", "OSError", "IOError", "FileNotFoundError"})
_LISTED = frozenset({"listdir", "scandir", "iterdir", "glob", "iglob", "rglob"})

_CAPTION = re.compile(rf"\.?(?:{'|'.join(sorted(PLAIN))}|json)")
_OF_ONE = re.compile(r"__getitem__$|_*(?:get|load|read|open|fetch|find)_?")
_WHOLE = re.compile(r"dir|root|folder")

Found = tuple[str, ast.expr, tuple[str, ...]]


class _Around(NamedTuple):
    """What stands around a node."""

    function: ast.AST | None = None
    """The innermost."""

    in_turn: bool = False
    """Whether it is come to for each of many: in a loop, or in `__getitem__`."""

    is_of_one: bool = False
    """Whether what it does is for one sample: there, or in a function that loads one."""

    is_sure: bool = True
    """Whether no test decides whether it is come to there, and nothing catches what it raises."""

    over: str = ""
    """What the innermost `for` goes through."""


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, _Around]]:
    todo: list[tuple[ast.AST, _Around]] = [(tree, _Around())]
    while todo:
        node, around = todo.pop()
        yield node, around
        if isinstance(node, FUNCTIONS):
            in_turn = around.in_turn or node.name == "__getitem__"
            of_one = in_turn or _OF_ONE.match(node.name) is not None
            around = _Around(node, in_turn, of_one, around.is_sure)
        elif isinstance(node, (ast.For, ast.While)):
            over = ast.unparse(node.iter) if isinstance(node, ast.For) else ""
            around = around._replace(in_turn=True, is_of_one=True, over=over)
        elif isinstance(node, (ast.If, ast.Try)):
            around = around._replace(is_sure=False)
        todo += ((one, around) for one in ast.iter_child_nodes(node))


# --- goes on --------------------------------------------------------------------------------------


def skipping(tree: ast.Module) -> Iterator[ast.expr]:
    """Give where a loop, or what gives one sample, goes on without a file that is not there."""
    captions = _captions(tree)
    for node, around in _walk(tree):
        found: ast.expr | None = None
        if isinstance(node, ast.comprehension):
            found = next(filter(None, (_asked(one, captions) for one in node.ifs)), None)
        elif not around.in_turn:
            continue
        elif isinstance(node, (ast.If, ast.IfExp)):
            found = None if _raises(node) else _asked(node.test, captions)
        elif isinstance(node, ast.Try):
            found = _tried(node)
        if found is not None:
            yield found


def _captions(tree: ast.AST) -> frozenset[str]:
    """Name what is given the path of a caption."""
    given = (one for one in ast.walk(tree) if isinstance(one, ast.Assign))
    return frozenset(
        last_name(target)
        for one in given
        if any(_CAPTION.fullmatch(text_of(part) or "") for part in ast.walk(one.value))
        for target in one.targets
    )


def _asked(test: ast.expr, captions: frozenset[str]) -> ast.expr | None:
    """Give the test, where it asks whether a file is there that is no caption."""
    for one in ast.walk(test):
        if isinstance(one, ast.Call) and last_name(one.func) in ASKS:
            names = {last_name(each) for each in ast.walk(one) if isinstance(each, ast.expr)}
            texts = (text_of(each) for each in ast.walk(one) if isinstance(each, ast.expr))
            of_caption = any(_CAPTION.fullmatch(text or "") for text in texts) or names & captions
            if not of_caption and not ASIDE.search(ast.unparse(one).lower()):
                return test
    return None


def _tried(node: ast.Try) -> ast.expr | None:
    """Give what opens a file, where nothing is raised when that is not there."""
    calls = [
        one
        for part in node.body
        for one in ast.walk(part)
        if isinstance(one, ast.Call) and last_name(one.func) in _OPENS
    ]
    for one in node.handlers:
        kinds = one.type.elts if isinstance(one.type, ast.Tuple) else [one.type]
        names = {"" if kind is None else last_name(kind) for kind in kinds}
        if calls and not _MISSING.isdisjoint(names):
            return None if has_raise(one.body) else calls[0]
    return None


# --- raises ---------------------------------------------------------------------------------------


def needing(tree: ast.Module) -> Iterator[Found]:
    """Give where it is an error that something beside an image is not there, and say what.

    Nothing is needed for each image of which all files are listed: images may be found by those.
    """
    listed: frozenset[str] | None = None
    for node, around in _walk(tree):
        test = _must_be(node) if around.is_sure else None
        sides = _counted_sides(node, test) if test is not None else None
        if test is None:
            continue
        if sides is not None and around.function is not None:
            names = kinds_in(sides[0]) ^ kinds_in(sides[1])
            if names and (names := names & _listed_in(around.function)):
                yield "counts", test, tuple(sorted(names))
        elif around.is_of_one and _is_of_presence(node, test):
            listed = _listed_in(tree) if listed is None else listed
            if names := kinds_in(ast.unparse(test)) - listed:
                yield "needs", test, tuple(sorted(names))
        elif names := _lacked(node, test, around):
            yield "needs", test, tuple(sorted(names))


def _listed_in(holder: ast.AST) -> frozenset[str]:
    return frozenset[str]().union(*map(_listed_whole, ast.walk(holder)))


def _must_be(node: ast.AST) -> ast.expr | None:
    """Give a test at which a run stops."""
    if isinstance(node, ast.Assert):
        return node.test
    return node.test if isinstance(node, ast.If) and has_raise(node.body) else None


def _counted_sides(node: ast.AST, test: ast.expr) -> tuple[str, str] | None:
    """Give what has to be as many on both sides: `assert len(images) == len(masks)`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    sides = (test.left, *test.comparators)
    wanted = ast.Eq if isinstance(node, ast.Assert) else ast.NotEq
    if not isinstance(test.ops[0], wanted) or not all(map(_is_len, sides)):
        return None
    return ast.unparse(sides[0]), ast.unparse(sides[1])


def _is_of_presence(node: ast.AST, test: ast.expr) -> bool:
    """Whether it stops where a file is not there, or none was found: `len(mask_files) == 1`."""
    asserts = isinstance(node, ast.Assert)
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    inner = test.operand if isinstance(test, ast.UnaryOp) else test
    if isinstance(inner, ast.Call):
        return last_name(inner.func) in ASKS and not _is_folder(inner) and negated is not asserts
    if not isinstance(inner, ast.Compare) or negated or not _is_len(inner.left):
        return False
    number, how = inner.comparators[0], type(inner.ops[0])
    said = (how, number.value) if isinstance(number, ast.Constant) else None
    return said in (_SOME if asserts else _NONE)


def _is_folder(call: ast.Call) -> bool:
    """Whether it is asked for a folder as a whole, by its name."""
    own = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
    asked = own or next(iter(call.args), None)
    return asked is not None and _WHOLE.search(last_name(asked).lower()) is not None


def _lacked(node: ast.AST, test: ast.expr, around: _Around) -> frozenset[str]:
    """Say of what kind one has to be in a list for each of other things: `stem not in masks`."""
    wanted = ast.In if isinstance(node, ast.Assert) else ast.NotIn
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], wanted) or not around.over:
        return frozenset()
    of_others = kinds_in(f"{ast.unparse(test.left)} {around.over}")
    return kinds_in(ast.unparse(test.comparators[0])) - of_others


def _is_len(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "len"


def _listed_whole(node: ast.AST) -> frozenset[str]:
    """Say of what kind a folder is of which all names are listed, and not those of one image."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _LISTED:
        return frozenset()
    texts = [text_of(one) for part in node.args for one in ast.walk(part)]
    patterns = [one for one in texts if one and "*" in one]
    of_one = "glob" in last_name(node.func) and not any(
        one.lstrip("/\\").startswith("*") for one in patterns
    )
    return frozenset() if of_one else kinds_in(ast.unparse(node))


def _raises(node: ast.If | ast.IfExp) -> bool:
    return isinstance(node, ast.If) and (has_raise(node.body) or has_raise(node.orelse))


def has_raise(body: Sequence[ast.stmt]) -> bool:
    """Whether statements raise, by one of themselves."""
    return any(isinstance(one, ast.Raise) for one in body)
