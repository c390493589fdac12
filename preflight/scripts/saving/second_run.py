"""Starts a script again from what it has saved, and holds that against its first run."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from preflight.kinds.asked import Asked
from preflight.resuming.differences import chosen, differences, later_average
from preflight.resuming.facts import Resumed
from preflight.resuming.in_configs import with_key
from preflight.resuming.moments import SAVE, STEP, Moment, WrittenDown, read_lines
from preflight.resuming.starts import CHECKPOINT, Start, path_of
from preflight.resuming.ways import given_with
from preflight.scripts.elsewhere import layer_of
from preflight.scripts.facts import Ended, Rehearsal
from preflight.scripts.process import start
from preflight.scripts.read import Heard, follow
from preflight.scripts.saving.arguments import LEFT_OVER, TAKEN
from preflight.scripts.saving.log import ALONE, TOGETHER
from preflight.scripts.surroundings.standard_input import kept_in
from preflight.scripts.watch import MOMENTS
from preflight.values.names import name_of

_AS_IT_WAS = "the same arguments"
NO_STEP = "left it no step to take"

# How a script ends that has shown all that it was to show.
WHOLE = ("returned", "exited", "stopped")

# How those say it who read them by hand.
_REFUSED = re.compile(
    r"\b(unknown|unrecogni[sz]ed|unexpected|unsupported|invalid|illegal|no such"
    r"|not (?:an? )?(?:\w+ )?(?:known|recogni[sz]ed|used|allowed|supported|valid|in))\b",
    re.IGNORECASE,
)

# The exit code of a script that was given arguments that it does not take.
_USAGE = 2


def run_again(
    rehearsal: Rehearsal, begin: Start, first: Sequence[Moment], asked: Asked
) -> tuple[Resumed, bool]:
    """Start it again, and say whether it has read anything of what was saved."""
    scratch = tempfile.mkdtemp(prefix="again", dir=asked.wire["scratch"])
    wire = {
        **asked.wire,
        "args": given_with(asked.wire["args"], begin.words, begin.place),
        "scratch": scratch,
        "stdin": kept_in(asked.wire["scratch"], asked.wire.get("stdin")),
        "environ": {**begin.environ, **begin.launch},
        "layer": asked.wire.get("layer") or asked.wire["scratch"],
    }
    added = _in_words(begin, asked.root)
    heard = Heard()
    # Schedules are as long as they were: what is left of them is to have a step, at its own rate.
    options = {**asked.options, "scheduled_epochs": asked.options["epochs"], "epochs": 1}
    resuming = TOGETHER if asked.wire.get("ranks", 1) > 1 else ALONE
    with asked.step(f"run {rehearsal.name} {added}"):
        saved = [one for one in first if one.what == SAVE and one.path]
        saves = [path for one in saved for path in (one.path, *one.copies)]
        tell = any(one.tells for one in chosen(first))
        more = {"wants": (), "resuming": resuming, "saves": saves, "saves_tell": tell}
        with _configured(begin, asked):
            running = start(wire, {**options, **more})
            ended = follow(running, heard, asked._replace(wire=wire))
    every = (heard, *heard.ranks.values())
    has_loaded = any(one.what == "load" for each in every for one in each.met.values())
    place = next((one.at for one in reversed(chosen(first))), None)
    resumed = Resumed(name=rehearsal.name, words=added, saved_at=place, steps=heard.steps)
    told = read_lines(os.path.join(scratch, MOMENTS))
    return _judged(resumed, ended, heard, first, told, begin), has_loaded


def _in_words(begin: Start, root: str) -> str:
    """Say what is added, with files named relative to the job's folder."""
    below = f"{os.path.abspath(root)}{os.sep}"
    named = [name_of(one, root) if os.path.isabs(one) else one for one in begin.words]
    said = [f"{name}={one}" for name, one in begin.environ.items() if name.isidentifier()]
    if begin.file:
        said.append(f"{begin.key}: {begin.value or 'true'} in {name_of(begin.file, root)}")
    return " ".join([*said, *filter(None, [shlex.join(named)])]).replace(below, "") or _AS_IT_WAS


@contextlib.contextmanager
def _configured(begin: Start, asked: Asked) -> Iterator[None]:
    """Have the key of a configuration set meanwhile, in the layer that lies over it."""
    layer = layer_of(asked.wire, asked.root)
    if not begin.file or layer.own(begin.file) is None:
        yield
        return
    path = str(layer.writing(begin.file, fresh=False))
    with open(path, encoding="utf-8", newline="") as file:
        before = file.read()
    changed = with_key(before, begin.file, begin.key, begin.value)
    _write(path, before if changed is None else changed)
    try:
        yield
    finally:
        _write(path, before)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _judged(
    resumed: Resumed,
    ended: Ended,
    heard: Heard,
    first: Sequence[Moment],
    told: WrittenDown,
    begin: Start,
) -> Resumed:
    again, way = told.moments, told.way
    added = resumed.words
    began = [one for one in again if one.what == STEP]
    if way is not None and way.option in begin.words and not way.is_given:
        return replace(resumed, unasked=f"it does not read {way.option} from its command line")
    if not began and ended.how in WHOLE and not ended.code:
        return replace(resumed, unasked=f"{added} {NO_STEP}")
    lacks = ended.raised.lacks if ended.raised is not None else None
    has_loaded = any(one.what == "load" for one in heard.met.values())
    # fire calls what it is given before it refuses what is left over.
    is_usage = ended.how == "exited" and ended.code == _USAGE and not has_loaded
    is_left = not has_loaded and not _named(LEFT_OVER, heard).isdisjoint(
        {*begin.words} - _named(TAKEN, heard)
    )
    is_refused = is_left or (not began and _refuses(ended, begin, told))
    if is_usage or is_refused or (lacks is not None and lacks.kind == "arguments"):
        return replace(resumed, unasked=f"its arguments do not take {added}")
    found = differences(first, again) if resumed.saved_at is not None else []
    resumed = replace(_ended(resumed, ended), later=later_average(first))
    says_so = begin.says_so or any(one.has_loaded_state for each in began for one in each.owners)
    if not says_so and (found or resumed.error or resumed.how not in WHOLE):
        why = f"{added} may be what it begins with; if it resumes by that:  {_typed(begin, first)}"
        return replace(resumed, unasked=why)
    if begin.is_bare and not any(one.holds_state or one.counts for one in chosen(first)):
        # Weights alone, which it loads by itself, may be meant for a start.
        found = [one._replace(is_fault=one.is_fault and one.what == "weights") for one in found]
    return replace(resumed, differences=tuple(found))


def _typed(begin: Start, first: Sequence[Moment]) -> str:
    """Give what is typed for it to be taken for a resume."""
    path = path_of(chosen(first))
    return f"--resume-with '{' '.join(one.replace(path, CHECKPOINT) for one in begin.words)}'"


def _named(what: str, heard: Heard) -> set[str]:
    return {one.name for one in heard.met.values() if one.what == what}


def _refuses(ended: Ended, begin: Start, told: WrittenDown) -> bool:
    """Whether a script that reads them by itself says that it does not know one of ours."""
    said = ended.said if ended.raised is None else ended.raised.error
    declared = {one.option.partition("=")[0] for one in told.ways}
    names = {one.partition("=")[0] for one in begin.words if one.startswith("-") or "=" in one}
    return bool(_REFUSED.search(said)) and any(
        re.search(rf"(?<![\w./]){re.escape(one.lstrip('-'))}(?![\w./-])", said)
        for one in names - declared
    )


def _ended(resumed: Resumed, ended: Ended) -> Resumed:
    frames = ended.raised.frames if ended.raised is not None else ()
    if ended.waiting:
        frames = next((one.frames for one in ended.waiting if one.frames), ())
    error = ended.raised.error if ended.raised is not None else ""
    return replace(resumed, how=ended.how, code=ended.code, error=error, frames=frames)
