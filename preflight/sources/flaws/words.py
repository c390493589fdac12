"""Says of a source which flaws it may hold, by its text alone: few files have to be parsed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

_JUMP = re.compile(rb"\b(?:return|break|continue)\b")
_TRY = re.compile(rb"[ \t]*try[ \t]*:")
_AFTER_WORD = re.compile(rb"\b(?:as|for|import|def|class)[ \t]+\(?([\w, \t]+)")
_TARGET = re.compile(rb"(?<![\w.])[A-Za-z_]\w*(?![\w.\[(])")
_NEVER = frozenset({b"self", b"in", b"as", b"import", b"if", b"not", b"None", b"return"})
_NAME = re.compile(rb"(?<![\w.])[A-Za-z_]\w*")

_PLAIN = re.compile(rb"[\w, \t]+")
_TEXT = re.compile(rb"((?:[fF][rR]?)?)(?:\"([^\"]*)\"|'([^']*)')")
_FILLED = re.compile(rb"\{[^{}]*\}")
_BINDS = re.compile(rb"[ \t]*(?:from\b.*|import\b.*|except\b.*\bas[ \t]+\w+[ \t]*:)")

# Each begins with letters that are searched for at once.
_IDLE = re.compile(
    rb"while\b(?:"
    rb".*:[ \t]*(?:#.*)?\n?(?:[ \t]*#.*\n)*[ \t]*(?:pass|continue|\.\.\.|[\"\'])"
    rb"|[ \t]*\(?(?:True|1)\)?[ \t]*:.*\n(?:[ \t]*(?:#.*)?\n){0,3}[ \t]*if\b"
    rb"|[ \t]*\([^:]{0,200}\)[ \t]*:[ \t]*(?:#.*)?\n[ \t]*(?:pass|continue|\.\.\.))"
)
_AGAIN = re.compile(rb"while[ \t]*\(?(?:True|1)\)?[ \t]*:.*\n(?:[ \t]*(?:#.*)?\n){0,3}[ \t]*try\b")
_STATE = re.compile(rb"(?m)^[ \t]*\w[^=\n]*=(?:[^=\n]*|[ \t]*\{[^{}]*)\.state_dict\(\)")
_OWN = re.compile(rb"\bself\.(\w+)")
_SET_CALL = re.compile(rb"set\(")
_SET_MADE = re.compile(rb"(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*\{[^:{}\n]*\bfor\b")
_LITERAL = (re.compile(rb"list\(\s*\{"), re.compile(rb"tuple\(\s*\{"), re.compile(rb"\[\*\s*\{"))
_VIEWS = re.compile(rb"(?:list|tuple)\([^\n]*\.(?:keys|items)\(\)[ \t]*[&|^-]")
_LIST_OF = (
    re.compile(rb"list\((?:self\.)?(\w+)\)"),
    re.compile(rb"tuple\((?:self\.)?(\w+)\)"),
    re.compile(rb"\[\*(?:self\.)?(\w+)\]"),
    re.compile(rb"(?:enumerate|zip)\((?:self\.)?(\w+)"),
    re.compile(rb"\bfor\b[^\n]*\bin[ \t]+(?:self\.)?(\w+)[ \t]*[\]):\n]"),
)
_LOOP = re.compile(rb"\bfor\b[^\n]*\bin$").search
_PAIRS = re.compile(
    rb"for[ \t][\w(), \t]*,[\w(), \t]*[ \t)]in[ \t]+(?:enumerate\()?([\w.]+)(\(|[ \t]*[:)])"
)
_COUNTED = re.compile(
    rb"for[ \t]+(?:\w+,[ \t]*\()?([\w, \t]+)\)?[ \t]+in[ \t]+(?:tqdm\()?(?:enumerate\()??"
    rb"(enumerate|zip)\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
)
_METHOD = re.compile(rb"[^()\n]*\)\.(\w+)\(")
_INNER = re.compile(rb"\([^()]*\)|\[[^\[\]]*\]|,\s*(?:strict|start|total)\s*=.*|,\s*$", re.DOTALL)
_SEVERAL = re.compile(rb"return\b[ \t]*(?:\(|[^\n]*,)")
_STANDARD = frozenset(map(str.encode, sys.stdlib_module_names))
_IMPORT = re.compile(rb"import\b([^#\n(]*(?:\([^)]*)?)")
_KNOWN = frozenset(
    b"enumerate zip sorted reversed list set tuple map filter dict iter items product chain".split()
)


class Signs(NamedTuple):
    """What a source may hold."""

    unbound: bool = False
    jumps: bool = False
    loops: bool = False
    waits: bool = False
    orders: bool = False
    states: bool = False


def signs_in(content: bytes) -> Signs:
    """Say what a source may hold, without parsing it."""
    lines = content.splitlines() if b"except" in content or b"finally" in content else []
    return Signs(
        unbound=b"except" in content and _may_read_unbound(lines),
        jumps=b"finally" in content and _may_jump(lines),
        loops=_may_loop(content) or _may_miscount(content),
        waits=b"while" in content and _may_wait(content),
        orders=_may_order(content),
        states=b".state_dict()" in content and _may_keep_state(content),
    )


def _may_wait(content: bytes) -> bool:
    return bool(_IDLE.search(content) or (b"Empty" in content and _AGAIN.search(content)))


def _may_keep_state(content: bytes) -> bool:
    is_used = b".load_state_dict(" in content or b"torch.save(" in content
    return is_used and _STATE.search(content) is not None


def _may_order(content: bytes) -> bool:
    if any(one.search(content) for one in (*_LITERAL, _VIEWS)):
        return True
    given = set(_SET_MADE.findall(content))
    for call in _SET_CALL.finditer(content):
        begin = max(content.rfind(b"\n", 0, call.start()) + 1, 0)
        head = content[begin : call.start()].removesuffix(b"frozen").rstrip()
        head = head or content[max(0, begin - 80) : begin].rstrip()
        if head.endswith((b"list(", b"tuple(", b"*", b"enumerate(", b"zip(")) or _LOOP(head):
            return True
        if head.endswith((b"=", b"-", b"&", b"|", b"^")):
            given.update(_NAME.findall(head), _OWN.findall(head))
    listed = {one[1] for each in _LIST_OF for one in each.finditer(content)} if given else set()
    return any(one in given or _is_joined(content, one, given) for one in listed)


def _is_joined(content: bytes, name: bytes, given: set[bytes]) -> bool:
    """Whether a name may be given what is made of sets: `left = every - done`."""
    values = re.findall(rb"\b%s[ \t]*=[ \t]*(\w+[ \t]*[-&|^.].*)" % name, content)
    return any(not given.isdisjoint(_NAME.findall(one)) for one in values)


def _may_loop(content: bytes) -> bool:
    """Whether there is a loop over what a function of this file, or an imported one, may give."""
    pairs = [*_PAIRS.finditer(content)]
    imported = _imported_in(content) if pairs else frozenset()
    for one in pairs:
        holder, _, name = one[1].rpartition(b".")
        if one[2] == b"(":
            given = {name} if holder in {b"self", b"cls", b""} and name not in _KNOWN else set()
            method = _METHOD.match(content, one.end())
            given |= {method[1]} if method and not holder else set()
            if name not in _KNOWN and (holder.partition(b".")[0] or name) in imported:
                return True
        else:
            begin = re.compile(name + rb"[ \t]*=[ \t]*(?:self\.|cls\.)?(\w+)\(")
            given = set() if holder else set(begin.findall(content))
        if any(_gives_tuple(content, each) for each in given):
            return True
    return False


def _may_miscount(content: bytes) -> bool:
    """Whether a loop may take another number of parts than `zip` or `enumerate` gives."""
    return any(
        one[1].count(b",") != (1 if one[2] == b"enumerate" else _INNER.sub(b"", one[3]).count(b","))
        for one in _COUNTED.finditer(content)
    )


def _imported_in(content: bytes) -> frozenset[bytes]:
    """Give the names that are imported from modules that may be the job's."""
    found: list[tuple[bytes, list[bytes]]] = []
    for one in _IMPORT.finditer(content):
        match content[content.rfind(b"\n", 0, one.start()) + 1 : one.start()].split():
            case [b"from", module]:
                found.append((module.partition(b".")[0], _NAME.findall(one[1])))
            case []:  # each by its own name, or by that which it is given
                each = filter(None, map(_NAME.findall, one[1].split(b",")))
                found += ((names[0], names[-1:]) for names in each)
    return frozenset(chain.from_iterable(names for root, names in found if root not in _STANDARD))


def _gives_tuple(content: bytes, name: bytes) -> bool:
    """Whether a function of this name may give several values at once."""
    word, place = b"def " + name + b"(", 0
    while (place := content.find(word, place)) >= 0:
        before = content[content.rfind(b"\n", 0, place) + 1 : place].removesuffix(b"async ")
        place += len(word)
        if before.strip():
            continue
        end = re.compile(rb"\n[ \t]{0,%d}[^\s#)\]}]" % len(before)).search(content, place)
        if _SEVERAL.search(content, place, end.start() if end else len(content)):
            return True
    return False


def _may_jump(lines: Sequence[bytes]) -> bool:
    begins = (place for place, line in enumerate(lines) if line.lstrip().startswith(b"finally"))
    return any(_JUMP.search(line) for place in begins for line in _block(lines, place))


def _may_read_unbound(lines: Sequence[bytes]) -> bool:
    """Whether a word of a handler is one that is given a value in what its `try` holds."""
    for place, line in enumerate(lines):
        if not _TRY.match(line):
            continue
        body = _block(lines, place)
        names = {name for one in body for name in _given_in(_code(one))} - _NEVER
        after = place + len(body)
        while names and after < len(lines) and lines[after].lstrip().startswith(b"except"):
            handler = _block(lines, after)
            if any(not names.isdisjoint(_read_in(one)) for one in handler):
                return True
            after += len(handler)
    return False


def _block(lines: Sequence[bytes], place: int) -> Sequence[bytes]:
    """Give a line with those below it that stand further in, or hold no code."""
    deep = _indent(lines[place])
    end = place + 1
    while end < len(lines):
        text = lines[end].strip()
        if text and not text.startswith(b"#") and _indent(lines[end]) <= deep:
            break
        end += 1
    return lines[place:end]


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _read_in(line: bytes) -> list[bytes]:
    """Give the words of a line that may be read, and not those that it binds."""
    code = _code(line)
    if _BINDS.match(code):
        return []
    head, sign, tail = code.partition(b"=")
    is_given = sign and not tail.startswith(b"=") and _PLAIN.fullmatch(head)
    return _NAME.findall(tail if is_given else code)


def _code(line: bytes) -> bytes:
    """Leave out text and comments, but for what fills in an f-string."""
    if b'"' in line or b"'" in line:
        line = _TEXT.sub(_filled, line)
    return line.partition(b"#")[0]


def _filled(text: re.Match[bytes]) -> bytes:
    return b" ".join(_FILLED.findall(text[2] or text[3] or b"")) if text[1] else b""


def _given_in(line: bytes) -> Iterator[bytes]:
    head, sign, _ = line.partition(b"=")
    if sign and (b"(" not in head or head.lstrip().startswith((b"(", b"try"))):
        yield from _TARGET.findall(head)
    for one in _AFTER_WORD.finditer(line):
        yield from _NAME.findall(one[1])
    if b":=" in line:
        yield from _NAME.findall(line)
