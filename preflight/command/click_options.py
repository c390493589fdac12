"""The options of the commands: how each is spelled, read and completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import click

from preflight.settings.options import FLAG, IDS, OPTIONS, Option, Type

FORMATS = ("terminal", "json", "markdown")

Decorator: TypeAlias = Callable[[Any], Any]

_F = TypeVar("_F", bound=Callable[..., Any])


def complete_checks(_ctx: click.Context, _param: click.Parameter, text: str) -> list[str]:
    """Complete ids of checks and their first words, after the last comma."""
    from preflight.findings import registry

    done, comma, last = text.rpartition(",")
    ids = list(registry.built_in())
    words = sorted({*ids, *(one.partition("-")[0] for one in ids)})
    return [f"{done}{comma}{word}" for word in words if word.startswith(last)]


def _read_as(kind: Type) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Make of the text what the settings take; None stays, where the option was not given."""

    def read(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
        try:
            if kind is IDS:
                return [word for text in given for word in kind.read(text)]
            return kind.read(given) if isinstance(given, str) else given
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return read


def _option(row: Option) -> Decorator:
    name, kind, _, help_text = row
    if kind is FLAG:
        return click.option(f"--{name}", is_flag=True, default=None, help=help_text)
    return click.option(
        f"--{name}",
        multiple=kind is IDS,
        metavar=kind.metavar,
        type=click.Choice(kind.choices) if kind.choices else str,
        callback=_read_as(kind),
        shell_complete=complete_checks if kind is IDS else None,
        help=f"{help_text}  [{kind.bounds}]" if kind.bounds else help_text,
    )


LOOK = tuple(map(_option, OPTIONS))
"""What is looked at, how deep, and what is said of it."""

SHOW: tuple[Decorator, ...] = (
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="terminal",
        help="What goes to stdout.",
    ),
    click.option(
        "-o",
        "outputs",
        multiple=True,
        metavar="[F=]FILE",
        help="Also written to a file; the format from its suffix.",
    ),
    click.option("-q", "quiet", is_flag=True, help="The verdict only."),
    click.option("-v", "verbose", count=True, help="Every check and every place."),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour on the terminal.",
    ),
)
"""How a report is shown, and where it is written."""


def with_options(options: Sequence[Decorator]) -> Callable[[_F], _F]:
    """Decorate a command with all of these, so that its help lists them in this order."""

    def decorate(function: _F) -> _F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
