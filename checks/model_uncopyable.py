"""An object in a model that `copy.deepcopy` cannot copy.

What it finds
    Everything in a model that stops `copy.deepcopy(model)`: a process group that a layer keeps, a
    tensor that is the result of a computation, a sharded module, a lock, an open file. Each is
    named once, with every path that leads to it. The copy is really made, but for its memory.

Why it matters
    An exponential moving average of the weights is a deep copy of the model in most trainers
    (`AveragedModel` of torch, `ModelEma` of timm, `EMA` of ema_pytorch), and so is many a teacher.
    It is made after the weights are loaded, on every rank, and stops there with the type of the
    object and no word about where it is. ema_pytorch then even ends with exit status 0.

What to do
    Keep a process group behind a function that gives it, not in the module; or make the copy before
    groups are set and before the model is sharded; or let the copy share the object, by the line
    that is given. Of a wrapper such as DistributedDataParallel, copy the module in it:
    `copy.deepcopy(model.module)`. `AveragedModel` and `ModelEma` call `copy.deepcopy` by
    themselves, and take no list of what is shared: for them a rule for the type is given, by
    `copyreg`, or a `__deepcopy__` for its class, where a copy does not come to ask for the rule.
    `EMAModel` of diffusers keeps parameters only, and copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Copied, Remedy, Uncopyable
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import shown

from ._copies import FIXES
from ._objects import cut_evidence, cut_short

_OTHER = "Leave it out of the module"
_RESULTS = frozenset({"non-leaf", "weight-norm", "pruned"})


@check(
    over=Copied,
    title="object that stops the copy of a model",
    many="objects stop a copy of the model",
    severity=Severity.ERROR,
)
def model_uncopyable(copied: Copied, _job: Job) -> Iterator[Finding]:
    """Tell each object once, with all its paths."""
    if copied.error is None:
        return
    why = _why(copied)
    for number, one in enumerate(copied.objects, 1):
        cut = copied.cut if number == len(copied.objects) else ()
        at, *also = (one.defined.at(shown(path)) for path in one.paths)
        yield model_uncopyable.found(
            _message(one) + cut_short(cut),
            at=at,
            severity=_severity(copied),
            also=tuple(also),
            why=why,
            fix=_fix(one, copied),
            workaround=_by_itself(copied),
            evidence={
                "kind": one.kind,
                "type": one.type,
                "error": one.error,
                "paths": len(one.paths),
                **({"objects": one.count} if one.count > 1 else {}),
                "bytes": copied.bytes,
                "stopped_after": copied.stopped_after,
                "model": copied.name,
                **cut_evidence(cut),
            },
            about=copied.name,
            line_text=one.defined.line_text,
        )


def _message(one: Uncopyable) -> str:
    what = {
        "process-group": "process group",
        "non-leaf": "tensor that is the result of a computation",
        "weight-norm": "weight that the old weight_norm computes",
        "pruned": "weight that is computed, since it is pruned",
        "fsdp": "sharded module",
        "replicated": "module that replicate(…) has made its own",
        "wrapper": f"wrapper of type {shown(one.type)}",
        "module": f"module of type {shown(one.type)}",
    }.get(one.kind, f"object of type {shown(one.type)}")
    if one.count > 1:
        return f"is one of {one.count:,} that are each {_a(what)}, which copy.deepcopy cannot copy"
    same = f", the same one under {len(one.paths):,} paths" if len(one.paths) > 1 else ""
    return f"is {_a(what)}{same}, which copy.deepcopy cannot copy"


def _a(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"


def _severity(copied: Copied) -> Severity:
    """Only note it where no line of the job makes the copy that was tried."""
    only_noted = copied.averages_parameters or copied.copied_with_memo
    return Severity.NOTE if only_noted else Severity.ERROR


def _why(copied: Copied) -> str:
    error = shown(copied.error or "").partition(": ")[2]
    stops = f"stops after {format_size(copied.stopped_after)} of {format_size(copied.bytes)}"
    if copied.copied_at is not None:
        place = f"{copied.copied_at.file}:{copied.copied_at.line}"
        if copied.copied_with_memo:
            stops = f"with a memo, which is not tried here. One without {stops}"
            return f"{copied.copied_by}, {place}, copies the model {stops}: {error}"
        return f"{copied.copied_by}, {place}, copies the model. The copy {stops}: {error}"
    if copied.averages_parameters is not None:
        return (
            f"{shown(copied.averages_parameters)}, keeps an average of the parameters only, and "
            f"copies no model. A copy of it {stops}: {error}"
        )
    return (
        "Whoever makes an EMA or a teacher of this model copies it (AveragedModel of torch, "
        f"ModelEma of timm, EMA of ema_pytorch). The copy of {shown(copied.name)} {stops}: {error}"
    )


# --- what to do -----------------------------------------------------------------------------------


def _fix(one: Uncopyable, copied: Copied) -> str:
    """Say the one thing to do, with code by which the copy was tried, where there is some."""
    remedy, known = copied.remedy, FIXES.get(one.kind, _OTHER)
    if one.kind == "wrapper" and remedy.of:
        known = "Copy the module in it"
    if copied.copier is not None:
        inside = _inside(copied.copier, remedy)
        if inside and one.kind in _RESULTS:
            return f"{known}, or detach it for the copy:  {inside}"
        return f"{_instead(one, known, remedy)}:  {inside}" if inside else _before(one, copied)
    if remedy.is_enough:
        return f"{_instead(one, known, remedy)}:  {_copy(remedy)}"
    build = f"{known}, or build a second model"
    if remedy.again is None:
        return f"{build} as this one was built, and load the state_dict() of this one into it."
    load = "second.load_state_dict(model.state_dict())"
    return f"{build}, and load the weights of this one:  second = {remedy.again}; {load}"


def _instead(one: Uncopyable, known: str, remedy: Remedy) -> str:
    return known if one.kind == "wrapper" and remedy.of else f"{known}, or let the copy share it"


def _copy(remedy: Remedy) -> str:
    """Write the copy with all that it has to share."""
    model = _model(remedy.of)
    shared = [_model(path) for path in remedy.shared]
    if len(shared) == 1:
        return f"copy.deepcopy({model}, {{id({shared[0]}): {shared[0]}}})"
    if shared:
        return f"copy.deepcopy({model}, {{id(it): it for it in ({', '.join(shared)})}})"
    if remedy.attributes:
        names = ", ".join(f'"{name}"' for name in remedy.attributes)
        every = f"for one in {model}.modules() for name, it in vars(one).items()"
        return f"copy.deepcopy({model}, {{id(it): it {every} if name in [{names}]}})"
    return "; ".join((*_by_type(remedy), f"copy.deepcopy({model})"))


def _inside(copier: str, remedy: Remedy) -> str | None:
    """Write the call of a class that copies by itself, and what has to be done before it."""
    if not remedy.is_enough_inside:
        return None
    return "; ".join((*_by_type(remedy), f"{copier}({_model(remedy.of)})"))


def _by_itself(copied: Copied) -> str | None:
    """Say how a class can copy it that takes no list of what is shared; where none is known."""
    remedy = copied.remedy
    inside = _inside("AveragedModel", remedy) if copied.copier is None else None
    if inside is None or not remedy.is_enough or not (remedy.shared or remedy.attributes):
        return None
    return f"Where a class copies it by itself, such as AveragedModel:  {inside}"


def _by_type(remedy: Remedy) -> Iterator[str]:
    """Have every copy share what is of these types, and put plain tensors in the place of results.

    A reduction that is a text is how copy and copyreg say that an object stands for itself.
    """
    if remedy.types:
        yield "import copyreg"
    for path in remedy.types:
        yield f'copyreg.pickle(type({_model(path)}), lambda _: "shared")'
    for path in remedy.classes:
        yield f"type({_model(path)}).__deepcopy__ = lambda self, memo: self"
    for path in remedy.detached:
        yield f"{_model(path)} = {_model(path)}.detach()"


def _model(path: str) -> str:
    return f"model{path}" if path.startswith("[") or not path else f"model.{path}"


def _before(one: Uncopyable, copied: Copied) -> str:
    """Say when a class that copies by itself can do so; nothing can be given to it."""
    known, copier = FIXES.get(one.kind, _OTHER), shown(copied.copier or "")
    if known.startswith("Copy "):
        return f"Call {copier}{known.removeprefix('Copy')}."
    return f"{known}: {copier} calls copy.deepcopy(model) by itself."
