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
    groups are set and before the model is sharded; or let the copy share the object:
    `copy.deepcopy(model, {id(group): group})`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import Copied, Uncopyable
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import shown

_FIXES = {
    "process-group": "Copy before the groups are set, or let the copy share the group: "
    "copy.deepcopy(model, {id(group): group})",
    "non-leaf": "Keep tensor.detach() in its place, or recompute it; with the old weight_norm, use "
    "torch.nn.utils.parametrizations.weight_norm.",
    "fsdp": "Copy before the model is sharded, or build a second one and load the first one's "
    "state_dict into it.",
}
_OTHER = (
    "Leave it out of the module, or let the copy share it: copy.deepcopy(model, {id(it): it}) "
    "with the object in place of `it`."
)


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
        first, *others = (shown(path) for path in one.paths)
        file, line = one.defined.file, one.defined.line
        yield model_uncopyable.found(
            _message(one) + _cut_short(cut),
            at=Location(file=file, line=line, name=first),
            also=tuple(Location(file=file, line=line, name=path) for path in others),
            why=why,
            fix=_FIXES.get(one.kind, _OTHER),
            evidence={
                "kind": one.kind,
                "type": one.type,
                "error": one.error,
                "paths": len(one.paths),
                "bytes": copied.bytes,
                "stopped_after": copied.stopped_after,
                "model": copied.name,
                **({"cut": "; ".join(map(shown, cut[:10]))} if cut else {}),
            },
            about=copied.name,
            line_text=one.defined.line_text,
        )


def _message(one: Uncopyable) -> str:
    what = {
        "process-group": "process group",
        "non-leaf": "tensor that is the result of a computation",
        "fsdp": "sharded module",
    }.get(one.kind, f"object of type {shown(one.type)}")
    article = "an" if what[0] in "aeiou" else "a"
    same = f", the same one under {len(one.paths):,} paths" if len(one.paths) > 1 else ""
    return f"is {article} {what}{same}, which copy.deepcopy cannot copy"


def _cut_short(cut: Sequence[str]) -> str:
    """Say, behind the last finding, why it may not be the last."""
    return f"; the look stopped short ({shown(cut[0])}), so there may be more" if cut else ""


def _why(copied: Copied) -> str:
    error = shown(copied.error or "").partition(": ")[2]
    stops = f"stops after {format_size(copied.stopped_after)} of {format_size(copied.bytes)}"
    if copied.copied_at is not None:
        place = f"{copied.copied_at.file}:{copied.copied_at.line}"
        return f"{copied.copied_by}, {place}, copies the model. The copy {stops}: {error}"
    return (
        "Whoever makes an EMA or a teacher of this model copies it (AveragedModel of torch, "
        f"ModelEma of timm, EMA of ema_pytorch). The copy {stops}: {error}"
    )
