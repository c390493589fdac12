"""What a cached file is, and what is wrong in its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from preflight.file_access.facts import Damage


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

    behind: int = 0
    """Bytes behind a numpy array that are no further one: damage only where others have none."""

    is_older: bool = False
    """Whether it is part of a checkpoint, and a newer one lies beside that."""

    unread: str | None = None
    """What of it was not looked at, with its sizes: too much of it, or packed in an unknown way."""


MOST_SETS = 70
"""Different sets of names of arrays that are told apart, by a letter for each; of more, nothing is
usual."""


class CachePiece(NamedTuple):
    """What was seen of several cached files of one folder, in their order."""

    seen: str
    """A letter for each: of `LETTERS` where the file is whole and names nothing, else `ODD`
    or `BROKEN`."""

    stamps: str
    """What tells its content from another, for each: numbers of 64 bits, in base64."""

    odd: tuple[CacheFacts, ...] = ()
    """All there is to say of each that is `ODD`, in their order."""

    broken: tuple[str, ...] = ()
    """Why each could not be read that is `BROKEN`, in their order."""

    arrays: str = ""
    """A letter for each, from `0` on: which of `sets` a file holds; `.` where that is not told."""

    sets: tuple[tuple[str, ...], ...] = ()
    """Names of arrays or tensors."""


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

# Plain types of arrays that are usual, and their letters.
_TYPES = (
    *("|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8"),
    *("<c8", "<c16", "|V2", ">f2", ">f4", ">f8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8"),
)
TYPED: Mapping[str, str] = dict(
    zip(_TYPES, "jklmnopqrstuvwxyzJKLMNOPQRSTUVWXYZ", strict=False),
)
"""By the type of a whole array, a letter of its own."""

ODD = "?"
BROKEN = "!"
