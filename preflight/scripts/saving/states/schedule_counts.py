"""What schedules of learning rates go by, and how far each is: numbers that tell them apart."""

from __future__ import annotations

import argparse
import copy
import dis
import functools
import types
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What is another after each step of a schedule.
_MOVING = {
    *("optimizer", "last_epoch", "verbose", "_step_count", "_last_lr"),
    *("_is_initial", "_get_lr_called_within_step", "T_cur", "T_i"),
}

# Steps that a schedule is asked about: no training takes more.
_AHEAD = tuple(2**power for power in range(21))


def counts_of(schedules: Sequence[Any]) -> dict[str, int]:
    """Say how far each is, by its class and what tells its numbers from those of others.

    Of one that would be the same wherever it stands, nothing is told.
    """
    found: dict[str, int] = {}
    for one in schedules:
        numbers = _numbers_of(one)
        if numbers is not None and not _is_alike_anywhere(one) and _moves_rates(one):
            name = f"{type(one).__name__} {zlib.crc32(numbers.encode()):08x}"
            found[name] = max(int(one.last_epoch), found.get(name, 0))
    return found


def _numbers_of(schedule: Any) -> str | None:
    """Write what a schedule goes by; None: by something that is not to be seen."""
    found: list[str | None] = [type(schedule).__name__]
    for name, value in sorted(vars(schedule).items()):
        if name == "_schedulers":
            found += map(_numbers_of, value)
        elif name not in _MOVING:
            found.append(_written({name: value}))
    return _joined(found)


def _written(value: object) -> str | None:
    """Write a value of which nothing changes meanwhile; None: of another sort."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, Mapping):
        return _joined(map(_written, (*value.keys(), *value.values())))
    if isinstance(value, (list, tuple)):
        return _joined(map(_written, value))
    if isinstance(value, (argparse.Namespace, types.SimpleNamespace)):
        return _written(vars(value))
    if isinstance(value, functools.partial):
        return _written((value.func, value.args, value.keywords))
    if isinstance(value, (types.ModuleType, types.BuiltinFunctionType, type)):
        return value.__name__
    return _function(value) if isinstance(value, types.FunctionType) else None


def _function(one: types.FunctionType) -> str | None:
    code = one.__code__
    cells = [each.cell_contents for each in one.__closure__ or ()]
    asked = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
    named = [one.__globals__[name] for name in asked if name in one.__globals__]
    if any(isinstance(each, types.FunctionType) for each in (*cells, *named)):
        return None
    held = (code.co_code, code.co_consts, one.__defaults__, one.__kwdefaults__)
    return _written((*held, code.co_names, cells, named))


def _joined(parts: Iterable[str | None]) -> str | None:
    every = [*parts]
    return None if None in every else f"({' '.join(map(str, every))})"


def _is_alike_anywhere(schedule: Any) -> bool:
    """Whether it does the same to a rate with each step."""
    return type(schedule).__name__ == "ExponentialLR" or getattr(schedule, "step_size", 0) == 1


def _moves_rates(schedule: Any) -> bool:
    """Whether its rates are others somewhere in any training, as far as it can be asked."""
    probe = copy.copy(schedule)
    form = getattr(probe, "_get_closed_form_lr", None)
    if type(schedule).__name__ == "LambdaLR":
        form, probe._get_lr_called_within_step = probe.get_lr, True  # noqa: SLF001
    if form is None:
        return True
    rates = set()
    for one in _AHEAD:
        probe.last_epoch = one
        try:
            rates.add(tuple(map(float, form())))
        except Exception:  # noqa: BLE001  a function of the user's, or another version of torch
            return True
    return len(rates) > 1
