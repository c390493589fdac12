"""What a folder holds: shards, images, caches, sources; read by names, with nothing opened."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from preflight.cached_files.cache_listing import is_left_over
from preflight.formats.suffixes import dcp as dcp_names
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kinds
from preflight.kinds.target import Target
from preflight.targets.file_types.suffixes import (
    CACHE_SUFFIXES,
    IMAGE_SUFFIXES,
    PTH_TAR,
    SHARD_SUFFIXES,
)
from preflight.targets.repository import Repository
from preflight.targets.targets import CacheFolder, Shard, Source, Unlistable
from preflight.values import listing
from preflight.values.listing import FolderListing, list_names

_LAST_OF_SHARDS = frozenset(suffix[suffix.rfind(".") :] for suffix in SHARD_SUFFIXES)

CHECKPOINT = re.compile(r"checkpoint[-_]\d+|global_step\d+")
"""As transformers and diffusers, accelerate, and DeepSpeed call the states of a run."""

# Others call them so; where they hold parts or the state of an optimizer, they are nothing else.
_STEP = re.compile(
    r"(?:.*[-_.])?(?:global_?)?(?:steps?|iter(?:ation)?|it|epochs?|ep|checkpoint|ckpt|snapshot|state"
    r"|model|adapter|lora|global)[-_=]?\d.*",
    re.IGNORECASE,
)

ROUND = re.compile(r"\d{0,8}[05]0|0")
"""As others call them: by the number of a step alone, which is round; that of a run is not."""

# What is saved of an optimizer, and of no sample: a file, or a folder of some.
_OPTIMIZER = re.compile(r"optim\w*(?:\.(?:pt|pth|bin|safetensors|npz))?")

# What is saved of a model or of a run, under names that no sample has; where two folders that are
# called as steps hold some, they are checkpoints of a loop that somebody has written.
_COUNTED = re.compile(
    r"(?:.*[-_.])?(?:global_?)?(?:steps?|iter(?:ation)?|it|epochs?|ep|checkpoint|ckpt|global)[-_=]?"
    r"\d+|\d+",
    re.IGNORECASE,
)
_OF_A_RUN = re.compile(
    r"(?:[a-z]+_)*(?:model|checkpoint|ckpt|net|unet|ema|weights|lora|generator|discriminator)"
    r"(?:_(?:ema|weights|state|lora))?\.(?:safetensors|bin|pt|pth|ckpt)"
    r"|(?:lr_)?scheduler\.(?:pt|pth|bin)"
    r"|(?:train(?:er|ing)?_?)?state(?:_dict)?\.(?:pt|pth|json)|training_args\.bin"
    r"|(?:random|rng)_states?(?:_\d+)?\.(?:pkl|pt|pth)"
)

# A file named by nothing but a number or a hash is the entry of a sample; or of a rank, where there
# are no more of them than that.
_ENTRY = re.compile(r"(?:\d+|[0-9a-f]{32,128})\.(?:pt|pth|npy|npz|safetensors)")
_MOST_RANKS = 100

# Folders that hold no part of a job, whatever is in them.
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


def look_around(folder: str, *, whole: bool = False) -> tuple[Target, ...]:
    """Give each kind of thing that a folder holds, with all below it: shards, images, caches, ….

    As a whole, since it was named itself, its images and caches are one target each; else each
    folder below it that holds them is one. Checkpoints are told from caches in either case, and
    those of one folder are one target. What a repository has for its documents and its code alone
    is left out.
    """
    repository = Repository(folder, named=whole)
    shards: list[Target] = []
    unread: dict[str, str] = {}
    states: set[str] = set()
    entries: set[str] = set()
    by_steps = False
    caches: dict[str, None] = {}
    others: dict[tuple[Kind, str], None] = {}
    sources = False
    for place, listed in walk(folder, unread):
        below, names = _first_below(folder, place), listed.names
        spelled = listed.suffixes()
        by_steps = _holds_steps(listed, spelled) if place == folder else by_steps
        is_state = below != folder and _is_state(below, by_steps=by_steps)
        way = _from_below(folder, place) if states else ()
        run = next((one for one in way if one in states), None)
        is_free = run is None and not is_state
        if is_free and _holds_checkpoints(listed, spelled, is_near=place == below):
            states.add(run := place)
        top = folder if whole else below
        suffixes = {suffix.lower() for suffix in spelled}
        suffixes -= repository.own_suffixes(place, listed, suffixes)
        if not suffixes.isdisjoint(_LAST_OF_SHARDS):
            found = sorted(filter(is_shard, names))
            shards += (Shard(path=os.path.join(place, name)) for name in found)
            if any(name.lower().endswith(PTH_TAR) for name in names):
                suffixes.add(PTH_TAR)
        is_of_torch = _is_state(place) and ".bin" in suffixes
        is_cache = is_of_torch or not suffixes.isdisjoint(CACHE_SUFFIXES)
        if is_cache or (place != folder and is_begun(place)):
            home = folder if is_state else run or top
            caches[home] = None
            if _is_state(place) and _holds_entries(names):
                entries.add(home)
        sources = sources or ".py" in suffixes
        for row in told_by_suffix():
            if suffixes.isdisjoint(row.suffixes):
                continue
            if not row.each_file:
                others[row, top] = None
                continue
            found = sorted(name for name in names if name.lower().endswith(row.suffixes))
            others |= dict.fromkeys((row, os.path.join(place, name)) for name in found)
    return (
        *shards,
        *(row.made(path) for row, path in others),
        *(CacheFolder(path=one, checkpoint=one in states - entries) for one in caches),
        *([Source(path=folder)] if sources else []),
        *(Unlistable(path=path) for path in unread),
    )


def told_by_suffix() -> tuple[Kind, ...]:
    """Give the rows whose targets are told by suffixes alone, whatever else is in a folder."""
    apart = (Shard, CacheFolder, Source)
    return tuple(row for row in kinds() if row.suffixes and row.target not in apart)


def is_shard(name: str) -> bool:
    """Whether a file is a shard by its name."""
    name = name.lower()
    return name.endswith(SHARD_SUFFIXES) and not name.endswith(PTH_TAR)


def _holds_checkpoints(listed: FolderListing, suffixes: frozenset[str], *, is_near: bool) -> bool:
    """Whether trainers leave a folder like this: with checkpoints, or with a model in pieces."""
    if any(CHECKPOINT.fullmatch(one.name) for one in listed.folders):
        return True
    if _holds_steps(listed, suffixes):
        return True
    # Pieces of one checkpoint lie deep, too.
    return (
        is_near
        and ".json" in suffixes
        and any(name.endswith(".safetensors.index.json") for name in listed.names)
    )


def _holds_steps(listed: FolderListing, suffixes: frozenset[str]) -> bool:
    """Whether its folders hold what no cache has: parts of states, or those of an optimizer."""
    steps = _steps(listed)
    if _holds_parts(steps, suffixes) or any(map(_OPTIMIZER.fullmatch, _in_steps(steps))):
        return True
    counted = [one for one in steps if _COUNTED.fullmatch(one.name)]
    found = [name for name in _in_steps(counted) if _OF_A_RUN.fullmatch(name)]
    return len(found) > len(set(found))


def _steps(listed: FolderListing) -> list[os.DirEntry[str]]:
    """Give the folders that are called as states of a run."""
    round_ones = [one for one in listed.folders if ROUND.fullmatch(one.name)]
    called_so = [one for one in listed.folders if _STEP.fullmatch(one.name)]
    return called_so + (round_ones if len(round_ones) > 1 else [])


def holds_parts(folder: str) -> bool:
    """Whether a folder is a checkpoint of torch.distributed.checkpoint, or holds some: no cache."""
    try:
        listed = list_names(folder)
        return _holds_parts(_steps(listed), listed.suffixes())
    except OSError:
        return False


def _holds_parts(steps: Sequence[os.DirEntry[str]], suffixes: frozenset[str]) -> bool:
    if dcp_names.PART in suffixes:
        return True
    return any(name.endswith(dcp_names.PART) for name in _in_steps(steps, deeper=True))


def _in_steps(steps: Iterable[os.DirEntry[str]], *, deeper: bool = False) -> Iterator[str]:
    """Give what lies in folders, and in those that lie there."""
    for one in steps:
        try:
            inner = list_names(one.path)
        except OSError:
            continue
        yield from inner.names
        yield from (each.name for each in inner.folders)
        if deeper:
            yield from _in_steps(inner.folders)


def _is_state(folder: str, *, by_steps: bool = False) -> bool:
    name = os.path.basename(folder)
    is_step = by_steps and (_STEP.fullmatch(name) or ROUND.fullmatch(name))
    return bool(is_step or CHECKPOINT.fullmatch(name))


def _holds_entries(names: list[str]) -> bool:
    """Whether a folder that is called as a checkpoint holds what was computed with that one."""
    return sum(_ENTRY.fullmatch(name) is not None for name in names) > _MOST_RANKS


def _first_below(folder: str, place: str) -> str:
    """Give the folder directly below this one that a place of its walk lies in; at its top, itself.

    A path can be long, and there are as many.
    """
    below = place[len(folder) :].lstrip(os.sep).partition(os.sep)[0]
    return os.path.join(folder, below) if below else folder


def _from_below(folder: str, place: str) -> Iterator[str]:
    """Give the folders on the way to a place, from the one directly below this one on."""
    below = os.path.relpath(place, folder)
    if below == os.curdir:
        yield folder
        return
    for part in below.split(os.sep):
        folder = os.path.join(folder, part)
        yield folder


def is_begun(folder: str) -> bool:
    """Whether trainers take a folder for a checkpoint by its name, and there is nothing in it yet.

    A killed writer has left it so, with no more than a temporary file. Results of a checkpoint may
    lie in a folder that is called as it is.
    """
    if not CHECKPOINT.fullmatch(os.path.basename(folder)):
        return False
    below = (name for _, _, files in os.walk(folder) for name in files)
    return os.path.isdir(folder) and all(map(is_left_over, below))


def walk(folder: str, unread: dict[str, str] | None = None) -> Iterator[tuple[str, FolderListing]]:
    """Walk a tree, but for what holds no part of a job."""
    return listing.walk(folder, _may_hold_a_job, {} if unread is None else unread)


def _may_hold_a_job(entry: os.DirEntry[str]) -> bool:
    """Leave out what is hidden, installed, or leads out of the tree to a whole system."""
    return not (
        entry.name.startswith(".")
        or entry.name in SKIPPED_FOLDERS
        or listing.leads_to_system(entry.path)
    )


def folders_of_images(folder: str) -> Iterator[str]:
    """Give the folders in which there are images, by their names."""
    for place, listed in walk(folder):
        if any(suffix.lower() in IMAGE_SUFFIXES for suffix in listed.suffixes()):
            yield place


def holds_some(folder: str, kind: Callable[[str], bool]) -> bool:
    """Whether a file in a folder or below it is of a kind, by its name."""
    return any(kind(name) for _, listed in walk(folder) for name in listed.names)


def look_for_sources(folder: str) -> Iterator[str]:
    """Give all Python files below a folder that may be the job's own."""
    for place, listed in walk(folder):
        found = sorted(name for name in listed.names if name.endswith(".py"))
        yield from (os.path.join(place, name) for name in found)


def may_be_there(path: str) -> bool:
    """Whether there is such a path, or one in a folder that we may not look into."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
