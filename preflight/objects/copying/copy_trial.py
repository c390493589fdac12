"""Runs the real `copy.deepcopy` without its memory, and throws the copy away.

The verdict is the real one, since everything but the copying of data is done as ever. What
that data would have taken is counted.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from preflight.objects.copying.copy_data import CopyTally, Memo, shared_data
from preflight.objects.random_state import kept_random_state

_OWN_CALLS = 50  # calls in a row without one of deepcopy: these go round by themselves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """What became of one copy. It holds objects of the user's, so it does not outlive a look."""

    error: BaseException | None
    bytes: int
    """What a real copy would have taken, until it ended or stopped."""

    blank: int = 0
    """How many of these bytes were left blank in this copy."""

    chain: tuple[object, ...] = ()
    """What was being copied when it stopped, each inside the one before."""

    own_calls: bool = False
    """Whether it stopped deep in calls that have nothing to do with copying."""


def attempt(thing: object, shared: Mapping[int, object]) -> Trial:
    """Copy something deeply, but for some objects (by id) that the copy shares; throw it away."""
    ledger = CopyTally()
    try:
        with shared_data(ledger), kept_random_state():
            memo = Memo(_stand_ins(shared, ledger), ledger)
            ledger.bytes = 0
            copy.deepcopy(thing, memo)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a copy runs the user's own code, which may exit
        chain, since = _being_copied(error)
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold half a copy
        return Trial(
            error=error,
            bytes=ledger.bytes,
            blank=ledger.blank,
            chain=tuple(chain),
            own_calls=since > _OWN_CALLS,
        )
    return Trial(error=None, bytes=ledger.bytes, blank=ledger.blank)


def _being_copied(error: BaseException) -> tuple[list[object], int]:
    """Give what was being copied on the way to an error, and how many calls came after that."""
    chain: list[object] = []
    since = 0
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        since += 1
        if frame.f_code is copy.deepcopy.__code__ and "x" in frame.f_locals:
            chain.append(frame.f_locals["x"])
            since = 0
        traceback = traceback.tb_next
    return chain, since


def _stand_ins(shared: Mapping[int, object], ledger: CopyTally) -> dict[int, object]:
    """Give what a copy shares, and in place of what has parts of its own, something like it.

    What puts the copy together again may write into its parts, and they are the user's.
    """
    given = {key: _empty_one(thing) for key, thing in shared.items()}
    for key, thing in shared.items():
        shell = given[key]
        if shell is thing:
            continue
        variables = object.__getattribute__(shell, "__dict__")
        for name, value in object.__getattribute__(thing, "__dict__").items():
            try:
                variables[name] = copy.deepcopy(value, Memo(given, ledger))
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001, S112  it is in the way itself, or soon will be
                continue
    return given


def _empty_one(thing: Any) -> object:
    """Make an instance of the same class without its attributes; of data, one that shares it.

    What is not made in Python, such as a lock or a process group, is shared as it is.
    """
    torch: Any = sys.modules.get("torch")
    kind = type(thing)
    try:
        if torch is not None and issubclass(kind, torch.Tensor):
            with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  its own may be what fails
                return thing.detach().clone().requires_grad_(thing.requires_grad)
        object.__getattribute__(thing, "__dict__")
        return object.__new__(kind)
    except KeyboardInterrupt:
        raise
    except Exception:  # noqa: BLE001  torch says in many ways that it cannot
        return thing
