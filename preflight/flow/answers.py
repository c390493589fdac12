"""Holds the answers of a data set against each other: which of them are other samples than asked.

An answer is another sample where an error was swallowed, and then the data set did what it does for
another request: asked itself for another index, or had the path or index of another one, which it
has for that one alone. Or where it is what was there before, or the same one for several requests;
and, without an error, where it asked itself for another index, and gave that as it is.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from preflight.flow.requests import SUFFIX

# The part of all requests that has to differ in a value which tells them apart.
_TELLS = 0.5

ANOTHER, NONE, SAME = "another", "none", "same"

_KINDS = {"none": NONE, "another": ANOTHER, "earlier": ANOTHER}


def read_answers(folder: str) -> dict[str, list[Any]]:
    """Say how many samples were answered with themselves, and what the others met with."""
    every = [*_lines(folder)]
    lost: dict[int, tuple[str, dict[str, Any]]] = {}
    several = {one["asked"]: one.get("several", 1) for one in every}
    for one, instead in _others(every):
        lost.setdefault(one["asked"], (instead, one))
    reasons: dict[tuple[object, ...], dict[str, Any]] = {}
    for instead, one in lost.values():
        reason = _reason(one, instead)
        key = tuple(value for name, value in reason.items() if name != "error")
        known = reasons.setdefault(
            (*key, one.get("error")), {**reason, "times": 0, "varies": False}
        )
        known["times"] += one.get("lost", 1)
        known["varies"] |= known["error"] != reason["error"]
    number = sum(one["times"] for one in reasons.values())
    gave = sum(several.values()) - number
    return {"gave": [gave], "swallowed": [number], "reasons": [*reasons.values()]}


def _reason(one: Mapping[str, Any], instead: str) -> dict[str, Any]:
    """Say what a request met with, as of `Swallowed`."""
    reason = {"stage": 0, "by": "own", "goes_on": True, "instead": instead}
    if "error" not in one:
        file, line, function = one["asks"].rsplit(":", 2)
        place = {"file": file, "line": int(line), "function": function}
        return {**reason, **place, "caught": function, "error": ""}
    file, line, function = one["at"]
    says = f"{one['error']}: {one['says']}" if one["says"] else one["error"]
    place = {"file": file, "line": line, "function": function}
    return {**reason, **place, "caught": one["caught"], "error": says}


def _others(every: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Give what is no answer, and what came instead."""
    sound = [one for one in every if "error" not in one and "asks" not in one]
    yield from ((one, ANOTHER) for one in _redirected(every, sound))
    tells = _telling(sound)
    alike = _alike(every)
    for one in every:
        if one.get("lost"):
            yield one, NONE
        elif "error" in one:
            if one.get("instead"):
                yield one, _KINDS[one["instead"]]
            elif _is_of_another(one, tells):
                yield one, ANOTHER
            elif one.get("answer") in alike:
                yield one, SAME


def _redirected(
    every: list[dict[str, Any]], sound: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Give those that another index was asked for, without an error.

    A data set that says it is longer than it is begins again behind its end, on purpose.
    """
    last = max((one.get("index", 0) for one in sound), default=0)
    found = [one for one in every if "asks" in one and one.get("index", last) < last]
    if len(found) < _TELLS * len(every):
        yield from found


def _telling(sound: Iterable[Mapping[str, Any]]) -> dict[str, set[int]]:
    """Give the values by which requests are told apart, and what each of them has there."""
    by_request: dict[int, Mapping[str, list[int]]] = {one["asked"]: one["ended"] for one in sound}
    asked: Counter[str] = Counter()
    values: defaultdict[str, set[int]] = defaultdict(set)
    for ended in by_request.values():
        for name, numbers in ended.items():
            asked[name] += 1
            values[name].update(numbers)
    return {name: seen for name, seen in values.items() if len(seen) >= _TELLS * asked[name]}


def _is_of_another(one: Mapping[str, Any], tells: Mapping[str, set[int]]) -> bool:
    """Whether it ended with what another request has, and not with what it met the error with."""
    for name, number in one["failed"].items():
        ended = one["ended"].get(name, ())
        others = tells.get(name, set()) - {number}
        if number not in ended and not others.isdisjoint(ended):
            return True
    return False


def _alike(every: list[dict[str, Any]]) -> set[int]:
    """Give the one answer that all requests have got at which an error was swallowed."""
    sound = {one["answer"] for one in every if "error" not in one and "answer" in one}
    by_place: defaultdict[tuple[object, ...], dict[int, int | None]] = defaultdict(dict)
    for one in every:
        if "error" in one and not one.get("several"):
            place = (one["error"], one["caught"], *one["at"])
            by_place[place][one["asked"]] = one.get("answer")
    found = set()
    for answers in by_place.values():
        (answer, *others) = {*answers.values()}
        if len(answers) > 1 and not others and answer is not None and sound - {answer}:
            found.add(answer)
    return found


def _lines(folder: str) -> Iterator[dict[str, Any]]:
    for name in sorted(os.listdir(folder)):
        if name.endswith(SUFFIX):
            yield from lines_of(os.path.join(folder, name))


def lines_of(path: str) -> Iterator[dict[str, Any]]:
    """Give what a process has told, a line of JSON each; the last one is cut if it was killed."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                return
