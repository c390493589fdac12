"""Gives a copy its data without the memory: shared until it is written, copied, or left blank.

Nothing that it gives can be written through to the original. Where data cannot be shared until it
is written (shared memory, files, numpy's memory), it is copied as long as there is room.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_ROOM = 256 << 20  # bytes that are copied in earnest for one copy


class CopyTally:
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


class Memo(dict[int, Any]):
    """The memo of a copy, in which large arrays of numpy are found as if copied already."""

    def __init__(self, known: Mapping[int, object], ledger: CopyTally) -> None:
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
def shared_data(ledger: CopyTally) -> Iterator[None]:
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


def _mode(torch: Any, ledger: CopyTally) -> contextlib.AbstractContextManager[object]:
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


def _storage_copy(torch: Any, ledger: CopyTally) -> Any:
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
