"""Runs the real `copy.deepcopy` without its memory.

The verdict is the real one, since everything but the copying of data is done as ever. What
that data would have taken is counted.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from preflight.objects.random_state import kept_random_state

_ROOM = 256 << 20  # bytes that are copied in earnest for one copy
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

    copy: object = None
    """The copy, whose tensors are those of the original until one of them is written."""


def attempt(thing: object, shared: Mapping[int, object]) -> Trial:
    """Copy something deeply, but for some objects (by id) that the copy shares."""
    ledger = _CopyTally()
    try:
        with _shared_data(ledger), kept_random_state():
            memo = _Memo(_stand_ins(shared, ledger), ledger)
            ledger.bytes = 0
            made = copy.deepcopy(thing, memo)
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
    return Trial(error=None, bytes=ledger.bytes, blank=ledger.blank, copy=made)


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


def _stand_ins(shared: Mapping[int, object], ledger: _CopyTally) -> dict[int, object]:
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
                variables[name] = copy.deepcopy(value, _Memo(given, ledger))
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


# --- a copy's data --------------------------------------------------------------------------------

# It is shared until it is written, copied, or left blank. Nothing of it can be written through to
# the original. Where it cannot be shared until it is written (shared memory, files, numpy's
# memory), it is copied as long as there is room.


class _CopyTally:
    """What a real copy would have taken so far, and what was left blank of it."""

    def __init__(self) -> None:
        self.bytes = 0
        self.blank = 0
        self._room = _ROOM

    def can_copy(self, size: int) -> bool:
        """Take room for a copy. None takes more than half, so that there is some for the small."""
        if size > self._room // 2:
            self.blank += size
            return False
        self._room -= size
        return True


class _Memo(dict[int, Any]):
    """The memo of a copy, in which large arrays of numpy are found as if copied already."""

    def __init__(self, known: Mapping[int, object], ledger: _CopyTally) -> None:
        super().__init__(known)
        self.ledger = ledger

    def get(self, key: int, default: Any = None) -> Any:
        """Answer as a dict; `copy.deepcopy` asks for every object before it copies it."""
        found = super().get(key, default)
        if found is not default or default is None:
            return found
        thing: Any = sys._getframe(1).f_locals.get("x")  # noqa: SLF001  deepcopy asks by id only
        numpy: Any = sys.modules.get("numpy")
        if id(thing) != key or numpy is None or type(thing) not in (numpy.ndarray, numpy.memmap):
            return found
        if thing.dtype.hasobject:
            return found
        self.ledger.bytes += thing.nbytes
        if self.ledger.can_copy(thing.nbytes):
            return found
        # Pages of zeros take no memory until they are written.
        zeros = numpy.zeros(thing.shape, thing.dtype, "F" if thing.flags.fnc else "C")
        self[key] = zeros.view(type(thing))
        return self[key]


@contextlib.contextmanager
def _shared_data(ledger: _CopyTally) -> Iterator[None]:
    """Let tensors and storages be copied on write, here and now."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    storage: Any = torch.UntypedStorage
    before = vars(storage).get("__deepcopy__")
    storage.__deepcopy__ = _storage_copy(torch, ledger)
    try:
        with _mode(torch, ledger):
            yield
    finally:
        if before is None:
            del storage.__deepcopy__
        else:
            storage.__deepcopy__ = before


def _mode(torch: Any, ledger: _CopyTally) -> contextlib.AbstractContextManager[object]:
    """Give a mode in which `clone` makes a tensor that is copied when it is written."""
    from torch.utils._python_dispatch import TorchDispatchMode

    clone = torch.ops.aten.clone.default

    class Share(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Else the first call imports torch's compiler: a second, and traces in the process.
            return False

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is clone:
                tensor = args[0]
                size = tensor.numel() * tensor.element_size()
                ledger.bytes += size
                if type(tensor) is torch.Tensor and tensor.layout is torch.strided:
                    with contextlib.suppress(RuntimeError, AttributeError, NotImplementedError):
                        return torch.ops.aten._lazy_clone.default(tensor)  # noqa: SLF001  torch 2.2
                    if tensor.device.type != "meta" and not ledger.can_copy(size):
                        return _blank(torch, tensor)
            return func(*args, **(kwargs or {}))

    mode: contextlib.AbstractContextManager[object] = Share()  # type: ignore[no-untyped-call]
    return mode


def _storage_copy(torch: Any, ledger: _CopyTally) -> Any:
    """Make a stand-in for the storage's own `__deepcopy__`, with its memo kept in the same way."""

    def share(storage: Any, memo: dict[Any, Any]) -> Any:
        copies = memo.setdefault("torch", {})
        key = storage._cdata  # noqa: SLF001  torch's own key
        if key not in copies:
            if storage.device.type == "meta":
                ledger.bytes += storage.nbytes()
                copies[key] = storage.clone()
            else:
                whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
                copies[key] = whole.clone().untyped_storage()
        return copies[key]

    return share


def _blank(torch: Any, tensor: Any) -> Any:
    """Make a tensor like another one whose memory is reserved and never touched."""
    like = torch.empty_like(tensor, device="meta")
    memory = torch.UntypedStorage(like.untyped_storage().nbytes(), device=tensor.device)
    whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return whole.set_(memory, 0, like.shape, like.stride())
