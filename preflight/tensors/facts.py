"""What cached files hold, loaded by torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class CachedTensor(NamedTuple):
    """One tensor of a cached file, and what stands out in its numbers."""

    path: str
    """Its place in the file: `['prompt_embeds']`; empty where the file is the tensor."""

    dtype: str
    """As torch and numpy call it: `float32`, `bfloat16`."""

    shape: tuple[int, ...] | None
    """None where it has no one shape, as a nested tensor."""

    elements: int = 0
    nan: int = 0
    infinite: int = 0
    """Numbers that are infinite, and greater than 0."""

    negative: int = 0
    """Numbers that are infinite, and less than 0."""

    zero: bool = False
    """Whether it is of floating point, has elements, and all that are finite are 0."""

    storage: int = 0
    """Bytes that are saved for its sake; 0 where it was not asked."""

    used: int = 0
    """Bytes of those that any tensor of the file needs."""


class Content(NamedTuple):
    """What one cached file holds, loaded."""

    file: str
    kind: str = ""
    """What the file is as a whole: `dict`, `list`, `tensor`; empty where it was not loaded."""

    keys: tuple[str, ...] | None = ()
    """Every key of every dict in it, by its path; None where there are too many to compare."""

    tensors: tuple[CachedTensor, ...] = ()
    """The first hundreds, and those of the rest whose numbers stand out."""

    more: int = 0
    """Tensors that are not among them."""

    skipped: str | None = None
    """Why it was not loaded, where another check tells that or it holds nothing to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OddContent:
    """What stands out in one cached file, or in a folder of them."""

    file: str
    kind: str
    """`nan`, `infinite`, `zero`, `storage`; `missing-key`, `extra-key`, `kind`, `rank`, `dtype`,
    `shape` where it is unlike its neighbours; `mixed-dtype` and `all-zero` of a whole folder."""

    path: str = ""
    """The place in the file, as `CachedTensor` has it."""

    more: int = 0
    """Further tensors of the file of which the same is true."""

    seen: str = ""
    usual: str = ""
    """What was seen, and what most neighbours have in its place."""

    count: int = 0
    of: int = 0
    """Of so many numbers, bytes or files that many are meant."""

    is_state: bool = False
    """Whether it is part of a state of a training run, which no settings can make again."""

    is_older: bool = False
    """Whether it is part of a checkpoint, and a newer one lies beside that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheContents:
    """What the files of one cache hold, as far as they were loaded."""

    folder: str
    files: int = 0
    """Files that were loaded."""

    tensors: int = 0
    odd: tuple[OddContent, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many files were not loaded, by the reason."""
