"""Holds the files of a cache against each other: what most of them are like, and which are not.

A folder may rightly hold several kinds of files (latents, text embeddings, masks), so that what
many files share is a kind of its own, and only the few that are like nobody are odd; nor is one odd
that goes by another sort of name (`stats.pt` beside `00001.pt`). Sizes that vary by nature are left
free: height and width of latents, the number of tokens.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from preflight.formats.bytes.part_names import SIZE
from preflight.tensors.facts import CacheContents, Content, OddContent
from preflight.tensors.odd import (
    FEWEST,
    SHARE,
    Shape,
    by_itself,
    held_side,
    size_text,
    zeros_of,
)

# Different files that are held against each other; where all differ, nothing is usual.
_MOST_FORMS = 10_000

# What differs in the names of files that were made by one program: numbers, hashes, UUIDs.
_VARYING = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d+", re.ASCII | re.IGNORECASE
)

_Held: TypeAlias = Mapping[str, tuple[int | None, int, int]]
"""By path, the dimension that is the same in nearly all files, its size, and in how many."""


class _Form(NamedTuple):
    """What a file is like, but for the sizes of its tensors."""

    kind: str
    keys: tuple[str, ...] | None
    tensors: tuple[tuple[str, str, int], ...]
    """Path, type and number of dimensions (-1: none) of each; entries of lists count as one."""


class _File(NamedTuple):
    name: str
    shapes: tuple[tuple[str, Shape], ...]
    """By path; where entries of a list differ, none of them."""

    zeros: tuple[str, ...]
    """Paths of tensors that hold nothing but zeros."""

    bare: bool
    """Whether all that it holds is zero."""


_Group: TypeAlias = dict[_Form, list[_File]]
"""Files beside each other, of one suffix, by what they are like; not all where forms are many."""


def contents_of(folder: str, contents: Iterable[Content]) -> CacheContents:
    """Put together what is in the files of a cache, and say which stand out."""
    groups: dict[tuple[str, str], _Group] = defaultdict(dict)
    skipped: Counter[str] = Counter()
    odd: list[OddContent] = []
    files = tensors = 0
    shared: dict[object, object] = {}
    for one in contents:
        if one.skipped is not None:
            skipped[one.skipped] += 1
            continue
        files += 1
        tensors += len(one.tensors) + one.more
        odd += by_itself(one)
        place, _, name = one.file.rpartition("/")
        group = groups[place, name.rpartition(".")[2].lower()]
        form = _form(one)
        if form in group or len(group) <= _MOST_FORMS:
            group.setdefault(form, []).append(_file(one, shared))
    for (place, _), group in groups.items():
        odd += _beside(place or ".", group)
    odd.sort(key=lambda one: (one.file, one.kind, one.path))
    return CacheContents(
        folder=folder, files=files, tensors=tensors, odd=tuple(odd), skipped=dict(skipped)
    )


# --- forms


def _form(content: Content) -> _Form:
    tensors = {
        (_any(one.path), one.dtype, -1 if one.shape is None else len(one.shape))
        for one in content.tensors
    }
    keys = content.keys
    if keys is not None and any("x" in one for one in keys):
        keys = tuple(dict.fromkeys(SIZE.sub("#x#", one) for one in keys))
    return _Form(content.kind, keys, tuple(sorted(tensors)))


def _any(path: str) -> str:
    """Take entries of a list for the same, and sizes in keys: `['a'][3]` is `['a'][*]`."""
    parts = (SIZE.sub("#x#", path) if "x" in path else path).split("[")
    return "[".join("*]" if part[:-1].isdigit() else part for part in parts)


def _file(content: Content, shared: dict[object, object]) -> _File:
    """Keep what is needed of a file; what many have alike is held once."""
    shapes: dict[str, Shape] = {}
    twice: set[str] = set()
    for one in content.tensors:
        path = _any(one.path)
        if shapes.setdefault(path, one.shape) != one.shape:
            twice.add(path)
    kept = tuple((path, shape) for path, shape in shapes.items() if path not in twice)
    zeros = tuple(_any(one.path) for one in zeros_of(content))
    bare = bool(zeros) and len(zeros) == len(content.tensors)
    return _File(
        content.file,
        shared.setdefault(kept, kept),  # type: ignore[arg-type]
        shared.setdefault(zeros, zeros),  # type: ignore[arg-type]
        bare,
    )


# --- neighbours


def _beside(place: str, group: _Group) -> Iterator[OddContent]:
    kinds = _kinds(group)
    usual_name = _usual_name(group) if kinds else None
    held = {form: _held(group[form]) for form in kinds}
    for form, files in group.items():
        yield from _zeros(place, files)
        if form in kinds:
            yield from (odd for one in files if (odd := _of_size(one, held[form])) is not None)
        elif kinds:
            like = max(kinds, key=lambda kind: (_alike(form, kind), kinds[kind]))
            for one in files:
                if _is_meant_alike(one, form, like, usual_name):
                    yield from _unlike(one, form, like, kinds[like], held[like])
    yield from _mixed(place, kinds)


def _usual_name(group: _Group) -> str | None:
    """Find the sort of name that nearly all have; None where they are named after something."""
    sorts = Counter(_sort_of_name(one.name) for files in group.values() for one in files)
    sort, count = sorts.most_common(1)[0]
    return sort if count * 4 >= sum(sorts.values()) * 3 else None


def _sort_of_name(name: str) -> str:
    return _VARYING.sub("#", name.rpartition("/")[2])


def _is_meant_alike(file: _File, form: _Form, like: _Form, usual_name: str | None) -> bool:
    """Whether a file was meant to be like those others: it is named so, or shares a key."""
    if usual_name is not None:
        return _sort_of_name(file.name) == usual_name
    return not set(form.keys or ()).isdisjoint(like.keys or ())


def _kinds(group: _Group) -> dict[_Form, int]:
    """Find what files are rightly like, each with how many there are; none: it cannot be said."""
    counts = {form: len(files) for form, files in group.items()}
    total = sum(counts.values())
    if len(group) > _MOST_FORMS or total < FEWEST:
        return {}
    usual = max(counts, key=lambda form: counts[form])
    kinds = {
        form: count
        for form, count in counts.items()
        if form is usual or (count >= FEWEST and count * SHARE >= total)
    }
    others = sum(count for form, count in counts.items() if form is not usual and form in kinds)
    rest = total - others
    return kinds if rest >= FEWEST and counts[usual] * 4 >= rest * 3 else {}


def _alike(one: _Form, other: _Form) -> int:
    keys = len(set(one.keys or ()) & set(other.keys or ()))
    paths = len({tensor[0] for tensor in one.tensors} & {tensor[0] for tensor in other.tensors})
    same = len(set(one.tensors) & set(other.tensors))
    return keys + paths + same + (one.kind == other.kind)


def _unlike(
    file: _File, form: _Form, usual: _Form, alike: int, held: _Held
) -> Iterator[OddContent]:
    """Say in which way a file is unlike: the gravest of all."""

    def odd(kind: str, path: str = "", seen: str = "", instead: str = "") -> OddContent:
        return OddContent(
            file=file.name, kind=kind, path=path, seen=seen, usual=instead, count=alike
        )

    if form.kind != usual.kind:
        yield odd("kind", seen=form.kind, instead=usual.kind)
        return
    if form.keys is None or usual.keys is None:
        return
    missing = [key for key in usual.keys if key not in form.keys]
    if missing:
        yield odd("missing-key", path=missing[0])
        return
    here = {path: (dtype, rank) for path, dtype, rank in form.tensors}
    for path, _, rank in usual.tensors:
        if path in here and here[path][1] != rank:
            seen = size_text(dict(file.shapes).get(path))
            yield odd("rank", path, seen=f"{here[path][1]} dimensions ({seen})", instead=str(rank))
            return
    for path, dtype, _ in usual.tensors:
        if path in here and here[path][0] != dtype:
            both_float = "float" in here[path][0] and "float" in dtype  # which alone would do
            other = _of_size(file, held) if both_float else None
            yield other or odd("dtype", path, seen=here[path][0], instead=dtype)
            return
    extra = [key for key in form.keys if key not in usual.keys]
    if extra:
        yield odd("extra-key", path=extra[0])


def _mixed(place: str, kinds: Mapping[_Form, int]) -> Iterator[OddContent]:
    """Say of a key under which two kinds of files have different types: it was made twice."""
    seen: dict[tuple[tuple[str, ...], object, str], Counter[str]] = defaultdict(Counter)
    for form, count in kinds.items():
        if form.kind == "dict" and form.keys:
            paths = tuple((path, rank) for path, _, rank in form.tensors)
            for path, dtype, _ in form.tensors:
                seen[form.keys, paths, path][dtype] += count
    for (*_, path), numbers in seen.items():
        if len(numbers) > 1:
            (usual, most), *others = numbers.most_common()
            less = " and ".join(f"{dtype} in {count:,}" for dtype, count in others)
            yield OddContent(
                file=place, kind="mixed-dtype", path=path, seen=less, usual=usual, count=most
            )


def _zeros(place: str, files: list[_File]) -> Iterator[OddContent]:
    """Say of tensors that are zero throughout, where that is not how the cache is made."""
    if len(files) > 1 and all(one.bare for one in files):
        yield OddContent(file=place, kind="all-zero", count=len(files))
        return
    counts = Counter(path for one in files for path in set(one.zeros))
    meant = {
        path
        for path, count in counts.items()
        if (count == len(files) > 1) or (count >= FEWEST and count * SHARE >= len(files))
    }
    for one in files:
        told = [path for path in one.zeros if path not in meant]
        if told:
            size = size_text(dict(one.shapes).get(told[0]))
            yield OddContent(
                file=one.name, kind="zero", path=told[0], more=len(told) - 1, seen=size
            )


# --- sizes


def _held(files: list[_File]) -> _Held:
    if len(files) < FEWEST:
        return {}
    by_path: dict[str, Counter[Shape]] = defaultdict(Counter)
    for one in files:
        for path, shape in one.shapes:
            by_path[path][shape] += 1
    return {path: held_side(shapes) for path, shapes in by_path.items()}


def _of_size(file: _File, held: _Held) -> OddContent | None:
    """Say whose tensor has another number of channels or features than nearly all others."""
    for path, shape in file.shapes:
        place, side, count = held.get(path, (None, 0, 0))
        if shape is not None and place is not None and shape[place] != side:
            return OddContent(
                file=file.name,
                kind="shape",
                path=path,
                seen=size_text(shape),
                usual=f"{side} in place of {shape[place]}",
                count=count,
            )
    return None
