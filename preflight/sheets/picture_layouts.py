"""Tells by its shape how a tensor holds pictures."""

from __future__ import annotations

from typing import NamedTuple

# Channels of pictures as they are seen, and at most of those of which some are shown.
SEEN, _MOST = (1, 3, 4), 64

# Sides of what is shown without channels: others are embeddings, or tokens by their words.
_LEAST_SIDE, _LONGEST = 8, 2

# Channels of latents of videos, which stand before their frames.
_OF_LATENTS = (3, 4, 16)

# Dimensions of a picture with its channels, and of a video.
_PICTURE, _VIDEO = 3, 4


class Layout(NamedTuple):
    """How one sample holds its picture."""

    axes: str
    """`CHW`, `HWC`, `HW`, `TCHW`, `CTHW` or `THWC`."""

    frames: int = 1
    channels: int = 1


def layout_of(shape: tuple[int, ...], *, is_whole: bool) -> Layout | None:
    """Tell how a sample of this shape holds a picture; None: it holds none.

    Args:
        shape: of one sample.
        is_whole: whether it holds whole numbers of more than a byte.
    """
    if 0 in shape:
        return None
    if len(shape) == _VIDEO:
        return _of_video(*shape)
    if len(shape) == _PICTURE:
        return _with_channels(*shape)
    if len(shape) == 2 and _is_plane(*shape, is_whole=is_whole):
        return Layout("HW")
    return None


def _is_plane(height: int, width: int, *, is_whole: bool) -> bool:
    least = 2 * _LEAST_SIDE if is_whole else _LEAST_SIDE
    return min(height, width) >= least and max(height, width) <= _LONGEST * min(height, width)


def _with_channels(first: int, second: int, third: int) -> Layout | None:
    if first in SEEN and not (third in SEEN and second > third and first != third):
        return Layout("CHW", channels=first) if min(second, third) > 1 else None
    if third in SEEN:
        return Layout("HWC", channels=third) if min(first, second) > 1 else None
    if first <= _MOST and min(second, third) > 1:
        return Layout("CHW", channels=first)
    return None


def _of_video(first: int, second: int, third: int, fourth: int) -> Layout | None:
    if fourth in SEEN and third > fourth and second not in SEEN:
        return Layout("THWC", frames=first, channels=fourth)
    if min(third, fourth) <= 1:
        return None
    if second != _PICTURE and first in _OF_LATENTS:
        return Layout("CTHW", frames=second, channels=first)
    if second <= _MOST:
        return Layout("TCHW", frames=first, channels=second)
    return None
