"""Takes the numbers of any tensor apart into short flat pieces, copying no more than one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from preflight.tensors.numbers import PIECE


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
