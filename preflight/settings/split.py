"""Reads how the ranks of a job divide its items: `split` of a data set, a cache or a loader."""

from __future__ import annotations

from typing import TypeAlias

from preflight.values.code_name import is_code_name, parse_spec
from preflight.values.names import nearest

WORDS = (
    *("contiguous", "strided", "distributed-sampler", "distributed-sampler-drop-last"),
    *("split_by_node", "split_by_worker", "accelerate", "accelerate-padded", "datasets"),
)
"""What a split may be called, beside a function of the user's."""

BY_WORKER = "split_by_worker"
BY_SAMPLE = "datasets"
"""What divides the samples of a stream where ranks do not divide the number of its shards."""

PADDED = frozenset({"distributed-sampler", "accelerate-padded"})
"""Those that give some items twice on purpose, so that all ranks have as many."""

DROPPED = frozenset({"distributed-sampler-drop-last"})
"""Those that leave some items out on purpose, for the same."""

INSTALLED = frozenset({"accelerate", "accelerate-padded"})
"""Those that are called as they are installed."""

Said: TypeAlias = "str | tuple[str, ...] | None"
Steps: TypeAlias = "tuple[tuple[str, ...], ...]"
"""One after the other; of several in one, a rank has what each of them gives it."""


def steps_of(said: Said) -> Steps:
    """Take apart what a setting says: `["strided", "contiguous & train:split"]`."""
    words = () if said is None else (said,) if isinstance(said, str) else said
    return tuple(tuple(_plain(part) for part in word.split("&")) for word in words)


def _plain(word: str) -> str:
    """Take `split-by-node` for `split_by_node`, and so on."""
    word = word.strip()
    alike = {one.replace("_", "-"): one for one in WORDS}
    return alike.get(word.replace("_", "-").lower(), word)


def runs_code(steps: Steps) -> bool:
    """Whether something has to be imported for it by the job's interpreter."""
    return any(is_code_name(word) or word in INSTALLED for step in steps for word in step)


def mistake_in(said: Said) -> str | None:
    """Say what is wrong with a split; None where nothing is."""
    steps = steps_of(said)
    if said is not None and not steps:
        return "is empty; leave it out where nothing is divided"
    for word in (word for step in steps for word in step):
        spec = parse_spec(word)
        if spec is not None and spec.pick:
            return f"{word!r}: a function is named as module:name, without a part of it"
        if spec is None and word not in WORDS:
            like = nearest(word, WORDS)
            known = f"did you mean {like}?" if like else f"known are {', '.join(WORDS)}"
            return f"{word!r} is no way to divide items and no module:name; {known}"
    return None
