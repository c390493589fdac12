"""Whether tensors hold a NaN or an infinite value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def not_finite(tensors: Sequence[Any]) -> list[int]:
    """Give the places of those that hold a NaN or an infinite value.

    The sum of a tensor is taken, which is quick, and is never finite where a value is not; where it
    is not finite, the values themselves are asked. What cannot be asked is left out.
    """
    import torch

    with torch.no_grad():
        asked = [(place, own) for place, one in enumerate(tensors) if _is_known(own := _here(one))]
        by_device: dict[Any, list[tuple[int, Any]]] = {}
        for place, own in asked:
            by_device.setdefault((own.device, own.dtype), []).append((place, own))
        suspicious: list[tuple[int, Any]] = []
        for group in by_device.values():
            sums = torch.stack([own.sum() for _, own in group])
            whole = torch.isfinite(sums)
            if not whole.all():
                suspicious += [
                    one for one, fine in zip(group, whole.tolist(), strict=True) if not fine
                ]
        return sorted(place for place, own in suspicious if not torch.isfinite(own).all())


def _here(tensor: Any) -> Any:
    """Give the part of a tensor that this process holds; the whole would wait for all ranks."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _is_known(tensor: Any) -> bool:
    import torch

    return (
        tensor.is_floating_point()
        and tensor.dtype.itemsize > 1
        and tensor.layout == torch.strided
        and tensor.device.type in {"cpu", "cuda", "mps", "xpu"}
        and tensor.numel() > 0
    )
