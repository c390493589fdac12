"""What a cached file is, and what is wrong in its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from preflight.facts.files import Damage


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """One cached file, every byte read and none of it run."""

    file: str
    size: int
    format: str
    """What its bytes say that it is: `torch zip`, `torch legacy`, `npz`, `npy`, `safetensors`,
    `gzip`, `pickle`, `zip` (of neither torch nor numpy), `unknown`."""

    damage: Damage | None = None
    verified: bool = False
    """Whether checksums were there and all of them agreed."""

    globals: tuple[str, ...] = ()
    """The first twenty of the globals (`posix.system`) that its pickle names and torch.load refuses
    with weights_only, as they may be shown. `?` stands for what was not told, such as a name that
    the pickle puts together."""

    is_older: bool = False
    """Whether it is part of a checkpoint, and a newer one lies beside that."""

    unread: str | None = None
    """What of it was not looked at, with its sizes: too much of it, or packed in an unknown way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePiece:
    """What was seen of several cached files of one folder, in their order."""

    seen: str
    """A letter for each: of `LETTERS` where the file is whole and names nothing, else `ODD`
    or `BROKEN`."""

    marks: str
    """What tells its content from another, for each: numbers of 64 bits, in base64."""

    odd: tuple[CacheFacts, ...] = ()
    """All there is to say of each that is `ODD`, in their order."""

    broken: tuple[str, ...] = ()
    """Why each could not be read that is `BROKEN`, in their order."""


# The formats in which a file may be whole.
_FORMATS = (
    *("torch zip", "torch legacy", "npz", "npy", "safetensors"),
    *("gzip", "pickle", "zip", "unknown"),
)

LETTERS: Mapping[tuple[str, bool], str] = {
    (name, verified): chr(ord("A" if verified else "a") + number)
    for number, name in enumerate(_FORMATS)
    for verified in (False, True)
}
"""Of a whole file that names nothing, by its format and whether its checksums were compared."""

ODD = "?"
BROKEN = "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedTensor:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
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
