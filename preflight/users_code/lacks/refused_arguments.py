"""Tells that a command line is none that the code takes, by how those who read it refuse it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Mapping
from types import FrameType

from preflight.users_code.facts import Lack
from preflight.users_code.frames import text_of

# With which argparse and its like end a program whose command line they do not take.
_MISTYPED = 2

# Who ends a program by that.
_ENDS = frozenset(
    {
        *("argparse", "optparse", "click", "typer", "fire", "tyro", "draccus", "jsonargparse"),
        *("simple_parsing", "configargparse", "tap", "cyclopts"),
    }
)

# What they raise of a command line, and of nothing else: a package, and the names of its classes.
_RAISES: Mapping[str, frozenset[str]] = {
    "argparse": frozenset({"ArgumentError"}),
    "getopt": frozenset({"GetoptError"}),
    "docopt": frozenset({"DocoptExit"}),
    "click": frozenset({"UsageError"}),
    "typer": frozenset({"UsageError"}),
    "absl": frozenset({"UnrecognizedFlagError", "IllegalFlagValueError"}),
    "hydra": frozenset({"OverrideParseException", "ConfigCompositionException"}),
    "draccus": frozenset({"ParsingError"}),
    "cyclopts": frozenset({"CycloptsError"}),
}

# What they raise as anybody would: in a function of theirs, with the words that were given.
_WITHIN = frozenset(
    {
        ("transformers.hf_argparser", "parse_args_into_dataclasses"),
        *(("omegaconf.omegaconf", name) for name in ("merge", "unsafe_merge", "from_dotlist")),
        ("omegaconf.basecontainer", "merge_with"),
        ("yacs.config", "merge_from_list"),
    }
)


def refused_arguments(error: BaseException) -> Lack | None:
    """Say that a command line was refused, and with which words; None: by nobody who is known."""
    frames = [one for one, _ in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SystemExit) and error.code == _MISTYPED:
        return _ended(frames)
    said = text_of(error)
    if any(
        one.__name__ in _RAISES.get(_package(one.__module__), ()) for one in type(error).__mro__
    ):
        return Lack(kind="arguments", name=said)
    is_within = any((_module(one), one.f_code.co_name) in _WITHIN for one in frames)
    return Lack(kind="arguments", name=said) if is_within and _names_given(said) else None


def _ended(frames: Iterable[FrameType]) -> Lack | None:
    said = ""
    for frame in frames:
        module = _module(frame)
        if module == "argparse" and frame.f_code.co_name == "error":
            return Lack(kind="arguments", name=str(frame.f_locals.get("message")))
        said = "what it has printed says why" if _package(module) in _ENDS else ""
    return Lack(kind="arguments", name=said) if said else None


def _names_given(said: str) -> bool:
    """Whether a text names an option or a key that this program was given."""
    given = (one.partition("=")[0].lstrip("-+~") for one in sys.argv[1:])
    return any(one and one in said for one in given)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _package(module: str) -> str:
    return module.partition(".")[0]
