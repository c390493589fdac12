"""Says where in a `try` an exception may come from that one of its handlers catches."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from preflight.syntax.bodies import DEFINITIONS, TRIES, caught_in, own, stored
from preflight.syntax.running import is_none, last_name

BROAD = frozenset({"*", "Exception", "BaseException"})

# They come at any time, from outside; or are what a handler is there for.
_NOT_OURS = frozenset(
    {
        *("KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError"),
        *("NameError", "UnboundLocalError"),
    }
)

# Exceptions of which it is known what raises them: calls by their last name; `[]` is a subscript.
_RAISED_BY = {
    "Empty": {"get", "get_nowait"},
    "QueueEmpty": {"get_nowait"},
    "Full": {"put", "put_nowait"},
    "QueueFull": {"put_nowait"},
    "StopIteration": {"next", "__next__", "send"},
    "StopAsyncIteration": {"anext", "__anext__"},
    "KeyError": {"[]", "pop", "popitem"},
    "IndexError": {"[]", "pop", "popleft"},
    "LookupError": {"[]", "pop"},
    "ImportError": {"import", "import_module", "__import__"},
    "ModuleNotFoundError": {"import", "import_module", "__import__"},
    "FileNotFoundError": {"open", "listdir", "scandir", "stat", "read_text", "read_bytes"},
    "PermissionError": {"open", "listdir", "scandir", "read_text", "read_bytes"},
    "OSError": {"open", "listdir", "scandir", "stat", "read_text", "read_bytes", "urlopen"},
    "IOError": {"open", "listdir", "scandir", "stat", "read_text", "read_bytes", "urlopen"},
    "CalledProcessError": {"run", "check_call", "check_output"},
    "TimeoutExpired": {"run", "check_call", "check_output", "communicate", "wait"},
}

# What a call of a model, or what is called of one or of torch, may run out of.
_READS = frozenset({"load", "load_file", "loadtxt"})
_READERS = frozenset({"torch", "np", "numpy", "safetensors"})
_FILES = frozenset({"FileNotFoundError", "OSError", "IOError", "PermissionError"})

_OF_TORCH = frozenset({"RuntimeError", "OutOfMemoryError"})
_MODEL = re.compile(
    r"(?:[a-z0-9]+_)*(?:model|module|net|network|unet|vae|backbone|transformer|discriminator"
    r"|forward|backward|criterion|loss_fn)"
)
_OF_MODELS = frozenset({"cuda", "to", "generate", "encode", "decode", "load_state_dict"})

# Those of them that are part of normal work.
USUAL = frozenset(
    {"Empty", "QueueEmpty", "Full", "QueueFull", "StopIteration", "StopAsyncIteration"}
)

# Those beside which what is known to raise them raises nothing else in practice.
_ALL_OF_IT = USUAL | {"OSError", "IOError"}

_UNPACKS = "unpack"

# Calls that raise nothing in practice.
_HARMLESS_WORDS = (
    "time perf_counter monotonic process_time now utcnow print len str repr format bool dict "
    "list set tuple frozenset isinstance issubclass hasattr callable type id getpid range "
    "enumerate zip sorted reversed map filter min max sum any all super object partial vars "
    "locals globals dir defaultdict OrderedDict Counter deque namedtuple Path PurePath "
    "StringIO BytesIO Lock RLock Event Queue SimpleQueue Condition debug info warning warn "
    "error exception log critical getLogger get_logger write_line flush append extend add "
    "update setdefault insert clear copy keys values items count discard strip lstrip rstrip "
    "lower upper title replace startswith endswith split rsplit splitlines join basename "
    "dirname abspath realpath normpath splitext exists isfile isdir is_file is_dir getenv "
    "getcwd cwd current_thread get_ident uuid4 randint random no_grad enable_grad "
    "inference_mode autocast nullcontext suppress catch_warnings eval train zero_grad "
    "set_epoch is_available get_rank get_world_size empty qsize is_set getattr next_id "
)
_HARMLESS = frozenset(_HARMLESS_WORDS.split())
_CONVERTS = re.compile(r"_*(?:as|ensure|to)_(?:dict|list|path|set|str|string|tuple)")


class Raiser(NamedTuple):
    """A piece of code that may raise."""

    node: ast.expr | ast.stmt
    word: str
    """The last name of what is called, `[]` of a subscript, `import`, `raise`, `unpack`."""


class Caught(NamedTuple):
    """What a handler catches, by last names; `*` is all."""

    names: frozenset[str]
    taken: frozenset[str] = frozenset()
    """What handlers of the same `try` before it catch."""

    @property
    def is_broad(self) -> bool:
        """Whether it takes whatever goes wrong."""
        return bool(self.names & BROAD)

    @property
    def is_ours(self) -> bool:
        """Whether something in the `try` may be where it comes from."""
        return bool(self.names - _NOT_OURS)

    def may_come_from(self, one: Raiser) -> bool:
        """Whether this may raise what is caught, as far as names tell."""
        if any(one.word in _RAISED_BY[name] for name in self.taken & _ALL_OF_IT):
            return False
        if one.word == _UNPACKS:  # where a queue gives something else than was put into it
            return self.is_broad and bool(self.taken & USUAL)
        if self.is_broad:
            return one.word != "[]"  # mostly, somebody has looked that it is there
        is_other = one.word in {"[]", "import"}
        is_unknown = not is_other and self.names - _NOT_OURS - _RAISED_BY.keys()
        return bool(is_unknown) or self.is_raised_by(one)

    @property
    def is_listed(self) -> bool:
        """Whether of each of them calls are listed that raise it."""
        return self.names - _NOT_OURS <= _RAISED_BY.keys()

    def is_raised_by(self, one: Raiser) -> bool:
        """Whether it is known that this raises one of those that are caught."""
        if self.names & _OF_TORCH and _may_run_out(one):
            return True
        if self.names & _FILES and _reads_file(one):
            return True
        return any(
            one.word in _RAISED_BY.get(name, ()) and not _waits_for_ever(name, one)
            for name in self.names
        )


def caught_by(handler: ast.ExceptHandler) -> Caught:
    """Say what a handler catches."""
    return Caught(frozenset(name or "*" for name in caught_in(handler)))


def raisers(nodes: Sequence[ast.AST]) -> Iterator[Raiser]:
    """Give what may raise among these, in the order of the text."""
    for node in own(nodes):
        word = _word(node)
        if word and isinstance(node, (ast.expr, ast.stmt)):
            yield Raiser(node, word)


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = last_name(node.func) or "()"
        is_plain = name[:1].isupper() and not node.args and not node.keywords  # `with Timer() as t`
        is_harmless = name in _HARMLESS or is_plain or _CONVERTS.fullmatch(name)
        return "" if is_harmless or (name == "get" and not _waits(node)) else name
    if isinstance(node, ast.Subscript):
        simple = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)
        return "[]" if simple else ""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "import"
    if isinstance(node, ast.Assign) and not isinstance(node.value, (ast.Tuple, ast.List)):
        return _UNPACKS if any(isinstance(one, ast.Tuple) for one in node.targets) else ""
    return "raise" if isinstance(node, (ast.Raise, ast.Assert)) else ""


def _waits(call: ast.Call) -> bool:
    """Whether a `get` is one of a queue or of the network, and none of a mapping."""
    words = {one.arg for one in call.keywords}
    first = call.args[0] if call.args else None
    if first is None or words & {"timeout", "block"}:
        return True
    if isinstance(first, ast.Constant) and isinstance(first.value, (bool, int, float)):
        return True
    holder = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return holder in {"requests", "session", "httpx", "ray"}


def may_be_any(one: Raiser) -> bool:
    """Whether it is a call of which nothing is known: what it raises is not listed here."""
    is_listed = any(one.word in words for words in _RAISED_BY.values())
    return isinstance(one.node, ast.Call) and not is_listed


def _reads_file(one: Raiser) -> bool:
    """Whether it opens the file that a text or a name stands for: `torch.load(path)`."""
    call = one.node
    if one.word not in _READS or not isinstance(call, ast.Call) or not call.args:
        return False
    if isinstance(call.func, ast.Attribute) and last_name(call.func.value) not in _READERS:
        return False
    is_bare = isinstance(call.func, ast.Name) and one.word != "load_file"
    is_open = isinstance(call.args[0], ast.Call) and last_name(call.args[0].func) == "BytesIO"
    return not is_bare and not is_open


def _waits_for_ever(exception: str, one: Raiser) -> bool:
    """Whether a queue is asked without a time, as it is by default: it never says it is empty."""
    if exception not in {"Empty", "Full"} or not isinstance(one.node, ast.Call):
        return False
    call, item = one.node, int(one.word == "put")
    words = {word.arg: word.value for word in call.keywords}
    if one.word not in {"get", "put"} or None in words:
        return False
    if any(isinstance(each, ast.Starred) for each in call.args):
        return False
    given = dict(zip(("block", "timeout"), call.args[item:], strict=False))
    block, timeout = (words.get(each) or given.get(each) for each in ("block", "timeout"))
    is_asked = block is None or (isinstance(block, ast.Constant) and bool(block.value))
    return is_asked and (timeout is None or is_none(timeout))


def _may_run_out(one: Raiser) -> bool:
    """Whether a model, or torch, is called, as far as names tell."""
    if not isinstance(one.node, ast.Call):
        return False
    function = one.node.func
    holder = last_name(function.value) if isinstance(function, ast.Attribute) else ""
    if _MODEL.fullmatch(one.word):
        return True
    return bool(_MODEL.fullmatch(holder)) and one.word in _OF_MODELS


class Begin(NamedTuple):
    """How a `try` begins: what it gives values to before anything may raise, and what that is."""

    bound: frozenset[str]
    first: Raiser | None


def begin_of(body: Sequence[ast.stmt], may: Callable[[Raiser], bool]) -> Begin:
    """Say what surely has a value when a handler is come to, or may have one without harm."""
    bound: set[str] = set()
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, TRIES) and node.handlers:
            bound |= stored([node])  # it looks after itself
            continue
        parts = list(ast.iter_child_nodes(node))
        inner = [one for one in parts if isinstance(one, (ast.stmt, ast.match_case))]
        is_scope = isinstance(node, DEFINITIONS)
        if not inner or is_scope:
            found = () if is_scope else raisers([node])
            first = next((one for one in found if may(one)), None)
            if first is not None:
                return Begin(frozenset(bound), first)
            bound |= stored([node])
            continue
        outer = [one for one in parts if one not in inner]
        first = next((one for one in raisers(outer) if may(one)), None)
        if first is not None:
            return Begin(frozenset(bound), first)
        bound |= stored(outer)
        stack.extend(reversed(inner))
    return Begin(frozenset(bound), None)
