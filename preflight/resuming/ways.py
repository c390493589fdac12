"""Finds the option by which a script goes on from a checkpoint, among those that it declares."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, NamedTuple

from preflight.resuming.moments import Moment, ResumeWay

CHECKPOINT = "{checkpoint}"
"""In what is typed for `--resume-with`: the place of the path."""

_SURE = re.compile(
    r"resum|continue[_-]?(from|training)|restart[_-]?from|ckpt[_-]?path"
    r"|restore([_-]?(from|file|path|checkpoint|ckpt))?$|(load|start)[_-]?from[_-]?(checkpoint|ckpt)",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"^-{1,2}(checkpoint|ckpt|load|load[_-]?(state|checkpoint|ckpt))$", re.IGNORECASE
)
_SAID = re.compile(r"\bresum|\bcontinue\b|\brestart", re.IGNORECASE)

# Of options that resume: how, and not from where.
_OTHER = re.compile(
    r"step|epoch|optim|sched|strict|only|wandb|logger|id\b|[_-]id$|no[_-]|init|tun|pretrain",
    re.IGNORECASE,
)

# Words of a switch that takes one, in lower case: what turns it off, and on.
_SWITCHES = (("0", "1"), ("false", "true"), ("no", "yes"), ("off", "on"))

# What else says that nothing is resumed, where a path may stand.
_NOTHING = frozenset({"", "none", "null", *(off for off, _ in _SWITCHES)})

# As scripts name an option that read `sys.argv` by hand.
_QUOTED = re.compile(r"""["'](--?[a-zA-Z][\w-]*)=?["']""")

_LOADS = re.compile(r"load_state|load_checkpoint|load_from|resum|restore", re.IGNORECASE)

AS_STARTED = ResumeWay(option="", takes_path=False, is_guess=True)
"""It has no option, and may go on by itself from what lies there."""


def may_go_on(texts: Iterable[str]) -> bool:
    """Whether one of a script's own files may load what it has saved."""
    return any(map(_LOADS.search, texts))


def way_written(texts: Iterable[str]) -> ResumeWay | None:
    """Give the option that one of a script's own files looks for among its arguments."""
    names = (name for one in texts if "argv" in one for name in _QUOTED.findall(one))
    way = way_of(map(option, names), sys.argv[1:])
    return None if way is None else replace(way, is_guess=True)


def way_by_key(config: Mapping[str, Any], given: Sequence[str]) -> ResumeWay | None:
    """Choose the key of a configuration that is set by `trainer.resume_from=PATH`."""
    leaves = {name: one for name, one in _leaves(config) if isinstance(one, (str, bool, NoneType))}
    actions = [option(name, is_switch=isinstance(one, bool)) for name, one in leaves.items()]
    way = way_of(actions, given)
    if way is None:
        return None
    return replace(way, option=f"{way.option}={'' if way.takes_path else 'true'}", is_guess=True)


def _leaves(config: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in config.items():
        if isinstance(one, Mapping):
            yield from _leaves(one, f"{within}{name}.")
        else:
            yield f"{within}{name}", one


def way_of(actions: Iterable[argparse.Action], given: Sequence[str]) -> ResumeWay | None:
    """Choose the option; one that takes a path before one that is a switch."""
    found = [one for one in actions if _resumes(one)]
    found.sort(key=lambda one: (_is_switch(one), not _SURE.search(one.option_strings[0])))
    if not found:
        return None
    one = found[0]
    name, on = _name(one), _on(one)
    last = next((at for at in reversed(range(len(given))) if _names(one, given[at])), None)
    return ResumeWay(
        option=name if on is None else f"{name}={on}",
        takes_path=not _is_switch(one),
        is_given=last is not None and not _declined(one.option_strings, given, last, one.nargs),
    )


def says_no(word: str) -> bool:
    """Whether what is given for a resume says that there is none, and names nothing here."""
    return not word or (word.strip().lower() in _NOTHING and not os.path.exists(word))


def _names(one: argparse.Action, word: str) -> bool:
    return word.partition("=")[0] in one.option_strings


def _declined(
    names: Collection[str], given: Sequence[str], place: int, nargs: int | str | None = None
) -> int:
    """Say how many words at a place say that nothing is resumed: `--no-resume`, `--resume 0`."""
    name, equals, value = given[place].partition("=")
    if equals:
        return int(says_no(value))
    if _turns_off(name, names):
        return 1
    behind = given[place + 1 : place + 2]
    return 2 if nargs != 0 and any(map(says_no, behind)) else 0


def _turns_off(name: str, names: Iterable[str]) -> bool:
    """Whether it is the name by which a switch is turned off: `--no-resume`, `--noresume`."""
    plain = name.lstrip("-")
    rest = plain.removeprefix("no").lstrip("-_")
    return rest != plain and any(one.lstrip("-") == rest for one in names)


def given_with(given: Sequence[str], words: Sequence[str], place: int = 0) -> list[str]:
    """Add words to those given, or put them where the same option says that nothing is resumed."""
    if place:
        return [*given[: place - 1], *words, *given[place:]]
    option = words[0].partition("=")[0] if words else ""
    is_bare = len(words) == 1 and "=" not in words[0]
    for at in reversed(range(len(given))):
        name = given[at].partition("=")[0]
        if option and (name == option or _turns_off(name, [option])):
            count = _declined([option], given, at, 0 if is_bare else None)
            if count:
                return [*given[:at], *words, *given[at + count :]]
    return [*given, *words]


def _on(one: argparse.Action) -> str | None:
    """Give the word that turns on a switch that takes one, `--resume 1`; None for all else."""
    if one.choices is not None:
        said = {str(each).lower(): str(each) for each in one.choices}
        return next((said[on] for off, on in _SWITCHES if said.keys() == {off, on}), None)
    kind = getattr(one, "_typehint", one.type)  # as jsonargparse has it
    takes_word = one.nargs in (None, "?") and kind not in (None, str)
    return "true" if takes_word and (kind is bool or isinstance(one.default, bool)) else None


def _is_switch(one: argparse.Action) -> bool:
    return one.nargs == 0 or _on(one) is not None


def option(name: str, *, is_switch: bool = False) -> argparse.Action:
    """Give an option as argparse would have it."""
    return argparse.Action([name], name, nargs=0 if is_switch else None)


def as_action(parameter: Any) -> argparse.Action:
    """Give a parameter of click as what argparse would have; an argument has no options there."""
    kind = getattr(parameter, "type", None)
    is_flag = getattr(parameter, "is_flag", False)
    return argparse.Action(
        [one for one in parameter.opts if one.startswith("-")],
        parameter.name or "",
        nargs=0 if is_flag else None,
        type={"integer": int, "float": float}.get(getattr(kind, "name", "")),
        choices=getattr(kind, "choices", None),
        help=getattr(parameter, "help", None),
    )


def _name(one: argparse.Action) -> str:
    """Give the longest name of an option; of those of a switch, not the one that turns it off."""
    names = one.option_strings
    return max(names, key=lambda name: (not _turns_off(name, names), len(name)))


def _resumes(one: argparse.Action) -> bool:
    if not one.option_strings:
        return False
    if _on(one) is None and (one.choices is not None or one.type in (int, float)):
        return False
    name = _name(one)
    if _OTHER.search(name):
        return False
    said = one.help if isinstance(one.help, str) else ""
    return bool(_SURE.search(name)) or bool(_MAYBE.search(name) and _SAID.search(said))


def names_resume(name: str) -> bool:
    """Whether a name of a variable or a key says that training goes on from what it holds."""
    return bool(_SURE.search(name)) and not _OTHER.search(name)


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
