"""source-busy-wait tells loops that only ask from those that pause, end or work."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from tests.asking import of_source

found = partial(of_source, "source-busy-wait")


TAKEN = "while True:\n        try: {}\n        except queue.Empty: {}"

HEALTHY = {
    "sleep": "while q.empty():\n        time.sleep(0.1)",
    "a timeout": "while not event.wait(1):\n        pass",
    "work in the test": "while step():\n        pass",
    "a walrus": "while (line := file.readline()):\n        pass",
    "a drain": "while q.get() is not None:\n        pass",
    "a poll that waits": "while not connection.poll(1):\n        pass",
    "a poller": "while not poller.poll():\n        pass",
    "a yield": "while q.empty():\n        yield None",
    "an await": "while not await ready():\n        pass",
    "a way out": "while q.empty():\n        if not thread.is_alive():\n            break",
    "idle on purpose": "while True:\n        pass",
    "a flag of the loop": (
        "while self.open:\n        if q.empty():\n            continue\n        q.get()"
    ),
    "a local name": "n = 0\n    while n:\n        pass",
    "a path that is made by a call": "while not newest(path).exists():\n        pass",
    "a path, and a pause": ("while not Path(path).exists():\n        time.sleep(1)"),
    "an iterator": "while next(it):\n        pass",
    "taken until it is empty": TAKEN.format("q.get_nowait()", "break"),
    "taken, or a pause": TAKEN.format("q.get_nowait()", "time.sleep(1)"),
    "taken with a timeout": TAKEN.format("q.get(timeout=1)", "continue"),
    "taken, and other work": TAKEN.format("q.get_nowait()", "pass") + "\n        step()",
    "taken behind work": TAKEN.format("step(); q.get_nowait()", "continue"),
}
DAMAGED = {
    "pass": "while q.empty():\n        pass",
    "continue": "while self.queue.empty():\n        continue",
    "on one line": "while q.empty(): continue",
    "dots": "while q.empty(): ...",
    "a comment": "while q.empty():  # not yet\n        # wait\n        pass",
    "a flag": "while not self.ready:\n        pass",
    "a global flag": "global ready\n    while not ready:\n        pass",
    "a count": "while q.qsize() == 0:\n        pass",
    "a length": "while len(self.items) == 0:\n        pass",
    "an event": "while not event.is_set():\n        pass",
    "a thread": "while thread.is_alive():\n        pass",
    "a file": "while not os.path.exists(path):\n        pass",
    "a path": "while not (Path(path) / 'done.txt').exists():\n        pass",
    "a file of a path": "while not Path(path).is_file():\n        pass",
    "a path that is put together": (
        "while not os.path.exists(os.path.join(path, '{}.pt'.format(self.step))):\n        pass"
    ),
    "an empty folder": "while not os.listdir(path):\n        pass",
    "too few files": "while len(list(Path(path).glob('*.pt'))) < 8:\n        pass",
    "an empty file": "while os.path.getsize(path) == 0:\n        continue",
    "a process": "while process.poll() is None:\n        pass",
    "for ever": "while True:\n        if q.empty():\n            continue\n        q.get()",
    "until": "while True:\n        if not q.empty():\n            break",
    "over lines": "while (\n        q.empty()\n        and not self.done\n    ):\n        pass",
    "taken at once": TAKEN.format("x = q.get_nowait()", "continue") + "\n        step(x)",
    "returned at once": TAKEN.format("return q.get_nowait()", "pass"),
    "taken without blocking": TAKEN.format("self.q.get(block=False)", "continue"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_loop_that_pauses_works_or_ends_is_left_alone(name: str, tmp_path: Path) -> None:
    begin = "async def" if "await" in HEALTHY[name] else "def"

    assert found(tmp_path, f"{begin} f(self, path):\n    {HEALTHY[name]}\n") == []


@pytest.mark.parametrize("name", DAMAGED)
def test_a_loop_that_only_asks_is_found(name: str, tmp_path: Path) -> None:
    text = f"def f(self, path):\n    {DAMAGED[name]}\n"

    (one,) = found(tmp_path, text, ".")

    assert one.severity is Severity.WARNING
    assert "again and again" in one.message
