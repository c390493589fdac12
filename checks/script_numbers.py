"""A script whose loss or weights are no numbers in its first steps.

What it finds
    The script is run as itself, with a few batches of each loader. Found is a loss that is NaN or
    infinite when gradients are computed of it, before it is scaled for half precision; and weights
    that are so after a step of their optimizer. The script is then run once more, for the line
    that makes the first of them. A step that a GradScaler leaves out, since the scale is still too
    high, is left alone. Where all of these are finite, a loss of the last evaluation that is not is
    a warning: as the Trainer of transformers or Lightning give it, as the script itself sums it up,
    or takes its mean, in its loop over batches, or as it logs it right after that.

Why it matters
    What is NaN once stays so: from then on, each step computes nothing, at full cost, and each
    checkpoint is of no use. A loss is seldom looked at in the first minutes.

What to do
    Look at the line that is named: a logarithm or a root of zero, a division by zero, labels that
    are out of range, a learning rate that is too high, half precision where it does not reach.
    Where only the line that computes gradients is named, the second run went otherwise:
    `torch.autograd.set_detect_anomaly(True)` names the operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Frame, NotFinite, Steps
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

_RANGE = "Keep what this line takes in its range: clamp it, or add a small number to it."
_ANOMALY = "torch.autograd.set_detect_anomaly(True) at the top names the operation."


@check(
    over=Steps,
    title="script whose loss or weights are NaN or infinite",
    many="scripts have a loss or weights that are NaN or infinite",
    severity=Severity.ERROR,
    skip=lambda facts, _job: None if facts.backwards else "no gradients were computed",
)
def script_numbers(facts: Steps, _job: Job) -> Iterator[Finding]:
    """Report the first loss, else the first weights, that are no numbers."""
    loss, weights = facts.loss, facts.weights
    if loss is not None and (weights is None or loss.step <= weights.step):
        yield _of_loss(loss, facts)
    elif weights is not None:
        yield _of_weights(weights, facts)
    elif facts.evaluation is not None:
        yield _of_evaluation(facts.evaluation, facts)


def _of_loss(loss: NotFinite, facts: Steps) -> Finding:
    before = [f"{one:.4g}" for one in facts.losses[: loss.backward - 1]]
    after = f" (after {', '.join(before)})" if before else ""
    recovered = facts.recovered and facts.weights is None
    what = f"makes a loss that is {loss.value}, by {loss.by}" if loss.made else ""
    what = what or f"computes gradients of a loss that is {loss.value}"
    return script_numbers.found(
        f"{what}, in step {loss.step:,}{after}",
        at=_place(loss.made or loss.at, facts),
        also=_also(loss),
        severity=Severity.WARNING if recovered else Severity.ERROR,
        why="Later losses were finite again, and the weights stayed so; the step was lost."
        if recovered
        else "The gradients are NaN, and so are the weights after the step.",
        fix=_RANGE if loss.made else _ANOMALY,
        about="loss",
        line_text=_text(loss),
        evidence={"step": loss.step, "value": loss.value},
    )


def _of_weights(weights: NotFinite, facts: Steps) -> Finding:
    some = f"{weights.count:,} of {counted(weights.of, 'parameter')}"
    losses = ", ".join(f"{one:.4g}" for one in facts.losses[: weights.step])
    said = f"; losses until then: {losses}" if losses else ""
    what = f"has a slope that is NaN, of {weights.by}, which leaves" if weights.made else "leaves"
    return script_numbers.found(
        f"{what} NaN or infinite values in {some} after step {weights.step:,}: "
        f"{first_of(weights.names, weights.count)}{said}",
        at=_place(weights.made or weights.at, facts),
        also=_also(weights),
        why="Each step from then on computes NaN, at full cost.",
        fix=_RANGE
        if weights.made
        else "Take a lower learning rate, or clip gradients. " + _ANOMALY,
        about="weights",
        line_text=_text(weights),
        evidence={"step": weights.step, "parameters": weights.count, "of": weights.of},
    )


def _of_evaluation(loss: NotFinite, facts: Steps) -> Finding:
    name = shown(loss.names[0])
    steps = counted(loss.step, "step")
    return script_numbers.found(
        f"has {name} of {loss.value} in an evaluation after {steps}, while weights and losses of "
        "training are finite",
        at=_place(loss.at, facts),
        severity=Severity.WARNING,
        why="What goes by this loss (the best checkpoint, an early stop, a schedule) goes by none.",
        fix="Look for a batch of the evaluation without labels, with values out of range, or with "
        "padding only.",
        about="evaluation",
        line_text=_text(loss),
        evidence={"step": loss.step, "value": loss.value},
    )


def _also(one: NotFinite) -> tuple[Location, ...]:
    """Give the line that came upon it, where another one made it."""
    return (one.at.place(),) if one.made and one.at else ()


def _text(one: NotFinite) -> str | None:
    at = one.made or one.at
    return at.text if at is not None else None


def _place(at: Frame | None, facts: Steps) -> Location:
    return Location(file=facts.name) if at is None else at.place()
