"""A script whose loss or weights are no numbers in its first steps.

What it finds
    The script is run as itself, with a few batches of each loader. Found is a loss that is NaN or
    infinite when gradients are computed of it, before it is scaled for half precision; and weights
    that are so after a step of their optimizer. A step that a GradScaler leaves out, since the
    scale is still too high, is left alone.

Why it matters
    What is NaN once stays so: from then on, each step computes nothing, at full cost, and each
    checkpoint is of no use. A loss is seldom looked at in the first minutes.

What to do
    Look at the line that is named: a logarithm or a root of zero, a division by zero, labels that
    are out of range, a learning rate that is too high, half precision where it does not reach.
    `torch.autograd.set_detect_anomaly(True)` names the operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Frame, NotFinite, Steps
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of

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


def _of_loss(loss: NotFinite, facts: Steps) -> Finding:
    before = [f"{one:.4g}" for one in facts.losses[: loss.backward - 1]]
    after = f" (after {', '.join(before)})" if before else ""
    recovered = facts.recovered and facts.weights is None
    return script_numbers.found(
        f"computes gradients of a loss that is {loss.value}, in step {loss.step:,}{after}",
        at=_place(loss.at, facts),
        severity=Severity.WARNING if recovered else Severity.ERROR,
        why="Later losses were finite again, and the weights stayed so; the step was lost."
        if recovered
        else "The gradients are NaN, and so are the weights after the step.",
        fix=_ANOMALY,
        about="loss",
        line_text=loss.at.text if loss.at is not None else None,
        evidence={"step": loss.step, "value": loss.value},
    )


def _of_weights(weights: NotFinite, facts: Steps) -> Finding:
    some = f"{weights.count:,} of {counted(weights.of, 'parameter')}"
    losses = ", ".join(f"{one:.4g}" for one in facts.losses[: weights.step])
    said = f"; losses until then: {losses}" if losses else ""
    return script_numbers.found(
        f"leaves NaN or infinite values in {some} after step {weights.step:,}: "
        f"{first_of(weights.names, weights.count)}{said}",
        at=_place(weights.at, facts),
        why="Each step from then on computes NaN, at full cost.",
        fix="Take a lower learning rate, or clip gradients. " + _ANOMALY,
        about="weights",
        line_text=weights.at.text if weights.at is not None else None,
        evidence={"step": weights.step, "parameters": weights.count, "of": weights.of},
    )


def _place(at: Frame | None, facts: Steps) -> Location:
    return Location(file=facts.name) if at is None else Location(file=at.file, line=at.line)
