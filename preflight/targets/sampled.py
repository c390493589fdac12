"""How much of each data set is looked at, where that is not all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from preflight.kinds.target import Target
from preflight.settings.job import DataSettings, Job
from preflight.targets.targets import Dataset
from preflight.values.sampling import OUTSIDE, Sampling, parse_sample


def outside(sample: Sampling) -> str:
    """Say why something is not looked at."""
    return f"{OUTSIDE} (--sample {sample.text})"


def sample_of(dataset: Dataset, job: Job) -> Sampling | None:
    """Give how much of a data set is looked at; None: all."""
    data = job.data[dataset.entry] if dataset.entry is not None else DataSettings()
    text = data.sample or job.look.sample
    return None if text is None else parse_sample(text)


class DrawnSamples:
    """The samples of all data sets of a run."""

    def __init__(self, job: Job, targets: Iterable[Target]) -> None:
        sampled = ((one, sample_of(one, job)) for one in targets if isinstance(one, Dataset))
        self._sampled = tuple(sampled)
        self._left = dict(self._left_shards())

    def of_folder(self, path: str) -> Sampling | None:
        """Give how many images of a folder are looked at; None: all."""
        found = [sample for one, sample in self._sampled if one.folder == path and sample]
        return found[-1] if found else None

    def without(self, path: str) -> str | None:
        """Say why a shard is not looked at; None where it is."""
        return self._left.get(path)

    def _left_shards(self) -> Iterator[tuple[str, str]]:
        left: dict[str, str] = {}
        kept: set[str] = set()
        for one, sample in self._sampled:
            shards = list(dict.fromkeys(one.shards))
            drawn = sample.draw(len(shards)) if sample is not None else None
            for place, path in enumerate(shards):
                if sample is None or drawn is None or place in drawn:
                    kept.add(path)
                else:
                    left[path] = outside(sample)
        return ((path, reason) for path, reason in left.items() if path not in kept)
