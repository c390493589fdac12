"""Has the captions of a folder read, and remembers what they are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from preflight.findings.finding import Location
from preflight.images.captions import CaptionPart, in_parts
from preflight.images.facts import CaptionsSeen, FolderFacts
from preflight.images.images_so_far import Images, ReadPart, drawn_of
from preflight.images.kind import CAPTIONS
from preflight.kinds.gather import Gather, Run
from preflight.kinds.question import Question
from preflight.ledger.rows import Remembered
from preflight.ledger.store import mark_of
from preflight.pairing.facts import CaptionLengths
from preflight.values.wire import from_wire, to_brief

# Parts of the captions that are looked up in the ledger at once.
_PARTS = 64


class CaptionReading:
    """The captions of all folders of a run."""

    def __init__(self, run: Run, gather: Gather) -> None:
        self._run, self._gather = run, gather

    def ask(self, one: Images) -> Iterator[Question]:
        """Give the questions about captions that have to be read."""
        if not one.captioned_by_texts:
            return
        parts = in_parts(one.listing, drawn_of(one))
        while waiting := tuple(islice(parts, _PARTS)):
            yield from (self._ask_of(one, part) for part in self._unread(one, waiting))

    def _unread(self, one: Images, parts: Sequence[CaptionPart]) -> Iterator[CaptionPart]:
        """Take in what is known of captions that have not changed, and give the others."""
        for place in sorted({part.place for part in parts}):
            those = {part.contents.path: part for part in parts if part.place == place}
            names = {path: part.names for path, part in those.items()}
            known = self._run.memory.ledger.recall_folders(
                self._how_of(one, place), names, names.__getitem__
            )
            for path, part in those.items():
                many = len(part.names)
                if path not in known:
                    self._run.memory.count(CAPTIONS.noun, 0, 0.0, of=many)
                    yield part
                    continue
                seen = known[path]
                lengths = from_wire(CaptionLengths, json.loads(seen.facts or "{}"))
                one.captions.merge([lengths], part.contents.inside)
                one.remember(seen.read_at)
                self._run.memory.count(CAPTIONS.noun, many, seen.read_at, of=many)
                self._run.passed(many)

    def _how_of(self, one: Images, place: int) -> str:
        told = {"part": place, "is_sampled": one.sample is not None}
        return self._run.memory.how(CAPTIONS.name, told)

    def _ask_of(self, one: Images, part: CaptionPart) -> Question:
        one.left += 1
        path = part.contents.path
        wire = {"folder": path, "place": ".", "names": part.names}
        mark = mark_of(path, part.names) if self._run.memory.ledger.usable else None
        return Question(
            kind=CAPTIONS,
            wire=wire,
            target=one.target,
            at=Location(file=part.contents.place),
            gives=(FolderFacts,),
            gather=self._gather,
            whole=(one, ReadPart(part, self._how_of(one, part.place), mark, time.time())),
            seconds=CAPTIONS.seconds(wire, "", ""),
        )

    def keep(self, one: Images, read: ReadPart, told: Sequence[CaptionsSeen]) -> None:
        """Take in what captions are, and have the ledger keep it."""
        part = read.part
        self._run.passed(len(part.names) - 1)  # the question itself counts as one
        for seen in told:
            one.captions.merge([seen.lengths], part.contents.inside)
            if read.mark is not None:
                kept = Remembered(read.begun, json.dumps(to_brief(seen.lengths)))
                self._run.memory.ledger.remember_folder(
                    read.how, part.contents.path, read.mark, kept
                )
