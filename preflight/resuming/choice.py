"""Chooses how a script is started again, from the first checkpoint that it has saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from preflight.kinds.asked import Asked
from preflight.resuming.differences import chosen
from preflight.resuming.facts import SavedState
from preflight.resuming.moments import WrittenDown
from preflight.resuming.starts import Start, starts_for

NO_OPTION = "it has no option for it; name what it takes by --resume-with '… {checkpoint}'"

BY_ITSELF = "it may go on by itself from what it finds, which is tried on one rank alone"


class Choice(NamedTuple):
    """How a script is started again, or why not."""

    typed: str
    starts: list[Start]
    """Of which the first is tried that is no guess, or by which it loads something."""

    why: str = ""


def choose(saved: Sequence[SavedState], told: WrittenDown, asked: Asked) -> Choice | None:
    """Choose what it is given; None where nothing is to be said of a resume."""
    saves, way, typed = chosen(told.moments), told.way, asked.options["resume_with"]
    if not saves:
        return None if typed is None else Choice(typed, [], "it saved nothing after a step")
    if any(one.error or one.damage or one.unloadable for one in saved):
        return None  # which is told already
    if asked.options["allow_writes"]:
        return Choice("", [], "what it saves first may be written over, with --allow-writes")
    if asked.wire.get("ranks", 1) > 1 and not asked.wire["is_one_machine"]:
        return Choice("", [], "ranks on several machines run the script")
    if typed is None and way is not None and way.is_given:
        return Choice("", [], f"{way.option.rstrip('=')} is given already")
    starts = starts_for(saves, told.ways, typed)
    if asked.wire.get("ranks", 1) > 1:  # whether one has gone on is seen of each rank by itself
        given = [one for one in starts if one.words or one.environ]
        return Choice("", given, BY_ITSELF if starts and not given else NO_OPTION)
    return Choice("", starts, NO_OPTION)
