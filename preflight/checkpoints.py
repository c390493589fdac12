"""Tells the checkpoints of a training run apart: folders, or single files, each one state of it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.around import CHECKPOINT
from preflight.facts import Checkpoint
from preflight.formats import dcp_names
from preflight.names import name_of
from preflight.readers.model_index import INDEX, held_against
from preflight.small_files import OddFileError, read_small

# A folder under a name for the time being: its writer renames it at the end, and trainers that look
# for the newest checkpoint pass it over.
_UNFINISHED = re.compile(r"tmp[-_.].*|.*[-_.]tmp|.*\.(?:part|partial|incomplete)", re.IGNORECASE)

_RANKED = re.compile(r"(.*?_)(\d{1,4})(\D.*)")

_STEP = re.compile(r"(.*?)(\d{1,18})")

_LAST = re.compile(r"(?<![a-z])(?:last|latest)(?![a-z])", re.IGNORECASE)

# Folders in which one checkpoint keeps its parts, as accelerate and others call them.
_SHARE = re.compile(
    r"(?:pytorch_)?model.*|optim.*|ema.*|.*scheduler.*|weights|train_state|dataloader.*"
    r"|dist(?:ributed)?_(?:checkpoint|ckpt)|actor|critic|app",
    re.IGNORECASE,
)


class Wrong(NamedTuple):
    """What is wrong with a file."""

    text: str
    """As a predicate of it."""

    is_quiet: bool = False
    """Whether a job loads it without a word."""


def checkpoints(
    top: str, paths: Iterable[str], damaged: Mapping[str, Wrong]
) -> tuple[Checkpoint, ...]:
    """Give the checkpoints below a folder, the newest first.

    Each folder directly below it that holds cached files is one; where there is none, each file is,
    or all of them together where an index says that they are one model. A folder that is numbered
    like the others and holds only notes was begun, and counts, as trainers take it. What is called
    otherwise than several that are numbered alike (`best`, `final`) is none. A folder that holds
    parts (`.distcp`), in itself or as model/ and optimizer/, is one. The newest is that of the
    highest number, as trainers look for it; where not all are numbered alike, the last written.

    Args:
        top: the folder, or one file.
        paths: of the cached files.
        damaged: by the path of a damaged file, what is wrong with it.
    """
    groups: dict[str, list[str]] = {}
    for path in paths:
        first, _, rest = name_of(path, top).partition("/")
        groups.setdefault(first if rest else "", []).append(path)
    alone = groups.pop("", [])
    for name in [one for one in groups if not os.path.isdir(os.path.join(top, one))]:
        del groups[name]  # the job goes on meanwhile, and keeps only the last
    if _is_one_in_parts(groups, alone):
        shares = (path for those in groups.values() for path in those)
        return (_checkpoint(top, "", [*alone, *shares], {}, frozenset()),)
    groups = _states(groups)
    if groups:
        groups.update((name, []) for name in _begun(top, groups))
        usual = _usual(top, groups)
        found = [_checkpoint(top, name, those, damaged, usual) for name, those in groups.items()]
    elif any(name.endswith(INDEX) for name in _names_in(top)):
        found = [_checkpoint(top, "", alone, {}, frozenset())]  # each damaged file is told itself
    else:
        none: frozenset[str] = frozenset()
        names = (name_of(path, top) if path != top else os.path.basename(path) for path in alone)
        found = [
            _checkpoint(top, name, [path], damaged, none)
            for name, path in zip(names, alone, strict=True)
        ]
    steps = [_STEP.fullmatch(one.name) for one in found]
    if len({step[1] for step in steps if step}) == 1 and all(steps):
        numbers = {one.name: int(step[2]) for one, step in zip(found, steps, strict=True) if step}
        return tuple(sorted(found, key=lambda one: -numbers[one.name]))
    return tuple(sorted(found, key=lambda one: (-one.written, one.name)))


def _is_one_in_parts(groups: Mapping[str, list[str]], alone: Iterable[str]) -> bool:
    """Whether all that was found is one checkpoint of torch.distributed.checkpoint."""
    if any(map(_is_part, alone)):
        return True
    in_parts = [name for name, those in groups.items() if any(map(_is_part, those))]
    steps = {step[1] for step in map(_STEP.fullmatch, in_parts) if step}
    if len(in_parts) > 1 and len(steps) == 1:  # model-100/ and model-200/
        return False
    return bool(in_parts) and all(map(_SHARE.fullmatch, in_parts))


def _is_part(path: str) -> bool:
    return dcp_names.PART_NAME.fullmatch(os.path.basename(path)) is not None


def _states(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what is no state of the run: what was never finished, and a model beside them."""
    finished = {name: of for name, of in groups.items() if not _UNFINISHED.fullmatch(name)}
    in_parts = [name for name, of in finished.items() if any(map(_is_part, of))]
    if in_parts:
        like = {step[1] for step in map(_STEP.fullmatch, in_parts) if step}
        steps = {name for name in finished if (step := _STEP.fullmatch(name)) and step[1] in like}
        states = {name: of for name, of in finished.items() if name in in_parts or name in steps}
        return _numbered(states) or states
    called_so = {name: of for name, of in finished.items() if CHECKPOINT.fullmatch(name)}
    return called_so or _numbered(finished) or finished or groups


def _numbered(groups: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what lies beside folders that are numbered alike, but for what is called the last.

    So is the state of torchtune's recipe beside epoch_0 and epoch_1. None where none are.
    """
    steps = {name: step[1] for name in groups if (step := _STEP.fullmatch(name))}
    often = {first for first, count in Counter(steps.values()).items() if count > 1}
    if not often:
        return {}
    return {
        name: of for name, of in groups.items() if steps.get(name) in often or _LAST.search(name)
    }


def _begun(top: str, groups: Mapping[str, list[str]]) -> list[str]:
    """Name the folders whose writer was killed before their first cached file."""
    like = {step[1] for step in map(_STEP.fullmatch, groups) if step}
    return [
        name
        for name in set(_names_in(top)).difference(groups)
        if (step := _STEP.fullmatch(name))
        and step[1] in like
        and _holds_only_notes(os.path.join(top, name))
    ]


def _holds_only_notes(folder: str) -> bool:
    def stop(error: OSError) -> None:
        raise error

    try:
        return os.path.isdir(folder) and all(
            file.endswith(".json")
            for _, _, files in os.walk(folder, onerror=stop)
            for file in files
        )
    except OSError:
        return False


def _checkpoint(
    top: str,
    name: str,
    paths: list[str],
    damaged: Mapping[str, Wrong],
    usual: frozenset[str],
) -> Checkpoint:
    folder = os.path.join(top, name) if name else top
    within = top if os.path.isdir(top) else os.path.dirname(top)
    bad = [path for path in paths if path in damaged]
    wrong = [f"{name_of(path, within)} {damaged[path].text}" for path in bad]
    notes = sorted(one for one in _names_in(folder) if one.endswith(".json"))
    cut = [(one, said) for one in notes if (said := _cut_json(os.path.join(folder, one)))]
    wrong += [f"{name}/{one} {said}" if name else f"{one} {said}" for one, said in cut]
    lacks = _but_for_ranks(usual, _held(folder, paths))
    indexes = [held_against(os.path.join(folder, one)) for one in notes if one.endswith(INDEX)]
    absent = {file for one in indexes for file in one.files}
    unfinished = _unfinished(folder, paths)
    return Checkpoint(
        name=name or os.path.basename(os.path.abspath(top)),
        files=len(paths) + len(cut),
        written=max(map(_written, paths or [folder])),
        damaged=len(wrong),
        first_damaged=wrong[0] if wrong else "",
        is_quiet=not cut and bool(bad) and all(damaged[path].is_quiet for path in bad),
        lacks=tuple(sorted(lacks - absent - unfinished)),
        absent=tuple(sorted(absent)),
        without=tuple(tensor for one in indexes for tensor in one.tensors),
        unfinished=tuple(sorted(unfinished)),
    )


def _unfinished(folder: str, paths: Iterable[str]) -> set[str]:
    """Name what is missing beside parts (`.distcp`): it is written once all of them are.

    That is one file for all ranks, or one for each rank where they save for themselves.
    """
    places: dict[str, list[str]] = {}
    for path in paths:
        place, name = os.path.split(path)
        places.setdefault(place, []).append(name)
    lacks = set()
    for place, names in places.items():
        ranks = {part[1] for part in map(dcp_names.PART_NAME.fullmatch, names) if part}
        there = {plan[1] for plan in map(dcp_names.PLAN_NAME.fullmatch, names) if plan}
        if ranks and not os.path.exists(os.path.join(place, dcp_names.PLAN)):
            wanted = [f"__{rank}.metadata" for rank in ranks - there] if there else [".metadata"]
            lacks |= {name_of(os.path.join(place, one), folder) for one in wanted}
    return lacks


def _names_in(folder: str) -> list[str]:
    """List what lies directly in a folder; nothing where it is none."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _cut_json(path: str) -> str:
    """Say what a writer left of a JSON file that was killed; empty where it has an end."""
    try:
        text = read_small(path)
    except (OSError, OddFileError):
        return ""
    if not text.strip():
        return f"holds nothing in its {len(text):,} bytes" if text else "is empty"
    if not text.strip(b"\0"):
        return f"holds nothing but zero bytes ({len(text):,})"
    ends = {b"{": b"}", b"[": b"]"}
    first, last = text.strip()[:1], text.strip()[-1:]
    return f"ends in the middle, at {len(text):,} bytes" if last != ends.get(first, last) else ""


def _usual(top: str, groups: Mapping[str, list[str]]) -> frozenset[str]:
    """Name the files that all checkpoints but one have; of fewer than three, nobody can say.

    Nor where none are numbered alike: `best` holds less than `last`. Where some hold nothing, those
    are the ones.
    """
    without = sum(not paths for paths in groups.values())
    if (len(groups) < 3 and not without) or not _numbered(groups):
        return frozenset()
    counted: Counter[str] = Counter()
    for name, paths in groups.items():
        counted.update(_held(os.path.join(top, name), paths))
    return frozenset(
        name for name, count in counted.items() if count >= len(groups) - max(1, without)
    )


def _but_for_ranks(usual: frozenset[str], held: set[str]) -> set[str]:
    """Name what is usual and not held, but for files of ranks that a smaller launch has not."""
    lacks = set(usual - held)
    for family, numbers in _by_family(usual).items():
        here = _by_family(held).get(family, set())
        first = set(range(min(numbers), min(numbers) + len(here)))
        if here and here == first and 2 * len(here) <= len(numbers):
            lacks -= {name for name in lacks if _family(name)[0] == family}
    return lacks


def _by_family(names: Iterable[str]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for family, number in map(_family, names):
        if number is not None:
            found.setdefault(family, set()).add(number)
    return found


def _family(name: str) -> tuple[str, int | None]:
    """Set the number apart that tells files of ranks from one another: `rng_state_3.pth`."""
    match = _RANKED.fullmatch(name)
    return (f"{match[1]}#{match[3]}", int(match[2])) if match else (name, None)


def _held(folder: str, paths: Iterable[str]) -> set[str]:
    """Name what a checkpoint holds: its cached files, and what trainers note beside them.

    Parts are left out: how many there are is told by what names them.
    """
    notes = (one for one in _names_in(folder) if one.endswith(".json"))
    return {*(name_of(path, folder) for path in paths if not _is_part(path)), *notes}


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
