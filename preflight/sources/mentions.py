"""Finds what a source says of names on which it depends whether a place is come to.

These are flags, the functions that hold such places, and the modules that they stand in.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.sources.environment_reads import standing
from preflight.sources.facts import ArgumentPlace, EnvironmentRead, Mention, Mentions, ReadAt
from preflight.sources.work.work_names import TRAINS
from preflight.syntax.given_values import OPTIONS, given_by
from preflight.syntax.outcomes import names_asked
from preflight.syntax.parsing import Parsed, expression_of
from preflight.syntax.running import FUNCTIONS, key_of, last_name, text_of
from preflight.syntax.surroundings import called, walk

_LONGEST_VALUE = 80

ANYTHING = "..."
"""Stands for a value that is not written out, or is too long to be one."""

# As words of a script's name.
_OF_TRAINING = re.compile(r"(^|_)(main|(pre_?)?train(ing)?|fine_?tun(e|ing))(_|$)")

# Of parameters that are handed over without their names.
_MOST_PLACES = 32

_HOLD_DEFAULTS = frozenset({"field", "Field", "ib", "Option", "Argument"})

# What an option has that says no default, by its action.
_BY_ACTION = {"store_true": "False", "store_false": "True", "count": "None", "store": "None"}


class Wanted(NamedTuple):
    """What is looked for in sources."""

    flags: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()
    """Last names of modules."""

    callees: frozenset[str] = frozenset()
    """Functions and classes of which it matters what they are given."""

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return frozenset().union(*self)

    @property
    def words(self) -> re.Pattern[str]:
        """Find code that may say something of them."""
        each = sorted({one for name in self.names for one in spellings(name)})
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, each))})\b")

    def but(self, other: Wanted) -> Wanted:
        """Leave out what was looked for."""
        return Wanted(*(each - those for each, those in zip(self, other, strict=True)))

    def with_all(self, other: Wanted) -> Wanted:
        """Add another's."""
        return Wanted(*(each | those for each, those in zip(self, other, strict=True)))

    def only(self, names: Iterable[str]) -> Wanted:
        """Leave out all others."""
        those = frozenset(names)
        return Wanted(*(each & those for each in self))


def spellings(name: str) -> set[str]:
    """Give the ways to write a name; options are written with dashes, too."""
    return {name, name.replace("_", "-")}


def wanted_for(reads: Iterable[EnvironmentRead]) -> Wanted:
    """Say what decides on reads: what their tests ask, what holds them, their files."""
    reads = tuple(reads)
    tests = {test for one in reads for test in one.stands.tests}
    stems = {stem_of(one.file).rpartition("/")[2] for one in reads if one.stands.as_main}
    return Wanted(
        flags=frozenset().union(*map(names_asked, tests)),
        functions=frozenset(filter(None, map(function_of, reads))),
        stems=frozenset(stems),
    )


def asked_by(found: Iterable[Mentions]) -> Wanted:
    """Say on what it depends what those found come to."""
    found = tuple(found)
    texts = {text for one in found for _, text in one.given}
    places = {place[:2] for one in found for place in one.takes}
    texts |= {place.text for one in found for place in one.handed if place[:2] in places}
    texts |= {test for one in found for call in one.calls for test in call.stands.tests}
    as_main = (one.file for one in found if any(call.stands.as_main for call in one.calls))
    return Wanted(
        flags=frozenset().union(*map(names_asked, texts)),
        stems=frozenset(stem_of(file).rpartition("/")[2] for file in as_main),
        callees=frozenset(place.function for one in found for place in one.takes),
    )


def function_of(read: EnvironmentRead) -> str | None:
    """Give the outermost function that holds a read, where calls can be told by its name."""
    name = (read.inside or "").partition(".")[0]
    return None if name == "lambda" or name.startswith("__") else name or None


def stem_of(file: str) -> str:
    """Name a file as an import does, with slashes: `util/misc`."""
    return file.removesuffix(".py").removesuffix("/__init__")


def mentions_in(parsed: Parsed, file: str, wanted: Wanted) -> Mentions:
    """Say what a file gives to flags, where it calls functions, and which modules it imports."""
    given: dict[tuple[str, str], None] = {}
    calls: dict[Mention, None] = {}
    takes: dict[ArgumentPlace, None] = {}
    handed: dict[ArgumentPlace, None] = {}
    owners: dict[int, str] = {}
    places = parsed.lines_of(wanted.words)
    for node, around in walk(parsed.tree, places):
        if around.rehearsed:
            continue
        if isinstance(node, ast.ClassDef):
            owners.update((id(one), node.name) for one in node.body)
        each = _takes(node, owners.get(id(node)))
        takes.update((place, None) for place in each if place.text in wanted.flags)
        if isinstance(node, ast.Call) and called(node) in wanted.callees:
            handed.update((place, None) for place in _handed(node))
        for name, value in _given(node):
            is_asked = not wanted.flags.isdisjoint((name, name.rpartition(".")[2]))
            if is_asked and (value is None or key_of(value) != name):
                given[name, _text_of(value)] = None
        if (
            isinstance(node, (ast.Name, ast.Attribute))
            and isinstance(node.ctx, ast.Load)
            and last_name(node) in wanted.functions
        ):
            calls[Mention(last_name(node), standing(around), _spelled(node))] = None
    return Mentions(
        file=file,
        given=tuple(given),
        calls=tuple(calls),
        takes=tuple(takes),
        handed=tuple(handed),
        imports=tuple(dict.fromkeys(_imports(parsed.tree, file, wanted.stems))),
    )


def _spelled(node: ast.Name | ast.Attribute) -> str:
    """Give a name with its owner: `init`, and `misc.init` of `util.misc.init`."""
    if isinstance(node, ast.Name):
        return node.id
    owner = last_name(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else ""
    return f"{owner}.{node.attr}"


def _text_of(value: ast.expr | None) -> str:
    if value is None:
        return ANYTHING
    if isinstance(value, ast.Constant):
        text = repr(value.value)
        return text if len(text) <= _LONGEST_VALUE else ANYTHING
    if (value.end_lineno or 0) - value.lineno > 2:
        return ANYTHING
    text = ast.unparse(value)
    return text if len(text) <= _LONGEST_VALUE else ANYTHING


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Call):
        yield from _of_call(node)
    else:
        each = given_by(node)
        yield from ((name, _default_of(one)) for name, one in each if one is not None)
    if isinstance(node, FUNCTIONS):
        yield node.name, _returned(node)
    targets: list[ast.expr | None] = []
    if isinstance(node, (ast.For, ast.AsyncFor, ast.AugAssign)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [one.optional_vars for one in node.items]
    elif isinstance(node, ast.Assign) and not isinstance(node.value, (ast.Tuple, ast.List)):
        targets = [one for one in node.targets if isinstance(one, (ast.Tuple, ast.List))]
    for target in targets:
        every = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        yield from ((key_of(one) or "", None) for one in every if one is not None)


def _of_call(call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    if called(call) in OPTIONS:
        yield from _option(call)
    elif called(call).startswith("DEFINE_") and len(call.args) > 1:  # of absl
        yield text_of(call.args[0]) or "", call.args[1]
    else:
        yield from given_by(call)


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """Give what a function returns that does nothing else, and is told nothing."""
    body = [one for one in function.body if not isinstance(one, ast.Expr)]
    told = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if told not in ([], ["self"], ["cls"]) or len(body) != 1:
        return None
    return body[0].value if isinstance(body[0], ast.Return) else None


def _default_of(value: ast.expr) -> ast.expr | None:
    """Give the default of a field of a dataclass, of pydantic, attrs, typer; else the value."""
    if not isinstance(value, ast.Call) or called(value) not in _HOLD_DEFAULTS:
        return value
    said = {one.arg: one.value for one in value.keywords}
    return said.get("default", value.args[0] if value.args else None)


def _takes(node: ast.AST, owner: str | None) -> Iterator[ArgumentPlace]:
    """Give the parameters of a function by their places in a call of it, or of its class."""
    if not isinstance(node, FUNCTIONS):
        return
    every = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    name = owner if node.name == "__init__" and owner else node.name
    for number, one in enumerate(every[every[:1] in (["self"], ["cls"]) :]):
        yield ArgumentPlace(name, number, one)


def _handed(call: ast.Call) -> Iterator[ArgumentPlace]:
    for number, one in enumerate(call.args):
        if isinstance(one, ast.Starred):
            # What follows may be in any of the next places.
            later = range(number, _MOST_PLACES)
            yield from (ArgumentPlace(called(call), place, ANYTHING) for place in later)
            return
        yield ArgumentPlace(called(call), number, _text_of(one))


def _option(call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """Give an option's default; of one that says none, what its parser then takes."""
    said = {one.arg: one.value for one in call.keywords}
    words = [text for text in map(text_of, [*call.args, said.get("dest")]) if text is not None]
    spelled = [part for text in words for part in text.split("/")]
    is_option = any(one.startswith("-") for one in spelled)
    action = text_of(said.get("action")) or "store"
    default = said.get("default")
    if default is None and call.args and text_of(call.args[0]) is None:
        default = call.args[0]  # typer's come first
    if default is None and is_option and "required" not in said and None not in said:
        is_flag = "is_flag" in said or any("/" in text for text in words)
        text = "False" if is_flag else _BY_ACTION.get(action, "None")
        default = expression_of(text)
    for one in spelled:
        yield one.lstrip("-").replace("-", "_"), default


def _imports(tree: ast.Module, file: str, names: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(tree) if names else ():
        if isinstance(node, ast.Import):
            found = [one.name.replace(".", "/") for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").replace(".", "/")
            if node.level:
                up = posixpath.join(posixpath.dirname(file), *[".."] * (node.level - 1), base)
                base = f"./{posixpath.normpath(up)}"
            found = [base, *(f"{base}/{one.name}" for one in node.names)]
        else:
            continue
        yield from (one for one in found if one.rpartition("/")[2] in names)


# --- what is started ------------------------------------------------------------------------------


def trains(file: str) -> bool:
    """Whether a script trains, by its name: `train.py`, `sdxl_train.py`, `main_pretrain.py`."""
    name = stem_of(file).rpartition("/")[2]
    return TRAINS.match(name) is not None or _OF_TRAINING.search(name) is not None


def is_of(imported: str, stem: str) -> bool:
    """Whether an import, as a path, is of a file."""
    if imported.startswith("./"):
        return imported[2:] == stem
    return imported == stem or stem.endswith(f"/{imported}")


def which_comes(
    read: EnvironmentRead, entries: Sequence[str], come_to: Mapping[str, Collection[ReadAt]]
) -> str | None:
    """Name the first of the scripts that comes to a read, where others do not.

    None: all do, as far as is known; empty: none of those that were followed.
    """
    followed = [one for one in entries if one in come_to]
    those = [one for one in followed if ReadAt(read.file, read.line) in come_to[one]]
    if len(those) == len(followed):
        return None
    return next(iter(those), "")
