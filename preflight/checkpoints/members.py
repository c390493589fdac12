"""Holds the files of checkpoints against each other: what nearly all have, and one has not."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from preflight.checkpoints import state_names as checkpoint_names
from preflight.checkpoints.notes import INDEX, notes_of
from preflight.values.names import name_of

_RANKED = re.compile(r"(.*?_)(\d{1,4})(\D.*)")

# A rank counts for the number of all, too: `model_world_size_8_rank_0.pt`.
_WORLD = re.compile(r"world_size_\d+")

# The number of a step within a checkpoint: `checkpoint-500/global_step500`.
_STEP = re.compile(r"(step|iter|epoch|checkpoint|ckpt)([-_=]?)0*(\d{1,18})", re.IGNORECASE)

_OWN_STEP = re.compile(r"((?:step|iter|epoch|checkpoint|ckpt)[-_=]?)#", re.IGNORECASE)

# Pieces of one model, however many: `model-00001-of-00003.safetensors`, `model.safetensors`.
_PIECE = re.compile(r"[-_]\d{1,6}-of-\d{1,6}(?=\.)")

_WEIGHTS = re.compile(
    r"(?:.*/)?(?:(?:diffusion_)?(?:pytorch_)?model|adapter_model)\.(?:safetensors|bin|pt|npz)"
)

# What a trainer writes once the model is written.
_WRITTEN_LATER = re.compile(
    r"(?:.*/)?(?:optim\w*|\w*scheduler(?:_\d+)?|scaler|sampler\w*|dl_state_dict\w*|rng_state\w*"
    r"|random_states\w*|custom_checkpoint_\d+|trainer_state|train(?:ing)?_state|\w*optim_states)"
    r"\.(?:pt|pth|bin|pkl|json|safetensors|npz)"
)

# What a model in a folder of its own (`unet/`) is made by, before its weights are loaded.
_SETTINGS = "config.json"

# transformers gives it no number where there is only one rank.
_NEVER_ALONE = re.compile(r"rng_state_#\.pth")


def held_by(folder: str, paths: Collection[str]) -> frozenset[str]:
    """Name what a checkpoint holds: its cached files, and what trainers note beside them.

    Parts (`.distcp`) are left out: how many there are is told by what names them. What differs
    from one checkpoint to the next by nature is `#`.
    """
    inside = [name_of(path, folder) for path in paths if not checkpoint_names.is_part(path)]
    inside += [one for one in notes_of(folder, paths) if "/" not in one or one.endswith(_SETTINGS)]
    own = {int(one) for one in re.findall(r"\d{1,18}", os.path.basename(folder))}

    def without(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2]}#" if int(match[3]) in own else match[0]

    plain = {_WORLD.sub("world_size_#", _STEP.sub(without, one)) for one in inside}
    needless = {f"{one}{INDEX}" for one in plain if _WEIGHTS.fullmatch(one)}
    return frozenset({_PIECE.sub("", one) for one in plain} | needless)


def usual_of(
    held: Mapping[str, AbstractSet[str]], begun: AbstractSet[str] = frozenset()
) -> frozenset[str]:
    """Name what all checkpoints but one hold; of fewer than three, nobody can say.

    But for what is written later than the model, by a trainer that was stopped before. Where some
    were only begun, those are the ones.
    """
    counted: Counter[str] = Counter(name for those in held.values() for name in those)
    without = len(begun)
    if len(held) == 2 and not without:
        less, more = sorted(held.values(), key=len)
        later = any(map(_WRITTEN_LATER.fullmatch, more - less))
        later = later or any(map(_WEIGHTS.fullmatch, more)) > any(map(_WEIGHTS.fullmatch, less))
        return frozenset(more) if less < more and later else frozenset()
    if len(held) < 3 and not without:
        return frozenset()
    most = len(held) - max(1, without)
    return frozenset(name for name, count in counted.items() if count >= most)


def lacking(name: str, held: Mapping[str, AbstractSet[str]], usual: AbstractSet[str]) -> set[str]:
    """Name what is usual and a checkpoint has not, but for what a launch of other size leaves."""
    here = held[name]
    lacks = {one for one in usual - here if not _is_otherwise(one, here - usual)}
    if any(map(_WEIGHTS.fullmatch, here - usual)):  # saved in another format
        lacks = {one for one in lacks if not _WEIGHTS.fullmatch(one.removesuffix(INDEX))}
    lacks -= {f"{one}{INDEX}" for one in lacks}
    fewer = _smaller_launch(here, usual)
    step = re.findall(r"\d{1,18}", name) or ["#"]
    return {
        _OWN_STEP.sub(rf"\g<1>{step[-1]}", one) for one in lacks if _family(one)[0] not in fewer
    }


def _smaller_launch(here: AbstractSet[str], usual: AbstractSet[str]) -> frozenset[str]:
    """Give the families of files of ranks that are fewer here, all by as many."""
    own = _by_family(here)
    found: dict[str, tuple[int, int]] = {}
    for family, numbers in _by_family(usual).items():
        there = own.get(family, set())
        first = set(range(min(numbers), min(numbers) + len(there)))
        is_fewer = there == first and 2 * len(there) <= len(numbers)
        alone = len(there) == 1 and _NEVER_ALONE.fullmatch(family)
        if len(numbers) > 1:
            found[family] = len(numbers), len(there) if is_fewer and not alone else 0
    sizes = set(found.values())
    is_one = len(sizes) == 1 and all(there for _, there in sizes)
    return frozenset(found) if is_one else frozenset()


def _is_otherwise(name: str, here: AbstractSet[str]) -> bool:
    """Whether it is there without the number of a rank, or with one: of one rank, or of many."""
    family, number = _family(name)
    if number is not None:
        return family.replace("_#", "") in here
    stem, dot, suffix = name.rpartition(".")
    return bool(dot) and any(_family(one)[0] == f"{stem}_#.{suffix}" for one in here)


def _by_family(names: Iterable[str]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for family, number in map(_family, names):
        if number is not None:
            found[family].add(number)
    return found


def _family(name: str) -> tuple[str, int | None]:
    """Set the number apart that tells files of ranks from one another: `rng_state_3.pth`."""
    match = _RANKED.fullmatch(name)
    return (f"{match[1]}#{match[3]}", int(match[2])) if match else (name, None)
