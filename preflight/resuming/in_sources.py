"""Finds how a script resumes that declares no option for it, in what its sources read."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.objects.source_trees import parsed
from preflight.resuming.moments import ResumeWay
from preflight.resuming.ways import QUOTED, names_other, names_resume, says_no
from preflight.syntax.running import last_name, text_of

# What is loaded by a name that says nothing of it: not `json.load`, `load_dataset`, `load_config`.
_LOADS = re.compile(r"(?:^|_)(?:load|restore|resume)(?:_|$)", re.IGNORECASE)
_OTHER_LOADS = re.compile(r"json|yaml|toml|pickle|np\.|data|conf|image|vocab|token", re.IGNORECASE)
_SAVES = re.compile(r"save|dump|write", re.IGNORECASE)

# The one word that begins all of `resume`, `resumed`, `resuming`.
_WORD = re.compile(r"resum", re.IGNORECASE)

# How a script takes `key=value` apart that it is given.
_TAKES_APART = re.compile(r"from_cli|from_dotlist|(?:split|partition)\(\s*[\"']=[\"']")
_READS = re.compile(r"\bargv\b|from_cli")

# Who takes a key that its configuration does not have as `+key=value` alone.
_ADDS = re.compile(r"\bhydra\.main\b")
_DASHED = re.compile(r"(?:startswith|removeprefix|strip)\(\s*[\"']--?[\w\"']|\w\[2:\]")


class _Read(NamedTuple):
    """A value that a source asks for."""

    node: ast.expr
    name: str
    """Of a variable or a key; of an argument, what it is called."""

    place: int = 0
    """Of an argument: its place behind the script's own name."""


class _Source:
    """One file of the script's own."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._around = {
            id(inner): outer for outer in self._nodes for inner in ast.iter_child_nodes(outer)
        }

    def of(self, kind: type[ast.AST]) -> Iterator[ast.AST]:
        """Give all nodes of a kind."""
        return (one for one in self._nodes if isinstance(one, kind))

    def variables(self) -> Iterator[_Read]:
        """Give what is asked of the environment."""
        for node in self._nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key, *_]):
                    is_one = last_name(holder) == "environ"
                case ast.Call(func=function, args=[key, *_]):
                    is_one = last_name(function) == "getenv"
                case ast.Subscript(value=holder, slice=key, ctx=ast.Load()):
                    is_one = last_name(holder) == "environ"
                case ast.Compare(left=key, ops=[ast.In()], comparators=[holder]):
                    is_one = last_name(holder) == "environ"
                case _:
                    continue
            if is_one and (name := text_of(key)) is not None:
                yield _Read(node, name)

    def arguments(self) -> Iterator[_Read]:
        """Give what is read of the command line by its place."""
        for node in self._nodes:
            match node:
                case ast.Subscript(value=holder, slice=ast.Constant(value=int(place))):
                    if place > 0 and last_name(holder) == "argv":
                        yield _Read(node, self._called(node), place)
                case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=all_):
                    for place, name in _taken_at_once(names, all_):
                        yield _Read(name, name.id, place)
                case ast.Call(func=ast.Name(id=called), args=[ast.Starred(value=all_)]):
                    for place, name in _taken_at_once(self._parameters(called), all_):
                        yield _Read(name, name.id, place)

    def _parameters(self, called: str) -> list[ast.expr]:
        """Give the names by which a function of this file takes what stands at each place."""
        functions = (one for one in self._nodes if isinstance(one, ast.FunctionDef))
        args = next((one.args for one in functions if one.name == called), None)
        every = [] if args is None else [*args.posonlyargs, *args.args]
        return [ast.Name(id=one.arg) for one in every]

    def asked_by_key(self) -> Iterator[_Read]:
        """Give what is asked of a configuration by a key."""
        for node in self._nodes:
            match node:
                case ast.Call(
                    func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=key), *_]
                ):
                    pass
                case ast.Subscript(value=holder, slice=ast.Constant(value=key)):
                    pass
                case ast.Attribute(value=holder, attr=key) if not self._is_called(node):
                    pass
                case ast.Compare(left=ast.Constant(value=key), comparators=[holder]):
                    pass
                case _:
                    continue
            if isinstance(key, str) and last_name(holder) != "environ":
                yield _Read(node, ".".join((*_within(holder), key)))

    def _is_called(self, node: ast.AST) -> bool:
        return getattr(self._around.get(id(node)), "func", None) is node

    def _called(self, node: ast.AST) -> str:
        """Give the name to which a value is assigned, by which it is passed on, or none."""
        one: ast.AST | None = node
        while (one := self._around.get(id(one))) is not None:
            match one:
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.NamedExpr(target=ast.Name(id=name))
                ):
                    return name
                case ast.keyword(arg=str(name)):
                    return name
                case ast.stmt():
                    return ""
        return ""

    def uses(self, read: _Read) -> Iterator[ast.AST]:
        """Give where a value is used: what it was read as, and the name that it has."""
        yield read.node
        name = read.node.id if isinstance(read.node, ast.Name) else self._called(read.node)
        yield from (one for one in self.of(ast.Name) if name and getattr(one, "id", "") == name)

    def is_loaded(self, read: _Read) -> bool:
        """Whether something is loaded by it."""
        return any(self._loads(one) for one in self.uses(read))

    def is_saved(self, read: _Read) -> bool:
        """Whether something is saved by it."""
        handed = (one for node in self.uses(read) for one in self._handed_to(node))
        return any(
            isinstance(one, ast.Call) and _SAVES.search(last_name(one.func)) for one in handed
        )

    def _loads(self, node: ast.AST) -> bool:
        for one in self._handed_to(node):
            if isinstance(one, ast.keyword):
                if names_resume(one.arg or ""):
                    return True
                continue
            called = ast.unparse(one.func)
            if _LOADS.search(called.rpartition(".")[2]) and not _OTHER_LOADS.search(called):
                return True
        return False

    def _handed_to(self, node: ast.AST) -> Iterator[ast.keyword | ast.Call]:
        """Give the calls to which something is handed, and by which words, the innermost first."""
        one: ast.AST | None = node
        while one is not None and not isinstance(one, ast.stmt):
            one = self._around.get(id(one))
            if isinstance(one, ast.keyword) or (isinstance(one, ast.Call) and node is not one.func):
                yield one

    def compared(self, read: _Read) -> str | None:
        """Give the text that it is to be, where it is a switch: `1`, `true`, `resume`."""
        for node in self.uses(read):
            one: ast.AST | None = node
            while one is not None and not isinstance(one, ast.stmt):
                match one:
                    case ast.Compare(ops=[ast.Eq() | ast.In()], comparators=[with_]):
                        texts = filter(None, map(text_of, ast.walk(with_)))
                        if word := next(texts, None):
                            return word
                    case ast.Call(func=ast.Name(id="int")):
                        return "1"
                one = self._around.get(id(one))
        return None


def _taken_at_once(names: Sequence[ast.expr], value: ast.expr) -> Iterator[tuple[int, ast.Name]]:
    """Give the names that all arguments are given at once, each with its place."""
    first = 0
    match value:
        case ast.Subscript(
            value=whole, slice=ast.Slice(lower=ast.Constant(value=int(first)), upper=until)
        ):
            value = whole
            match until:
                case None:
                    pass
                case ast.Constant(value=int(behind)):
                    names = names[: max(0, behind - first)]
                case _:
                    return
        case ast.Subscript(slice=ast.Slice()):
            return
    if last_name(value) != "argv":
        return
    for place, name in enumerate(names, first):
        if not isinstance(name, ast.Name):  # behind a `*`, no place is known
            return
        if place > 0:
            yield place, name


def _within(holder: ast.expr) -> tuple[str, ...]:
    """Give the keys under which a key is looked for: of `cfg.trainer`, `trainer`."""
    match holder:
        case ast.Attribute(value=outer, attr=name) if last_name(outer) != "self":
            return (*_within(outer), name)
        case ast.Subscript(value=outer, slice=ast.Constant(value=str(name))):
            return (*_within(outer), name)
    return ()


def ways_in(texts: Iterable[str], given: Sequence[str]) -> list[ResumeWay]:
    """Give the ways that the script's own files read, the likeliest first; each is a guess."""
    texts = [*texts]
    sources = [_Source(tree) for tree in map(parsed, texts) if tree is not None]
    found = [way for one in sources for way in _by_place(one, given)]
    # What a script loads from where it saves, it loads by itself once more.
    saved = {_last(read) for one in sources for read in one.asked_by_key() if one.is_saved(read)}
    options = (name for one in texts for name in QUOTED.findall(one))
    declared = {_plain(name): name for name in options if _plain(name) not in saved}
    found += [way for one in sources for way in _by_option(one, given, declared)]
    apart = [one for one in texts if _TAKES_APART.search(one) and _READS.search(one)]
    if apart:
        dashes = "--" if any(map(_DASHED.search, apart)) else ""
        found += [way for one in sources for way in _by_key(one, given, dashes)]
    if any(map(_ADDS.search, texts)):
        found += [way for one in sources for way in _by_key(one, given, "+")]
    found += [way for one in sources for way in _by_variable(one)]
    return list(dict.fromkeys(found))


def _by_place(source: _Source, given: Sequence[str]) -> Iterator[ResumeWay]:
    for read in source.arguments():
        word = source.compared(read)
        if word is not None and not (_WORD.search(word) and not word.startswith("-")):
            continue
        if word is None and not (names_resume(read.name) or source.is_loaded(read)):
            continue
        is_given = read.place <= len(given) and names_resume(read.name)
        declines = is_given and says_no(given[read.place - 1])
        if is_given and not declines:
            name = f"argument {read.place}"
            yield ResumeWay(option=name, takes_path=True, is_given=True, is_guess=True)
        elif declines or read.place == len(given) + 1:
            yield ResumeWay(
                option=word or "",
                takes_path=word is None,
                is_guess=True,
                says_so=word is not None or names_resume(read.name),
                place=read.place if declines else 0,
            )


def _by_option(
    source: _Source, given: Sequence[str], declared: Mapping[str, str]
) -> Iterator[ResumeWay]:
    """Give options by which something is loaded, whatever they are called."""
    for read in source.asked_by_key():
        name = declared.get(_last(read), "")
        is_given = any(one.partition("=")[0] == name for one in given)
        if name and not is_given and not names_other(name) and source.is_loaded(read):
            yield ResumeWay(option=name, takes_path=True, is_guess=True, says_so=names_resume(name))


def _last(read: _Read) -> str:
    return read.name.rpartition(".")[2]


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _by_key(source: _Source, given: Sequence[str], dashes: str) -> Iterator[ResumeWay]:
    names = (_Read(one, one.id) for one in source.of(ast.Name) if isinstance(one, ast.Name))
    for read in (*source.asked_by_key(), *names):
        word = source.compared(read)
        is_word = word is not None and bool(_WORD.search(word))
        last = read.name.rpartition(".")[2]
        if not is_word and (isinstance(read.node, ast.Name) or not names_resume(last)):
            continue
        option = f"{dashes}{read.name}="
        yield ResumeWay(
            option=option + (word or ""),
            takes_path=word is None,
            is_given=any(
                one.startswith(option) and not says_no(one[len(option) :]) for one in given
            ),
            is_guess=True,
        )


def _by_variable(source: _Source) -> Iterator[ResumeWay]:
    for read in source.variables():
        if names_resume(read.name):
            word = source.compared(read)
            yield ResumeWay(
                option=f"{read.name}={word or ''}",
                takes_path=word is None,
                is_given=not says_no(os.environ.get(read.name, "")),
                is_guess=True,
                is_variable=True,
            )
