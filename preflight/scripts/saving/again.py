"""Runs a script, reads what it saved, and runs it again from there."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from preflight.cached_files.read import read_cache
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked
from preflight.resuming.choice import NO_OPTION, Choice, choose
from preflight.resuming.differences import chosen, differences, later_average
from preflight.resuming.facts import Resumed, SavedState
from preflight.resuming.moments import SAVE, STEP, Moment, WrittenDown, read_lines
from preflight.scripts.elsewhere import layer_of
from preflight.scripts.facts import Ended, Rehearsal
from preflight.scripts.process import start
from preflight.scripts.read import Heard, follow
from preflight.scripts.read import look as run
from preflight.scripts.saving.by_ranks import Ranks
from preflight.scripts.saving.log import ALONE, MOMENTS, TOGETHER
from preflight.scripts.saving.made import made_by
from preflight.scripts.saving.other_files import standing, written
from preflight.scripts.surroundings.standard_input import kept_in
from preflight.training.facts import Steps
from preflight.values.names import name_of

# How a script ends that has shown all that it was to show.
_WHOLE = ("returned", "exited", "stopped")

# The exit code of a script that was given arguments that it does not take.
_USAGE = 2

# So many folders above what was saved are tried in its place.
_MOST_ABOVE = 2

_NO_STEP = "left it no step to take"

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
            resumed, _ = _resumed(rehearsal, heard.words, (), asked, heard.environ)
            # What it waits for, or compares itself with, is rank 0's.
            yield replace(resumed, unasked="rank 0 hangs, too" if resumed.how == "stuck" else "")
        return
    told = read_lines(os.path.join(asked.wire["scratch"], MOMENTS))
    choice = choose(saved, told, asked) if is_whole else None
    words = None if choice is None else choice.words
    if ranks is not None and words is not None and not ranks.all_ended_whole():
        choice, words = Choice("", None, "another rank has not come to its end"), None
    if words is not None:
        _go_back(asked, told.moments)
    again = None if ranks is None else ranks.say(words)
    if words is not None:
        environ = {} if again is None else again.environ
        yield _gone_on(rehearsal, words, told, asked, environ)
    elif choice is not None:
        yield Resumed(name=rehearsal.name, words=choice.typed, unasked=choice.why)


def _gone_on(
    rehearsal: Rehearsal,
    words: list[str],
    told: WrittenDown,
    asked: Asked,
    environ: Mapping[str, str],
) -> Resumed:
    """Start it again, and otherwise where it does not take what it was given."""
    moments, is_found = told.moments, asked.options["resume_with"] is None
    resumed, has_loaded = _resumed(rehearsal, words, moments, asked, environ)
    if is_found and not has_loaded and told.way is not None and told.way.is_guess:
        return replace(resumed, unasked=NO_OPTION)
    if is_found and not has_loaded and _is_doubtful(resumed):
        above = [] if environ else _above(words[-1], asked.root)
        resumed = _elsewise(resumed, rehearsal, words, above, moments, asked)
    if resumed.unasked.endswith(_NO_STEP) and any(map(_is_length, rehearsal.shortened)):
        resumed = _farther(resumed, rehearsal, words, moments, asked)
    return resumed


def _go_back(asked: Asked, moments: Sequence[Moment]) -> None:
    """Have all lie there as it did when the first checkpoint was saved."""
    layer, saves = layer_of(asked.wire, asked.root), chosen(moments)
    if saves:
        layer.take_later_away(saves[0].steps, [one.path for one in saves])
    layer.restore()


def _is_length(shortened: str) -> bool:
    """Whether we have made training itself shorter, and not each of its epochs alone."""
    return shortened.startswith(("arguments:", "TrainingArguments:", "Trainer:"))


def _farther(
    resumed: Resumed,
    rehearsal: Rehearsal,
    words: list[str],
    moments: Sequence[Moment],
    asked: Asked,
) -> Resumed:
    """Have it go on beyond the end that we have set; its learning rates are others then."""
    _go_back(asked, moments)
    longer = {**asked.options, "epochs": asked.options["epochs"] + 1}
    again, _ = _resumed(rehearsal, words, moments, asked._replace(options=longer), {})
    kept = tuple(one for one in again.differences if one.what not in ("rate", "schedule"))
    return resumed if again.unasked else replace(again, differences=kept)


def _is_doubtful(resumed: Resumed) -> bool:
    """Whether a fault may come of a path that is not what the script takes."""
    if resumed.unasked:
        return False
    is_whole = resumed.how in _WHOLE and not resumed.code
    return not is_whole or any(one.is_fault for one in resumed.differences)


def _elsewise(
    resumed: Resumed,
    rehearsal: Rehearsal,
    words: Sequence[str],
    folders: Iterable[str],
    moments: Sequence[Moment],
    asked: Asked,
) -> Resumed:
    """Start it with a folder above what it has not read; else with nothing, where it says so."""
    path = words[-1]
    if not os.path.isabs(path):
        return resumed
    for folder in folders:
        _go_back(asked, moments)
        again, has_loaded = _resumed(rehearsal, [*words[:-1], folder], moments, asked, {})
        if has_loaded:
            return again
    # It has looked for a file in one, for one of a longer name, or for a file in place of a folder.
    is_another = path in resumed.error and not _names(path, resumed.error)
    if is_another or resumed.error.startswith(("IsADirectoryError", "NotADirectoryError")):
        why = f"{resumed.words} is not what it takes; name that by --resume-with"
        return replace(resumed, unasked=why)
    return resumed


def _names(path: str, error: str) -> bool:
    """Whether an error names a path, and none that is made of it."""
    return re.search(rf"(?<![\w/\\.-]){re.escape(path)}(?![\w/\\.-])", error) is not None


def _above(path: str, root: str) -> list[str]:
    """Give the folders above what was saved, which a script may look through for the newest."""
    folders: list[str] = []
    folder = os.path.dirname(path)
    while folder and len(folders) < _MOST_ABOVE and not f"{root}{os.sep}".startswith(folder):
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def _resumed(
    rehearsal: Rehearsal,
    words: list[str],
    first: Sequence[Moment],
    asked: Asked,
    environ: Mapping[str, str],
) -> tuple[Resumed, bool]:
    """Start it again, and say whether it has read anything of what was saved."""
    scratch = tempfile.mkdtemp(prefix="again", dir=asked.wire["scratch"])
    wire = {
        **asked.wire,
        "args": [*asked.wire["args"], *words],
        "scratch": scratch,
        "stdin": kept_in(asked.wire["scratch"]),
        "environ": environ,
        "layer": asked.wire.get("layer") or asked.wire["scratch"],
    }
    below = f"{os.path.abspath(asked.root)}{os.sep}"
    named = [
        name_of(one, asked.root) if os.path.isabs(one) else one.replace(below, "") for one in words
    ]
    added = shlex.join(named) or "the same arguments"
    heard = Heard()
    # Schedules are as long as they were: what is left of them is to have a step, at its own rate.
    options = {**asked.options, "scheduled_epochs": asked.options["epochs"], "epochs": 1}
    resuming = TOGETHER if asked.wire.get("ranks", 1) > 1 else ALONE
    with asked.step(f"run {rehearsal.name} {added}"):
        saves = [one.path for one in first if one.what == SAVE and one.path]
        tell = any(one.tells for one in chosen(first))
        more = {"wants": (), "resuming": resuming, "saves": saves, "saves_tell": tell}
        running = start(wire, {**options, **more})
        ended = follow(running, heard, asked._replace(wire=wire))
    has_loaded = any(one.what == "load" for one in heard.met.values())
    place = next((one.at for one in reversed(chosen(first))), None)
    resumed = Resumed(name=rehearsal.name, words=added, saved_at=place, steps=heard.steps)
    return _judged(
        resumed, ended, heard, first, read_lines(os.path.join(scratch, MOMENTS)), words
    ), has_loaded


def _judged(
    resumed: Resumed,
    ended: Ended,
    heard: Heard,
    first: Sequence[Moment],
    told: WrittenDown,
    words: Sequence[str],
) -> Resumed:
    again, way = told
    added = resumed.words
    began = [one for one in again if one.what == STEP]
    if way is not None and way.option in words and not way.is_given:
        return replace(resumed, unasked=f"it does not read {way.option} from its command line")
    if not began and ended.how in _WHOLE and not ended.code:
        return replace(resumed, unasked=f"{added} {_NO_STEP}")
    if ended.how == "exited" and ended.code == _USAGE and not heard.met:
        return replace(resumed, unasked=f"its arguments do not take {added}")
    found = differences(first, again) if resumed.saved_at is not None else []
    if not words and not any(one.holds_state or one.counts for one in chosen(first)):
        # Weights alone, which it loads by itself, may be meant for a start.
        found = [one._replace(is_fault=one.is_fault and one.what == "weights") for one in found]
    return replace(_ended(resumed, ended), differences=tuple(found), later=later_average(first))


def _ended(resumed: Resumed, ended: Ended) -> Resumed:
    frames = ended.raised.frames if ended.raised is not None else ()
    if ended.waiting:
        frames = next((one.frames for one in ended.waiting if one.frames), ())
    error = ended.raised.error if ended.raised is not None else ""
    return replace(resumed, how=ended.how, code=ended.code, error=error, frames=frames)
