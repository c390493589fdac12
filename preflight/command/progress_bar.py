"""Shows how far a run has come, on stderr where that is a terminal."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from preflight.findings.finding import Finding, Severity
from preflight.session.progress import Progress, Watch
from preflight.session.run import nobody_watches


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Give what is told of each step: a bar on stderr, where that is a terminal; else nothing."""
    if not (sys.stderr is not None and sys.stderr.isatty()):
        yield nobody_watches
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, ProgressColumn, Task
    from rich.progress import Progress as Bar
    from rich.table import Column
    from rich.text import Text

    begun = time.monotonic()
    last: list[_Last] = []

    class Said(ProgressColumn):
        """What goes on, as of now: what was told last may be long ago."""

        def render(self, task: Task) -> Text:
            said = last[0].said(time.monotonic() - begun) if last else ""
            return Text(said.encode("ascii", "backslashreplace").decode() or task.description)

    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
    told: list[Finding] = []
    columns = (Said(Column(no_wrap=True)), BarColumn(bar_width=None))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looks around", total=None)

        def watch(news: Progress | Finding) -> None:
            if isinstance(news, Progress):
                last[:] = [_Last.of(news, time.monotonic() - begun, *last)]
                bar.update(task, total=1.0, completed=news.share)
            elif news.severity is Severity.ERROR and not told:
                told.append(news)
                place = escape(str(news.at).encode("ascii", "backslashreplace").decode())
                console.print(f"first error: {news.check} at {place}", markup=False)

        yield watch


class _Last(NamedTuple):
    """What was told last, in seconds after the beginning, and since when that goes on."""

    news: Progress
    told: float
    begun: float

    @classmethod
    def of(cls, news: Progress, now: float, before: _Last | None = None) -> _Last:
        """Take in what is told now; of a step that goes on, it is known when it began."""
        goes_on = before is not None and _step(before.news) == _step(news)
        return cls(news, now, before.begun if goes_on and before is not None else now)

    def said(self, now: float) -> str:
        """Say it as of now."""
        since = self.begun if self.news.runs_code else self.told
        return progress_said(self.news, self.told, now - since)


def _step(news: Progress) -> str:
    return news.doing.partition(";")[0]


# Seconds and a share of the work below which nobody can say how long the rest will take.
_SOON, _LITTLE = 1.0, 0.01

# Seconds from which on it is said how long the user's code is at work, to show that it goes on.
_LONG = 3.0


def progress_said(news: Progress, seconds: float, since: float = 0.0) -> str:
    """Say how far a run had come in some seconds, and of the time that was left what is now.

    Of the user's code, for how long it has been at what it does.
    """
    from preflight.values.byte_sizes import format_size
    from preflight.values.names import shown

    said = [shown(news.doing) or f"{news.done:,} of {news.total:,}"]
    if news.runs_code:  # of which nobody knows how long it takes
        step, semicolon, rest = said[0].partition(";")
        return f"{step}, {int(since)} s{semicolon}{rest}" if since >= _LONG else said[0]
    if news.bytes:
        said.append(format_size(news.bytes))
        said.append(f"{format_size(int(news.bytes / max(seconds, 0.001)))}/s")
    if seconds > _SOON and news.share > _LITTLE:
        left = int(seconds * (1 - news.share) / news.share - since)
        if left > 0:
            said.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
    return ", ".join(said)
