"""The command line: words and flags in, a report and an exit code out. No behaviour of its own."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from preflight.command.click_options import FORMATS, LOOK, SHOW, complete_checks, with_options
from preflight.findings.exit_codes import EXIT_CANNOT_JUDGE, EXIT_GO, EXIT_INTERRUPTED, EXIT_USAGE
from preflight.values.version import __version__


class EndsAtScript(click.Command):
    """A command whose words end where a script begins: everything after it is the script's own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options that stand before a script, and take what follows as it is."""
        begins = _script_in(args, self.params)
        left = super().parse_args(ctx, args[:begins])
        ctx.params["targets"] = (*ctx.params["targets"], *args[begins:])
        return left


class RunsNoScript(click.Command):
    """A command that takes words for targets, and runs no script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a script."""
        from preflight.targets.words.path_words import SCRIPTS

        for script in args[_script_in(args, self.params) :][:1]:
            raise click.UsageError(f"{script}: " + SCRIPTS.format(script), ctx)
        return super().parse_args(ctx, args)


def _script_in(args: Sequence[str], params: Sequence[click.Parameter]) -> int:
    """Find the place of the word at which a script begins: `x.py`, `-m MODULE` or `--`."""
    from preflight.targets.words.scripts import begins_script

    options = [one for one in params if isinstance(one, click.Option)]
    with_value = {name for one in options if not (one.is_flag or one.count) for name in one.opts}
    position = 0
    while position < len(args):
        word = args[position]
        if begins_script(word):
            break
        position += 2 if word in with_value else 1
    return min(position, len(args))


@click.group(
    epilog="The verdict is the exit code: 0 GO, 1 NO-GO, 2 typed wrong, 3 CANNOT JUDGE, "
    "4 NO-GO for this machine's sake alone.",
)
@click.version_option(__version__, prog_name="preflight")
def preflight() -> None:
    """Say GO, NO-GO or CANNOT JUDGE before a training run starts."""


@preflight.command(cls=EndsAtScript)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@with_options(LOOK)
@with_options(SHOW)
def run(targets: tuple[str, ...], **given: Any) -> int:
    """Look at everything, and say GO, NO-GO or CANNOT JUDGE.

    A TARGET is a folder, a shard, a cache, a pattern such as 'data/{000..009}.tar', something in
    your code such as train:make_loader or train.py:make_model, or KIND=VALUE with KIND one of data,
    cache, loader, model, source, script, checkpoint, host. A script, such as train.py or -m
    package.train, is run in short; what follows it is its own. With none, preflight.toml says what
    to look at.
    """
    from preflight.command import output
    from preflight.command.progress_bar import watching
    from preflight.findings import gate
    from preflight.session import run as session

    shown = output.Shown.of(given)
    typed = shlex.join(["preflight", *sys.argv[1:]])
    with watching() as watch:
        report = session.run(*targets, watch=watch, command=typed, **given)
    if report.told_to is not None:
        _tell(f"preflight: {report.told_to} tells of this rank, too; its own page: {report.last}")
        return EXIT_GO
    return _code_of(gate.exit_code(report), said=shown.write(report))


@preflight.command()
@click.option("--healthy", is_flag=True, help="The same job, mended.")
@with_options(SHOW)
def demo(*, healthy: bool, **given: Any) -> int:
    """Run on a small broken job that comes with the package."""
    from preflight import demo as broken
    from preflight.command import output
    from preflight.command.progress_bar import watching
    from preflight.findings import gate
    from preflight.session import run as session

    shown = output.Shown.of(given)
    with (
        broken.begin(healthy=healthy, typed_in=os.getcwd()) as folder,
        watching() as watch,
    ):
        settings = os.path.join(folder, "preflight.toml")
        report = session.run(folder=folder, config=settings, watch=watch, command="preflight demo")
    folder = broken.leave(folder)
    said = shown.write(replace(report, last=os.path.join(folder, report.last or "")))
    click.echo(f"The job is in {folder}", err=True)
    return _code_of(gate.exit_code(report), said=said)


@preflight.command(cls=RunsNoScript)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--yes", is_flag=True, help="Move them; else they are listed, and a terminal asks.")
@click.option("--restore", is_flag=True, help="Bring back the last; or those of TIME, as TARGETs.")
@click.option("--copy", is_flag=True, help="Copy what lies on another file system.")
@click.option("--with-pairs", is_flag=True, help="Move whole captions of damaged images along.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal")
def quarantine(
    targets: tuple[str, ...], *, yes: bool, restore: bool, copy: bool, with_pairs: bool, form: str
) -> int:
    """Move damaged files aside, and bring them back; none is deleted.

    Those that the last run has found; or, with a TARGET, those that a run finds there now. They go
    to .preflight/quarantine/TIME, beside a manifest. Exit code 0: no damaged file is left in its
    place; 1: some are, and the page says why; 3: the system refused.
    """
    from preflight.command import aside

    if restore:
        return aside.restore(targets, yes=yes, copy=copy, form=form)
    return aside.move(targets, yes=yes, copy=copy, pairs=with_pairs, form=form)


@preflight.command()
@click.argument("file", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["bug", *FORMATS]),
    default="bug",
    help="A bug report to paste (default), or a page.",
)
@click.option("-o", "outputs", multiple=True, metavar="[F=]FILE", help="Also written to a file.")
@click.option("--schema", is_flag=True, help="Write the JSON schema of reports, and nothing else.")
def report(file: str | None, form: str, outputs: tuple[str, ...], *, schema: bool) -> int:
    """Show the last run, or a saved one, as a bug report or in any format."""
    from preflight.command import output

    if schema:
        return _code_of(EXIT_GO, said=output.write_schema())
    saved = output.read_saved(file, os.getcwd())
    shown = output.Shown(form=form, outputs=output.files(outputs))
    return _code_of(EXIT_GO, said=shown.write(saved))


@preflight.command()
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal")
def checks(form: str) -> int:
    """List the checks."""
    from preflight.command import catalogue

    click.echo(catalogue.listing(form))
    return 0


@preflight.command()
@click.argument("check_id", metavar="CHECK-ID", shell_complete=complete_checks)
def explain(check_id: str) -> int:
    """Tell the whole story of one check."""
    from preflight.command import catalogue

    click.echo(catalogue.explanation(check_id))
    return 0


@preflight.command()
@click.option(
    "--force", is_flag=True, help="Add to a preflight.toml that is there what it does not name."
)
def init(*, force: bool) -> int:
    """Look around and write preflight.toml."""
    from preflight.scaffold.settings import write

    click.echo(_harmless(write(os.getcwd(), force=force)))
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Click by itself exits 1 on Ctrl-C, on a crash and on a closed pipe; 1 means NO-GO here.
    """
    try:
        code = preflight.main(
            None if args is None else list(args), standalone_mode=False, windows_expand_args=False
        )
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            context = getattr(error, "ctx", None)
            click.UsageError(_harmless(error.format_message()), context).show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        _tell("Interrupted.")
        return EXIT_INTERRUPTED
    except click.exceptions.Exit as error:
        return error.exit_code
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        _tell(f"preflight cannot go on: {error.strerror or error}{place}")
        return EXIT_CANNOT_JUDGE
    except Exception as error:  # noqa: BLE001  whatever it is, the user gets a report of it
        return _failed(error)
    return code if isinstance(code, int) else EXIT_GO


def _code_of(code: int, *, said: bool) -> int:
    """Give the verdict's exit code; what could not be said is no GO."""
    return EXIT_CANNOT_JUDGE if code == EXIT_GO and not said else code


def _failed(error: Exception) -> int:
    """Tell a mistake of the user's in a paragraph, and one of ours as a report for an issue."""
    from preflight.command import output

    if isinstance(error, output.TYPED_WRONG):
        _tell(f"Error: {error}")
        return EXIT_USAGE
    with contextlib.suppress(OSError):
        click.echo(output.crash_report(error), err=True)
    return EXIT_CANNOT_JUDGE


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(_harmless(text), err=True)


# Characters of a line that are said; what is typed may be of any length.
_LONGEST = 2_000


def _harmless(text: str) -> str:
    """Take out secrets, escape what a console would interpret, and cut what nobody reads."""
    from preflight.command.output import secrets_at_hand
    from preflight.values.names import shown

    return "\n".join(
        shown(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")
        for line in secrets_at_hand().text(text).split("\n")[:100]
    )
