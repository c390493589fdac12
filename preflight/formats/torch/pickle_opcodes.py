"""The opcodes of pickles, done with stand-ins: what each takes off the stack and puts there.

They are those of protocols 0 to 5, as Python's pickletools documents them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from preflight.formats.torch.pickle_machine import LONGEST_TEXT, Atom, Machine, Name, Storage, Value

# Stands for a name that this walk did not hold, as where a program has put it together.
_UNTOLD = "?"

Effect: TypeAlias = Callable[[Machine, bytes], None]

Opcodes: TypeAlias = "tuple[tuple[int, int, Effect] | None, ...]"
"""By its code, for each that there is: whether its argument is of fixed length (0), begins with its
own length (1) or is lines (2); how many bytes, bytes of that length, or lines; and its effect."""


def _nothing(machine: Machine, _: bytes) -> None:
    """PROTO and the like leave the stack alone."""


def _frame(machine: Machine, _: bytes) -> None:
    machine.framed = True


def _push(machine: Machine, _: bytes) -> None:
    machine.stack.append(None)


def _push_int(machine: Machine, argument: bytes) -> None:
    machine.stack.append(int.from_bytes(argument, "little"))


def _push_signed(machine: Machine, argument: bytes) -> None:
    machine.stack.append(int.from_bytes(argument, "little", signed=True))


def _push_text(machine: Machine, argument: bytes) -> None:
    text = argument.decode("utf-8", "surrogatepass")
    machine.stack.append(text)
    machine.texts.append(text)


def _named(argument: bytes) -> tuple[str, str]:
    """Take a module and a name from two lines; what was too long to be held is not told."""
    lines = argument.decode("utf-8").split("\n")
    return (lines[0], lines[1]) if len(lines) == 3 else (_UNTOLD, _UNTOLD)


def _push_name(machine: Machine, argument: bytes) -> None:
    module, name = _named(argument)
    machine.note(module, name)
    machine.stack.append(Name(f"{module} {name}"[:LONGEST_TEXT]))


def _stack_name(machine: Machine, _: bytes) -> None:
    name, module = (
        one if isinstance(one, str) else _UNTOLD
        for one in (machine.stack.pop(), machine.stack.pop())
    )
    machine.note(module, name)
    machine.stack.append(Name(f"{module} {name}"))


def _instance(machine: Machine, argument: bytes) -> None:
    machine.note(*_named(argument))
    machine.to_mark()
    machine.stack.append(None)


def _mark(machine: Machine, _: bytes) -> None:
    machine.marks.append(len(machine.stack))


def _pop(machine: Machine, _: bytes) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.stack.pop()


def _duplicate(machine: Machine, _: bytes) -> None:
    machine.stack.append(machine.stack[-1])


def _replace(count: int) -> Effect:
    """Take this many values off and put one there."""

    def effect(machine: Machine, _: bytes) -> None:
        stack = machine.stack
        for _taken in range(count):
            stack.pop()
        stack.append(None)

    return effect


def _drop(count: int) -> Effect:
    """Take this many values off that go into the one below them."""

    def effect(machine: Machine, _: bytes) -> None:
        stack = machine.stack
        for _taken in range(count):
            stack.pop()
        stack[-1]  # raises where there is none

    return effect


def _drop_to_mark(machine: Machine, _: bytes) -> None:
    machine.to_mark()


def _collect(machine: Machine, _: bytes) -> None:
    machine.to_mark()
    machine.stack.append(None)


def _flat(values: list[Value]) -> tuple[Atom, ...]:
    # Tuples in tuples are not held: a hostile pickle could nest them without end.
    return tuple(None if type(value) is tuple else value for value in values[:8])  # type: ignore[misc]


def _tuple(machine: Machine, _: bytes) -> None:
    machine.stack.append(_flat(machine.to_mark()))


def _tuple_of(count: int) -> Effect:
    def effect(machine: Machine, _: bytes) -> None:
        stack = machine.stack
        values = [stack.pop() for _taken in range(count)]
        stack.append(_flat(values[::-1]))

    return effect


def _put(machine: Machine, argument: bytes) -> None:
    machine.memo[int.from_bytes(argument, "little")] = machine.stack[-1]


def _put_line(machine: Machine, argument: bytes) -> None:
    machine.memo[int(argument)] = machine.stack[-1]


def _memoize(machine: Machine, _: bytes) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _get(machine: Machine, argument: bytes) -> None:
    machine.stack.append(machine.memo[int.from_bytes(argument, "little")])


def _get_line(machine: Machine, argument: bytes) -> None:
    machine.stack.append(machine.memo[int(argument)])


def _persistent(machine: Machine, _: bytes) -> None:
    """Note a storage: ("storage", its class, key, device, elements), as torch.save writes it."""
    value = machine.stack.pop()
    machine.stack.append(None)
    if not isinstance(value, tuple) or len(value) < 5 or value[0] != "storage":
        return
    kind, key, count = value[1], value[2], value[4]
    if isinstance(kind, Name) and isinstance(key, str) and isinstance(count, int):
        name = kind.text.rpartition(" ")[2].rpartition(".")[2]
        machine.storages.append(Storage(key, name, count))


def _last(machine: Machine, _: bytes) -> None:
    machine.stack[-1]  # raises where there is none


def _stop(machine: Machine, _: bytes) -> None:
    """Take the one value that is left: no pickler leaves more, or none.

    What names something that torch refuses was perhaps made by hand, and that is what is told.
    """
    if not machine.stack or (not machine.globals and (machine.marks or len(machine.stack) > 1)):
        raise ValueError


STOP = ord(".")
"""The last opcode of a pickle."""

_FIXED: dict[bytes, tuple[int, Effect]] = {
    b"(": (0, _mark),
    b".": (0, _stop),
    b"0": (0, _pop),
    b"1": (0, _drop_to_mark),
    b"2": (0, _duplicate),
    b"J": (4, _push_signed),
    b"K": (1, _push_int),
    b"M": (2, _push_int),
    b"N": (0, _push),
    b"Q": (0, _persistent),
    b"R": (0, _replace(2)),
    b"a": (0, _drop(1)),
    b"b": (0, _drop(1)),
    b"d": (0, _collect),
    b"}": (0, _push),
    b"e": (0, _drop_to_mark),
    b"h": (1, _get),
    b"j": (4, _get),
    b"l": (0, _collect),
    b"]": (0, _push),
    b"o": (0, _collect),
    b"q": (1, _put),
    b"r": (4, _put),
    b"s": (0, _drop(2)),
    b"t": (0, _tuple),
    b")": (0, _push),
    b"u": (0, _drop_to_mark),
    b"G": (8, _push),
    b"\x80": (1, _nothing),
    b"\x81": (0, _replace(2)),
    b"\x82": (1, _push),
    b"\x83": (2, _push),
    b"\x84": (4, _push),
    b"\x85": (0, _tuple_of(1)),
    b"\x86": (0, _tuple_of(2)),
    b"\x87": (0, _tuple_of(3)),
    b"\x88": (0, _push),
    b"\x89": (0, _push),
    b"\x8f": (0, _push),
    b"\x90": (0, _drop_to_mark),
    b"\x91": (0, _collect),
    b"\x92": (0, _replace(3)),
    b"\x93": (0, _stack_name),
    b"\x94": (0, _memoize),
    b"\x95": (8, _frame),
    b"\x97": (0, _push),
    b"\x98": (0, _last),
}
# Opcodes whose argument begins with its own length, in this many bytes.
_PREFIXED: dict[bytes, tuple[int, Effect]] = {
    b"T": (4, _push),
    b"U": (1, _push),
    b"X": (4, _push_text),
    b"B": (4, _push),
    b"C": (1, _push),
    b"\x8a": (1, _push_signed),
    b"\x8b": (4, _push),
    b"\x8c": (1, _push_text),
    b"\x8d": (8, _push_text),
    b"\x8e": (8, _push),
    b"\x96": (8, _push),
}
# Opcodes whose argument is this many lines.
_LINES: dict[bytes, tuple[int, Effect]] = {
    b"F": (1, _push),
    b"I": (1, _push),
    b"L": (1, _push),
    b"P": (1, _push),
    b"S": (1, _push),
    b"V": (1, _push),
    b"c": (2, _push_name),
    b"g": (1, _get_line),
    b"i": (2, _instance),
    b"p": (1, _put_line),
}


def _table(*kinds: dict[bytes, tuple[int, Effect]]) -> Opcodes:
    table: list[tuple[int, int, Effect] | None] = [None] * 256
    for kind, opcodes in enumerate(kinds):
        for code, (width, effect) in opcodes.items():
            table[code[0]] = (kind, width, effect)
    return tuple(table)


OPCODES = _table(_FIXED, _PREFIXED, _LINES)


def with_effects(effects: Mapping[bytes, Effect]) -> Opcodes:
    """Give the opcodes, of which these have another effect."""
    table = list(OPCODES)
    for code, effect in effects.items():
        kind, width, _ = OPCODES[code[0]] or (0, 0, effect)
        table[code[0]] = (kind, width, effect)
    return tuple(table)
