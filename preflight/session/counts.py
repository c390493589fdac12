"""Counts what was seen of each target, for the page to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight.cached_files.facts import CacheFacts
from preflight.checkpoints.facts import CheckpointFacts
from preflight.findings.check import Facts
from preflight.images.facts import FolderFacts
from preflight.loaders.facts import Sent
from preflight.models.facts import Copied
from preflight.shards.facts import ShardFacts
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Shard, Target
from preflight.values.names import first_of, shown


@dataclass(slots=True)
class Seen:
    """What was counted of each target that was asked about: images, samples, files."""

    _samples: dict[Shard, int | None] = field(default_factory=dict)
    """Of shards, of which there may be very many; None: it was not read."""

    _counts: dict[str, Counter[str]] = field(default_factory=dict)
    _gave: dict[str, set[type]] = field(default_factory=dict)
    _newest: dict[str, list[tuple[CheckpointFacts, str]]] = field(default_factory=dict)
    """Of folders of several checkpoints, those of each run, and the newest that is whole."""

    def begin(self, target: Target) -> None:
        """Take in that a target is asked about."""
        if isinstance(target, Shard):
            self._samples[target] = None
        else:
            self._counts[repr(target)] = Counter()

    def take(self, target: Target, found: Facts) -> None:
        """Take in what came of it."""
        if isinstance(target, Shard):
            if isinstance(found, ShardFacts):
                self._samples[target] = found.samples
            return
        key = repr(target)  # once: there may be ten thousand files of one cache
        self._gave.setdefault(key, set()).add(type(found))
        counter = self._counts[key]
        match found:
            case FolderFacts():
                counter["image"] += found.pairing.images
                counter["caption"] += found.pairing.captions
            case SourceFacts():
                counter["file"] += found.files
            case CacheFacts():
                counter["file"] += 1
            case CheckpointFacts() if len(found.checkpoints) > 1:
                whole = next((one.name for one in found.checkpoints if one.is_whole), "")
                self._newest.setdefault(key, []).append((found, whole))
            case Sent():
                counter["worker"] += found.num_workers
            case Copied():
                counter["parameter"] += found.parameters

    def has(self, target: Target) -> bool:
        """Whether it was asked about."""
        return (
            target in self._samples if isinstance(target, Shard) else repr(target) in self._counts
        )

    def gave(self, target: Target) -> set[type]:
        """Give the types of facts that came of it."""
        return self._gave.get(repr(target), set())

    def newest(self, targets: Sequence[Target]) -> str | None:
        """Name the newest whole checkpoint of each run in one of these, where it has several."""
        found = [self._newest[one] for one in map(repr, targets) if one in self._newest]
        if len(found) != 1:
            return None
        runs = found[0]
        if len(runs) > 1:
            names = [f"{one.file.rpartition('/')[2]}/{whole}" for one, whole in runs if whole]
            return f"newest whole checkpoints: {first_of(names, len(names))}" if names else None
        ((one, whole),) = runs
        what = "checkpoint" if whole == one.checkpoints[0].name else "whole checkpoint"
        return f"newest {what}: {shown(whole)}" if whole else "no whole checkpoint"

    def of(self, targets: Sequence[Target]) -> Counter[str]:
        """Sum up what was seen of targets, each of which counts once."""
        total: Counter[str] = Counter()
        others: set[str] = set()
        for target in dict.fromkeys(one for one in targets if isinstance(one, Shard)):
            samples = self._samples.get(target)
            if samples is not None:
                total["shard"] += 1
                total["sample"] += samples
        others.update(repr(one) for one in targets if not isinstance(one, Shard))
        for one in sorted(others):
            total.update(self._counts.get(one, ()))
        return total
