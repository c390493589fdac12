"""Schedules of known trainers, in short: as few steps as reach a step, an evaluation and a save."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """How much of a schedule is rehearsed."""

    batches: int
    """Of each loader, in an epoch."""

    epochs: int

    @property
    def steps(self) -> int:
        """Of all epochs together."""
        return self.batches * self.epochs


class ShorterValue(NamedTuple):
    """One value of a schedule that was made less."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        """Say it as the page does."""
        before = f"{self.before:g}" if isinstance(self.before, float) else self.before
        after = f"{self.after:g}" if isinstance(self.after, float) else self.after
        return f"{self.name} {before} to {after}"


_Most = Callable[[Limits], int]


def _of_epochs(limits: Limits) -> int:
    return limits.epochs


def _of_steps(limits: Limits) -> int:
    return limits.steps


def _of_batches(limits: Limits) -> int:
    return limits.batches


def _one(_limits: Limits) -> int:
    return 1


# Arguments as public training scripts name them, without `_` and `-`: how long, and how often.
_LENGTHS: Mapping[str, _Most] = {
    **dict.fromkeys(("numtrainepochs", "maxtrainepochs"), _of_epochs),
    **dict.fromkeys(("maxtrainsteps", "numtrainsteps", "numtrainingsteps"), _of_steps),
}
# Of loops of the script's own they are left as they are: who divides them by ten gets zero.
_LENGTHS_OF_KNOWN: Mapping[str, _Most] = {
    **_LENGTHS,
    **dict.fromkeys(("epochs", "numepochs", "maxepochs", "nepochs"), _of_epochs),
    **dict.fromkeys(("maxsteps", "totalsteps", "trainsteps"), _of_steps),
}
_INTERVALS: Mapping[str, _Most] = {
    **dict.fromkeys(("checkpointingsteps", "savesteps", "saveevery", "saveinterval"), _of_batches),
    **dict.fromkeys(("checkpointsteps", "checkpointinterval", "ckptevery"), _of_batches),
    **dict.fromkeys(("ckptinterval", "checkpointevery", "saveeverynsteps"), _of_batches),
    **dict.fromkeys(("validationsteps", "evalsteps", "evalevery", "evalinterval"), _of_batches),
    **dict.fromkeys(("valinterval", "valevery", "validsteps", "valsteps"), _of_batches),
    **dict.fromkeys(("validationinterval", "validationevery", "validateevery"), _of_batches),
    **dict.fromkeys(("samplesteps", "sampleevery", "evaleverynsteps"), _of_batches),
    **dict.fromkeys(("gradientaccumulationsteps", "accumulationsteps"), _of_batches),
    **dict.fromkeys(("gradaccumsteps", "gradaccum", "accumiter", "accumsteps"), _of_batches),
    **dict.fromkeys(("validationepochs", "evalepochs", "saveepochs", "ckptepochs"), _one),
    **dict.fromkeys(("checkpointepochs", "saveeverynepochs", "evaleverynepochs"), _one),
    **dict.fromkeys(("valepochs", "savefreq", "evalfreq", "valfreq"), _one),
}
_TOGETHER = ("eval_steps", "save_steps")
_WARMS_UP = re.compile(r"warm_?up.*(steps|epochs|iters)$")
_STARTS = ("startepoch", "startsteps", "startiter", "initialepoch", "initialstep")


def shorten_arguments(
    arguments: Mapping[str, Any], limits: Limits, *, is_known: bool
) -> list[ShorterValue]:
    """Say which arguments of a script are to be less, by their names.

    What warms up is kept shorter than the whole, which a schedule of learning rates counts on. An
    argument that says where to start makes the length reach so much farther.

    Args:
        arguments: as they were parsed.
        limits: how much is rehearsed.
        is_known: whether a library of which the loops are known is in use, such as accelerate.
    """
    lengths = _LENGTHS_OF_KNOWN if is_known else _LENGTHS
    start = max(
        (_number(own) or 0 for name, own in arguments.items() if _plain(name) in _STARTS), default=0
    )
    changes: list[ShorterValue] = []
    refused = _TOGETHER if _saves_between_evaluations(arguments) else ()
    for name, own in arguments.items():
        if name in refused:
            continue
        length, interval = lengths.get(_plain(name)), _INTERVALS.get(_plain(name))
        most = (start + length(limits)) if length else interval(limits) if interval else None
        changes += _less(name, own, most)
    if any(_plain(one.name) in lengths for one in changes):
        for name, own in arguments.items():
            if _WARMS_UP.search(name):
                most = limits.epochs if "epoch" in name else limits.steps
                changes += _less(name, own, max(1, most // 2))
    return changes


def _saves_between_evaluations(arguments: Mapping[str, Any]) -> bool:
    """Whether transformers refuses them, as it does where the best model may not be saved."""
    evaluates, saves = (_number(arguments.get(name)) for name in _TOGETHER)
    if not evaluates or not saves or not arguments.get("load_best_model_at_end"):
        return False
    return saves % evaluates > 0


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _number(own: Any) -> int | None:
    """Give a whole number, also one that is written as text or with a point; else None."""
    if isinstance(own, bool):
        return None
    if isinstance(own, str):
        return int(own) if own.isascii() and own.isdigit() else None
    if isinstance(own, float):
        return int(own) if own >= 1 else None
    return own if isinstance(own, int) else None


def _less(name: str, own: Any, most: int | None) -> Iterable[ShorterValue]:
    number = _number(own)
    if most is not None and number is not None and number > most:
        yield ShorterValue(name, own, type(own)(most))


# --- the Trainer of Lightning


def shorten_lightning(given: Mapping[str, Any], limits: Limits) -> list[ShorterValue]:
    """Say which arguments of Lightning's `Trainer` are to be others."""
    if given.get("fast_dev_run"):
        return []
    changes: list[ShorterValue] = []
    for name in (
        "limit_train_batches",
        "limit_val_batches",
        "limit_test_batches",
        "limit_predict_batches",
    ):
        own = given.get(name)
        is_more = own is None or isinstance(own, float) or own > limits.batches
        if is_more and own != 0:
            changes.append(ShorterValue(name, "all" if own is None else own, limits.batches))
    changes += _lightning_length(given, limits)
    interval = given.get("val_check_interval")
    if isinstance(interval, int) and interval > limits.batches:
        changes.append(ShorterValue("val_check_interval", interval, limits.batches))
    changes += _less("check_val_every_n_epoch", given.get("check_val_every_n_epoch"), 1)
    changes += _less("num_sanity_val_steps", given.get("num_sanity_val_steps"), limits.batches)
    changes += _less("min_epochs", given.get("min_epochs"), 1)
    changes += _less("min_steps", given.get("min_steps"), 1)
    return changes


def lightning_goes_through(given: Mapping[str, Any]) -> set[str]:
    """Say what Lightning's `Trainer` goes through to the end of an epoch: `training`, `evaluation`.

    A number of steps may end before the first epoch does.
    """
    if given.get("overfit_batches") or (given.get("max_steps") or -1) > 0:
        return set()
    limits = {"training": "limit_train_batches", "evaluation": "limit_val_batches"}
    return {
        what
        for what, name in limits.items()
        if given.get(name) is None or repr(given[name]) == "1.0"
    }


def _lightning_length(given: Mapping[str, Any], limits: Limits) -> Iterable[ShorterValue]:
    epochs, steps = given.get("max_epochs"), given.get("max_steps")
    if steps is not None and steps > 0:
        yield from _less("max_steps", steps, limits.steps)
    if epochs is None and steps is not None and steps > 0:
        return
    if epochs is None or epochs < 0 or epochs > limits.epochs:
        yield ShorterValue("max_epochs", 1000 if epochs is None else epochs, limits.epochs)


def shorten_checkpoints(given: Mapping[str, Any], limits: Limits) -> list[ShorterValue]:
    """Say which arguments of Lightning's `ModelCheckpoint` are to be less."""
    return [
        *_less("every_n_train_steps", given.get("every_n_train_steps"), limits.batches),
        *_less("every_n_epochs", given.get("every_n_epochs"), 1),
    ]


# --- the Trainer of transformers


def shorten_transformers(given: Mapping[str, Any], limits: Limits) -> list[ShorterValue]:
    """Say which of the `TrainingArguments` of transformers are to be less."""
    changes: list[ShorterValue] = []
    if (given.get("max_steps") or 0) > 0:
        changes += _less("max_steps", given["max_steps"], limits.steps)
    changes += _less("num_train_epochs", given.get("num_train_epochs"), limits.epochs)
    for name in ("eval_steps", "save_steps"):
        own = given.get(name)
        if isinstance(own, float) and 0 < own < 1:  # a part of all steps
            changes.append(ShorterValue(name, own, limits.batches))
        changes += _less(name, own, limits.batches)
    changes += _less("logging_steps", given.get("logging_steps"), 1)
    changes += _less("warmup_steps", given.get("warmup_steps"), 1)
    changes += _less(
        "gradient_accumulation_steps", given.get("gradient_accumulation_steps"), limits.batches
    )
    return changes
