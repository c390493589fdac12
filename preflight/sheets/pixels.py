"""Makes pictures that can be seen of values: as they are, or stretched where that is told."""

from __future__ import annotations

from typing import Any, NamedTuple

from preflight.sheets.column import Column, ShownPicture, Stats, number

SIDE = 256
"""Pixels of a picture on the sheet, at most."""

ODD = (255, 0, 255)
"""What is neither a number nor finite."""

# What floats of 0 to 1 do not reach, and rounding may.
_OVER_ONE = 2.0


class PixelRange(NamedTuple):
    """Which values are shown black, and which white."""

    low: float
    high: float
    said: str = ""
    """For people, where values are not shown as they are."""


def scale_of(column: Column) -> PixelRange:
    """Say how the pictures of a batch are shown: all of them alike, so that dark ones are seen."""
    name = str(column.pictures[0].data.dtype).removeprefix("torch.")
    stats = column.stats or Stats()
    if name == "bool":
        return PixelRange(0, 1)
    if name == "uint8" and not column.is_latent:
        return PixelRange(0, 255)
    if column.is_latent:
        stats = _of_shown(column)
    if stats.low is None or stats.high is None:
        return PixelRange(0, 1)
    if not column.is_latent:
        plain = _plain(stats.low, stats.high, is_float="float" in name, is_mask=column.is_mask)
        if plain is not None:
            return plain
    if stats.low == stats.high:
        return PixelRange(stats.low - 1, stats.high + 1, "shown grey")
    return PixelRange(
        stats.low, stats.high, f"shown from {number(stats.low)} to {number(stats.high)}"
    )


def _plain(low: float, high: float, *, is_float: bool, is_mask: bool) -> PixelRange | None:
    """Give the range that values are usually of, where these are of one."""
    if low >= 0 and high <= 1:
        return PixelRange(0, 1)
    if is_float and low >= -1 and high <= 1:
        return PixelRange(-1, 1, "shown from -1 to 1")
    is_byte = low >= 0 and high <= 255 and not is_mask
    if is_byte and (high > _OVER_ONE or not is_float):
        return PixelRange(0, 255)
    return None


def _of_shown(column: Column) -> Stats:
    """Give the range of the channels that are shown, of the samples that are."""
    from preflight.sheets.tensor_values import stats_of

    each = [stats_of(one.data) for one in column.pictures]
    lows = [one.low for one in each if one.low is not None]
    highs = [one.high for one in each if one.high is not None]
    return Stats(low=min(lows), high=max(highs)) if lows and highs else Stats()


def drawn(picture: ShownPicture, scale: PixelRange) -> Any:
    """Make a picture of Pillow's, brought to the size of the sheet."""
    import torch
    from PIL import Image

    data, odd = picture.data, None
    if picture.stats.odd:
        good = torch.isfinite(data)
        odd = ~good.all(dim=0)
        data = torch.where(good, data, 0.0)
    if data.dtype == torch.uint8 and (scale.low, scale.high) == (0, 255):
        seen = data
    else:
        times = 255 / (scale.high - scale.low)
        share = data.to(torch.float32, copy=True).sub_(scale.low).mul_(times)
        seen = share.add_(0.5).clamp_(0, 255).to(torch.uint8)
    size = (picture.width, picture.height)
    image = Image.frombytes("L" if len(data) == 1 else "RGB", size, _bytes(seen.movedim(0, 2)))
    image = _fitted(image.convert("RGB"))
    if odd is not None:
        mask = Image.frombytes("L", size, _bytes(odd.to(torch.uint8) * 255))
        image.paste(ODD, None, _fitted(mask).point(_any))
    return image


def _any(value: int) -> int:
    return 255 if value else 0


def _bytes(tensor: Any) -> bytes:
    try:
        data: bytes = tensor.contiguous().numpy().tobytes()
    except RuntimeError:  # there is no numpy
        return bytes(tensor.flatten().tolist())
    return data


def _fitted(image: Any) -> Any:
    """Bring a picture to the sheet: a small one by whole pixels, so that each can be seen."""
    from PIL import Image

    times = SIDE // max(image.size)
    if times >= 1:
        size = (image.width * times, image.height * times)
        return image.resize(size, Image.Resampling.NEAREST) if times > 1 else image
    share = SIDE / max(image.size)
    size = (max(1, round(image.width * share)), max(1, round(image.height * share)))
    return image.resize(size, Image.Resampling.BILINEAR)
