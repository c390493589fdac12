"""Writes how a script is started again, from which of the files that it has saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from preflight.resuming.moments import Moment, ResumeWay

CHECKPOINT = "{checkpoint}"
"""In what is typed for `--resume-with`: the place of the path."""


class Start(NamedTuple):
    """How a script is started again."""

    words: list[str]
    """That are added to its arguments."""

    environ: Mapping[str, str] = {}
    launch: Mapping[str, str] = {}
    """Variables by which its ranks find each other."""

    file: str = ""
    """A configuration of which a key is set."""

    key: str = ""
    value: str | None = None
    """To which it is set; None: to true."""

    says_so: bool = True
    """Whether what is given says that training goes on."""

    is_guess: bool = False
    """Whether it is one only if something is read of what was saved."""

    place: int = 0
    """Of what stands there among its arguments, the words are given instead."""

    @property
    def is_bare(self) -> bool:
        """Whether it is started as it was."""
        return not (self.words or self.environ or self.file)


def starts_for(
    saves: Sequence[Moment], ways: Sequence[ResumeWay], typed: str | None
) -> list[Start]:
    """Give the ways to start it again, the likeliest first, as far as they can be tried."""
    if typed is not None:
        return [Start(words_for(saves, None, typed) or [])]
    return [_start(saves, one) for one in ways if not one.is_given]


def _start(saves: Sequence[Moment], way: ResumeWay) -> Start:
    value = path_of(saves) if way.takes_path else None
    start = Start([], says_so=way.says_so, is_guess=way.is_guess)
    if way.file:
        return start._replace(file=way.file, key=way.option, value=value)
    if way.is_variable:
        name, _, word = way.option.partition("=")
        return start._replace(environ={name: value or word})
    return start._replace(words=words_for(saves, way, None) or [], place=way.place)


def words_for(
    saves: Sequence[Moment], way: ResumeWay | None, typed: str | None
) -> list[str] | None:
    """Write what is added to the script's arguments; None: it has no way to resume."""
    if typed is not None:
        import shlex

        path = path_of(saves, folder=False)
        return [word.replace(CHECKPOINT, path) for word in shlex.split(typed)]
    if way is None or way.is_given:
        return None
    if not way.takes_path:
        return [*filter(None, [way.option])]
    path = path_of(saves)
    if way.option.endswith("="):
        return [way.option + (f"'{path}'" if "=" in path else path)]
    return [*filter(None, [way.option]), path]


def path_of(saves: Sequence[Moment], *, folder: bool = True) -> str:
    """Choose of what was saved at one step the path from which a script goes on."""
    whole = [one for one in saves if one.is_folder]
    full = [one for one in saves if one.holds_state and one.counts]
    partly = [one for one in saves if one.holds_state or one.counts]
    best = (whole or full or partly or list(saves))[0]
    home = _home(best)
    is_one = whole or full or all(one.holds_state for one in saves)
    if folder and not is_one and sum(_home(one) == home for one in saves) > 1:
        return home
    return best.path


def files_in(folder: str, saves: Iterable[Moment]) -> list[str]:
    """Give the files of one step that lie in a folder, those of a model first."""
    files = [one.path for one in saves if not one.is_folder and _home(one) == folder]
    return sorted(dict.fromkeys(files), key=lambda path: "model" not in path.rpartition("/")[2])


def _home(save: Moment) -> str:
    return save.path.replace("\\", "/").rpartition("/")[0]
