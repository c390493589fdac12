"""Has the pipelines of loaders count that a script begins, up to their first batch."""

from __future__ import annotations

from typing import Any

from preflight.flow.begun import CAME, OVER
from preflight.flow.fitted import Fitted, fit
from preflight.objects.facts import Definition
from preflight.scripts.watch import Watch


class Counting:
    """A loader whose pipeline counts until its first batch has come."""

    def __init__(self, fitted: Fitted | None, watch: Watch) -> None:
        self._fitted = fitted
        self._watch = watch
        self._folder = None if fitted is None else fitted.about["folder"]

    def came(self) -> None:
        """Give the pipeline its own stages back: what it has begun goes on to count."""
        if self._fitted is not None:
            self._fitted.undo()
            self._watch.tell(counted=self._folder, is_at=CAME, batches=1)
            self._fitted = None

    def over(self, batches: int) -> None:
        """Note that the loader came to the end of its data."""
        self.came()
        if self._folder is not None:
            self._watch.tell(counted=self._folder, is_at=OVER, batches=batches)


def counting(loader: Any, name: str, watch: Watch) -> Counting:
    """Have the pipeline of a loader count, where somebody asks for it."""
    fitted = None
    if watch.wants("Flow"):
        fitted = fit(loader, Definition(), watch.root, scratch=watch.scratch)
    if fitted is not None:
        workers = getattr(loader, "num_workers", 0)
        known = {"name": name, "num_workers": workers if isinstance(workers, int) else 0}
        watch.tell(counts={**fitted.about, **known})
    return Counting(fitted, watch)
