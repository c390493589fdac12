"""What scripts declare to those who read their command lines: an option among it may resume."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from preflight.resuming.moments import ResumeWay
from preflight.resuming.ways import as_action, option, way_by_key, way_of
from preflight.scripts.facts import Met
from preflight.scripts.points import Point
from preflight.scripts.saving.log import log_of
from preflight.scripts.watch import Watch
from preflight.values.own_files import passes_on

LEFT_OVER, TAKEN = "left over", "taken"
"""What is met of arguments: nobody may take it any more, or somebody has."""


def _hears(find: Callable[..., ResumeWay | None]) -> Callable[[Any, Watch], Any]:
    """Wrap what reads a command line; `find` is given what that is given."""

    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(original)
        def read(*args: Any, **named: Any) -> Any:
            way = find(*args, **named) if watch.is_here else None
            if way is not None:
                log_of(watch).way(way)
            return original(*args, **named)

        return read

    return wrap


def _of_parser(parser: Any, args: Any = None, *_: Any, **__: Any) -> ResumeWay | None:
    given = sys.argv[1:] if args is None else list(args)
    return way_of(parser._actions, given)  # noqa: SLF001  argparse tells of options nowhere else


def _of_command(
    command: Any, _: Any = None, args: Sequence[str] = (), **__: Any
) -> ResumeWay | None:
    return way_of(map(as_action, command.params), args)


def _of_called(*args: Any, **named: Any) -> ResumeWay | None:
    """Of a function or a class, whose parameters are options."""
    called = next(iter((*args, *named.values())), None)
    if not callable(called):
        return None
    try:
        names = inspect.signature(called).parameters
    except ValueError:  # written in C
        return None
    switches = {name for name, one in names.items() if one.annotation in (bool, "bool")}
    return way_of([option(f"--{name}", is_switch=name in switches) for name in names], sys.argv[1:])


def _left_over(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Tell what a function that fire calls leaves: it is refused when that has returned."""

    @functools.wraps(original)
    def make_parse(called: Any, *args: Any, **named: Any) -> Any:
        parse = original(called, *args, **named)

        if not watch.options.get("resuming"):
            return parse

        @passes_on
        def parsed(given: Sequence[str]) -> Any:
            found = parse(given)
            *_, left, _capacity = found
            for one in given if watch.is_here else ():
                what = LEFT_OVER if one in left else TAKEN
                if what == TAKEN or inspect.isroutine(called):
                    watch.met(Met(what=what, name=one))
            return found

        return parsed

    return make_parse


def _of_fields(parser: Any, *_: Any, **__: Any) -> ResumeWay | None:
    """Of a configuration's class, of which draccus tells argparse that all is text."""
    actions = [
        argparse.Action([f"--{name}"], name, type=bool if kind is bool else None)
        for name, kind in _fields(parser.config_class)
    ]
    return way_of(actions, sys.argv[1:])


def _fields(config: Any, within: str = "") -> Iterator[tuple[str, Any]]:
    try:
        kinds = typing.get_type_hints(config) if dataclasses.is_dataclass(config) else {}
    except NameError:  # of an import for type checkers alone
        return
    for name, kind in kinds.items():
        yield f"{within}{name}", kind
        yield from _fields(kind, f"{within}{name}.")


def _of_flags(flags: Any, argv: Sequence[str] = (), *_: Any, **__: Any) -> ResumeWay | None:
    return way_of([option(f"--{name}", is_switch=flags[name].boolean) for name in flags], argv)


def _of_configs(*args: Any, **named: Any) -> ResumeWay | None:
    """Of configurations, which hydra and omegaconf set by their keys."""
    plain = sys.modules["omegaconf"].OmegaConf.to_container
    ways = (
        way_by_key(plain(one) if hasattr(one, "_metadata") else one, sys.argv[1:])
        for one in (*args, *named.values())
        if isinstance(one, Mapping)
    )
    return next(filter(None, ways), None)


POINTS = (
    *(
        Point(module=module, name=f"ArgumentParser.{name}", wrap=_hears(_of_parser))
        for module, name in (("argparse", "parse_known_args"), ("jsonargparse._core", "parse_args"))
    ),
    # Of late, typer brings a click of its own.
    *(
        Point(module=module, name="Command.parse_args", wrap=_hears(_of_command))
        for module in ("click.core", "typer._click.core")
    ),
    Point(
        module="draccus.argparsing",
        name="ArgumentParser.parse_known_args",
        wrap=_hears(_of_fields),
    ),
    Point(module="fire.core", name="Fire", wrap=_hears(_of_called)),
    Point(module="fire.core", name="_MakeParseFn", wrap=_left_over),
    Point(module="tyro._cli", name="cli", wrap=_hears(_of_called)),
    Point(module="absl.flags._flagvalues", name="FlagValues.__call__", wrap=_hears(_of_flags)),
    Point(module="hydra.core.utils", name="run_job", wrap=_hears(_of_configs)),
    Point(module="omegaconf.omegaconf", name="OmegaConf.merge", wrap=_hears(_of_configs)),
)
