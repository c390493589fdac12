"""Counts what is no ordinary number among those of a tensor, by their bits, piece by piece.

Any tensor is taken apart into short flat pieces, of which no more than one is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

PIECE = 1 << 20
"""Bytes that are looked at in one go: they fit into a processor's cache."""


class _Rule(NamedTuple):
    """How the bits of a type of numbers are read (IEEE 754, or the OCP's for 8 bits)."""

    code: str
    """Unsigned integers of the same width."""

    magnitude: int
    """All bits but the sign."""

    limit: int
    """The least magnitude that is no ordinary number: infinity, where the type has one."""

    has_infinity: bool = True


_RULES = {
    "float64": _Rule("<u8", (1 << 63) - 1, 0x7FF << 52),
    "float32": _Rule("<u4", 0x7FFFFFFF, 0x7F800000),
    "float16": _Rule("<u2", 0x7FFF, 0x7C00),
    "bfloat16": _Rule("<u2", 0x7FFF, 0x7F80),
    "float8_e5m2": _Rule("u1", 0x7F, 0x7C),
    "float8_e4m3fn": _Rule("u1", 0x7F, 0x7F, has_infinity=False),
}
_PARTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}


def is_measured(dtype: str) -> bool:
    """Whether a type has numbers that are no ordinary ones, and whether its bits can be read."""
    return dtype in _RULES or dtype in _PARTS


@dataclass(slots=True)
class Numbers:
    """What was counted so far in the numbers of one type."""

    dtype: str
    nan: int = 0
    infinite: int = 0
    negative: int = 0
    any: bool = False
    """Whether there were numbers."""

    ordinary: bool = False
    """Whether one of them is neither 0 nor infinite nor NaN."""

    @property
    def zero(self) -> bool:
        """Whether all that are finite are 0."""
        return self.any and not self.ordinary and not self.nan

    def add(self, content: Any) -> None:
        """Take in the bytes of some numbers; whole numbers only, and the low byte first."""
        import numpy as np

        rule = _RULES[_PARTS.get(self.dtype, self.dtype)]
        bits = np.frombuffer(content, rule.code)
        if not bits.size:
            return
        self.any = True
        sizes = bits & bits.dtype.type(rule.magnitude)
        greatest = int(sizes.max())
        if greatest < rule.limit:
            self.ordinary = self.ordinary or greatest > 0
            return
        self.ordinary = self.ordinary or bool(((sizes > 0) & (sizes < rule.limit)).any())
        at_limit = sizes == rule.limit
        self.nan += int((sizes > rule.limit).sum())
        if not rule.has_infinity:
            self.nan += int(at_limit.sum())
            return
        negative = int((at_limit & (bits != sizes)).sum())
        self.negative += negative
        self.infinite += int(at_limit.sum()) - negative


def values_of(torch: Any, tensor: Any) -> tuple[Any, bool]:
    """Give a plain tensor of the numbers that are kept, and whether they are all there is."""
    local = getattr(tensor, "_local_tensor", None)  # of a DTensor, whose other parts are elsewhere
    if isinstance(local, torch.Tensor):
        return values_of(torch, local)[0], False
    if tensor.device.type != "cpu" or tensor.is_quantized:
        return None, False
    if tensor.is_nested:
        return tensor.values(), False
    if tensor.layout == torch.sparse_coo:
        return tensor._values(), False  # noqa: SLF001  values() wants them sorted first
    if tensor.layout != torch.strided:
        return (tensor.values() if "sparse" in str(tensor.layout) else None), False
    return tensor.detach(), True


def bare(tensor: Any) -> Any:
    """Take one of what is only repeated along a dimension, however often."""
    for place, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[place] > 1:
            tensor = tensor.narrow(place, 0, 1)
    return tensor


def pieces_of(tensor: Any) -> Iterator[Any]:
    """Give all numbers of a tensor piece by piece; none is large, whatever its shape says."""
    tensor = bare(tensor)
    if not tensor.numel():
        return
    most = max(1, PIECE // tensor.element_size())
    sides = zip(tensor.shape, tensor.stride(), strict=True)
    span = 1 + sum((side - 1) * step for side, step in sides)
    if span <= tensor.numel():  # without gaps; where it overlaps itself, each is counted once
        flat = tensor.as_strided((span,), (1,), tensor.storage_offset())
        yield from flat.split(most)
        return
    waiting = [tensor]
    while waiting:
        part = waiting.pop()
        if part.numel() <= most:
            yield part.reshape(-1)
            continue
        longest = max(range(part.dim()), key=lambda place: int(part.shape[place]))
        waiting += part.split((part.shape[longest] + 1) // 2, dim=longest)


def bytes_of(torch: Any, piece: Any) -> Any:
    """Give the bytes of a short flat tensor."""
    piece = piece.resolve_conj().resolve_neg()
    if piece.is_complex():
        piece = torch.view_as_real(piece).reshape(-1)
    return piece.contiguous().view(torch.uint8).numpy()
