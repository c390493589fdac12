"""Copies what is shown of tensors and arrays, and counts all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from preflight.objects.attributes import classes
from preflight.sheets.column import MOST, ShownPicture, Stats
from preflight.sheets.picture_layouts import Layout

# Numbers that are looked at at once.
_AT_ONCE = 1 << 22

# Channels of a picture that are shown of many: of four, transparency is left out.
_SHOWN = 3


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Have torch start no thread, which forked workers would miss."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_array(thing: object) -> bool:
    """Whether it is a tensor, or an array."""
    kinds: Any = (*classes("torch", "Tensor"), *classes("numpy", "ndarray"))
    return isinstance(thing, kinds)


def tensor_of(thing: Any) -> Any:
    """Give a tensor or array as a plain tensor on the CPU; None where it holds no numbers."""
    import torch

    if not isinstance(thing, torch.Tensor):
        if thing.dtype.kind not in "biuf":
            return None
        import numpy

        wide = thing.astype(thing.dtype.newbyteorder("="), copy=True)
        if wide.dtype == numpy.longdouble:
            wide = wide.astype("float64")
        return torch.from_numpy(numpy.ascontiguousarray(wide).reshape(thing.shape))
    plain = thing.detach().as_subclass(torch.Tensor).cpu()
    if plain.is_complex() or plain.is_quantized:
        return None
    return plain if plain.layout == torch.strided else plain.to_dense()


def is_whole(tensor: Any) -> bool:
    """Whether it holds whole numbers of more than a byte: labels or ids, and seldom pictures."""
    import torch

    return not tensor.dtype.is_floating_point and tensor.dtype not in (torch.uint8, torch.bool)


def stats_of(tensor: Any, channels: int | None = None) -> Stats:
    """Count the numbers of a tensor; by their channels where it says along which they lie."""
    import torch

    stats = Stats()
    if not tensor.numel():
        return stats
    size = 1 if channels is None else tensor.shape[channels]
    sums = torch.zeros(size, dtype=torch.float64)
    finite = torch.zeros(size, dtype=torch.float64)
    lows, highs = [], []
    for piece in _pieces(_counted(tensor), channels):
        added = _sums(piece, channels)
        if bool(torch.isfinite(added).all()):  # so all of it is
            low, high = torch.aminmax(piece)
            finite += piece.numel() // size
        else:
            good = torch.isfinite(piece)
            stats.nan += int(torch.isnan(piece).sum())
            stats.inf += int(torch.isinf(piece).sum())
            low = torch.where(good, piece, torch.inf).amin()
            high = torch.where(good, piece, -torch.inf).amax()
            added = _sums(torch.where(good, piece, 0.0), channels)
            finite += _sums(good, channels)
        sums += added
        lows.append(float(low))
        highs.append(float(high))
    if finite.any():
        stats.low, stats.high = min(lows), max(highs)
        stats.mean = float(sums.sum() / finite.sum())
        if channels is not None:
            stats.means = tuple(map(float, sums / finite.clamp(min=1)))
    return stats


def _counted(tensor: Any) -> Any:
    """Give numbers in a type that torch counts in: of rare ones it only knows how they are kept."""
    import torch

    if tensor.dtype.is_floating_point:
        return tensor if tensor.element_size() > 1 else tensor.to(torch.float32)
    if tensor.dtype == torch.bool:
        return tensor.to(torch.uint8)
    known = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    return tensor if tensor.dtype in known else tensor.to(torch.int64)


def _pieces(tensor: Any, channels: int | None) -> Iterator[Any]:
    """Give all numbers of a tensor in pieces: of pictures, so many whole ones."""
    if channels is None:
        yield from tensor.reshape(-1).split(_AT_ONCE)
    elif channels == 0:
        yield tensor
    else:
        yield from tensor.split(max(1, _AT_ONCE * len(tensor) // tensor.numel()))


def _sums(piece: Any, channels: int | None) -> Any:
    """Add up the numbers of each channel. Of the usual type, torch does that in pairs, and soon."""
    import torch

    others = [axis for axis in range(piece.ndim) if axis != channels]
    own = torch.float32 if piece.dtype == torch.float32 else torch.float64
    return piece.sum(dim=others, dtype=own).to(torch.float64).reshape(-1)


def picture_of(sample: Any, layout: Layout) -> ShownPicture:
    """Copy one picture out of a sample: the first frame, and of many channels the first."""
    plain = sample
    if "T" in layout.axes:
        plain = plain.select(layout.axes.index("T"), 0)
    axes = layout.axes.replace("T", "")
    if axes == "HW":
        plain = plain[None]
    elif axes == "HWC":
        plain = plain.movedim(2, 0)
    stats = stats_of(plain, 0)
    plain = plain[: shown_channels(layout)]
    return ShownPicture(
        data=plain.contiguous().clone(),
        stats=stats,
        height=int(plain.shape[1]),
        width=int(plain.shape[2]),
    )


def shown_channels(layout: Layout) -> int:
    """Say how many channels are shown, the first ones."""
    return _SHOWN if layout.channels >= _SHOWN else 1


def note_of(layout: Layout) -> str:
    """Say what is left out of each picture."""
    said = [f"frame 1 of {layout.frames}"] if layout.frames > 1 else []
    last = shown_channels(layout)
    if layout.channels > last:
        which = f"channels 1 to {last}" if last > 1 else "channel 1"
        said.append(f"{which} of {layout.channels}")
    return ", ".join(said)


def first_rows(tensor: Any) -> list[Any]:
    """Give the first samples of a batch."""
    return list(tensor[:MOST])
