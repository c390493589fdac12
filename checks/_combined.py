"""What Lightning's CombinedLoader gives, by the batches of one of the loaders that it holds."""

from __future__ import annotations

from preflight.facts import FirstBatches, Structure
from preflight.settings.taking import Taking

from ._taken_apart import misfit

# Of a part of which nothing is known: any loop takes it.
_UNKNOWN = Structure(kind="other", type="batch")

_NUMBER = Structure(kind="int")


def as_combined(batch: Structure, facts: FirstBatches) -> Structure:
    """Give what comes with a batch: it, or those of all loaders; its number; and its loader's."""
    held = facts.combined
    if held is not None and held.keys and held.mode != "sequential":
        parts = tuple(batch if key == held.key else _UNKNOWN for key in held.keys)
        names = tuple(key for key in held.keys if isinstance(key, str))
        kind = "dict" if names else "list"
        batch = Structure(kind=kind, length=len(parts), keys=names, parts=parts)
    return Structure(kind="tuple", length=3, parts=(batch, _NUMBER, _NUMBER))


def is_told_by_another(taking: Taking, facts: FirstBatches) -> bool:
    """Whether the first of the loaders tells what is wrong, whatever batches of this one are."""
    held = facts.combined
    is_first = held is None or not held.keys or held.key == held.keys[0]
    return not is_first and misfit(taking, as_combined(_UNKNOWN, facts)) is not None
