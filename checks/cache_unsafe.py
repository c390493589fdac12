"""A cached file that names what a safe loader refuses, or what could run a program.

What it finds
    The functions and classes that the pickle inside a cached file names, where they are not on
    the list that the job's torch has for weights_only (read from its sources; where there is no
    torch, that of PyTorch 2.13). A name that can start a program, change files or run code
    (os.system, builtins.eval, subprocess.Popen), or one that the pickle hides, is an error. Any
    other (argparse.Namespace, a numpy array, a trainer's own class) is a warning: it does no harm,
    and torch.load stops at it. So is a pickle of protocol 4 or 5 that torch.save was told to write
    (pickle_protocol=4), which the same loader cannot read, and a file in the tar format that torch
    wrote before 2017. Of numpy's arrays of Python objects
    (.npy, and those inside .npz) is told what they name beyond numpy and Python's own values:
    texts, numbers, dicts, dates and the like are left alone. TorchScript and torch.package hold
    code by design, and are left alone. The file is read, and never loaded.

Why it matters
    A pickle is a program: whoever loads one runs what it names. From PyTorch 2.6 on, torch.load
    has weights_only=True unless told otherwise, and raises at the first name that it does not know;
    a cache that was written under an older version then stops the job. With weights_only=False
    nothing is refused, and the file does whatever its writer wanted; so does numpy.load with
    allow_pickle=True.

What to do
    Keep plain tensors, numbers, texts, lists and dicts in a cache. A class that you trust can be
    allowed with torch.serialization.add_safe_globals. A file that names what runs programs was not
    made by a trainer: do not load it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import CacheFacts
from preflight.finding import Finding, Location, Severity
from preflight.formats.torch.pickle_globals import (
    DEVICE,
    FRAMED,
    TARRED,
    is_dangerous,
    is_of_arrays,
)
from preflight.job import Job
from preflight.values.names import first_of

_NUMPY_NAMES = (".npy", ".npz")

# What transformers, accelerate, DeepSpeed, Megatron and verl write into a checkpoint, and load with
# what it names.
_STATE = (
    r"(rng_state|random_states)(_\d+)?\.(pth|pkl|pt)|training_args\.bin"
    r"|\w*mp_rank_\d+_(model|optim)_states\.pt|layer_\d+-model\w*_states\.pt"
    r"|model_optim_rng\.pt|extra_state_world_size_\d+_rank_\d+\.pt"
)

_REFUSED = (
    "From PyTorch 2.6 on torch.load stops at it, unless it is told weights_only=False: Weights "
    "only load failed."
)

# What torch goes on refusing once it is allowed, or what would undo the point of the list.
_NOT_TO_ALLOW = frozenset(
    {
        "builtins.getattr",
        "builtins.setattr",
        "collections.defaultdict",
        "collections.deque",
        "functools.partial",
        "operator.attrgetter",
        "operator.methodcaller",
    }
)


@check(
    over=CacheFacts,
    title="cached file that names what a safe loader refuses",
    many="cached files name what a safe loader refuses",
    severity=Severity.ERROR,
)
def cache_unsafe(facts: CacheFacts, _: Job) -> Iterator[Finding]:
    """Say of one cached file what its pickle names, once, the worst first."""
    dangerous = [name for name in facts.globals if is_dangerous(name)]
    if dangerous:
        yield _harmful(facts, dangerous)
    elif _is_numpys(facts):
        strange = [name for name in facts.globals if not is_of_arrays(name)]
        if strange:
            yield _objects(facts, strange)
    elif facts.format != "pickle" and not _is_state(facts):
        yield from _refused(facts)  # a bare pickle is left out: pickle.load refuses nothing


def _is_numpys(facts: CacheFacts) -> bool:
    return facts.format in ("npy", "npz") or facts.file.lower().endswith(_NUMPY_NAMES)


def _is_state(facts: CacheFacts) -> bool:
    """Whether a trainer wrote it for itself, by its name."""
    return re.fullmatch(_STATE, facts.file.rpartition("/")[2]) is not None


def _harmful(facts: CacheFacts, names: Sequence[str]) -> Finding:
    hidden = all("?" in name for name in names)
    what = "something that it hides until it is loaded" if hidden else first_of(names, len(names))
    return cache_unsafe.found(
        f"names {what}, which can run whatever the writer of the file wanted",
        at=Location(file=facts.file),
        why="It runs when the file is loaded with weights_only=False, or by pickle.load. No "
        "trainer writes such a thing into a cache.",
        fix="Do not load it: move it aside, find out where it came from, and make it again.",
        evidence=_evidence(facts),
    )


def _objects(facts: CacheFacts, names: Sequence[str]) -> Finding:
    return cache_unsafe.found(
        f"holds Python objects that are pickled: {first_of(names, len(names))}",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why="numpy.load stops at them: Object arrays cannot be loaded when allow_pickle=False. "
        "With allow_pickle=True it imports and calls what the file names.",
        fix="Save arrays of numbers, each under its own name with numpy.savez.",
        evidence=_evidence(facts),
    )


def _refused(facts: CacheFacts) -> Iterator[Finding]:
    devices = tuple(name for name in facts.globals if name.startswith(DEVICE))
    if devices:
        yield _elsewhere(facts, devices)
    names = tuple(name for name in facts.globals if name not in (FRAMED, TARRED, *devices))
    if len(devices) == len(facts.globals):
        return
    said = [f"is written in {one}" for one in (FRAMED, TARRED) if one in facts.globals]
    said += [f"names {first_of(names, len(names))}"] if names else []
    fixes = [_fix(names)] if names else []
    fixes += ["Leave out pickle_protocol= where it is saved."] if FRAMED in facts.globals else []
    if TARRED in facts.globals:
        fixes = ["Load it with weights_only=False, where you trust it, and save it anew."]
    yield cache_unsafe.found(
        f"{' and '.join(said)}, which torch.load refuses with weights_only",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why=_REFUSED,
        fix=" ".join(fixes),
        evidence=_evidence(facts),
    )


def _elsewhere(facts: CacheFacts, devices: Sequence[str]) -> Finding:
    named = first_of([one.removeprefix(DEVICE) for one in devices], len(devices))
    return cache_unsafe.found(
        f"holds tensors of the device {named}, which torch does not know by itself",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why="torch.load stops at it: don't know how to restore data location. The package that "
        "adds such a device has to be imported before.",
        fix='Load it with map_location="cpu", or save what .cpu() gives.',
        about="device",
        evidence=_evidence(facts),
    )


# Types of numbers and of storages, of which each torch takes all that it has.
_OF_TORCH = re.compile(
    r"torch\.(?:\w+\.)*(?!Typed|Untyped)\w+Storage|torch\.[a-z]*(?:float|int|complex|bits)\d\w*"
)


def _fix(names: Sequence[str]) -> str:
    lacking = [name for name in names if _OF_TORCH.fullmatch(name)]
    if lacking:
        return (
            f"This torch has no {first_of(lacking, len(lacking))}, and cannot allow what it lacks: "
            "load it with the version that wrote it, and save it in a type that both "
            "have; or have it made again."
        )
    if any(name.startswith("numpy") for name in names):
        return "Save tensors (torch.from_numpy) and plain numbers (x.item()) in place of numpy's."
    if any(name.startswith("collections.") for name in names):
        return "Save plain dicts and lists in their place: dict(x), list(x)."
    if not _NOT_TO_ALLOW.isdisjoint(names):
        return "Save plain tensors, numbers and texts in place of the objects that hold them."
    named = ", ".join(name.removeprefix("builtins.") for name in names)
    return (
        "Save plain tensors, numbers and texts in their place; or, where the file is your own: "
        f"torch.serialization.add_safe_globals([{named}])"
    )


def _evidence(facts: CacheFacts) -> dict[str, str | int]:
    return {
        "format": facts.format,
        "globals": ", ".join(facts.globals),
        "count": len(facts.globals),
    }
