"""Whatever a process says is heard, however much it says while nobody listens."""

from __future__ import annotations

import time
from pathlib import Path

from preflight import asking
from preflight.processes import MOST_LINES, Question


def test_no_line_is_lost_where_answers_come_faster_than_they_are_taken(tmp_path: Path) -> None:
    """Who asks may be busy with an answer while thousands of others wait."""
    items = tuple({"type": "Image", "path": f"{tmp_path}/{n}.jpg"} for n in range(3 * MOST_LINES))
    question = Question(items=items, options={"root": str(tmp_path)})
    batch = asking.Batch(question=question, keys=tuple(range(len(items))))
    told: list[asking.Result] = []

    for result in asking.ask([batch], jobs=1, timeout=60, meanwhile=lambda: None):
        if not told:
            time.sleep(1)
        told.append(result)

    errors = {one.error for one in told if isinstance(one, asking.Fault)}
    assert errors == {"No such file or directory (FileNotFoundError)"}
    assert len(told) == len(items)
