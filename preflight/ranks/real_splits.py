"""Makes the splitter of a job's settings, with what is installed and what the user wrote."""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from preflight.kinds.asked import CannotLookError
from preflight.ranks.divide import Splitter
from preflight.ranks.named_splits import RULES, Items, RankWorker, Rule, shards_or_samples
from preflight.settings.split import BY_SAMPLE, INSTALLED, PADDED, Steps
from preflight.users_code.named_function import named_function, said_of
from preflight.values.code_name import is_code_name
from preflight.values.names import shown
from preflight.values.own_files import theirs

FIX = "A split is  split(items, rank, world_size)  and gives the items of that rank."


def splitter_of(
    steps: Steps,
    names: Sequence[str],
    options: Mapping[str, Any],
    step: Callable[[str], AbstractContextManager[None]],
    *,
    shards: bool,
) -> tuple[Splitter, tuple[str, ...]]:
    """Make it, and say the versions of the libraries that divide.

    Raises:
        CannotLookError: a library is not installed, or the user's module raises.
        MistypedError: the user's module or function does not exist.
    """
    rules: dict[str, Rule] = {}
    versions: dict[str, None] = {}
    streams = 0
    if shards:
        steps, streams = _at_once(steps)
    for word in dict.fromkeys(word for one in steps for word in one):
        if word in INSTALLED:
            with step("import accelerate"):
                version, rules[word] = of_accelerate(pads=word in PADDED)
            versions[version] = None
        elif is_code_name(word):
            function = named_function(word, options, step, FIX)
            rules[word] = of_user(word, function, names, options["root"])
        elif word == BY_SAMPLE and shards:
            rules[word] = functools.partial(shards_or_samples, times=streams)
        else:
            rules[word] = RULES[word]
    return Splitter(steps=steps, rules=rules, streams=streams), tuple(versions)


def _at_once(steps: Steps) -> tuple[Steps, int]:
    """Make one step of several of datasets, as it does of a stream; give how many they are."""
    runs = [(step, len([*same])) for step, same in itertools.groupby(steps)]
    times = max((number for step, number in runs if BY_SAMPLE in step), default=0)
    is_of_it = (BY_SAMPLE,)
    return tuple(
        step for step, number in runs for _ in range(1 if step == is_of_it else number)
    ), times


def of_accelerate(*, pads: bool) -> tuple[str, Rule]:
    """Give the version of accelerate, and what its `split_between_processes` does.

    Raises:
        CannotLookError: it is not installed, or cannot be called so.
    """
    try:
        from accelerate import PartialState  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise CannotLookError(
            f"accelerate, by which items are divided, cannot be imported: {error}",
            fix="Name the interpreter of the job by --python, or say contiguous for its split.",
        ) from error

    def divide(items: Items, at: RankWorker) -> Items:
        state = object.__new__(PartialState)  # its __init__ would make a process group
        state.__dict__.update(num_processes=at.ranks, process_index=at.rank, device="cpu")
        try:
            with state.split_between_processes(list(items), apply_padding=pads) as own:
                return list(own)
        except Exception as error:
            raise CannotLookError(
                f"split_between_processes raises {type(error).__name__} for {len(items):,} items "
                f"on {at.ranks:,} ranks: {shown(str(error)[:200])}"
            ) from error

    return f"accelerate {importlib.metadata.version('accelerate')}", divide


def of_user(text: str, function: Callable[..., Any], names: Sequence[str], root: str) -> Rule:
    """Give what a function of the user's does, which is given names of items, or paths."""
    numbers = _Numbers(names, root)

    def divide(items: Items, at: RankWorker) -> Items:
        try:
            is_all = isinstance(items, range) and len(items) == len(names)
            mine = list(names) if is_all else [names[one] for one in items]
            given = theirs(list)(function(mine, at.rank, at.ranks))
        except BaseException as error:
            whom = f"for rank {at.rank} of {at.ranks:,}"
            whom += "" if len(items) else ", which has no items to divide"
            raise CannotLookError(f"{text} {said_of(error, root)}, {whom}", fix=FIX) from error
        if given and _place(given[0]) is not None:  # places in the list do as well
            return [_item(text, one, items) for one in given]
        return _numbers_of(text, given, items, numbers)

    return divide


class _Numbers:
    """The places of names in a list, which may be very long; few of them are there again."""

    def __init__(self, names: Sequence[str], root: str) -> None:
        self.count, self._root = len(names), root
        self._first: dict[str, int] = {}
        self._again: dict[str, list[int]] = {}
        for number, name in enumerate(map(_plain, names)):
            first = self._first.setdefault(name, number)
            if first != number:
                self._again.setdefault(name, [first]).append(number)

    def at_once(self, given: Sequence[Any]) -> list[int] | None:
        """Give the places of names that are given as they are listed, once; None: some are not."""
        try:
            return None if self._again else [self._first[one] for one in given]
        except (KeyError, TypeError):
            return None

    def of(self, given: Any) -> tuple[str, Sequence[int]]:
        """Give a name as it is listed, and its places: none, mostly one, or several."""
        name = given if isinstance(given, str) and given in self._first else _plain(str(given))
        if name not in self._first and os.path.isabs(name):  # the function has resolved it
            name = os.path.relpath(name, self._root)
        if name in self._again:
            return name, self._again[name]
        return name, (self._first[name],) if name in self._first else ()


def _plain(name: str) -> str:
    """Spell a path as pathlib does; the same object where it is, since there may be very many."""
    plain = os.path.normpath(name)
    return name if plain == name else plain


def _place(given: Any) -> int | None:
    """Take a number of whatever kind for a place in the list: also of numpy, or of torch."""
    try:
        return None if isinstance(given, bool) else operator.index(given)
    except (TypeError, ValueError):
        return None


def _item(text: str, given: Any, items: Items) -> int:
    place = _place(given)
    if place is None or not -len(items) <= place < len(items):
        said = f"{text} gives {shown(str(given))} for a place in {len(items):,} items"
        raise CannotLookError(said, fix=FIX)
    return items[place]


def _numbers_of(text: str, given: Sequence[Any], items: Items, numbers: _Numbers) -> list[int]:
    """Find the items that were given; of several of one name, one after the other."""
    among = items if isinstance(items, range) else set(items)
    quick = numbers.at_once(given)
    if quick is not None:
        is_all = len(among) == numbers.count
        return quick if is_all else [one for one in quick if one in among]
    met: dict[str, int] = {}
    found: list[int] = []
    for one in given:
        name, places = numbers.of(one)
        if not places:
            raise CannotLookError(
                f"{text} gives {shown(str(one))}, which is none of its items", fix=FIX
            )
        those = [number for number in places if number in among]
        place = 0
        if len(those) > 1:
            place = met.get(name, 0)
            met[name] = place + 1
        found += those[place % len(those) :][:1] if those else []
    return found
