"""Counts what is no ordinary number among those of a tensor, by their bits, piece by piece."""

from __future__ import annotations

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
