"""Says of names alone which checkpoints belong together, and which of them is the newest."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from preflight.formats.suffixes import dcp as dcp_names
from preflight.targets.folders import ROUND

# A folder under a name for the time being: its writer renames it at the end, and trainers that look
# for the newest checkpoint pass it over.
_UNFINISHED = re.compile(r"tmp[-_.].*|.*[-_.]tmp|.*\.(?:part|partial|incomplete)", re.IGNORECASE)

_NUMBER = re.compile(r"\d{1,18}")

# What tells the files of ranks apart, or the pieces of one model, and not one step from another.
_SHARE = re.compile(
    r"(?<![a-z])(?:rank|shard|part|worker|gpu)[-_=]?\d{1,5}(?!\d)|(?<!\d)\d{1,6}(?=-of-\d)",
    re.IGNORECASE,
)

# Words before the number that grows with every save; the first that is there decides.
_COUNTED = (
    re.compile(r"(?:step|iter|iteration|ba|batch)s?[-_=]?$", re.IGNORECASE),
    re.compile(r"(?:epoch|ep|e)s?[-_=]?$", re.IGNORECASE),
)

_LAST = re.compile(r"(?<![a-z])(?:last|latest)(?![a-z])", re.IGNORECASE)

# What a trainer leaves out of the name of its last save: `lora-000004-state`, and `lora-state`.
_COUNT = re.compile(r"[-_.]?(?:step|epoch|e|iter)?[-_=]?#", re.IGNORECASE)

# A name that says of itself that it is a state of a run.
_STEP = re.compile(
    r"(?:.*[-_.])?(?:global_?)?(?:steps?|iter(?:ation)?|epochs?|ep|checkpoint|ckpt)[-_=]?\d.*",
    re.IGNORECASE,
)

# Folders in which a run keeps its checkpoints, beside logs and pictures.
_HOME = re.compile(r"(?:checkpoint|ckpt|snapshot|weight)s|saved_models", re.IGNORECASE)


def kind_of(name: str) -> str:
    """Give a name without its numbers: what checkpoints of one run have in common."""
    return _NUMBER.sub("#", name)


def role_of(name: str) -> str:
    """Give the name of a file without the numbers of its step: `ep#-ba#-rank1.pt`."""
    parts, end = [], 0
    for share in _SHARE.finditer(name):
        parts += [kind_of(name[end : share.start()]), share[0]]
        end = share.end()
    return "".join((*parts, kind_of(name[end:])))


def named_like(role: str, name: str) -> str:
    """Give back the name of a file in this role, beside another one of the same checkpoint."""
    numbers = _NUMBER.findall(_SHARE.sub("", name))
    for number in numbers[len(numbers) - role.count("#") :]:
        role = role.replace("#", number, 1)
    return role


def alike(names: Iterable[str]) -> frozenset[str]:
    """Give the kinds of which there are several."""
    counts = Counter(kind for kind in map(kind_of, names) if "#" in kind)
    return frozenset(kind for kind, count in counts.items() if count > 1)


def numbered(names: Iterable[str]) -> frozenset[str]:
    """Leave out what lies beside names that are numbered alike, but for what is the last.

    So is the state of torchtune's recipe beside epoch_0 and epoch_1. None where none are.
    """
    names = list(names)
    often = alike(names)
    ends = {_COUNT.sub("", kind) for kind in often}
    return frozenset(
        name
        for name in names
        if kind_of(name) in often or (often and (name in ends or _LAST.search(name)))
    )


def newest_first(names: Sequence[str]) -> list[str] | None:
    """Put names in order that are numbered alike; None where their numbers do not say it."""
    if len({kind_of(name) for name in names}) != 1:
        return None
    found = {name: list(_NUMBER.finditer(name)) for name in names}
    rows = {name: [int(one[0]) for one in those] for name, those in found.items()}
    columns = list(zip(*rows.values(), strict=True))
    varying = [at for at, column in enumerate(columns) if len(set(column)) > 1]
    if not varying:
        return None
    first = names[0]
    for word in _COUNTED:
        for at in reversed(varying):
            if word.search(first[: found[first][at].start()]):
                return sorted(names, key=lambda name: (rows[name][at], rows[name]), reverse=True)
    order = sorted(names, key=lambda name: rows[name], reverse=True)
    grown = (
        rows[one][at] >= rows[other][at]
        for one, other in itertools.pairwise(order)
        for at in varying
    )
    return order if all(grown) else None


def together(names: Iterable[str]) -> dict[str, list[str]]:
    """Group single files that are one checkpoint: of all ranks, and of one step.

    By the first of them, in the order of their names. The model, its average and its optimizer
    may be three files of one number.
    """
    ranks: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        ranks[_SHARE.sub("*", name)].append(name)
    steps: dict[str, list[str]] = defaultdict(list)
    for key in ranks:
        if numbers := _NUMBER.findall(key):
            steps[numbers[-1].lstrip("0")].append(key)
    kinds = alike(ranks)
    several = {
        step: keys
        for step, keys in steps.items()
        if len(keys) > 1 and len({kind_of(key) for key in keys} & kinds) == len(keys)
    }
    joined = {key: min(keys) for keys in several.values() for key in keys if len(several) > 1}
    grouped: dict[str, list[str]] = defaultdict(list)
    for key, those in ranks.items():
        grouped[joined.get(key, key)] += those
    return {min(those): sorted(those) for those in grouped.values()}


def is_step(name: str) -> bool:
    """Whether a name says that it is one of the states of a run."""
    return _STEP.fullmatch(name) is not None


def is_unfinished(name: str) -> bool:
    """Whether a folder has a name for the time being, which its writer takes away at the end."""
    return _UNFINISHED.fullmatch(name) is not None


def is_part(path: str) -> bool:
    """Whether a file is a part of a checkpoint of torch.distributed.checkpoint."""
    return dcp_names.PART_NAME.fullmatch(os.path.basename(path)) is not None


def runs_in(names: Iterable[str], top: str = "") -> Mapping[str, list[str]]:
    """Find the folders in which runs keep their checkpoints, each with the names below it.

    Of `out/exp1/checkpoint-500/model.pt` that is `exp1`, of `out/checkpoints/epoch_1.pt` it is
    `checkpoints`. None where the states lie in the folder itself; `top` is its place below the
    first one.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        first, _, rest = name.partition("/")
        if rest:
            groups[first].append(rest)
    if any(map(is_step, groups)):
        return {}
    found: dict[str, list[str]] = {}
    for name, below in groups.items():
        place = f"{top}/{name}" if top else name
        deeper = runs_in(below, place)
        if deeper:
            found.update(deeper)
        elif _is_run(name, below):
            found[place] = below
    return found


def _is_run(name: str, below: Sequence[str]) -> bool:
    """Whether a folder holds states of a run, and is none itself."""
    firsts = {one.partition("/")[0] for one in below if "/" in one}
    files = [one for one in below if "/" not in one and not is_part(one)]
    stems = [one.rpartition(".")[0] for one in files]
    is_round = sum(ROUND.fullmatch(one) is not None for one in firsts) > 1
    if is_round or any(map(is_step, firsts)) or any(map(is_step, stems)):
        return not any(map(is_part, below)) or bool(firsts)
    return bool(files) and _HOME.fullmatch(name) is not None
