"""Finds the size that a tensor has in nearly all files of a cache, where it may not vary."""

from __future__ import annotations

from collections import Counter

from preflight.tensors.odd import Shape

FEWEST = 5
"""Files that are a kind: where there are fewer, nothing is unlike its neighbours."""

SHARE = 10
"""Of so many neighbours one has to be, for it to be a kind of its own."""

# Elements of a vector from which on it is an embedding, and not a handful of settings.
_EMBEDDING = 256


def held_side(shapes: Counter[Shape]) -> tuple[int | None, int, int]:
    """Find the dimension that is the same in nearly all, its size, and in how many it is so."""
    usual = max(shapes, key=lambda shape: shapes[shape])
    place = None if usual is None else _fixed(usual)
    if usual is not None and place is None:
        place = _beside_varying(shapes, usual)
    if usual is None or place is None:
        return None, 0, 0
    sides: Counter[int] = Counter()
    for shape, count in shapes.items():
        if shape is not None:
            sides[shape[place]] += count
    side, count = sides.most_common(1)[0]
    total = sum(sides.values())
    rare = all(
        other < FEWEST or other * SHARE < total for value, other in sides.items() if value != side
    )
    return (place, side, count) if rare and count * 4 >= total * 3 else (None, 0, 0)


def _fixed(shape: tuple[int, ...]) -> int | None:
    """Say which dimension cannot vary by nature: the channels of latents, an embedding's width."""
    first = next((place for place, side in enumerate(shape) if side != 1), len(shape))
    own = shape[first:]
    if len(own) >= 3:
        return first
    wide = bool(own) and own[-1] >= _EMBEDDING
    if wide and (len(own) == 1 or own[-1] > 4 * own[0]):
        return len(shape) - 1
    return None


def _beside_varying(shapes: Counter[Shape], usual: tuple[int, ...]) -> int | None:
    """Find the one of two dimensions that stays while the other varies: a width beside tokens."""
    first = next((place for place, side in enumerate(usual) if side != 1), len(usual))
    if len(usual) - first != 2:
        return None
    sides: list[Counter[int]] = [Counter(), Counter()]
    for shape, count in shapes.items():
        for side, counts in zip((shape or ())[first:], sides, strict=False):
            counts[side] += count
    total = sum(sides[0].values())
    varies = [2 * max(counts.values()) < total and len(counts) >= FEWEST for counts in sides]
    stays = [max(counts.values()) * SHARE >= total * (SHARE - 1) for counts in sides]
    for at in (0, 1):
        if stays[at] and varies[1 - at]:
            return first + at
    return None
