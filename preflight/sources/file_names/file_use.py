"""Finds what a source does with the names of files: which it leaves out, lists, or has in a table.

By one file alone: what another one hands to it is not known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from preflight.formats.suffixes.images import EXTENSIONS
from preflight.objects.facts import Definition
from preflight.pairing.beside_images import kinds_in
from preflight.pairing.rules import PLAIN
from preflight.pipelines.facts import UsesFiles
from preflight.sources.file_names.file_absence import ASIDE, ASKS, has_raise, needing, skipping
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import FUNCTIONS, last_name, text_of

# Whoever asks, or lists, or names a table, writes one of these.
_ACTS = (b"exists(", b"isfile(", b"is_file(", b"listdir", b"scandir", b"iterdir", b"glob(")
_WALK = re.compile(rb"\bwalk\(")
_NAMES_TABLE = re.compile(rb"\.(?:csv|tsv|jsonl?|txt|lst)[\"']")
_IMAGES = (b"Image.open", b"imread", b"read_image", b"decode_image", b"decode_jpeg")
_SUFFIX = re.compile(rb"\.(?i:jpe?g|png|webp|gif|bmp|tiff?)[\"']")

# From a slash to the end of its text, which is found sooner than a whole text.
_PATH = re.compile(rb"/[^\"'\s]{0,200}[\"']")
_FOLDER = re.compile(rb"\S*(?:mask|label|anno|seg|depth|target|gt)\w*/", re.IGNORECASE)

_LISTS = frozenset({"listdir", "scandir", "iterdir", "walk", "glob", "iglob", "rglob"})
_TEXT = re.compile(rf"\.?(?:{'|'.join(sorted(PLAIN))}|json)")
_TABLE = re.compile(r"(?:.*[/\\])?([^/\\*{}]+\.(?:csv|tsv|jsonl?|txt|lst))", re.DOTALL)

# All names, and what chooses among them.
_ALL = frozenset({"listdir", "scandir", "iterdir"})
_CHOOSES = re.compile(
    r"endswith|suffix(?:es)?|(?:\w*_)?ext(?:ension)?s?|fnmatch|filter|search|(?:full)?match|is_(?:image|img|valid)\w*",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"\*\.\w")

_TABLES = 50
_LONGEST = 200


def may_use_files(content: bytes) -> bool:
    """Say whether a source may do any of this with images, without parsing it."""
    return (_acts(content) and _reads_images(content)) or _names_folders(content)


def _reads_images(content: bytes) -> bool:
    return any(word in content for word in _IMAGES) or _SUFFIX.search(content) is not None


def _names_folders(content: bytes) -> bool:
    """Whether a text names a folder of what belongs to images: `"masks/a.png"`."""
    for path in _PATH.finditer(content):
        first = max(0, path.start() - _LONGEST)
        begin = max(content.rfind(sign, first, path.start()) for sign in (b'"', b"'"))
        if begin >= 0 and _FOLDER.match(content, begin, path.end()):
            return True
    return False


def _acts(content: bytes) -> bool:
    walks = b"walk(" in content and _WALK.search(content) is not None
    acts = walks or any(word in content for word in _ACTS)
    return acts or _NAMES_TABLE.search(content) is not None


def files_used_in(parsed: Parsed, file: str) -> tuple[UsesFiles, ...]:
    """Give each place that asks for a caption, lists all of a folder, or names a table."""
    texts = [*_texts_in(parsed.tree)]
    nodes = [one for one in ast.walk(parsed.tree) if isinstance(one, ast.expr)]
    found: list[tuple[str, ast.expr, tuple[str, ...]]]
    found = [("asks", node, ()) for node in _asking(parsed.tree)]
    found += [("skips", node, ()) for node in skipping(parsed.tree)]
    found += needing(parsed.tree)
    spares = _leaves_hidden(nodes)
    for node in (one for one in nodes if isinstance(one, ast.Call)):
        hidden = _lists(node)
        if hidden is not None:
            found.append(("lists" if hidden and not spares else "spares", node, ()))
    found += [("takes", node, ()) for node in _taking_all(parsed.tree)]
    tables = [(node, match[1]) for node, text in texts if (match := _TABLE.fullmatch(text))]
    found += [("table", node, (name,)) for node, name in tables[:_TABLES]]
    folders = [(node, _folders(text)) for node, text in texts]
    found += [("folder", node, names) for node, names in folders if names][:_TABLES]
    return tuple(
        UsesFiles(how, Definition(file=file, line=node.lineno), names)
        for how, node, names in sorted(found, key=lambda one: one[1].lineno)
    )


def _texts_in(tree: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _folders(text: str) -> tuple[str, ...]:
    """Give the parts of a path that are named as what lies beside images."""
    parts = re.split(r"[/\\]", text) if len(text) < _LONGEST and " " not in text else []
    return tuple(one for one in parts if one.isascii() and kinds_in(one))


# --- captions -------------------------------------------------------------------------------------


def _asking(tree: ast.Module) -> Iterator[ast.expr]:
    """Give the tests for a caption that may not be there, at which nothing is raised."""
    holders: list[ast.AST] = [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]
    for holder in [*holders, *(one for one in tree.body if not isinstance(one, FUNCTIONS))]:
        if any(_TEXT.fullmatch(text) for _, text in _texts_in(holder)):
            yield from (test for test in _tests(holder) if _asks(test))


def _tests(holder: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(holder):
        if isinstance(node, ast.If):
            raising = [*map(has_raise, (node.body, node.orelse))]
            yield from [] if any(raising) else [node.test]
        elif isinstance(node, ast.IfExp):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _asks(test: ast.expr) -> bool:
    calls = (one for one in ast.walk(test) if isinstance(one, ast.Call))
    return any(
        last_name(one.func) in ASKS and ASIDE.search(ast.unparse(one).lower()) is None
        for one in calls
    )


# --- all of a folder ------------------------------------------------------------------------------


def _taking_all(tree: ast.Module) -> Iterator[ast.expr]:
    """Give where a data set keeps the names of a folder, whatever their suffix."""
    for one in (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)):
        functions = {each.name for each in one.body if isinstance(each, FUNCTIONS)}
        if "__getitem__" in functions and not any(map(_chooses, ast.walk(one))):
            yield from _kept_in(one)


def _kept_in(holder: ast.ClassDef) -> Iterator[ast.expr]:
    """Give each listing of a folder of which an attribute is made, and not its length."""
    for node in ast.walk(holder):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) for t in node.targets):
            calls = [one for one in ast.walk(node.value) if isinstance(one, ast.Call)]
            if not any(last_name(one.func) == "len" for one in calls):
                yield from (one for one in calls if last_name(one.func) in _ALL)


def _chooses(node: ast.AST) -> bool:
    """Whether a piece of a class may choose files by their names, or goes on behind any."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _CHOOSES.fullmatch(last_name(node)) is not None
    if isinstance(node, ast.Compare):
        return any(text_of(one) is not None for one in ast.walk(node))
    return isinstance(node, ast.Try) or _PATTERN.search(text_of(node) or "") is not None


# --- folders --------------------------------------------------------------------------------------


def _lists(call: ast.Call) -> bool | None:
    """Whether names that begin with a dot are given, too, as glob.glob() does not; None: none."""
    name = last_name(call.func)
    of = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name not in _LISTS or (name == "walk" and of != "os"):
        return None
    if name not in ("glob", "iglob", "rglob", "iterdir"):
        return True
    pattern = text_of(call.args[0]) if call.args else None
    last = re.split(r"[/\\]", pattern)[-1] if pattern else "*"
    suffix = last.rpartition(".")[2].lower()
    if not last.startswith("*") or not (suffix in EXTENSIONS or "*" in suffix):
        return None  # of other files
    return isinstance(call.func, ast.Attribute) and of != "glob"


def _leaves_hidden(nodes: Sequence[ast.expr]) -> bool:
    """Whether somebody asks for a dot at the beginning of a name."""
    return any(
        text_of(one) in (".", "._")
        for node in nodes
        if isinstance(node, ast.Compare)
        or (isinstance(node, ast.Call) and last_name(node.func) == "startswith")
        for one in ast.walk(node)
        if isinstance(one, ast.Constant)
    )
