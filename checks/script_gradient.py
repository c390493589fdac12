"""A script with parameters that are to be trained, and are not.

What it finds
    The script is run as itself, with a few batches of each loader, and looked at whenever one of
    its optimizers steps. Found are parameters that an optimizer has, and that had no gradient at
    any of its steps: a layer that `forward` does not use, adapters within reentrant checkpointing
    of which no input needs a gradient. And parameters that had gradients, and that no optimizer
    has; and optimizers whose gradients nobody clears in three steps or more. Parameters that are
    frozen, averages of weights, models that only give their opinion, and gradients that are summed
    up over some batches and cleared then are left alone.

Why it matters
    Such parameters stay as they were made, which nothing says: the loss falls all the same, since
    the others are trained. Under DistributedDataParallel, which waits for a gradient of each, the
    second step raises, or all ranks wait for each other. Gradients that nobody clears are added up:
    each step goes by all batches since the start.

What to do
    Use them in `forward`, or take them out; give them to the optimizer; or set
    `requires_grad_(False)` for those that are to stay. Reentrant checkpointing needs an input that
    requires a gradient, which `use_reentrant=False` does not. Call `optimizer.zero_grad()` before
    `loss.backward()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Idle, Steps, Uncleared
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of

_UNUSED = "without gradient"


@check(
    over=Steps,
    title="script with parameters that are not trained",
    many="groups of parameters are not trained",
    severity=Severity.ERROR,
    skip=lambda facts, _job: None if facts.steps else "no step of an optimizer was seen",
)
def script_gradient(facts: Steps, _job: Job) -> Iterator[Finding]:
    """Report parameters without gradient or optimizer, and optimizers whose gradients stay."""
    for idle in facts.idle:
        yield _unused(idle, facts) if idle.fault == _UNUSED else _unowned(idle, facts)
    for one in facts.uncleared:
        yield _uncleared(one, facts)


def _unused(idle: Idle, facts: Steps) -> Finding:
    steps = f"any of {counted(idle.steps, 'step')}" if idle.steps > 1 else "the one step seen"
    why = "They stay as they were made, while the others are trained, and nothing says so."
    fix = "Use them in forward, or freeze them: requires_grad_(False)."
    if not idle.in_model:
        why = "Parts of the model that take the place of others (a guess) are in no optimizer."
        fix = f"Make {idle.model} once the model is as it is to be trained."
    if idle.replicated:
        why = "DistributedDataParallel waits for a gradient of each of them: the next step raises."
        fix = "Use them in forward, take them out, or say find_unused_parameters=True."
    if idle.detached is not None:
        at = idle.detached
        why += (
            f" {at.file}:{at.line} computes activations again in backward, and nothing that goes "
            "in needs a gradient."
        )
        fix = (
            "Say use_reentrant=False, or have the inputs need gradients: "
            "model.enable_input_require_grads() where the model has it."
        )
    severity = Severity.ERROR if idle.replicated else Severity.WARNING
    return _found(idle, facts, f"got no gradient in {steps}", why, fix, severity)


def _unowned(idle: Idle, facts: Steps) -> Finding:
    return _found(
        idle,
        facts,
        "got gradients, and no optimizer has them",
        "They never change, and their gradients take time and memory.",
        "Give them to the optimizer, or freeze them: requires_grad_(False).",
        Severity.WARNING,
    )


def _uncleared(one: Uncleared, facts: Steps) -> Finding:
    at = one.at
    return script_gradient.found(
        f"{one.optimizer} took {one.steps:,} steps, and its gradients were never cleared",
        at=Location(file=facts.name if at is None else at.file, line=at.line if at else None),
        severity=Severity.WARNING,
        why="Each batch adds its gradients to those of all before: the steps go by all of them.",
        fix="Call optimizer.zero_grad() before loss.backward().",
        about=f"uncleared {one.optimizer}",
        line_text=None if at is None else at.text,
        evidence={"steps": one.steps, "optimizer": one.optimizer},
    )


def _found(idle: Idle, facts: Steps, what: str, why: str, fix: str, severity: Severity) -> Finding:
    some = f"{idle.count:,} of {counted(idle.of, 'parameter')} of {idle.model}"
    if not idle.in_model:
        some = f"{counted(idle.count, 'parameter')} that {idle.model} has, and no model seen,"
    kept = idle.defined
    return script_gradient.found(
        f"{some} {what}: {first_of(idle.names, idle.count)}",
        at=Location(file=kept.file or facts.name, line=kept.line, name=idle.model),
        severity=severity,
        why=why,
        fix=fix,
        about=idle.fault,
        line_text=kept.line_text,
        evidence={
            "parameters": idle.count,
            "numbers": idle.numbers,
            "of": idle.of,
            "steps": facts.steps,
            "replicated": idle.replicated,
        },
    )
