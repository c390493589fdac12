"""Copies what a sheet shows out of a batch, which is let go then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preflight.objects.attributes import classes
from preflight.objects.paths import type_name
from preflight.sheets.column import MOST, Column, Stats, number
from preflight.sheets.leaves import PLAIN, Leaf, NoValue, leaves
from preflight.sheets.picture_layouts import SEEN, Layout, layout_of
from preflight.sheets.tensor_values import (
    first_rows,
    is_array,
    is_whole,
    note_of,
    picture_of,
    stats_of,
    tensor_of,
)

# Parts that are told of, and letters of each text.
_MOST_COLUMNS, _LONGEST = 40, 4_000

# Numbers of one sample that are written out, and token ids that are kept.
_FEW, _MOST_IDS = 8, 1_000

_PICTURE = 3


def columns_of(batch: Any, *, is_batched: bool) -> list[Column]:
    """Copy the first samples of each part of a batch.

    Args:
        batch: whatever a loader gave.
        is_batched: whether it is known that a first dimension is that of samples.
    """
    found: list[Column] = []
    for leaf in leaves(batch):
        if len(found) == _MOST_COLUMNS:
            break
        try:
            found.append(_column(leaf, is_batched=is_batched))
        except Exception as error:  # noqa: BLE001  a class of the user's may refuse to be asked
            about = f"{_kind(leaf.thing)}, which raises {type(error).__name__} when it is looked at"
            found.append(Column(name=leaf.name, about=about))
    return found


def _kind(thing: object) -> str:
    return type_name(type(thing)).removeprefix("builtins.")


def _column(leaf: Leaf, *, is_batched: bool) -> Column:
    name, thing, is_listed = leaf
    if is_listed:
        return _of_list(name, thing)
    if is_array(thing):
        return _of_array(name, thing, is_batched=is_batched)
    if isinstance(thing, classes("PIL.Image", "Image")):
        return _of_images(name, [thing], _kind(thing))
    if isinstance(thing, NoValue):
        return Column(name=name, about=f"raises {thing.error} when it is looked at")
    if type(thing) in PLAIN:
        return Column(name=name, about=_kind(thing), total=1, texts=[_text(thing)])
    return Column(name=name, about="None" if thing is None else _kind(thing))


def _text(thing: object) -> str:
    if isinstance(thing, float):
        return number(thing)
    if isinstance(thing, bytes):
        try:
            return thing[:_LONGEST].decode()
        except UnicodeDecodeError:
            return f"{len(thing):,} bytes"
    return str(thing)[:_LONGEST]


# --- one tensor or array over all samples ---------------------------------------------------------


def _said(thing: Any) -> str:
    kind = type_name(type(thing))
    plain = {"torch.Tensor": "tensor", "numpy.ndarray": "array"}.get(kind, kind)
    dtype = str(thing.dtype).removeprefix("torch.")
    shape = ", ".join(map(str, thing.shape))
    return f"{plain} {dtype} ({shape}{',' if len(thing.shape) == 1 else ''})"


def _of_array(name: str, thing: Any, *, is_batched: bool) -> Column:
    column = Column(name=name, about=_said(thing))
    tensor = tensor_of(thing)
    if tensor is None:
        if len(thing.shape) == 1 and thing.dtype.kind in "UOS":
            column.texts = [_text(one) for one in thing[:MOST].tolist()]
            column.total = len(thing)
        return column
    if not is_batched and tensor.ndim == _PICTURE:
        layout = layout_of(tuple(tensor.shape), is_whole=is_whole(tensor))
        if layout is not None and layout.channels in SEEN:
            return _of_pictures(column, [tensor], 1, stats_of(tensor, layout.axes.index("C")))
    if not tensor.ndim:
        column.stats = stats_of(tensor)
        return column
    layout = layout_of(tuple(tensor.shape[1:]), is_whole=is_whole(tensor))
    if layout is not None:
        channels = 1 + layout.axes.index("C") if "C" in layout.axes else None
        return _of_pictures(column, first_rows(tensor), len(tensor), stats_of(tensor, channels))
    column.stats, column.total = stats_of(tensor), len(tensor)
    _of_rows(column, first_rows(tensor))
    return column


def _of_pictures(column: Column, rows: list[Any], total: int, stats: Stats) -> Column:
    """Take in samples that are pictures."""
    layouts = [layout_of(tuple(one.shape), is_whole=is_whole(one)) for one in rows]
    known = [one for one in layouts if one is not None]
    pairs = zip(rows, layouts, strict=True)
    column.pictures = [picture_of(one, layout) for one, layout in pairs if layout is not None]
    column.total, column.stats = total, stats
    column.note = note_of(known[0])
    column.is_mask = known[0].axes == "HW" and is_whole(rows[0])
    column.is_latent = _is_latent(known[0], rows[0], stats)
    return column


def _is_latent(layout: Layout, row: Any, stats: Stats) -> bool:
    """Whether the channels are no colours: so many, or four of floats that are no shares."""
    if layout.channels not in SEEN:
        return True
    is_share = stats.low is None or stats.high is None or (stats.low >= 0 and stats.high <= 1)
    return layout.channels == max(SEEN) and row.dtype.is_floating_point and not is_share


def _of_rows(column: Column, rows: list[Any]) -> None:
    """Take in samples of a few numbers, or of token ids."""
    if not rows or not rows[0].numel() or rows[0].ndim > 1:
        return
    if rows[0].ndim == 1 and is_whole(rows[0]) and _may_be_ids(column):
        column.ids = [row[:_MOST_IDS].tolist() for row in rows]
    elif rows[0].numel() <= _FEW:
        column.texts = [_numbers(row.reshape(-1).tolist()) for row in rows]


def _may_be_ids(column: Column) -> bool:
    """Whether whole numbers are more than the ones and zeros of a mask, or places."""
    high = None if column.stats is None else column.stats.high
    return high is not None and high > 1 and "position" not in column.name


def _numbers(row: Sequence[Any]) -> str:
    return ", ".join(number(one) if isinstance(one, float) else str(one) for one in row)


# --- a list of one thing for each sample ----------------------------------------------------------


def _of_list(name: str, things: Sequence[Any]) -> Column:
    first = things[0]
    about = f"{len(things):,} x {_kind(first)}"
    column = Column(name=name, about=about, total=len(things))
    shown = things[:MOST]
    if isinstance(first, NoValue):
        column.about = f"raises {first.error} when it is looked at"
        return column
    if all(isinstance(one, classes("PIL.Image", "Image")) for one in things):
        return _of_images(name, things, about)
    if all(map(is_array, things)):
        return _of_arrays(column, things)
    if all(type(one) in PLAIN for one in shown):
        column.texts = [_text(one) for one in shown]
        if all(type(one) in (int, float, bool) for one in things):
            column.stats = _stats_of_numbers(things)
    elif all(isinstance(one, list) and all(type(x) is int for x in one) for one in shown):
        column.ids = [one[:_MOST_IDS] for one in shown]
    elif all(isinstance(one, (list, tuple)) for one in shown):
        column.texts = ["; ".join(_text(x) for x in one if type(x) in PLAIN) for one in shown]
    return column


def _stats_of_numbers(things: Sequence[Any]) -> Stats:
    import torch

    return stats_of(torch.tensor([float(one) for one in things], dtype=torch.float64))


def _of_arrays(column: Column, things: Sequence[Any]) -> Column:
    """Take in tensors of samples, each of a size of its own."""
    tensors = [tensor_of(one) for one in things[:MOST]]
    sizes = {tuple(one.shape) for one in things}
    alike = f", {len(sizes):,} sizes" if len(sizes) > 1 else ""
    column.about = f"{len(things):,} x {_said(things[0])}{alike}"
    if not tensors or any(one is None for one in tensors):
        return column
    layouts = [layout_of(tuple(one.shape), is_whole=is_whole(one)) for one in tensors]
    if all(layouts):
        channels = {_channels(one) for one in layouts if one is not None}
        flat = [_by_channel(one, layout) for one, layout in zip(tensors, layouts, strict=True)]
        import torch

        whole = torch.cat(flat, dim=1) if len(channels) == 1 else _flat(tensors)[None]
        return _of_pictures(column, tensors, len(things), stats_of(whole, 0))
    column.stats = stats_of(_flat(tensors))
    _of_rows(column, tensors)
    return column


def _flat(tensors: list[Any]) -> Any:
    import torch

    return torch.cat([one.reshape(-1) for one in tensors])


def _channels(layout: Layout) -> int:
    return layout.channels


def _by_channel(tensor: Any, layout: Layout | None) -> Any:
    assert layout is not None  # noqa: S101  for the type checker
    if "C" not in layout.axes:
        return tensor.reshape(1, -1)
    return tensor.movedim(layout.axes.index("C"), 0).flatten(1)


def _of_images(name: str, things: Sequence[Any], about: str) -> Column:
    """Take in pictures of Pillow's, as the values that they hold."""
    import torch

    column = Column(name=name, about=about)
    modes = sorted({str(one.mode) for one in things})
    column.about = f"{about} {'/'.join(modes)}"
    tensors = []
    for one in things[:MOST]:
        mode = one.mode if one.mode in ("L", "RGB", "RGBA", "F", "I") else "RGB"
        if one.mode in ("LA", "PA", "La", "RGBa") or "transparency" in one.info:
            mode = "RGBA"
        plain = one.convert("L" if one.mode == "1" else mode)
        dtype = {"F": torch.float32, "I": torch.int32}.get(mode, torch.uint8)
        data = torch.frombuffer(bytearray(plain.tobytes()), dtype=dtype)
        tensors.append(data.reshape(plain.height, plain.width, -1).movedim(2, 0))
    counts = {len(one) for one in tensors}
    whole = [one.flatten(1) for one in tensors]
    flat = torch.cat(whole, dim=1) if len(counts) == 1 else _flat(tensors)[None]
    return _of_pictures(column, tensors, len(things), stats_of(flat, 0))
