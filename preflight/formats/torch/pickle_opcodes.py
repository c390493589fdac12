"""The opcodes of pickles, done with stand-ins: what each takes off the stack and puts there.

They are those of protocols 0 to 5, as Python's pickletools documents them: what is not kept of a
value is a None, and how many of them an opcode takes and gives stands there.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from preflight.formats.torch import pickle_keys
from preflight.formats.torch.pickle_machine import (
    LONGEST_TEXT,
    Machine,
    Name,
    Rebuilt,
    Storage,
    Value,
)

MOST_IN_TUPLE = 8
"""Values of a tuple that are kept; what stands behind them is left out."""

# Stands for a name that this walk did not hold, as where a program has put it together.
_UNTOLD = "?"

Effect: TypeAlias = Callable[[Machine, bytes], None]

Opcodes: TypeAlias = "tuple[tuple[int, int, Effect] | None, ...]"
"""By its code, for each that there is: whether its argument is of fixed length (0), begins with its
own length (1) or is lines (2); how many bytes, bytes of that length, or lines; and its effect."""


def _frame(machine: Machine, _: bytes) -> None:
    machine.framed = True


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


def _push_registered(machine: Machine, _: bytes) -> None:
    """Name what only a process knows that has registered this number; torch.save never does."""
    machine.note("copyreg", "add_extension")
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


def _is_plain(value: Value) -> bool:
    return type(value) is not tuple or all(isinstance(one, (int, str)) for one in value)


def _flat(values: list[Value]) -> tuple[Value, ...]:
    # Of tuples in tuples only numbers and texts are held, such as the sizes of a tensor: a hostile
    # pickle could nest them without end.
    return tuple(value if _is_plain(value) else None for value in values[:MOST_IN_TUPLE])


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
    """Note a storage: ("storage", its class, key, device, elements), as torch.save writes it.

    Before the zip format a view follows, or None: (its key, where it begins, elements).
    """
    value = machine.stack.pop()
    machine.stack.append(None)
    if not isinstance(value, tuple) or len(value) < 5 or value[0] != "storage":
        return
    kind, key, device, count = value[1:5]
    if isinstance(kind, Name) and isinstance(key, str) and isinstance(count, int):
        name = kind.text.rpartition(" ")[2].rpartition(".")[2]
        storage = Storage(key, name, count, device if isinstance(device, str) else "cpu")
        machine.storages.append(storage)
        machine.stack[-1] = _viewed(storage, value[5] if len(value) > 5 else None)


def _viewed(storage: Storage, view: Value) -> Storage | None:
    """Give the part of a storage that is a view of it; None where nobody knows how large it is."""
    if view is None:
        return storage
    offset, size = view[1:] if isinstance(view, tuple) and len(view) == 3 else (None, None)
    if not (isinstance(offset, int) and isinstance(size, int)):
        return None
    return storage._replace(elements=min(size, storage.elements - offset))


def _reduce(machine: Machine, _: bytes) -> None:
    """Call a function. Kept is what makes a tensor of a storage, or something else of a tensor."""
    given, function = machine.stack.pop(), machine.stack.pop()
    made = None
    if type(given) is tuple and given and isinstance(function, Name):
        first = given[0]
        storage = first.storage if isinstance(first, Rebuilt) else first
        if isinstance(storage, Storage):
            others = (None if isinstance(one, Rebuilt) else one for one in given[1:])
            made = Rebuilt(function.text, storage, tuple(others))
            machine.tensors.append(made)
    machine.stack.append(made)


def _push_empty(machine: Machine, _: bytes) -> None:
    machine.stack.append(())


def _push_true(machine: Machine, _: bytes) -> None:
    machine.stack.append(True)


def _stop(machine: Machine, _: bytes) -> None:
    """Take the one value that is left: no pickler leaves more, or none.

    What names something that torch refuses was perhaps made by hand, and that is what is told.
    """
    if not machine.stack or (not machine.globals and (machine.marks or len(machine.stack) > 1)):
        raise ValueError


STOP = ord(".")
"""The last opcode of a pickle."""


def _changes(opcode: Any) -> Effect:
    """Take off and put there as many values as pickletools says; nothing is kept of them."""
    before, after = opcode.stack_before, opcode.stack_after
    marked = pickletools.markobject in before
    is_given = bool(before) and (before[0] in _CONTAINERS or opcode.code in _STAYS)
    stays = before.index(pickletools.markobject) if marked else int(is_given)
    taken = 0 if marked else len(before) - stays
    put = len(after) - stays

    def effect(machine: Machine, _: bytes) -> None:
        stack = machine.stack
        if marked:
            machine.to_mark()
        for _taken in range(taken):
            stack.pop()
        if put:
            stack.append(None)
        elif is_given and not marked:
            stack[-1]  # raises where there is none

    return effect


# What stays where it is, and is given something: by what it is, or by the opcode.
_CONTAINERS = (pickletools.pylist, pickletools.pydict, pickletools.pyset)
_STAYS = ("b", "\x98")

# Of the values that these take or give something is kept.
_EFFECTS: dict[str, Effect] = {
    "(": _mark,
    ".": _stop,
    "0": _pop,
    "2": _duplicate,
    ")": _push_empty,
    "s": pickle_keys.set_item,
    "u": pickle_keys.set_items,
    "}": pickle_keys.begin_dict,
    "Q": _persistent,
    "R": _reduce,
    "c": _push_name,
    "g": _get_line,
    "i": _instance,
    "p": _put_line,
    "t": _tuple,
    **dict.fromkeys("\x82\x83\x84", _push_registered),
    **dict.fromkeys("KM", _push_int),
    **dict.fromkeys("J\x8a", _push_signed),
    **dict.fromkeys("X\x8c\x8d", _push_text),
    **dict.fromkeys("hj", _get),
    **dict.fromkeys("qr", _put),
    "\x85": _tuple_of(1),
    "\x88": _push_true,
    "\x86": _tuple_of(2),
    "\x87": _tuple_of(3),
    "\x93": _stack_name,
    "\x94": _memoize,
    "\x95": _frame,
}

# Bytes of the length that an argument begins with.
_OF_LENGTH = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


def _argument(opcode: Any) -> tuple[int, int]:
    size = opcode.arg.n if opcode.arg is not None else 0
    if size == pickletools.UP_TO_NEWLINE:
        return 2, 2 if opcode.arg is pickletools.stringnl_noescape_pair else 1
    return (0, size) if size >= 0 else (1, _OF_LENGTH[size])


def _table() -> Opcodes:
    table: list[tuple[int, int, Effect] | None] = [None] * 256
    for one in pickletools.opcodes:
        table[ord(one.code)] = (*_argument(one), _EFFECTS.get(one.code) or _changes(one))
    return tuple(table)


OPCODES = _table()


def with_effects(effects: Mapping[bytes, Effect]) -> Opcodes:
    """Give the opcodes, of which these have another effect."""
    table = list(OPCODES)
    for code, effect in effects.items():
        kind, width, _ = OPCODES[code[0]] or (0, 0, effect)
        table[code[0]] = (kind, width, effect)
    return tuple(table)
