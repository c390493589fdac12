"""Puts together what this rank has seen, and has it handed to rank 0."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from preflight.findings.finding import Finding, Location
from preflight.findings.looks import Failed, Look, Looked
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import kind_of_facts
from preflight.kinds.same import Same, listed
from preflight.kinds.target import Target
from preflight.launched.facts import FoundThere, RankSeen, RanksSeen
from preflight.processes.rank import Rank, rank_here
from preflight.secrets.hiding import Secrets
from preflight.targets.targets import Host, Script
from preflight.values.names import shown
from preflight.values.wire import to_wire

# Findings that one rank tells the others at most.
_MOST = 100

# Variables that decide how ranks talk and what they load; of these, some are each rank's own.
_HEEDED = re.compile(
    r"(NCCL|GLOO|TORCH|PYTORCH|OMP|MKL|CUDA|CUBLAS|HF|TRANSFORMERS|TOKENIZERS|ACCELERATE)_[A-Z_]+"
    r"|PYTHONHASHSEED|PYTHONPATH|WORLD_SIZE|MASTER_ADDR|MASTER_PORT"
)
_EACH_ITS_OWN = re.compile(r"VISIBLE_DEVICES|IFNAME|_HCA$|RANK|_DIR$|_FILE$|TOKEN$")


class Launched(Gather):
    """What this rank tells, and what came of it."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._rank: Rank | None = rank_here()
        self._same: list[Same] = []
        self._files: dict[str, list[str]] = {}
        """Of each row that tells of single files, what it tells of each."""

        self._told = False
        self._compares = any(map(self.needs, run.targets))

    def needs(self, target: Target) -> bool:
        """Whether ranks are compared: then all is looked at that they should see alike."""
        if isinstance(target, Host) and target.recording is not None:
            return True
        return self._rank is not None and isinstance(target, (Host, Script))

    def hear(self, _target: Target, facts: Any) -> None:
        """Take in what should be alike on all ranks, where there are others."""
        if not self._compares:
            return
        row = kind_of_facts(type(facts))
        alike = None if row is None else row.alike.get(type(facts))
        if row is None or alike is None:
            return
        if row.each_file:
            names = self._files.setdefault(row.noun, [])
            names += (f"{one.what} {one.value}" for one in alike(facts, self.run.job.root))
        else:
            self._same += alike(facts, self.run.job.root)

    def after_all_questions(self) -> Iterator[Question]:
        """Have it handed over, once all else was looked at and judged."""
        script = next((one for one in self.run.targets if isinstance(one, Script)), None)
        if not self.run.wants(RanksSeen):
            return
        for one in self.run.targets:
            if isinstance(one, Host) and one.recording is not None:
                yield self._asked(one, {"number": 0, "recording": one.recording}, ())
                return
        if script is not None and self._rank is not None:
            yield self._asked(script, self._rank._asdict(), variables())

    def _asked(
        self, target: Target, told: Mapping[str, Any], variables: Iterable[Same]
    ) -> Question:
        seen = RankSeen(
            rank=told["number"],
            host=platform.node(),
            same=(*self._same, *self._of_files(), *variables),
            found=tuple(map(_found, self.run.so_far.found[:_MOST])),
            failed=tuple(f"{one.at}: {one.error}" for one in self.run.so_far.failed[:_MOST]),
        )
        return Question(
            kind=self.kind,
            wire={**told, "seen": to_wire(seen)},
            target=target,
            at=Location(name=f"rank {seen.rank}"),
            gives=(RanksSeen,),
            gather=self,
        )

    def _of_files(self) -> Iterator[Same]:
        for noun, names in self._files.items():
            yield Same(what=f"{noun}s", value=listed(names, noun))

    def judged(self, question: Question, facts: RanksSeen, read_at: float | None) -> Iterator[Look]:
        """Give what came, and of which ranks nothing came or nothing could be judged."""
        yield Looked(facts=facts, target=question.target, read_at=read_at)
        self._told = facts.rank > 0 and not facts.silent
        for rank in facts.silent:
            yield _failed(rank, _silent(facts), f"Look at what rank {rank} has printed.")
        mine = {one for each in facts.every[:1] for one in each.failed}
        for each in facts.every[1:]:
            for error in dict.fromkeys(each.failed):
                if error not in mine:
                    yield _failed(each.rank, f"it could not judge {shown(error)}", None)

    def told_to(self) -> str | None:
        """Say who has all of this in its own report."""
        return "rank 0" if self._told else None


def _failed(rank: int, error: str, fix: str | None) -> Failed:
    return Failed(at=Location(name=f"rank {rank}"), error=error, kinds=(RanksSeen,), fix=fix)


def _silent(facts: RanksSeen) -> str:
    if facts.rank:
        return f"it has not taken what rank {facts.rank} saw, in {facts.waited:.0f} s"
    return f"it has told nothing, {facts.waited:.0f} s after rank 0 was done: it died, or is late"


def _found(one: Finding) -> FoundThere:
    return FoundThere(
        check=one.check,
        severity=one.severity,
        message=one.message,
        at=one.at,
        why=one.why,
        fix=one.fix,
        fingerprint=one.fingerprint,
    )


def variables() -> Iterator[Same]:
    """Give the variables that decide how ranks work together, without what is secret."""
    hide = Secrets.known(os.environ)
    for name, value in sorted(os.environ.items()):
        if _HEEDED.fullmatch(name) and not _EACH_ITS_OWN.search(name):
            yield Same(
                what=name, value=hide.text(f"{name}={value}")[len(name) + 1 :], absent="not set"
            )
