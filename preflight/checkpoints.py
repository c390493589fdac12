"""Tells the checkpoints of a training run apart: folders, or single files, each one state of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from preflight.facts import Checkpoint
from preflight.names import name_of


def checkpoints(
    top: str, paths: Iterable[str], damaged: Mapping[str, tuple[str, float]]
) -> tuple[Checkpoint, ...]:
    """Give the checkpoints below a folder, the newest first.

    Each folder directly below it that holds cached files is one; where there is none, each file is.

    Args:
        top: the folder, or one file.
        paths: of the cached files.
        damaged: by the path of a damaged file, what is wrong with it, and when it was written.
    """
    groups: dict[str, list[str]] = {}
    for path in paths:
        first, _, rest = name_of(path, top).partition("/")
        groups.setdefault(first if rest else "", []).append(path)
    alone = groups.pop("", [])
    if not groups:
        groups = {
            name_of(path, top) if path != top else os.path.basename(path): [path] for path in alone
        }
        usual: frozenset[str] = frozenset()
    else:
        usual = _usual(top, groups)
    found = [_checkpoint(top, name, those, damaged, usual) for name, those in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.written, one.name)))


def _checkpoint(
    top: str,
    name: str,
    paths: list[str],
    damaged: Mapping[str, tuple[str, float]],
    usual: frozenset[str],
) -> Checkpoint:
    wrong = [path for path in paths if path in damaged]
    folder = os.path.join(top, name)
    lacks = usual - {name_of(path, folder) for path in paths}
    return Checkpoint(
        name=name,
        files=len(paths),
        written=max(map(_written, paths)),
        damaged=len(wrong),
        first_damaged=f"{name_of(wrong[0], top)} {damaged[wrong[0]][0]}" if wrong else "",
        lacks=tuple(sorted(lacks)),
    )


def _usual(top: str, groups: Mapping[str, list[str]]) -> frozenset[str]:
    """Name the files that all checkpoints but one have; of fewer than three, nobody can say."""
    if len(groups) < 3:
        return frozenset()
    counted = Counter(
        name_of(path, os.path.join(top, name)) for name, paths in groups.items() for path in paths
    )
    return frozenset(name for name, count in counted.items() if count >= len(groups) - 1)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
