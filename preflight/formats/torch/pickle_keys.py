"""The keys of a dict that is all there is in a pickle, as `torch.save` writes many."""

from __future__ import annotations

import itertools

from preflight.formats.bytes.part_names import MOST_NAMES, told_names
from preflight.formats.torch.pickle_machine import Machine, MadeObject, Value


def begin_dict(machine: Machine, _: bytes) -> None:
    """Keep a dict that may be all there is; of others nothing is kept."""
    machine.stack.append(None if machine.stack else MadeObject("dict"))


def set_item(machine: Machine, _: bytes) -> None:
    """Give it one key."""
    pair = machine.stack[-2:]
    del machine.stack[-2:]
    _set(machine.stack[-1], pair)


def set_items(machine: Machine, _: bytes) -> None:
    """Give it several."""
    items = machine.to_mark()
    _set(machine.stack[-1], items)


def _set(target: Value, items: list[Value]) -> None:
    """Keep the keys of the dict that may be all there is, as far as any are named of so many."""
    if isinstance(target, MadeObject) and len(target.given) < MOST_NAMES:
        keys = (one for one in items[::2] if isinstance(one, str))
        target.given.update(dict.fromkeys(itertools.islice(keys, MOST_NAMES)))


def keys_of(root: Value) -> tuple[str, ...]:
    """Name them, of what a pickle was read into, as `told_names` does; else none."""
    return told_names(root.given) if isinstance(root, MadeObject) else ()
