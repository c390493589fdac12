"""Asks about shards, of which there may be very many."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from preflight.findings.check import Foreign
from preflight.findings.looks import Left, Look, Looked
from preflight.images.undecoded import not_decoded
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.target import Target
from preflight.pairing.rules import PLAIN, extension_of, is_image_suffix
from preflight.pipelines.arrived import Lacking
from preflight.pipelines.facts import Reads
from preflight.pipelines.fates import (
    asks_nothing,
    chooser,
    deciding,
    dropped_by,
    lacking,
    taken,
    use_of,
    use_of_field,
)
from preflight.shards.facts import ShardFacts
from preflight.shards.unfinished import Beside, unfinished
from preflight.targets.sampled import DrawnSamples
from preflight.targets.targets import CaptionRule, Script, Shard, Source
from preflight.values.wire import to_wire


class Shards(Gather):
    """All shards of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._samples = DrawnSamples(run.job, run.targets)
        self._awaited = {one for one in run.targets if type(one) in kind.led_to_by}
        """Loaders that may yet say which fields they take, before which nothing is judged."""

        self._held: list[tuple[Any, ShardFacts, float | None]] = []
        self._neighbours: dict[str, list[Beside]] = {}
        """By what a shard and those beside it are called, those that show no damage."""

        self._are_all_read = False
        """Whether all shards that were named have been looked at."""

        self._unpacked_by = ""
        """What of the job unpacks zstd."""

        self._reads: dict[str, list[Reads]] = {}
        """By the path of a shard, the loaders that read it."""

        self._listed: dict[str, str] = {}
        """By the path of what a data set of the job's own lists among its files, the loader."""

        self._flows: dict[str, Any] = {}
        """By a loader that was run to its end, what went through it."""

    def add(self, target: Shard) -> Iterator[Look]:
        """Take in a shard, unless it is in no sample."""
        reason = self._samples.without(target.path)
        if reason is not None:
            yield Left(reason=reason, kinds=(ShardFacts,), noun="shard", target=target)
        else:
            self.targets.append(target)

    def needs(self, target: Target) -> bool:
        """Whether it is a source that may say how shards of zstd are unpacked."""
        return isinstance(target, Source) and any(
            isinstance(one, Shard) and one.path.endswith("zst") for one in self.run.targets
        )

    def hear(self, target: Target, facts: object) -> None:
        """Take in which shards a loader reads, and that it has been looked at."""
        if not isinstance(target, Script):  # which may begin another loader until it has ended
            self._awaited.discard(target)
        # Sources and batches stand above shards: types of what is told of them are not known here.
        if isinstance(target, Source):
            self._unpacked_by = self._unpacked_by or str(getattr(facts, "zstd", None) or "")
        flow = getattr(facts, "flow", None)
        if flow is not None and flow.ended == "over":
            self._flows[flow.name] = flow
        if isinstance(facts, Reads):
            for path in facts.shards:
                self._reads.setdefault(path, []).append(facts)
            self._listed |= dict.fromkeys(facts.files, facts.name)
            if any("zstd" in one for one in facts.shards):
                self._unpacked_by = self._unpacked_by or facts.name

    def then_questions(self) -> Iterator[Question]:
        """Ask about the shards of loaders that nobody has named, where they are files here."""
        self._awaited.clear()
        self._are_all_read = True
        self.come += self._released()
        known = {self.run.full(one.path) for one in self.run.targets if isinstance(one, Shard)}
        for path in self._reads:
            if path not in known and os.path.isfile(path):
                question = self.question(Shard(path=path))
                self.expect(question)
                yield question

    def wire(self, target: Shard) -> Mapping[str, Any]:
        """Give a shard as a process is told of it."""
        return {"path": target.path, "captions": _told(target.captions)}

    def judged(
        self, question: Question, facts: ShardFacts, read_at: float | None
    ) -> Iterator[Look]:
        """Give what was seen of a shard, and say of videos that nobody looks into them."""
        self._held.append((question.target, facts, read_at))
        if not facts.damage:
            self._neighbours.setdefault(_sort_of(facts.file), []).append(
                Beside(facts.file, facts.samples, facts.size, facts.padding, facts.record)
            )
        if not self._awaited:
            yield from self._released()
        if facts.videos:
            yield Left(
                reason=Foreign("video is not read by this version"),
                kinds=(ShardFacts,),
                count=facts.videos,
                about="image",
                noun="video",
            )
        yield from not_decoded(facts.file, facts.pictures, ShardFacts)

    def _released(self) -> Iterator[Look]:
        """Give what waited for loaders, with what they say of the fields that they take.

        A shard that ends in zeros waits for those beside it, too, one of zstd for sources, and one
        that a function of the user's takes for the end of that loader.
        """
        held: list[tuple[Any, ShardFacts, float | None]] = []
        waiting: list[tuple[Any, ShardFacts, float | None]] = []
        for one in self._held:
            loaders = self._loaders_of(one[0])
            waits = one[1].padding or one[1].is_zstd or any(map(_is_in_the_run, loaders))
            (waiting if waits and not self._are_all_read else held).append(one)
        self._held = waiting
        for target, facts, read_at in held:
            loaders = self._loaders_of(target)
            reads = loaders[0] if loaders else None
            if reads is not None and taken(reads):
                found = tuple(map(self._as_it_ran(reads), lacking(facts.arrived, reads)))
                facts = replace(facts, taken_by=reads.name, lacking=found)  # noqa: PLW2901
                facts = replace(  # noqa: PLW2901
                    facts,
                    texts=_use_of(facts, _is_text, loaders),
                    use_of_images=_use_of(facts, _is_image, loaders),
                )
            elif reads is not None:
                flow = self._flows.get(reads.loader)
                whole = flow is not None and flow.came_out == flow.entered
                facts = replace(facts, decided_by=deciding(reads), all_came=whole)  # noqa: PLW2901
                if asks_nothing(reads):
                    facts = replace(facts, given_whole_by=reads.name)  # noqa: PLW2901
            facts = self._with_uses(facts, loaders)  # noqa: PLW2901
            if facts.is_zstd:
                facts = replace(facts, unpacked_by=self._unpacked(target, loaders))  # noqa: PLW2901
            if facts.padding:
                beside = self._neighbours.get(_sort_of(facts.file), [])
                facts = unfinished(facts, beside)  # noqa: PLW2901
            yield Looked(facts=facts, target=target, read_at=read_at)

    def _unpacked(self, target: Shard, loaders: list[Reads]) -> str:
        """Say what of the job unpacks zstd: a live loader that reads it has the last word."""
        own = self._listed.get(self.run.full(target.path), "")
        by = [one.name for one in loaders if not _opens(one) or self._gave_samples(one)]
        return own or ("".join(by[:1]) if loaders else self._unpacked_by)

    def _gave_samples(self, reads: Reads) -> bool:
        """Whether an epoch of it came to its end with samples, whatever opens its shards."""
        flow = self._flows.get(reads.loader)
        return flow is not None and flow.came_out > 0

    def _with_uses(self, facts: ShardFacts, loaders: list[Reads]) -> ShardFacts:
        """Say what all loaders do with each field, and whether they were run to their ends."""
        if not loaders:
            return facts
        choosers = [chooser(one.stages) for one in loaders]
        flows = [self._flows.get(one.loader) for one in loaders]
        fields = {field for one in facts.arrived for field in one.fields}
        those = [one for one in fields if _is_text(facts, one) or _is_image(facts, one)]
        return replace(
            facts,
            chosen_by=choosers[0] if all(choosers) else "",
            is_run_through=all(one is not None and one.reads_all for one in flows),
            uses={
                one: _most([use_of_field(one, each.stages) for each in loaders]) for one in those
            },
            dropped_by={
                one: by[0]
                for one in those
                if all(by := [dropped_by(one, each.stages) for each in loaders])
            },
        )

    def _as_it_ran(self, reads: Reads) -> Callable[[Lacking], Lacking]:
        """Say of samples that lack a field where an epoch showed that they are taken out before."""
        flow = self._flows.get(reads.loader)

        def judged(one: Lacking) -> Lacking:
            is_chosen = one.chosen and flow and flow.takes_out_before(one.stage, one.at.line)
            return one._replace(how="chosen") if is_chosen else one

        return judged

    def _loaders_of(self, target: Shard) -> list[Reads]:
        return self._reads.get(self.run.full(target.path), [])


def _is_in_the_run(reads: Reads) -> bool:
    """Whether a run of a loader tells what its pipeline takes, or takes out."""
    reads_bytes = any(one.kind == "map_dict" for one in reads.stages)
    return bool(deciding(reads) or chooser(reads.stages) or reads_bytes)


def _use_of(
    facts: ShardFacts, is_one: Callable[[ShardFacts, str], bool], loaders: list[Reads]
) -> str:
    """Say what the loader does with such fields of a shard that does the most with them."""
    fields = {field for one in facts.arrived for field in one.fields}
    those = [one for one in fields if is_one(facts, one)]
    return _most([use_of(those, one.stages) for one in loaders])


def _most(uses: Collection[str]) -> str:
    return next(one for one in ("taken", "raw", "read", "decoded", "left") if one in uses)


def _is_text(facts: ShardFacts, field: str) -> bool:
    looks_for = facts.pairing.looks_for if facts.pairing else ()
    return field in looks_for or extension_of(field) in PLAIN


def _is_image(_: ShardFacts, field: str) -> bool:
    return is_image_suffix(extension_of(field))


def _opens(reads: Reads) -> bool:
    """Whether webdataset itself opens the shards of a loader, by their names."""
    return any(one.kind == "open" for one in reads.stages)


def _sort_of(file: str) -> str:
    """Give what a shard has in common with those that were written with it."""
    return re.sub(r"\d+", "#", file)


@cache
def _told(rule: CaptionRule) -> Any:
    """Give a rule as a process is told of it: one value for all shards, of which many wait."""
    return to_wire(rule)
