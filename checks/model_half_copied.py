"""A part of a model that goes on with the original's weights in every copy.

What it finds
    Functions that a model keeps as attributes or hooks, that were made with its own layers at hand,
    and use them: `self.forward = lambda x: self.body(x)`, `torch.compile(self.fn)`,
    `torch.no_grad()(self.fn)`, a hook that calls a layer from outside its arguments, a weak
    reference through which `forward` goes. So are layers with weights to train that a
    `__deepcopy__` hands on as they are; frozen ones may be meant to be shared. The copy is really
    made, but for its memory; what its functions use is read from their code, and nothing of it is
    called. Bound methods, partials, `torch.compile(model)`, and functions that only note something
    are left alone. What no call of the copy comes to by name, such as a hook of gradients, is a
    warning.

Why it matters
    `copy.deepcopy` hands a function on as it is, with all that it was made with. The copy then
    holds weights of its own that nobody uses, and computes with those of the model in training: an
    exponential moving average that follows nothing, a teacher that learns with its student, layers
    that were meant to be independent and are one. No error is raised, and the numbers look well.

What to do
    Make it a method of the class, since methods use the copy that they are called on; decorate
    the method in the class instead of keeping what the decorator gives; in a hook, use the module
    that it is given as its first argument, or register a bound method.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Copied, UsesOriginal
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import shown

_WHAT = {
    "hook": "is a hook that every copy shares: there, too, it uses",
    "method": "is made of a bound method, and every copy shares it: there, too, it uses",
    "reference": "is a weak reference that every copy shares: there, too, it leads to",
    "weights": "comes to every copy as it is, with its weights: there, too, it is",
}
_FUNCTION = "is a function that every copy shares: there, too, it uses"

_FIXES = {
    "hook": "Use the module that the hook is given, its first argument, or register a bound "
    "method: register_forward_hook(self.hook).",
    "method": "Put the decorator on the method in the class instead of keeping what it gives for "
    "this one model: a copy's methods use the copy.",
    "weights": "Have __deepcopy__ copy what it holds; where copies are to share it, freeze it: "
    "requires_grad_(False).",
    "reference": "Give the module to what needs it when that is called, or set the reference "
    "anew in the copy.",
}
_MAKE_METHOD = "Make it a method of the class: a copy's methods use the copy."


@check(
    over=Copied,
    title="part of a copy that uses the original's weights",
    many="parts of a copy use the original's weights",
    severity=Severity.ERROR,
)
def model_half_copied(copied: Copied, _job: Job) -> Iterator[Finding]:
    """Tell each line that makes such functions once, unless only parameters are averaged."""
    if copied.averages_parameters is not None:
        return
    for one in copied.originals:
        at, *also = (one.defined.at(shown(path)) for path in one.paths)
        yield model_half_copied.found(
            _message(one),
            at=at,
            severity=_severity(one, copied),
            also=tuple(also),
            why=_why(one, copied),
            fix=_FIXES.get(one.kind, _MAKE_METHOD),
            evidence={
                "kind": one.kind,
                "uses": one.uses,
                "called": one.is_called,
                **({"functions": one.count} if one.count > 1 else {}),
                "model": copied.name,
            },
            about=copied.name,
            line_text=one.defined.line_text,
        )


def _message(one: UsesOriginal) -> str:
    many = f"; one of {one.count:,} by this line" if one.count > 1 else ""
    return f"{_WHAT.get(one.kind, _FUNCTION)} {shown(one.uses)} of the original{many}"


def _severity(one: UsesOriginal, copied: Copied) -> Severity:
    """Only note it where no line of the job makes a copy."""
    if copied.copied_at is None:
        return Severity.NOTE
    return Severity.ERROR if one.is_called else Severity.WARNING


def _why(one: UsesOriginal, copied: Copied) -> str:
    if copied.copied_at is None:
        who = "No line was seen that copies this model; an EMA or a teacher mostly does"
    else:
        place = f"{copied.copied_at.file}:{copied.copied_at.line}"
        who = f"{copied.copied_by}, {place}, copies the model"
    if one.kind == "weights":
        return f"{who}. To train one trains the other: an average of it follows nothing"
    then = "" if one.is_called else " wherever this is called, which forward does not do by name"
    return (
        f"{who}. copy.deepcopy copies no function, so the copy computes with the original's "
        f"weights{then}"
    )
