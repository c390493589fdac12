"""Pickles, read opcode by opcode and never run: where they end, and which storages they name.

What each opcode does is written in pickle_opcodes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from preflight.formats.bytes.blocks import BLOCK, HeldBytes, Read, blocks, teller_of
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.laid_out import misfit
from preflight.formats.torch.pickle_keys import keys_of
from preflight.formats.torch.pickle_machine import LONGEST_TEXT, Machine, Rebuilt, Storage
from preflight.formats.torch.pickle_opcodes import OPCODES, STOP, Opcodes
from preflight.values.byte_sizes import format_size

MOST_OPERATIONS = 5_000_000
"""Opcodes that are followed: some seconds. A longer pickle is not judged."""

_MOST_HELD = 1 << 20
_LONGEST_LINE = 1 << 16


class WalkedPickle(NamedTuple):
    """A pickle, walked to its end."""

    end: int | None
    """Where the file goes on behind it; None: it is too long to be followed."""

    storages: tuple[Storage, ...] = ()
    texts: tuple[str, ...] = ()
    """The short texts in it, in order; longer ones are left out."""

    globals: tuple[str, ...] = ()
    """The first of the globals that torch.load refuses with weights_only; `?` for what a name is
    that was put together, or too long to be held."""

    steps: int = 0
    """Opcodes that were followed."""

    framed: bool = False
    """Whether it is divided into frames, as from protocol 4 on."""

    taken: tuple[str, ...] = ()
    """Globals that our own list has, and not every torch."""

    misfits: tuple[Rebuilt, ...] = ()
    """Tensors that torch cannot lay out in their storages."""

    keys: tuple[str, ...] = ()
    """Where it is a dict, its texts among the keys, as `told_names` has them."""

    def told_left(self, size: int) -> str | None:
        """Name it, with the size of its file, where it was not followed to its end."""
        return f"its pickle, {format_size(size)}" if self.end is None else None


class _Tape:
    """The bytes of a pickle, of which a window is held."""

    __slots__ = ("at", "base", "end", "read", "window")

    def __init__(self, read: Read, start: int, end: int) -> None:
        self.read = read
        self.base = start
        self.end = end
        self.at = 0
        self.window = b""

    def refill(self, least: int) -> None:
        """Hold at least this many bytes from here on, where there are so many."""
        if len(self.window) - self.at < least and self.base + len(self.window) < self.end:
            self.base += self.at
            self.at = 0
            size = min(max(least, BLOCK), self.end - self.base)
            self.window = bytes(self.read(self.base, size))

    def take(self, count: int) -> bytes:
        """Give the next bytes; raises EOFError where they are missing."""
        at = self.at
        if at + count > len(self.window):
            self.refill(count)
            at = self.at
        taken = self.window[at : at + count]
        if len(taken) != count:
            raise EOFError
        self.at = at + count
        return taken

    def line(self) -> bytes:
        """Give the bytes up to the next line feed, and that; nothing of a line too long to hold."""
        self.refill(_LONGEST_LINE)
        start = self.at
        stop = self.window.find(b"\n", start)
        if stop >= 0:
            self.at = stop + 1
            return self.window[start : self.at]
        while stop < 0:
            self.at = len(self.window)
            self.refill(1)
            if self.at == len(self.window):
                raise EOFError
            stop = self.window.find(b"\n", self.at)
        self.at = stop + 1
        return b""

    def skip(self, count: int) -> None:
        """Go on behind so many bytes; what is not held yet is read, and let go."""
        if self.base + self.at + count > self.end:
            raise EOFError
        held = len(self.window) - self.at
        if count > held:
            for _ in blocks(self.read, self.base + len(self.window), count - held):
                pass
            self.base += self.at + count
            self.at = 0
            self.window = b""
        else:
            self.at += count


def walk(
    read: Read,
    start: int,
    end: int,
    most: int = MOST_OPERATIONS,
    *,
    machine: Machine | None = None,
    opcodes: Opcodes = OPCODES,
) -> WalkedPickle:
    """Follow the pickle that begins here to its end, running nothing.

    It is read into `machine`, for whoever wants more of it than is given.

    Raises:
        DamagedError: `cut` where it has no end; `structure` where it is no pickle.
    """
    tape = _Tape(read, start, end)
    machine = Machine() if machine is None else machine
    tell = teller_of(read)
    try:
        for count in range(most):
            if _step(tape, machine, opcodes):
                where = tape.base + tape.at
                named = tuple(machine.globals)
                storages, texts = tuple(machine.storages), tuple(machine.texts)
                taken, misfits = tuple(machine.taken), tuple(filter(misfit, machine.tensors))
                return WalkedPickle(
                    where,
                    storages,
                    texts,
                    named,
                    count + 1,
                    machine.framed,
                    taken,
                    misfits,
                    keys_of(machine.stack[-1]),
                )
            if not count % 1024:
                tell()
                if machine.held() > _MOST_HELD:
                    break
    except EOFError:
        raise DamagedError("cut", f"ends at {end:,} bytes, inside its pickle", offset=end) from None
    except (IndexError, KeyError, ValueError) as error:
        if not _comes_of_bytes(error, opcodes):
            raise
        at = tape.base + tape.at
        text = f"holds a pickle that makes no sense at byte {at:,}"
        raise DamagedError("structure", text, offset=at) from None
    return WalkedPickle(None, globals=tuple(machine.globals), steps=most, framed=machine.framed)


def _comes_of_bytes(error: BaseException, opcodes: Opcodes) -> bool:
    """Whether an opcode found what it cannot do; what fails in code that it asks is ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    effects = {effect.__module__ for _, _, effect in filter(None, opcodes)}
    at = trace.tb_frame.f_globals.get("__name__") if trace is not None else None
    return at in (None, __name__, Machine.__module__, *effects)


def _step(tape: _Tape, machine: Machine, opcodes: Opcodes = OPCODES) -> bool:
    """Follow one opcode; True at the last."""
    at, window = tape.at, tape.window
    if at < len(window):  # there are millions of them
        code = window[at]
        tape.at = at + 1
    else:
        code = tape.take(1)[0]
    opcode = opcodes[code]
    if opcode is None:
        raise ValueError(code)
    kind, width, effect = opcode
    if kind == 0:
        effect(machine, tape.take(width) if width else b"")
    elif kind == 1:
        length = int.from_bytes(tape.take(width), "little")
        if length > LONGEST_TEXT:
            tape.skip(length)
            machine.stack.append(None)
        else:
            effect(machine, tape.take(length))
    else:
        effect(machine, b"".join(tape.line() for _ in range(width)))
    return code == STOP


def walk_bytes(pickle: bytes, tell: Callable[[], None] = lambda: None) -> WalkedPickle:
    """Walk a pickle that is held in memory; `tell` is called where that takes long.

    Raises:
        DamagedError: as `walk`.
    """
    return walk(HeldBytes(pickle, tell), 0, len(pickle))


class Placed(int):
    """A number of a pickle, and where it was read."""

    place: tuple[int, int, bool]
    """Where its bytes begin and end, and whether they have a sign."""


# Opcodes that put a number on the stack, by the bytes that it takes. The other numbers of a pickle
# are lengths and places in its memo, which decide on what is read next.
_NUMBERS = {b"K"[0]: 1, b"M"[0]: 2, b"J"[0]: 4}


def numbers_in(pickle: bytes) -> tuple[list[tuple[int, int]], Machine] | None:
    """Say where a pickle, which was walked to its end before, has its numbers.

    Those are numbers that decide on nothing but themselves. Gives where the bytes of each begin and
    end; and what it was read into, with these numbers as `Placed`. None: not everything that counts
    its storages is such a number.
    """
    tape = _Tape(lambda offset, size: pickle[offset : offset + size], 0, len(pickle))
    machine = Machine()
    numbers: list[tuple[int, int]] = []
    ended = False
    while not ended:
        at = tape.base + tape.at
        width = _NUMBERS.get(pickle[at])
        ended = _step(tape, machine)
        if width is not None:
            number = Placed(machine.stack.pop())  # type: ignore[arg-type]
            number.place = at + 1, at + 1 + width, width == 4
            machine.stack.append(number)
            numbers.append(number.place[:2])
    counted = (*machine.storages, *(one.storage for one in machine.tensors))
    # What was worked out of two numbers, as the size of a view, is none of them.
    return (numbers, machine) if all(type(one.elements) is Placed for one in counted) else None
