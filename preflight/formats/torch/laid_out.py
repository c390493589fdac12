"""How the tensors of a pickle lie in their storages, as it says, and which cannot lie there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickle_machine import Name, Rebuilt, Storage, Value
from preflight.formats.torch.pickle_opcodes import MOST_IN_TUPLE
from preflight.values.names import shown

_UNTYPED = "UntypedStorage"

# Bytes of an element. A kind that is not here is of a later torch, and its size is not judged.
ELEMENT = {
    **dict.fromkeys(("BoolStorage", "ByteStorage", "CharStorage", _UNTYPED), 1),
    **dict.fromkeys(("QInt8Storage", "QUInt2x4Storage", "QUInt4x2Storage", "QUInt8Storage"), 1),
    **dict.fromkeys(("BFloat16Storage", "HalfStorage", "ShortStorage"), 2),
    **dict.fromkeys(("FloatStorage", "IntStorage", "QInt32Storage"), 4),
    **dict.fromkeys(("ComplexFloatStorage", "DoubleStorage", "LongStorage"), 8),
    "ComplexDoubleStorage": 16,
}

# What torch makes tensors with again, of a storage: offset, sizes and strides follow.
_QUANTIZED = "torch._utils _rebuild_qtensor"
_OF_BYTES = "torch._utils _rebuild_tensor_v3"
_LAID_OUT = frozenset(
    {
        *(_QUANTIZED, _OF_BYTES),
        *(f"torch._utils _rebuild_tensor{version}" for version in ("", "_v2")),
    }
)

# Types that such a tensor gives to bytes without one, of elements of more than one byte.
_ELEMENT_OF = {"torch uint16": 2, "torch uint32": 4, "torch uint64": 8}

# Where, behind the storage, it is said whether a gradient is needed.
_NEEDS_GRADIENT = {"torch._utils _rebuild_tensor_v2": 3, "torch._utils _rebuild_parameter": 0}
_WHOLE_NUMBERS = frozenset(
    f"{name}Storage" for name in ("Bool", "Byte", "Char", "Int", "Long", "Short")
)


def bytes_of(storage: Storage) -> int | None:
    """Give the bytes of a storage; None: it is of a kind that nobody knows here."""
    element = ELEMENT.get(storage.kind)
    return None if element is None else element * storage.elements


def refuse_misfits(tensors: Iterable[Rebuilt]) -> None:
    """Refuse a tensor that torch cannot lay out in its storage, or not with this type of elements.

    Raises:
        DamagedError: `storage`.
    """
    for tensor in tensors:
        wrong = misfit(tensor)
        if wrong is not None:
            name = f"storage {shown(tensor.storage.key)}"
            raise DamagedError("storage", f"holds a tensor that {wrong} ({name})", member=name)


def misfit(tensor: Rebuilt) -> str | None:
    """Say so where torch raises for a tensor in this storage."""
    wrong = _wrong_type(tensor)
    if wrong is not None or tensor.by not in _LAID_OUT:
        return wrong
    elements = tensor.storage.elements
    if tensor.by == _OF_BYTES:
        of = [one.text for one in tensor.given if isinstance(one, Name)]
        elements //= _ELEMENT_OF.get(of[0], 1) if of else 1
    return beyond(elements, *tensor.given[:3])


def _wrong_type(tensor: Rebuilt) -> str | None:
    kind = tensor.storage.kind
    if kind not in ELEMENT or kind == _UNTYPED:
        return None
    element = kind.removesuffix("Storage")
    if tensor.by in _LAID_OUT and (tensor.by == _QUANTIZED) != kind.startswith("Q"):
        said = "is quantized" if tensor.by == _QUANTIZED else "is not quantized"
        return f"{said}, and its storage is of type {element}"
    place = _NEEDS_GRADIENT.get(tensor.by)
    needs = place is not None and tensor.given[place : place + 1] == (True,)
    if needs and kind in _WHOLE_NUMBERS:
        return f"needs a gradient, and its storage is of type {element}"
    return None


def beyond(
    elements: int, offset: Value = None, sizes: Value = None, strides: Value = None
) -> str | None:
    """Say so where a tensor takes more elements than its storage has."""
    for what, given in (("sizes", sizes), ("strides", strides)):
        if isinstance(given, (int, str, Name)):
            return f"is given no list of {what}"
    if not (isinstance(offset, int) and _are_numbers(sizes) and _are_numbers(strides)):
        return None
    if len(sizes) != len(strides) or min((offset, *sizes, *strides)) < 0:
        return f"has sizes {sizes}, strides {strides} and begins at element {offset:,}"
    steps = sum((one - 1) * stride for one, stride in zip(sizes, strides, strict=True))
    least = offset + steps + 1 if all(sizes) else 0
    if least <= elements:
        return None
    shape = " x ".join(f"{one:,}" for one in sizes) or "one number"
    return f"reaches to element {least:,} ({shape}) of a storage of {elements:,}"


def _are_numbers(value: Value) -> TypeGuard[tuple[int, ...]]:
    """Whether it is a whole tuple of numbers; a longer one may have been cut."""
    if not isinstance(value, tuple) or len(value) >= MOST_IN_TUPLE:
        return False
    return all(isinstance(one, int) for one in value)
