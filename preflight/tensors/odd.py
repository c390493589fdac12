"""Says what stands out in one cached file by itself, and which size may not vary among many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from preflight.tensors.facts import CachedTensor, Content, OddContent

FEWEST = 5
"""Files that are a kind: where there are fewer, nothing is unlike its neighbours."""

SHARE = 10
"""Of so many neighbours one has to be, for it to be a kind of its own."""

# Elements of a vector from which on it is an embedding, and not a handful of settings.
_EMBEDDING = 256

# A view that is saved with this many times its bytes, and so many more.
_TIMES, _DRAGGED = 4, 1_000_000

# Elements from which on a tensor is no handful of settings or coordinates.
_FEW = 64

# A file of more tensors than this is a model or an optimizer, in which zeros are where one starts.
_MOST_TENSORS = 16

# Hashes of nothing, by which caches name the embedding of the empty prompt (MD5, SHA-1, SHA-256).
_OF_NOTHING = ("d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d", "e3b0c44298fc1c14")
_EMPTY = ("empty", "null", "uncond", "negative", "neg_", "zero")
_MASKS = ("mask", "bias")

Shape: TypeAlias = "tuple[int, ...] | None"


def by_itself(content: Content) -> Iterator[OddContent]:
    """Say what is wrong in a file whatever its neighbours are."""
    for kind, wrong in _WRONG.items():
        found = [one for one in content.tensors if wrong(content.file, one)]
        if found:
            first = found[0]
            count, of = _NUMBERS[kind](first)
            yield OddContent(
                file=content.file,
                kind=kind,
                path=first.path,
                more=len(found) - 1,
                seen=f"{size_text(first.shape)}, {first.dtype}",
                count=count,
                of=of,
            )


def _is_a_score(one: CachedTensor) -> bool:
    """Whether it is one number, as trainers keep the best loss so far, which begins with inf."""
    return one.shape == ()


def _is_nan(_: str, one: CachedTensor) -> bool:
    return one.nan > 0 and not _is_a_score(one)


def _is_infinite(file: str, one: CachedTensor) -> bool:
    """Whether a number is infinite that should not be: -inf is what masks are made of."""
    if _is_a_score(one):
        return False
    legal = one.zero or _speaks_of(_MASKS, file, one.path)
    return one.infinite > 0 or (one.negative > 0 and not legal and not one.nan)


def _drags(_: str, one: CachedTensor) -> bool:
    return one.storage > _TIMES * one.used and one.storage - one.used > _DRAGGED


_WRONG = {"nan": _is_nan, "infinite": _is_infinite, "storage": _drags}
_NUMBERS = {
    "nan": lambda one: (one.nan, one.elements),
    "infinite": lambda one: (one.infinite + one.negative, one.elements),
    "storage": lambda one: (one.storage, one.used),
}


def size_text(shape: Shape) -> str:
    """Say a shape: `4 x 128 x 128`."""
    if shape is None:
        return "nested"
    return " x ".join(str(side) for side in shape) or "one number"


def _speaks_of(words: Iterable[str], file: str, path: str) -> bool:
    text = f"{file.rpartition('/')[2]} {path}".lower()
    return any(word in text for word in words)


def zeros_of(content: Content) -> list[CachedTensor]:
    """Give those that are zero and should not be: settings, masks and coordinates may."""
    if len(content.tensors) + content.more > _MOST_TENSORS:
        return []
    return [
        one
        for one in content.tensors
        if one.zero and not (one.negative or one.infinite or one.elements < _FEW)
        if not _speaks_of((*_OF_NOTHING, *_EMPTY, *_MASKS), content.file, one.path)
    ]


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
