"""Runs a script, reads what it saved, and runs it again from there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from preflight.cached_files.read import read_cache
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked
from preflight.resuming.choice import NO_OPTION, Choice, choose
from preflight.resuming.differences import chosen
from preflight.resuming.facts import Resumed, SavedState
from preflight.resuming.moments import Moment, read_lines
from preflight.resuming.starts import Start, files_in, path_of
from preflight.scripts.elsewhere import layer_of
from preflight.scripts.facts import Rehearsal
from preflight.scripts.saving.by_ranks import Ranks
from preflight.scripts.saving.longer_training import with_test
from preflight.scripts.saving.made import made_by
from preflight.scripts.saving.once_more import run_enough
from preflight.scripts.saving.other_files import standing, written
from preflight.scripts.saving.second_run import NO_STEP, WHOLE, run_again
from preflight.scripts.watch import MOMENTS
from preflight.training.facts import Steps

# So many folders above what was saved are tried in its place.
_MOST_ABOVE = 2

# So many files of one step, where it does not take the folder that they lie in.
_MOST_FILES = 2

# So many guesses how it goes on are tried.
_MOST_WAYS = 3

# Above that, a file is looked at from its names and its ends only, in bytes.
_LARGE = 4 * 2**30


def look(asked: Asked) -> Iterator[Facts]:
    """Run the script; read back what it saved; run it again from the first of it."""
    wants = asked.options["wants"]
    before = standing(asked.root)
    seen, asked = run_enough(asked)
    first = next(one for one in seen if isinstance(one, Rehearsal))
    rehearsal = with_test(first, asked.root)
    is_whole = rehearsal.ended.how in WHOLE and not rehearsal.ended.code
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
            start = Start(heard.words, heard.environ, heard.launch)
            start = start._replace(says_so=heard.says_so, place=heard.place)
            resumed, _ = run_again(rehearsal, start, (), asked)
            # What it waits for, or compares itself with, is rank 0's.
            yield replace(resumed, unasked="rank 0 hangs, too" if resumed.how == "stuck" else "")
        return
    told = read_lines(os.path.join(asked.wire["scratch"], MOMENTS))
    choice = choose(saved, told, asked) if is_whole else None
    starts = [] if choice is None else choice.starts
    if ranks is not None and starts and not ranks.all_ended_whole():
        choice, starts = Choice("", [], "another rank has not come to its end"), []
    if starts:
        _go_back(asked, told.moments)
    if ranks is not None:
        again = ranks.say(starts[0] if starts else None)
        starts = [one._replace(launch=again.launch) for one in starts[:1] if again is not None]
    if starts:
        yield _gone_on(rehearsal, starts, told.moments, asked)
    elif choice is not None:
        yield Resumed(name=rehearsal.name, words=choice.typed, unasked=choice.why)


def _gone_on(
    rehearsal: Rehearsal, starts: Sequence[Start], moments: Sequence[Moment], asked: Asked
) -> Resumed:
    """Start it again, and otherwise where it does not take what it was given."""
    start = starts[0]
    resumed, has_loaded = run_again(rehearsal, start, moments, asked)
    for other in starts[1:_MOST_WAYS]:
        if has_loaded or not start.is_guess:
            break
        start = other
        _go_back(asked, moments)
        resumed, has_loaded = run_again(rehearsal, start, moments, asked)
    if start.is_guess and not has_loaded:
        return replace(resumed, unasked=NO_OPTION)
    if not (has_loaded or start.launch) and _is_doubtful(resumed):
        resumed = _elsewise(resumed, rehearsal, start, moments, asked)
    if resumed.unasked.endswith(NO_STEP) and any(map(_is_length, rehearsal.shortened)):
        resumed = _farther(resumed, rehearsal, start, moments, asked)
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
    start: Start,
    moments: Sequence[Moment],
    asked: Asked,
) -> Resumed:
    """Have it go on beyond the end that we have set; its learning rates are others then."""
    _go_back(asked, moments)
    longer = {**asked.options, "epochs": asked.options["epochs"] + 1}
    again, _ = run_again(rehearsal, start, moments, asked._replace(options=longer))
    kept = tuple(one for one in again.differences if one.what not in ("rate", "schedule"))
    return resumed if again.unasked else replace(again, differences=kept)


def _is_doubtful(resumed: Resumed) -> bool:
    """Whether a fault may come of a path that is not what the script takes."""
    if resumed.unasked:
        return False
    is_whole = resumed.how in WHOLE and not resumed.code
    return not is_whole or any(one.is_fault for one in resumed.differences)


def _elsewise(
    resumed: Resumed,
    rehearsal: Rehearsal,
    start: Start,
    moments: Sequence[Moment],
    asked: Asked,
) -> Resumed:
    """Start it with a folder above what it has not read, or a file in it; else leave it open."""
    saves = chosen(moments)
    named = (path_of(saves, folder=False), path_of(saves))
    path = next((one for one in named if any(one in word for word in start.words)), None)
    if path is None:
        return resumed
    for folder in _above(path, asked.root):
        _go_back(asked, moments)
        again, has_loaded = run_again(rehearsal, _at(start, path, folder), moments, asked)
        if has_loaded:
            return again
    if resumed.error.startswith("IsADirectoryError"):
        for file in files_in(path, saves)[:_MOST_FILES]:
            _go_back(asked, moments)
            again, _ = run_again(rehearsal, _at(start, path, file), moments, asked)
            if again.how in WHOLE and not again.code and not again.unasked:
                return again
    # It has looked for a file in one, for one of a longer name, or for a file in place of a folder.
    is_another = path in resumed.error and not _names(path, resumed.error)
    if is_another or resumed.error.startswith(("IsADirectoryError", "NotADirectoryError")):
        why = f"{resumed.words} is not what it takes; name that by --resume-with"
        return replace(resumed, unasked=why)
    return resumed


def _at(start: Start, path: str, other: str) -> Start:
    """Give it with another path in its words."""
    return start._replace(words=[word.replace(path, other) for word in start.words])


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
