"""Runs a script, reads what it saved, and runs it again from there."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from preflight.cached_files.read import read_cache
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked
from preflight.resuming.compare import chosen, differences
from preflight.resuming.facts import Resumed, SavedState
from preflight.resuming.moments import STEP, Moment, Told, read_lines
from preflight.resuming.ways import words_for
from preflight.scripts.elsewhere import layer_of
from preflight.scripts.facts import Ended, Rehearsal
from preflight.scripts.process import start
from preflight.scripts.read import Heard, follow
from preflight.scripts.read import look as run
from preflight.scripts.saving.by_ranks import Ranks
from preflight.scripts.saving.log import ALONE, MOMENTS, TOGETHER
from preflight.scripts.saving.made import made_by
from preflight.scripts.saving.written import standing, written
from preflight.scripts.surroundings.standard_input import kept_in
from preflight.training.facts import Steps
from preflight.values.names import name_of

# How a script ends that has shown all that it was to show.
_WHOLE = ("returned", "exited", "stopped")

# The exit code of a script that was given arguments that it does not take.
_USAGE = 2

# Above that, a file is looked at from its names and its ends only, in bytes.
_LARGE = 4 * 2**30


def look(asked: Asked) -> Iterator[Facts]:
    """Run the script; read back what it saved; run it again from the first of it."""
    wants = asked.options["wants"]
    before = standing(asked.root)
    seen = run(asked)
    rehearsal = next(one for one in seen if isinstance(one, Rehearsal))
    is_whole = rehearsal.ended.how in _WHOLE and not rehearsal.ended.code
    saved = [one for one in seen if isinstance(one, SavedState)]
    layer = None if asked.options["allow_writes"] else layer_of(asked.wire, asked.root)
    names = [one.name for one in saved]
    more = written(before, standing(asked.root), layer, root=asked.root, saved=names)
    yield replace(rehearsal, met=(*rehearsal.met, *more))
    for one in seen:
        if isinstance(one, Steps):
            yield made_by(one, asked) if "Steps" in wants else one
        elif not isinstance(one, (SavedState, Rehearsal)):
            yield one
    if "SavedState" in wants:
        saved = [_read_back(one, asked) for one in saved] if is_whole else saved
        yield from saved
    if "Resumed" in wants:
        yield from _again(rehearsal, saved, asked, is_whole=is_whole)


def _read_back(saved: SavedState, asked: Asked) -> SavedState:
    """Read each byte of a file that was saved, as it lies in the layer."""
    if not saved.name or saved.error:
        return saved
    own = os.path.join(os.path.abspath(asked.root), saved.name)
    layer = layer_of(asked.wire, asked.root)
    path = own if asked.options["allow_writes"] else str(layer.reading(own))
    if not os.path.isfile(path):
        return saved
    depth = "index" if os.path.getsize(path) > _LARGE else "bytes"
    held = read_cache(path, asked.root, lambda _: asked.alive(), depth)
    return replace(saved, damage=held.damage.text if held.damage is not None else "")


def _again(
    rehearsal: Rehearsal, saved: Sequence[SavedState], asked: Asked, *, is_whole: bool
) -> Iterator[Resumed]:
    ranks = None
    if asked.wire.get("ranks", 1) > 1 and asked.wire["is_one_machine"]:
        ranks = Ranks(asked.wire, asked.options["timeout"], asked.alive)
    if ranks is not None and ranks.number:
        ranks.ended(whole=is_whole)
        heard = ranks.hear()
        if heard is not None:
            resumed = _resumed(rehearsal, heard.words, (), asked, heard.environ)
            # What it waits for, or compares itself with, is rank 0's.
            yield replace(resumed, unasked="rank 0 hangs, too" if resumed.how == "stuck" else "")
        return
    told = read_lines(os.path.join(asked.wire["scratch"], MOMENTS))
    choice = _choice(saved, told, asked) if is_whole else None
    words = None if choice is None else choice.words
    if ranks is not None and words is not None and not ranks.all_ended_whole():
        choice, words = Choice("", None, "another rank has not come to its end"), None
    if words is not None:
        layer_of(asked.wire, asked.root).restore()
    again = None if ranks is None else ranks.say(words)
    if words is not None:
        environ = {} if again is None else again.environ
        resumed = _resumed(rehearsal, words, told.moments, asked, environ)
        guess = words if asked.options["resume_with"] is None else []
        folder = _meant_by(guess, told.moments, resumed.error)
        if folder and ranks is None:
            resumed = _resumed(rehearsal, [*guess[:-1], folder], told.moments, asked, environ)
        elif folder is not None:
            why = f"{resumed.words} is not what it takes; name that by --resume-with"
            resumed = replace(resumed, unasked=why)
        yield resumed
    elif choice is not None:
        yield Resumed(name=rehearsal.name, words=choice.typed, unasked=choice.why)


def _meant_by(words: Sequence[str], moments: Sequence[Moment], error: str) -> str | None:
    """Give the folder that a script looked for where it was told a file that it has saved.

    Empty: it was told a folder, and looked for a file. None: it was told neither.
    """
    path = words[-1] if words else ""
    if not path or path not in error:
        return None
    if not any(one.path == path for one in chosen(moments)):
        return "" if error.startswith("IsADirectoryError") else None
    is_looked_in = f"{path}{os.sep}" in error or error.startswith("NotADirectoryError")
    return os.path.dirname(path) if is_looked_in else None


class Choice(NamedTuple):
    """How a script is started again, or why not."""

    typed: str
    words: list[str] | None
    why: str = ""


def _choice(saved: Sequence[SavedState], told: Told, asked: Asked) -> Choice | None:
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
    return Choice("", words, "it has no option for it; name one by --resume-with")


def _resumed(
    rehearsal: Rehearsal,
    words: list[str],
    first: Sequence[Moment],
    asked: Asked,
    environ: Mapping[str, str],
) -> Resumed:
    scratch = tempfile.mkdtemp(prefix="again", dir=asked.wire["scratch"])
    wire = {
        **asked.wire,
        "args": [*asked.wire["args"], *words],
        "scratch": scratch,
        "stdin": kept_in(asked.wire["scratch"]),
        "environ": environ,
        "layer": asked.wire.get("layer") or asked.wire["scratch"],
    }
    added = shlex.join(name_of(one, asked.root) if os.path.isabs(one) else one for one in words)
    heard = Heard()
    # Schedules are as long as they were: what is left of them is to have a step, at its own rate.
    options = {**asked.options, "scheduled_epochs": asked.options["epochs"], "epochs": 1}
    resuming = TOGETHER if asked.wire.get("ranks", 1) > 1 else ALONE
    with asked.step(f"run {rehearsal.name} {added}"):
        running = start(wire, {**options, "wants": (), "resuming": resuming})
        ended = follow(running, heard, asked._replace(wire=wire))
    again, way = read_lines(os.path.join(scratch, MOMENTS))
    began = [one for one in again if one.what == STEP]
    place = next((one.at for one in reversed(chosen(first))), None)
    resumed = Resumed(name=rehearsal.name, words=added, saved_at=place, steps=heard.steps)
    if way is not None and way.option in words and not way.is_given:
        return replace(resumed, unasked=f"it does not read {way.option} from its command line")
    if not began and ended.how in _WHOLE and not ended.code:
        return replace(resumed, unasked=f"{added} left it no step to take")
    if ended.how == "exited" and ended.code == _USAGE and not heard.met:
        return replace(resumed, unasked=f"its arguments do not take {added}")
    found = differences(first, again) if place is not None else ()
    return replace(_ended(resumed, ended), differences=tuple(found))


def _ended(resumed: Resumed, ended: Ended) -> Resumed:
    frames = ended.raised.frames if ended.raised is not None else ()
    if ended.waiting:
        frames = next((one.frames for one in ended.waiting if one.frames), ())
    error = ended.raised.error if ended.raised is not None else ""
    return replace(resumed, how=ended.how, code=ended.code, error=error, frames=frames)
