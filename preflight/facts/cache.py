"""What a cached file is, and what is wrong in its bytes."""

from __future__ import annotations

from dataclasses import dataclass

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
    the pickle puts together. Pickles inside of `npz` are not looked into."""
