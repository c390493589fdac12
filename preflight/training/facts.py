"""What is seen of a script's steps of training: gradients, losses, weights, and time."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.objects.facts import Definition
from preflight.users_code.facts import Frame

UNUSED, UNOWNED = "without gradient", "without optimizer"

LOSS, WEIGHTS = "loss", "weights"
"""Of what the first value is sought that is NaN or infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Parameters of one model that are to be trained, and are not."""

    model: str
    """The class of the model; where a tensor is part of none, that of its optimizer."""

    fault: str
    """`without gradient`: an optimizer has them, and they got none in any step; `without
    optimizer`: they got gradients, and no optimizer has them."""

    names: tuple[str, ...]
    """From the model, the first ones: `head.weight`."""

    count: int
    numbers: int
    """All numbers in them together."""

    of: int
    """Parameters of the model that are to be trained."""

    steps: int
    """Steps in which they could have been trained: of their optimizer, the least."""

    defined: Definition = Definition()
    """The script's own line that keeps the first of them; else that made the optimizer."""

    replicated: bool = False
    """Whether DistributedDataParallel waits for a gradient of each, and gets none."""

    in_model: bool = True
    """False of parameters of an optimizer that no model holds which was seen."""

    detached: Frame | None = None
    """The line that had activations computed again in backward (reentrant checkpointing), where
    nothing that went in needed a gradient: then nothing within gets one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncleared:
    """An optimizer whose gradients nobody clears: each step takes those of all before as well."""

    optimizer: str
    """Its class."""

    steps: int
    """Steps in a row that took the same gradients on."""

    at: Frame | None = None
    """The script's own line that has it step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFinite:
    """A loss, or weights, with a value that is NaN or infinite."""

    step: int
    """The first step with it, counted from 1; 0: before the first."""

    backward: int = 0
    """Of a loss: the how manieth it was, counted from 1."""

    value: str = ""
    """Of a loss: `nan`, `inf`, `-inf`."""

    names: tuple[str, ...] = ()
    """Of weights: the first ones that have such a value; of an evaluation: its loss."""

    count: int = 0
    """Of weights: parameters that have such a value."""

    of: int = 0
    """Of how many that were looked at."""

    at: Frame | None = None
    """The script's own line: of the backward, of the step, or of the evaluation."""

    made: Frame | None = None
    """The line that made the first value of that kind; None: that was not found."""

    by: str = ""
    """The function that made it there: `log`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The first steps of a script."""

    name: str
    """The script."""

    steps: int
    """Steps that its optimizers took, all of them together."""

    backwards: int = 0
    """How often gradients were computed."""

    losses: tuple[float, ...] = ()
    """Of what they were computed, the first ones."""

    loss: NotFinite | None = None
    weights: NotFinite | None = None
    recovered: bool = False
    """Whether a later loss was finite again, and the weights stayed so."""

    evaluation: NotFinite | None = None
    """A loss of the last evaluation."""

    idle: tuple[Idle, ...] = ()
    uncleared: tuple[Uncleared, ...] = ()
    seconds: float | None = None
    """From one step to the next one of the same optimizer, in the middle of all; None: there were
    not two."""

    gpu_bytes: int | None = None
    """The most that was allocated on a GPU up to the end of a step; None: none was used."""


def in_words(every: list[Steps]) -> str | None:
    """Sum up for a page."""
    parts = []
    for one in every:
        if one.seconds is not None:
            parts.append(f"{one.seconds:.2g} s a step")
        if one.gpu_bytes is not None:
            parts.append(f"{one.gpu_bytes / 1e9:.2g} GB on the GPU at most")
    return ", ".join(parts) or None
