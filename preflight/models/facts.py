"""What a copy of a model comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncopyable:
    """One object that `copy.deepcopy` cannot copy, with every path that leads to it."""

    type: str
    error: str
    paths: tuple[str, ...]
    """From the model: `blocks[0].attn.group`; of several objects, those of all."""

    kind: str = "other"
    """`process-group`, `weight-norm`, `pruned`, `non-leaf`, `fsdp`, `replicated`, `wrapper`,
    `module`, `other`."""

    count: int = 1
    """Objects of one kind that one line keeps."""

    defined: Definition = Definition()
    """The line that keeps it, in the class of what holds it; else where its own class is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsesOriginal:
    """Functions that a copy of the model shares with it, and that use weights of the original.

    Or these weights themselves, which a `__deepcopy__` hands on.
    """

    paths: tuple[str, ...]
    """From the model: `blocks[0].forward`, `_forward_hooks[2]`; of several, those of all."""

    uses: str
    """Weights of the original that the first of them uses, from the model: `blocks[0].proj`."""

    kind: str = "function"
    """`method` that a function wraps, `hook`, `reference` (a weak one), `function`, `weights`."""

    is_called: bool = True
    """Whether a call of the copy comes to it, as far as names in its methods tell."""

    count: int = 1
    """Functions that one line makes."""

    defined: Definition = Definition()
    """Where the function is defined, if in the user's own code; else the line that keeps it."""


class Remedy(NamedTuple):
    """By what a copy can be made all the same, as far as that was tried; else nothing in it."""

    of: str = ""
    """What is to be copied, from the model: `module` inside a wrapper; empty: the model."""

    shared: tuple[str, ...] = ()
    """All that such a copy has to share, from the model: `blocks[0].attn.group`."""

    attributes: tuple[str, ...] = ()
    """Where these are many: the attributes of modules under which all of them are kept."""

    types: tuple[str, ...] = ()
    """One object of each type of which a rule of copyreg has a copy share all."""

    classes: tuple[str, ...] = ()
    """One object of each other type: their classes take a `__deepcopy__`, for which a copy asks
    before any rule."""

    detached: tuple[str, ...] = ()
    """Tensors in the way that an assignment replaces, from the model."""

    again: str | None = None
    """The call that builds such a model again: `make_model()`."""

    is_enough: bool = False
    """Whether a copy that shares all of them was tried, and shares no weights."""

    is_enough_inside: bool = False
    """Whether `types`, `classes` and `detached` are all that it takes for whoever calls
    `copy.deepcopy` by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A deep copy of a model, tried without its memory."""

    name: str
    defined: Definition
    error: str | None
    """What `copy.deepcopy(model)` said; None where it succeeded."""

    objects: tuple[Uncopyable, ...] = ()
    originals: tuple[UsesOriginal, ...] = ()
    bytes: int = 0
    """What a real copy would take."""

    stopped_after: int = 0
    """Bytes that a real copy would have taken when it stops."""

    parameters: int = 0
    copied_at: Definition | None = None
    """The line of the job's sources that copies a model, where one was seen."""

    copied_by: str | None = None
    """The call that stands there, such as `EMA(model)`."""

    copied_with_memo: bool = False
    """Whether that call gives `copy.deepcopy` what the copy is to share."""

    copier: str | None = None
    """The class that is called there, such as `timm.utils.ModelEmaV3`, where a package brings it:
    it calls `copy.deepcopy` by itself."""

    averages_parameters: str | None = None
    """Where no line copies a model: the call that makes an average of parameters only, and where
    that is, such as `EMAModel(unet.parameters()), train.py:9`."""

    inner: Copied | None = None
    """The same of the module in a wrapper, for a job that copies only that."""

    remedy: Remedy = Remedy()
    cut: tuple[str, ...] = ()
