"""Chooses how a script is started again, from the first checkpoint that it has saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from preflight.kinds.asked import Asked
from preflight.resuming.differences import chosen
from preflight.resuming.facts import SavedState
from preflight.resuming.moments import WrittenDown
from preflight.resuming.ways import words_for

NO_OPTION = "it has no option for it; name one by --resume-with"


class Choice(NamedTuple):
    """How a script is started again, or why not."""

    typed: str
    words: list[str] | None
    why: str = ""


def choose(saved: Sequence[SavedState], told: WrittenDown, asked: Asked) -> Choice | None:
    """Choose what is added to the arguments; None where nothing is to be said of a resume."""
    saves, way, typed = chosen(told.moments), told.way, asked.options["resume_with"]
    if not saves:
        return None if typed is None else Choice(typed, None, "it saved nothing after a step")
    if any(one.error or one.damage or one.unloadable for one in saved):
        return None  # which is told already
    if asked.options["allow_writes"]:
        return Choice("", None, "what it saves first may be written over, with --allow-writes")
    if asked.wire.get("ranks", 1) > 1 and not asked.wire["is_one_machine"]:
        return Choice("", None, "ranks on several machines run the script")
    words = words_for(saves, way, typed)
    if words is None and way is not None and way.is_given:
        return Choice("", None, f"{way.option} is given already")
    if words == [] and asked.wire.get("ranks", 1) > 1:
        words = None  # whether it has gone on is seen of each rank by itself
    return Choice("", words, NO_OPTION)
