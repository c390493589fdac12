"""Whatever a process says is heard, however much it says while nobody listens."""

from __future__ import annotations

import queue
import time
from pathlib import Path

from preflight import asking
from preflight.discover import plain_options
from preflight.job import Job
from preflight.processes import MOST_LINES, Lines, Question


def test_no_line_is_lost_where_answers_come_faster_than_they_are_taken(tmp_path: Path) -> None:
    """Who asks may be busy with an answer while thousands of others wait."""
    items = tuple({"type": "Image", "path": f"{tmp_path}/{n}.jpg"} for n in range(3 * MOST_LINES))
    question = Question(items=items, options=plain_options(Job(root=str(tmp_path))))
    batch = asking.Batch(question=question, keys=tuple(range(len(items))))
    told: list[asking.Result] = []

    for result in asking.ask([batch], jobs=1, timeout=60, meanwhile=lambda: None):
        if not told:
            time.sleep(1)
        told.append(result)

    errors = {one.error for one in told if isinstance(one, asking.Fault)}
    assert errors == {"No such file or directory (FileNotFoundError)"}
    assert len(told) == len(items)


def test_what_is_not_heard_at_once_is_heard_the_next_time() -> None:
    """After many lines, others have their turn; the next line stays where it is."""
    lines: Lines = queue.Queue()
    for number in range(MOST_LINES + 2):
        lines.put((None, b"%d" % number))  # type: ignore[arg-type]

    asking._hear([], lines)

    assert lines.get_nowait()[1] == b"%d" % MOST_LINES
