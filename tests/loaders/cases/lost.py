"""Classes of a user that pickle takes, and that a worker cannot load."""

# ruff: noqa: D101, D102, PYI034, SLOT000  these stand for a user's code

from __future__ import annotations

import ctypes
import dataclasses
import multiprocessing
import os
from typing import Any

import numpy

if multiprocessing.current_process().name == "MainProcess":

    class OnlyInTheParent:
        """A worker that imports this module does not meet it."""


class CannotOpenError(Exception):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class Config:
    """As StableCascade's: made by `__new__`, which asserts that all fields are there."""

    path: str

    def __new__(cls, fields: dict[str, Any] | None = None) -> Config:
        made = super().__new__(cls)
        assert fields is not None and "path" in fields, "field path is missing"
        made.__dict__.update(fields)
        return made


class Core:
    """Has the lambdas turned into methods, and so sends all that it has."""

    def __init__(self) -> None:
        self.config = Config({"path": "a"})

    def collate(self, batch: Any) -> Any:
        return batch


class NeedsArguments:
    def __new__(cls, path: str) -> NeedsArguments:
        made = super().__new__(cls)
        made.path = path
        return made


class Token(str):
    """A text that cannot be made of a text."""

    def __new__(cls, text: str, number: int) -> Token:
        made = super().__new__(cls, text)
        made.number = number
        return made


class StateRaises:
    def __init__(self) -> None:
        self.version = 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["version"] < 2:
            raise ValueError("state of version 1")


class Calls:
    """Is loaded by a call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


class Delegates:
    """Asks itself for what it does not have yet."""

    def __init__(self) -> None:
        self.inner = [1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __getstate__(self) -> Any:  # Python before 3.11 would find it by __getattr__
        return self.__dict__


class Keyed(dict):
    """Counts what is put into it, from its making on."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self["a"] = 1

    def __setitem__(self, key: Any, value: Any) -> None:
        self.count += 1
        super().__setitem__(key, value)


class Node:
    """Is hashed by a name that it does not have yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.near = {self}

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.name == other.name


@dataclasses.dataclass(frozen=True)
class FrozenSlots:
    """Frozen, with slots by hand: nothing may be set when it arrives."""

    __slots__ = ("path",)
    path: str

    def __getstate__(self) -> Any:  # as object has it
        return None, {"path": self.path}


class Marked(numpy.ndarray):
    """An array that needs its marks when it arrives."""

    def __setstate__(self, state: Any) -> None:
        *rest, marks = state
        super().__setstate__(tuple(rest))
        self.marks = marks["marks"]


class Reader:
    """Reads its file when it arrives."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        with open(self.path, "rb") as file:
            self.head = file.read(1)


class Unlucky:
    """Ends the worker in one way or another."""

    def __init__(self, way: str) -> None:
        self.way = way

    def __setstate__(self, state: dict[str, Any]) -> None:
        match state["way"]:
            case "leave in silence":
                os._exit(0)
            case "interrupt":
                raise KeyboardInterrupt
            case "segfault":
                ctypes.string_at(0)


class Starts:
    """Starts a process of its own when it arrives."""

    def __getstate__(self) -> dict[str, Any]:
        return {"a": 1}

    def __setstate__(self, state: dict[str, Any]) -> None:
        process = multiprocessing.get_context("spawn").Process(target=do_nothing, daemon=True)
        process.start()
        process.join()


def do_nothing() -> None:
    """Stand for what a process does."""
