"""Finds the option by which a script goes on from a checkpoint, among those that it declares."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

from preflight.resuming.moments import ResumeWay

_SURE = re.compile(
    r"resum|continue[_-]?(from|training)|restart[_-]?from|ckpt[_-]?path"
    r"|restore([_-]?(from|file|path|checkpoint|ckpt))?$|(load|start)[_-]?from[_-]?(checkpoint|ckpt)",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"^-{1,2}(checkpoint|ckpt|load|load[_-]?(state|checkpoint|ckpt))$", re.IGNORECASE
)
_SAID = re.compile(r"\bresum|\bcontinue\b|\brestart", re.IGNORECASE)

# Of options with other names, by which it is known that one resumes once something is loaded by it.
_GUESSED = re.compile(r"^-{1,2}(cont|continue|restart|recover)$", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(resum(e|es|ing)|continu(e|es|ing)|restart(s|ing)?|pick(s|ing)?)\b"
    r".{0,40}\b(from|with|training)\b",
    re.IGNORECASE | re.DOTALL,
)

# Of options that resume: how, and not from where.
_OTHER = re.compile(
    r"step|epoch|optim|sched|strict|only|wandb|logger|id\b|[_-]id$|no[_-]|init|tun|pretrain",
    re.IGNORECASE,
)

# Words of a switch that takes one, in lower case: what turns it off, and on.
_SWITCHES = (("0", "1"), ("false", "true"), ("no", "yes"), ("off", "on"))

# What else says that nothing is resumed, where a path may stand.
_NOTHING = frozenset({"", "none", "null", *(off for off, _ in _SWITCHES)})

QUOTED = re.compile(r"""["'](--?[a-zA-Z][\w-]*)=?["']""")
"""An option as sources name it."""

_LOADS = re.compile(r"load_state|load_checkpoint|load_from|resum|restore", re.IGNORECASE)

AS_STARTED = ResumeWay(option="", takes_path=False, is_guess=True)
"""It has no option, and may go on by itself from what lies there."""


def may_go_on(texts: Iterable[str]) -> bool:
    """Whether one of a script's own files may load what it has saved."""
    return any(map(_LOADS.search, texts))


def way_written(texts: Iterable[str]) -> ResumeWay | None:
    """Give the option that one of a script's own files looks for among its arguments."""
    names = (name for one in texts if "argv" in one for name in QUOTED.findall(one))
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
    actions = [*actions]
    found = [one for one in actions if _resumes(one)]
    found.sort(key=lambda one: (_is_switch(one), not _SURE.search(one.option_strings[0])))
    if found:
        return _by(found[0], given)
    guessed = [one for one in actions if _may_resume(one)]
    guessed.sort(key=lambda one: (not _GUESSED.search(_name(one)), _is_switch(one)))
    ways = (replace(_by(one, given), is_guess=True) for one in guessed)
    return next((one for one in ways if not one.is_given), None)


def _by(one: argparse.Action, given: Sequence[str]) -> ResumeWay:
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
    if not _takes_one(one):
        return False
    name = _name(one)
    return bool(_SURE.search(name)) or bool(_MAYBE.search(name) and _SAID.search(_help(one)))


def _may_resume(one: argparse.Action) -> bool:
    return _takes_one(one) and bool(_GUESSED.search(_name(one)) or _TOLD.search(_help(one)))


def _takes_one(one: argparse.Action) -> bool:
    """Whether it is an option that takes a path or is a switch, and says not how to resume."""
    if not one.option_strings or names_other(_name(one)):
        return False
    return _on(one) is not None or (one.choices is None and one.type not in (int, float))


def _help(one: argparse.Action) -> str:
    return one.help if isinstance(one.help, str) else ""


def names_resume(name: str) -> bool:
    """Whether a name of a variable or a key says that training goes on from what it holds."""
    return bool(_SURE.search(name)) and not names_other(name)


def names_other(name: str) -> bool:
    """Whether a name says how training goes on or begins, and not from where."""
    return bool(_OTHER.search(name))
