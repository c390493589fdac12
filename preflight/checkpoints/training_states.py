"""Tells the checkpoints of a training run apart: folders, or single files, each one state of it."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.checkpoints import state_names as names
from preflight.checkpoints.belonging import is_weights_only, lacking_by_itself
from preflight.checkpoints.facts import Checkpoint
from preflight.checkpoints.killed_writes import begun_in
from preflight.checkpoints.members import held_by, lacking, usual_of
from preflight.checkpoints.notes import (
    INDEX,
    cut_note,
    held_against,
    notes_of,
    pointer_in,
    taken,
)
from preflight.formats.suffixes import dcp as dcp_names
from preflight.targets.folders import CHECKPOINT, is_begun
from preflight.values.listing import names_in
from preflight.values.names import name_of

# Folders in which one checkpoint keeps its parts, as accelerate and others call them.
_SHARE = re.compile(
    r"(?:pytorch_)?model.*|optim.*|ema.*|.*scheduler.*|weights|train_state|dataloader.*"
    r"|dist(?:ributed)?_(?:checkpoint|ckpt)|actor|critic|app",
    re.IGNORECASE,
)

# Damaged files of one checkpoint that are named.
_MOST_TORN = 100

# Stands for the files of a folder in which there is none.
_NOTHING = "?"

# What diffusers writes into the folder of a whole pipeline, whose folders are its models.
_PIPELINE = "model_index.json"


class Wrong(NamedTuple):
    """What is wrong with a file."""

    text: str
    """As a predicate of it."""

    is_quiet: bool = False
    """Whether a job loads it without a word."""


def homes(top: str, paths: Iterable[str], folders: Iterable[str] = ()) -> dict[str, list[str]]:
    """Give the folders in which runs keep their checkpoints, each with the cached files below it.

    Mostly that is the one that was named; `runs` may hold `exp1/checkpoint-500` and others. Of the
    `folders` below it, those that a killed writer left without such a file count as well.
    """
    by_name = {name_of(path, top): path for path in paths}
    begun = [f"{name_of(one, top)}/{_NOTHING}" for one in folders if is_begun(one)]
    runs = names.runs_in([*by_name, *begun]) if os.path.isdir(top) else {}
    if not runs:
        return {top: list(by_name.values())}
    return {
        os.path.join(top, *run.split("/")): [
            by_name[f"{run}/{one}"] for one in below if f"{run}/{one}" in by_name
        ]
        for run, below in runs.items()
    }


def checkpoints(
    top: str, paths: Iterable[str], damaged: Mapping[str, Wrong]
) -> tuple[Checkpoint, ...]:
    """Give the checkpoints below a folder, the one that a job goes on from first.

    Each folder directly below it that holds cached files is one; where there is none, each file is,
    with those of the other ranks, or all of them together where an index says that they are one
    model. A folder that is numbered like the others and holds no cached file was begun, and counts,
    as trainers take it. What is called otherwise than several that are numbered alike (`best`,
    `final`) is none. A folder that holds parts (`.distcp`), in itself or as model/ and optimizer/,
    is one. The newest is that of the highest number, as trainers look for it; where not all are
    numbered alike, the last written. Where `latest` names an older one, as it does until a save is
    at its end, newer ones that are not whole come after that.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        first, _, rest = name_of(path, top).partition("/")
        groups[first if rest else ""].append(path)
    alone = groups.pop("", [])
    for name in [one for one in groups if not os.path.isdir(os.path.join(top, one))]:
        del groups[name]  # the job goes on meanwhile, and keeps only the last
    if _is_one(top, groups, alone):
        shares = (path for those in groups.values() for path in those)
        return (_checkpoint(top, "", [*alone, *shares], {}),)
    if (groups or begun_in(top, ())) and not _are_files(groups, alone):
        found = _of_folders(top, _states(top, groups), damaged)
    elif any(name.endswith(INDEX) for name in names_in(top)):
        found = [_checkpoint(top, "", alone, {})]  # each damaged file is told itself
    else:
        found = _of_files(top, alone, damaged)
    return _in_order(top, found)


def _of_folders(
    top: str, groups: dict[str, list[str]], damaged: Mapping[str, Wrong]
) -> list[Checkpoint]:
    begun = begun_in(top, groups)
    groups.update((name, []) for name in begun)
    found = [_checkpoint(top, name, those, damaged) for name, those in groups.items()]
    held = {name: held_by(os.path.join(top, name), those) for name, those in groups.items()}
    usual = usual_of(held, begun) if names.alike(groups) else frozenset[str]()
    lacks = {
        one.name: tuple(
            name
            for name in sorted(lacking(one.name, held, usual))
            if name not in (*one.absent, *one.unfinished, *one.parted)
            and not (one.astray and name.startswith(f"{one.astray}/"))
        )
        for one in found
    }
    return [
        one._replace(
            lacks=lacks[one.name], is_begun=one.name in begun and not (lacks[one.name] or one.files)
        )
        for one in found
    ]


def _of_files(top: str, alone: list[str], damaged: Mapping[str, Wrong]) -> list[Checkpoint]:
    by_name = {
        name_of(path, top) if path != top else os.path.basename(path): path for path in alone
    }
    groups = _kept(top, names.together(by_name))
    often = names.alike(groups)
    held = {
        first: frozenset(map(names.role_of, those if names.kind_of(first) in often else ()))
        for first, those in groups.items()
    }
    usual = usual_of({first: those for first, those in held.items() if those})
    found = []
    for first, those in groups.items():
        one = _checkpoint(top, first, [by_name[name] for name in those], damaged)
        lacks = lacking(first, held, usual) if held[first] else ()
        found.append(
            one._replace(
                members=tuple(those),
                lacks=tuple(sorted(names.named_like(role, first) for role in lacks)),
            )
        )
    return found


def _in_order(top: str, found: list[Checkpoint]) -> tuple[Checkpoint, ...]:
    """Put the newest first; behind the one that `latest` names, those that are newer and torn."""
    by_name = {one.name: one for one in found}
    order = names.newest_first(list(by_name)) if len(found) > 1 else None
    if order is None:
        order = [one.name for one in sorted(found, key=lambda one: (-one.written, one.name))]
    latest = taken(top, order)
    if latest:  # which was written when those were not yet at their end
        place = order.index(latest)
        torn = [name for name in order[:place] if not by_name[name].is_whole]
        whole = [name for name in order[:place] if by_name[name].is_whole]
        order = [*whole, latest, *torn, *order[place + 1 :]]
    return tuple(by_name[name] for name in order)


def _is_one(top: str, groups: Mapping[str, list[str]], alone: list[str]) -> bool:
    """Whether all that was found is one checkpoint, which was named itself."""
    if _is_one_in_parts(groups, alone):
        return True
    if not os.path.isdir(top) or any(map(CHECKPOINT.fullmatch, groups)):
        return False
    here = names_in(top)
    if _PIPELINE in here and groups:
        return True
    if not names.is_step(os.path.basename(os.path.abspath(top))):
        return False
    stems = (os.path.splitext(os.path.basename(path))[0] for path in alone)
    return sum(map(names.is_step, groups)) < 2 and sum(map(names.is_step, stems)) < 2


def _are_files(groups: Mapping[str, list[str]], alone: Iterable[str]) -> bool:
    """Whether the files are the states, and the folders hold something else: pictures, results."""
    if (
        any(map(names.is_step, groups))
        or names.alike(groups)
        or any(names.is_part(path) for of in groups.values() for path in of)
    ):
        return False
    return bool(names.alike(map(os.path.basename, alone)))


def _is_one_in_parts(groups: Mapping[str, list[str]], alone: Iterable[str]) -> bool:
    if any(map(names.is_part, alone)):
        return True
    in_parts = [name for name, those in groups.items() if any(map(names.is_part, those))]
    if len(in_parts) > 1 and len(set(map(names.kind_of, in_parts))) == 1:  # model-100/, model-200/
        return False
    return bool(in_parts) and all(map(_SHARE.fullmatch, in_parts))


def _states(top: str, groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what is no state of the run: what was never finished, and a model beside them."""
    finished = {name: of for name, of in groups.items() if not names.is_unfinished(name)}
    in_parts = [name for name, of in finished.items() if any(map(names.is_part, of))]
    if in_parts:
        like = {names.kind_of(name) for name in in_parts if "#" in names.kind_of(name)}
        of_parts = {name for name in finished if names.kind_of(name) in like}.union(in_parts)
        return _kept(top, {name: of for name, of in finished.items() if name in of_parts})
    called_so = {name: of for name, of in finished.items() if CHECKPOINT.fullmatch(name)}
    return called_so or _kept(top, finished) or groups


def _kept(top: str, found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what lies beside checkpoints that are numbered alike; nothing where none are."""
    kept = names.numbered(found)
    pointer = pointer_in(top)
    if kept and pointer:
        kept |= {pointer.to}
    return {name: of for name, of in found.items() if name in kept} or found


def _checkpoint(top: str, name: str, paths: list[str], damaged: Mapping[str, Wrong]) -> Checkpoint:
    folder = os.path.join(top, name) if name else top
    within = top if os.path.isdir(top) else os.path.dirname(top)
    bad = [path for path in paths if path in damaged]
    notes = notes_of(folder, paths) if os.path.isdir(folder) else []
    cut = [(one, said) for one in notes if (said := cut_note(os.path.join(folder, one)))]
    wrong = [(name_of(path, within), damaged[path].text) for path in bad]
    wrong += [(f"{name}/{one}" if name else one, said) for one, said in cut]
    indexes = [held_against(os.path.join(folder, one)) for one in _indexes_in(folder)]
    pointer = pointer_in(folder)
    to = pointer.to if pointer is not None and names.is_step(pointer.to) else ""
    return Checkpoint(
        name=name or os.path.basename(os.path.abspath(top)),
        files=len(paths) + len(cut),
        written=max(map(_written, paths or [folder])),
        damaged=len(wrong),
        first_damaged=" ".join(wrong[0]) if wrong else "",
        torn=tuple(file for file, _ in wrong[:_MOST_TORN]),
        is_quiet=not cut and bool(bad) and all(damaged[path].is_quiet for path in bad),
        absent=tuple(sorted({file for absent, _ in indexes for file in absent})),
        without=tuple(tensor for _, without in indexes for tensor in without),
        parted=lacking_by_itself(folder) if paths else (),
        is_weights_only=bool(paths) and is_weights_only(folder),
        unfinished=tuple(sorted(_unfinished(folder, paths))),
        astray=to if to and not os.path.lexists(os.path.join(folder, to)) else "",
    )


def _indexes_in(folder: str) -> list[str]:
    """Name the indexes of models in pieces, in a checkpoint and in its folders (`unet/`)."""
    return sorted(
        name_of(os.path.join(place, one), folder)
        for place in (folder, *(os.path.join(folder, one) for one in names_in(folder)))
        for one in names_in(place)
        if one.endswith(INDEX)
    )


def _unfinished(folder: str, paths: Iterable[str]) -> set[str]:
    """Name what is missing beside parts (`.distcp`): it is written once all of them are.

    That is one file for all ranks, or one for each rank where they save for themselves.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        place, name = os.path.split(path)
        places[place].append(name)
    lacks = set()
    for place, there_are in places.items():
        ranks = {part[1] for part in map(dcp_names.PART_NAME.fullmatch, there_are) if part}
        there = {plan[1] for plan in map(dcp_names.PLAN_NAME.fullmatch, there_are) if plan}
        if ranks and not os.path.exists(os.path.join(place, dcp_names.PLAN)):
            wanted = [f"__{rank}.metadata" for rank in ranks - there] if there else [".metadata"]
            lacks |= {name_of(os.path.join(place, one), folder) for one in wanted}
    return lacks


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
