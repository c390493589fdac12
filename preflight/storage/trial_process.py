"""What one of the processes of a trial does: it saves by the user's function, or reads."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from preflight.kinds.asked import CannotLookError, MistypedError, reason_of
from preflight.storage.calling import FIX, VALUES, How, Order, call, learn
from preflight.storage.whole_version import Judge, TornError
from preflight.users_code.fresh.orders import telling_failures
from preflight.users_code.importing import join_world
from preflight.users_code.named_function import imported, said_of
from preflight.values.code_name import parse_spec

# A writer that is done with a file before its time waits so long, in seconds.
_PAUSE = 0.0002


def main() -> None:
    """Take orders until there are no more; what the user's code prints is nobody's business."""
    told = json.loads(sys.argv.pop(1))
    orders, answers = _take_over()
    one = Reader(told) if told["reads"] else Writer(told)
    with telling_failures(answers.fileno()):
        _obey(one, orders, answers)


def _obey(one: Writer | Reader, orders: TextIO, answers: TextIO) -> None:
    for line in orders:
        order = json.loads(line)
        try:
            said = getattr(one, order.pop("order"))(**order)
        except MistypedError as error:
            said = {"mistyped": str(error)}
        except CannotLookError as error:
            said = {"broken": str(error), "fix": error.fix}
        except TornError as error:
            said = {"broken": str(error)}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


def _take_over() -> tuple[TextIO, TextIO]:
    """Keep our pipes to ourselves, before the user's code prints or reads."""
    orders = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    return orders, answers


def _turn(path: str, begin: float, each: float) -> str:
    """Name the file that is written at this moment; each is for all processes at once."""
    return path.format(max(0, int((time.monotonic() - begin) / each)))


class Writer:
    """A process that calls the user's function."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._number: int = told["number"]
        self._root: str = told["root"]
        self._function: Any = None
        self._how: How | None = None
        self._value: Any = None

    def begin(self) -> dict[str, Any]:
        """Import the function."""
        spec = parse_spec(self._told["writer"])
        assert spec is not None  # noqa: S101  the settings were looked through
        self._function = imported(spec, self._root, FIX)
        if "torch" in sys.modules:
            join_world(self._told["ranks"], rank=self._number)
        return {}

    def learn(self, folder: str, suffix: str, size: int) -> dict[str, Any]:
        """Find out how it is called; the first writer does so for all."""
        if self._number:
            return {}
        text = self._told["writer"]
        learnt = learn(self._function, text, folder, suffix, size, self._root)
        name = text.rpartition(":")[2]
        return {**learnt._asdict(), "how": list(learnt.how), "called_as": learnt.how.said(name)}

    def alone(self, how: list[Any], path: str, size: int) -> dict[str, Any]:
        """Write one version, which nobody else writes meanwhile; the first writer does it twice."""
        order, *rest = how
        seconds = 0.0
        self._how = How(Order(*order), *rest)
        self._value = VALUES[self._how.value](self._number + 1, size)
        for again in range(2 - bool(self._number)):
            at = path.format(f"{self._number}-{again}")
            os.makedirs(os.path.dirname(at))
            begun = time.perf_counter()
            try:
                call(self._function, self._how, at, self._value)
            except BaseException as error:
                said = f"{self._told['writer']} {said_of(error, self._root)}"
                raise CannotLookError(said) from error
            seconds = time.perf_counter() - begun
        return {"seconds": seconds}

    def race(
        self, path: str, ending: str, begin: float, each: float, until: float
    ) -> dict[str, Any]:
        """Write the file whose turn it is, again and again."""
        assert self._how is not None  # noqa: S101  for the type checker
        del ending
        saves, raised, first = 0, 0, ""
        while time.monotonic() < until:
            at = _turn(path, begin, each)
            try:
                call(self._function, self._how, at, self._value)
            except BaseException as error:  # noqa: BLE001  whatever the user's code raises
                raised, first = raised + 1, first or said_of(error, self._root)
            saves += 1
            time.sleep(_PAUSE)
        return {"saves": saves, "raised": raised, "first": first}

    def verify(self, paths: list[str]) -> dict[str, Any]:
        """Leave that to the reader."""
        del paths
        return {}


class Reader:
    """A process that reads what is written."""

    def __init__(self, _told: Mapping[str, Any]) -> None:
        self._judge: Judge | None = None

    def begin(self) -> dict[str, Any]:
        """Import nothing yet."""
        return {}

    def learn(self, **_order: Any) -> dict[str, Any]:
        """Wait for the writers."""
        return {}

    alone = learn

    def race(
        self, path: str, ending: str, begin: float, each: float, until: float
    ) -> dict[str, Any]:
        """Read the file whose turn it is, again and again, once it is there."""
        found = {"reads": 0, "torn": 0, "absent": 0, "failed": 0}
        first, met = "", ""
        while time.monotonic() < until:
            at = os.path.splitext(_turn(path, begin, each))[0] + ending
            try:
                found["reads"] += 1
                self._look(at)
                met = at
            except FileNotFoundError:
                if met != at:  # not written for the first time
                    found["reads"] -= 1
                    continue
                found["absent"] += 1
                first = first or "the file was not there, although it was before"
            except TornError as error:
                met = at
                found["torn"] += 1
                first = first or str(error)
            except OSError as error:
                if isinstance(error, PermissionError) and os.name == "nt":
                    continue  # while a writer renames
                found["failed"] += 1
                first = first or reason_of(error)
        return {**found, "first": first}

    def _look(self, path: str) -> None:
        assert self._judge is not None  # noqa: S101  for the type checker
        self._judge.look(path)

    def verify(self, paths: list[str]) -> dict[str, Any]:
        """Look at files that nobody writes any more; learn of the first ones what is whole."""
        if self._judge is None:
            self._judge = Judge(paths)
            return {"read_by": self._judge.name}
        damaged, first = 0, ""
        for path in paths:
            try:
                self._judge.look(path)
            except (TornError, OSError) as error:
                damaged, first = damaged + 1, first or str(error)
        return {"damaged": damaged, "first": first}
