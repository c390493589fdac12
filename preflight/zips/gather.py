"""Says of zip archives of images which labels were not read."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.looks import Left, Look
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.values.names import shown
from preflight.zips.facts import ImageZip


class Zips(Gather):
    """All zip archives of images of a run."""

    def judged(self, question: Question, facts: ImageZip, read_at: float | None) -> Iterator[Look]:
        """Give what was seen of an archive, and count labels that nobody has held against it."""
        yield from super().judged(question, facts, read_at)
        if facts.unread_labels:
            yield Left(
                reason=f"dataset.json of {shown(facts.file)} has {facts.unread_labels:,} bytes, "
                "and so is not held against its images",
                kinds=(ImageZip,),
                noun="label file",
                target=question.target,
            )
