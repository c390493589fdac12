"""The options of the commands: how each is spelled, read and completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import click

FORMATS = ("terminal", "json", "markdown")

Option: TypeAlias = Callable[[Any], Any]

_F = TypeVar("_F", bound=Callable[..., Any])


def complete_checks(_ctx: click.Context, _param: click.Parameter, text: str) -> list[str]:
    """Complete ids of checks and their first words, after the last comma."""
    from preflight.findings import registry

    done, comma, last = text.rpartition(",")
    ids = list(registry.built_in())
    words = sorted({*ids, *(one.partition("-")[0] for one in ids)})
    return [f"{done}{comma}{word}" for word in words if word.startswith(last)]


def _words(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Take `a,b` given once and `a` `b` given twice alike."""
    return [word for value in values for word in value.split(",") if word]


def _size(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    from preflight.values.byte_sizes import parse_size

    if value is None:
        return None
    try:
        return parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _age(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    from preflight.values.ages import parse_age

    if value is None:
        return None
    try:
        return parse_age(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _ids(name: str, help_text: str) -> Callable[[_F], _F]:
    return click.option(
        name,
        multiple=True,
        metavar="ID,…",
        callback=_words,
        shell_complete=complete_checks,
        help=help_text,
    )


_AT_LEAST_0 = click.IntRange(min=0)
_AT_LEAST_1 = click.IntRange(min=1)

LOOK: tuple[Option, ...] = (
    click.option("--config", metavar="FILE", help="The settings (default: the nearest upward)."),
    _ids("--select", "Ask these checks only, by id or first word."),
    _ids("--ignore", "Leave these checks out."),
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "note", "never"]),
        help="What makes a NO-GO (default: error).",
    ),
    click.option("--baseline", metavar="FILE", help="A saved report; what it holds gates no more."),
    _ids("--require", "These checks must look; skipped is CANNOT JUDGE."),
    _ids("--may-skip", "These checks may fail to look without CANNOT JUDGE."),
    click.option("--gpus", type=_AT_LEAST_0, metavar="N", help="GPUs that the job needs here."),
    click.option("--vram", callback=_size, metavar="SIZE", help="Free memory on each: 80GB."),
    click.option("--world-size", type=_AT_LEAST_1, metavar="N", help="Ranks in all."),
    click.option("--num-workers", type=_AT_LEAST_0, metavar="N", help="Workers of each loader."),
    click.option("--batch-size", type=_AT_LEAST_1, metavar="N", help="Samples in a batch."),
    click.option("--grad-accum", type=_AT_LEAST_1, metavar="N", help="Batches to one step."),
    click.option(
        "--start-method",
        type=click.Choice(["fork", "spawn", "forkserver"]),
        help="How workers are started.",
    ),
    click.option(
        "--elsewhere",
        is_flag=True,
        default=None,
        help="The job runs on another machine: this one is not judged.",
    ),
    click.option("--python", metavar="EXE", help="The job's interpreter (default: ours)."),
    click.option(
        "--depth",
        type=click.Choice(["index", "bytes", "decode"]),
        help="Names and ends of files; every byte (default); or every image decoded.",
    ),
    click.option("--jobs", type=_AT_LEAST_1, metavar="N", help="Processes that read files."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Silence of one step of your code that counts as hung (default: 120 s).",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Leave out data that was not looked at after so long (default: look at all).",
    ),
    click.option(
        "--sample",
        metavar="N|P%",
        help="Look at so many shards or images of each data set, or at a share: 500, 10%.",
    ),
    click.option(
        "--state",
        metavar="DIR",
        help="Where the report and the ledger are kept (default: .preflight).",
    ),
    click.option(
        "--no-ledger", is_flag=True, default=None, help="Read every file, and remember none."
    ),
    click.option(
        "--reread",
        callback=_age,
        metavar="AGE",
        help="Read unchanged files again that were read so long ago: 12h, 30d (default), 0.",
    ),
    click.option(
        "--max-findings",
        type=_AT_LEAST_1,
        metavar="N",
        help="Findings kept for each check (default: 10000).",
    ),
    click.option(
        "--deep",
        is_flag=True,
        default=None,
        help="Load cached files with torch (weights_only), and look at their numbers.",
    ),
    click.option(
        "--trust-caches",
        is_flag=True,
        default=None,
        help="Load them with a torch older than 2.6 too, which a file can make run code.",
    ),
    click.option(
        "--import-anyway",
        is_flag=True,
        default=None,
        help="Import modules even where that starts work.",
    ),
)
"""What is looked at, how deep, and what is said of it."""

SHOW: tuple[Option, ...] = (
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


def with_options(options: Sequence[Option]) -> Callable[[_F], _F]:
    """Decorate a command with all of these, so that its help lists them in this order."""

    def decorate(function: _F) -> _F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
