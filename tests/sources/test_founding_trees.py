"""In trees like those of the founding cases, the rules over sources hit the lines that killed them.

Around these lines stand the healthy ones of such trees, of which none is hit.
"""

from __future__ import annotations

from pathlib import Path

import preflight

ITERATOR = '''\
import logging

logger = logging.getLogger(__name__)


def steps(backends, start=0):
    """Give a step and a batch, as a generator."""
    step = start
    while True:
        for backend in backends:
            try:
                yield step, next(backend)
            except StopIteration:
                return
            step += 1


def next_batch(step, backends):
    """Give a step and a batch; it was the generator above once."""
    batch = None
    try:
        batch = next(backends[step % len(backends)])
    except StopIteration:
        logger.info("used up")
    finally:
        return step, batch  # kills: return in finally
'''

TRAIN = """\
from iterator import next_batch, steps


def train(backends, fit):
    for step, batch in next_batch(0, backends):  # kills: loop over a tuple
        fit(step, batch)


def validate(backends, fit):
    for step, batch in steps(backends):
        fit(step, batch)


def first(backends):
    step, batch = next_batch(0, backends)
    return batch
"""

CACHE = '''\
import logging
import queue
import threading

logger = logging.getLogger(__name__)


class TextCache:
    def __init__(self, backend):
        self.backend = backend
        self.write_queue = queue.Queue()
        self.worker = threading.Thread(target=self.write_batches, daemon=True)
        self.worker.start()

    def write_batches(self):
        """Write what comes, many at once."""
        waiting = []
        while True:
            try:
                item = self.write_queue.get(timeout=1)
                embeds, path = item
                waiting.append((embeds, path))
            except queue.Empty:
                self.flush(waiting)
                waiting = []
            except Exception:
                logger.exception("not written: %s", path)  # kills: unbound name

    def flush(self, waiting):
        for embeds, path in waiting:
            try:
                self.backend.save(embeds, path)
            except OSError as error:
                logger.error("%s: %s", path, error)

    def finish(self):
        self.write_queue.join()
        return self.worker.is_alive()
'''

FILES = {"iterator.py": ITERATOR, "train.py": TRAIN, "caching/text_cache.py": CACHE}
RULES = ("unbound-name", "return-in-finally", "loop-over-tuple", "busy-wait", "unstable-order")


def test_the_lines_that_killed_them_are_hit_and_no_others(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    report = preflight.run(
        ".", folder=str(tmp_path), select=[f"source-{rule}" for rule in RULES], elsewhere=True
    )
    hit = {(str(one.at.file), one.at.line, one.check) for one in report.findings}
    kills = {
        (name, number, f"source-{line.partition('# kills: ')[2].replace(' ', '-')}")
        for name, text in FILES.items()
        for number, line in enumerate(text.splitlines(), 1)
        if "# kills: " in line
    }

    assert {(file, line) for file, line, _ in hit} == {(file, line) for file, line, _ in kills}
    assert {check for *_, check in hit} == {f"source-{rule}" for rule in RULES[:3]}
    (thread,) = [one for one in report.findings if one.check == "source-unbound-name"]
    assert "thread" in f"{thread.message} {thread.why}"
