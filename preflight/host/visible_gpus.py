"""Which GPUs CUDA_VISIBLE_DEVICES leaves to a job, and in which order CUDA then counts them.

The rules are those of the CUDA programming guide, "CUDA environment variables": the list ends at
the first entry that names no GPU. As torch has it, a GPU that is named twice leaves none at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from preflight.host.facts import Gpu

# CUDA reads numbers as C's strtol does: as many digits as there are.
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """What a job sees."""

    places: tuple[int, ...]
    """Places in the list of devices, in the order in which CUDA counts them."""

    unmatched: tuple[str, ...] = ()
    """Entries that name no device; CUDA stops reading at the first."""

    repeated: str | None = None
    """An entry that names a device a second time, because of which CUDA shows none."""


def visible_devices(
    devices: Sequence[Gpu], setting: str | None, cut: Mapping[int, str | None]
) -> Visible:
    """Read CUDA_VISIBLE_DEVICES against GPUs and MIG instances, some of GPUs that are cut."""
    if setting is None:
        return Visible(places=_unrestricted(devices))
    entries = [entry.strip() for entry in setting.split(",")]
    if not setting.strip():
        return Visible(places=())

    kind = _kind(entries[0])
    places: list[int] = []
    for position, entry in enumerate(entries):
        if _is_end(entry):
            break
        place = _named_by(entry, devices, cut) if _kind(entry) == kind else None
        if place is None:
            rest = [one for one in entries[position:] if not _is_end(one)]
            unmatched = [one for one in rest if _named_by(one, devices, cut) is None]
            return Visible(places=tuple(places), unmatched=tuple(unmatched or [entry]))
        if place in places:
            return Visible(places=(), repeated=entry)
        places.append(place)
    return Visible(places=tuple(places))


def _unrestricted(devices: Sequence[Gpu]) -> tuple[int, ...]:
    """Give whole GPUs first, then the one MIG instance that CUDA takes when none is named."""
    whole = [place for place, device in enumerate(devices) if device.instance is None]
    parts = [place for place, device in enumerate(devices) if device.instance is not None]
    return (*whole, *parts[:1])


def _kind(entry: str) -> str:
    return next((prefix for prefix in ("GPU-", "MIG-") if entry.startswith(prefix)), "")


def _is_end(entry: str) -> bool:
    """Whether an entry is the usual way to say "no more": `-1`, or nothing after a last comma."""
    number = _NUMBER.match(entry)
    return not entry or (number is not None and int(number[0]) < 0)


def _named_by(entry: str, devices: Sequence[Gpu], cut: Mapping[int, str | None]) -> int | None:
    """Find the one device that an entry names."""
    number = _NUMBER.match(entry)
    if number is not None:
        fitting = [at for at, device in enumerate(devices) if device.index == int(number[0])]
        return fitting[0] if fitting else None
    if not _kind(entry):
        return None
    # Before driver 470 a MIG instance was named by its GPU: MIG-GPU-<uuid>/<instance>/<part>.
    of = entry.removeprefix("MIG-").partition("/")[0] if "/" in entry else None
    fitting = [at for at, device in enumerate(devices) if (device.uuid or "").startswith(entry)]
    parts = [(at, cut.get(one.index)) for at, one in enumerate(devices) if one.instance is not None]
    if not fitting and of:
        fitting = [at for at, parent in parts if parent == of][:1]
    if not fitting and _kind(entry) == "GPU-":
        fitting = [at for at, parent in parts if (parent or "").startswith(entry)][:1]
    return fitting[0] if len(fitting) == 1 else None
