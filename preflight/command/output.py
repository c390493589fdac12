"""Where reports go: stdout once, files as asked, and what is said on stderr meanwhile."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from preflight import render
from preflight.findings.registry import NoSuchCheckError
from preflight.findings.report import Report
from preflight.secrets.hiding import Secrets
from preflight.session.run import LAST, UsageError
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from preflight.settings.toml_file import SettingsError
from preflight.values.small_files import OddFileError, read_small
from preflight.values.version import __version__

# Of a picture, in which `preflight run` shows a batch.
_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


class OutputError(ValueError):
    """A file that cannot be written or read, or whose format cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a report is shown."""

    form: str = "terminal"
    outputs: tuple[tuple[str, str], ...] = ()
    """(format, file) of each file that is written too."""

    quiet: bool = False
    verbose: int = 0
    color: str = "auto"

    @classmethod
    def of(cls, given: dict[str, Any]) -> Shown:
        """Take what concerns the page out of a command's options."""
        shown = {one.name: given.pop(one.name) for one in fields(cls)}
        return cls(**{**shown, "outputs": files(shown["outputs"])})

    def write(self, report: Report) -> bool:
        """Write to stdout and to the files, without secrets; each page is scanned once more.

        What cannot be written is told on stderr, and makes this false.
        """
        hide = secrets_at_hand()
        report = hide.plain(report)
        if self.form == "terminal":
            page, encoding = self._page(report), sys.stdout.encoding or "utf-8"
        elif self.form == "bug":
            from preflight.render import bug_report

            page, encoding = bug_report.render(report, private=_private_words()), "utf-8"
        else:
            page, encoding = render.renderer(self.form)(report), "utf-8"
        said = to_stdout(hide.bytes_of(page), encoding)
        for form, path in self.outputs:
            try:
                with open(
                    path, "w", encoding="utf-8", errors="backslashreplace", opener=_for_the_owner
                ) as file:
                    file.write(hide.bytes_of(render.renderer(form)(report)))
            except OSError as error:
                said = False
                told = f"preflight: {path} cannot be written: {error.strerror}\n"
                sys.stderr.write(hide.text(told))
        return said

    def _page(self, report: Report) -> str:
        from preflight.render import terminal

        may = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        color = self.color == "always" or (self.color == "auto" and may)
        return terminal.render(
            report,
            width=shutil.get_terminal_size().columns,
            color=color,
            links=color,
            quiet=self.quiet,
            verbose=self.verbose,
            encoding=sys.stdout.encoding or "utf-8",
        )


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file that others cannot read where it is made; one that is there keeps its rights."""
    return os.open(path, flags, 0o600)


def secrets_at_hand() -> Secrets:
    """Know the secrets of the environment and of what was typed."""
    # An option stands before its value, as a word of its own.
    return Secrets.known(os.environ, [*sys.argv, shlex.join(sys.argv)])


def files(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `-o` words: `json=out.txt`, or `out.json` whose suffix says the format.

    A word before the `=` is a format; a file with such a name is written as `./a=b.json`.

    Raises:
        OutputError: neither says it, or nothing can be written there.
    """
    found = []
    for word in words:
        form, equals, path = word.partition("=")
        if not equals or (form and not form.isidentifier()):
            form, path = render.format_of(word) or "", word
        elif form not in render.FORMATS:
            known = ", ".join(render.FORMATS)
            named = form or "in front of the ="
            raise OutputError(f"-o {word}: there is no format {named}; there are {known}")
        name, suffix = os.path.splitext(path)
        if not form and suffix.lower() in _PICTURES:
            batch = shlex.join(["--show-batch", f"{name}.png"])
            raise OutputError(
                f"-o {word}: a report is no picture; preflight run has one of a batch:  {batch}"
            )
        if not form:
            known = ", ".join(render.SUFFIXES)
            raise OutputError(f"-o {word}: the suffix says no format ({known}); say json={word}")
        if not path:
            raise OutputError(f"-o {word}: no file is named behind the =")
        found.append((form, _writable(path)))
    return tuple(found)


def _writable(path: str) -> str:
    """Hold a path against the disk before anything is looked at."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise OutputError(f"-o {path}: there is no folder {folder}")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise OutputError(f"-o {path}: cannot be written")
    return path


def to_stdout(text: str, encoding: str) -> bool:
    """Write bytes, so that neither the console's encoding nor its newlines change the report.

    Says whether they were written, or nobody wanted to read them to the end.
    """
    data = text.encode(encoding, "backslashreplace")
    if not data.endswith(b"\n"):
        data += b"\n"
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"preflight: stdout cannot be written: {error.strerror}\n")
            return False
    return True


def _private_words() -> tuple[str, ...]:
    """Give what a bug report must not tell, and the report itself cannot know."""
    import getpass
    import platform

    words = [os.path.expanduser("~"), platform.node()]
    with contextlib.suppress(OSError, KeyError, ImportError):
        words.append(getpass.getuser())
    return tuple(word for word in words if len(word) > 1)


def read_saved(file: str | None, folder: str) -> Report:
    """Read a saved report; None: that of the last run of the job here, or of a demo typed here.

    Raises:
        OutputError: there is none, or it is no report.
    """
    if file:
        return _read(file, "`preflight run -o json=FILE` saves one")
    from preflight import demo

    shown = [folder, *filter(None, [demo.typed_in(folder)])]
    last = read_last([make_job(folder=one, environ=os.environ) for one in shown])
    if last is None:
        raise OutputError(f"no run has left a report for {folder}; `preflight run` leaves one")
    return last


def read_last(jobs: Sequence[Job]) -> Report | None:
    """Read what the last run of one of these jobs has left; None: none has left a report.

    Raises:
        OutputError: it cannot be read.
    """
    each = [os.path.join(job.root, job.look.state, LAST) for job in jobs]
    there = [one for one in each if os.path.isfile(one)]
    if not there:
        return None
    return _read(max(there, key=os.path.getmtime), "`preflight run` writes it anew")


def _read(file: str, again: str) -> Report:
    try:
        return Report.from_json(read_small(file).decode("utf-8"))
    except OSError as error:
        raise OutputError(f"{file} cannot be read: {error.strerror}; {again}") from error
    except OddFileError as error:
        raise OutputError(f"{error}; {again}") from error
    except UnicodeDecodeError as error:
        said = f"{file}: it is no report: its bytes are no text from byte {error.start:,} on"
        raise OutputError(f"{said}; {again}") from error
    except ValueError as error:
        raise OutputError(f"{file}: {error}; {again}") from error


def write_schema() -> bool:
    """Write the JSON schema of reports to stdout; false where that cannot be done."""
    import json

    from preflight.render.schema import schema

    return to_stdout(json.dumps(schema(), indent=2), "utf-8")


TYPED_WRONG = (UsageError, OutputError, NoSuchCheckError, SettingsError)
"""Exceptions that tell of something that was typed wrong."""


def crash_report(error: Exception) -> str:
    """Write what went wrong in our own code, ready to be pasted into an issue."""
    import platform
    import traceback

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    trace = secrets_at_hand().text(trace)
    return (
        "preflight itself failed; nothing is said about the job. This is a bug of ours:\n\n"
        f"### preflight {__version__} crashed\n\n"
        f"Python {platform.python_version()} on {platform.system()}\n\n"
        f"```\n{trace.rstrip()}\n```\n"
    )
