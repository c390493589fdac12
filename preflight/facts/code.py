"""What loaders hand to their workers, and what a copy of a model comes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Where something in the user's process was defined."""

    file: str | None = None
    """As reports name files; in an installed package `package version: path`."""

    line: int | None = None
    line_text: str | None = None
    qualname: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsendable:
    """One object that pickle refuses, with every path that leads to it."""

    kind: str
    """`lambda`, `local-function`, `local-class`, `rebound`, `unnamed`, `module`, `generator`,
    `lock`, `forked-lock`, `file`, `handle`, `tensor`, `other`."""

    type: str
    """Its type, such as `builtins.function`."""

    text: str
    """What it is and why it cannot travel, as a noun phrase: `lambda in make_loader`."""

    error: str
    """What pickle said."""

    paths: tuple[str, ...]
    """From the loader: `dataset.pipeline[7].args[0]`."""

    defined: Definition = Definition()
    captures: tuple[str, ...] = ()
    """Names of the enclosing function that it holds."""

    inside: tuple[str, ...] = ()
    """What would fail next, once this one is mended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a DataLoader hands to each of its workers, walked as pickle walks it."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    defined: Definition
    """Where the factory is."""

    num_workers: int
    start_method: str
    """`fork`, `spawn` or `forkserver`, as this job's workers are started."""

    start_method_from: str
    """Why it is that one, such as `multiprocessing_context of the loader`."""

    objects: tuple[Unsendable, ...] = ()
    cut: tuple[str, ...] = ()
    """What the walk left out because there is too much of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncopyable:
    """One object that `copy.deepcopy` cannot copy, with every path that leads to it."""

    type: str
    error: str
    paths: tuple[str, ...]
    """From the model: `blocks[0].attn.group`."""

    kind: str = "other"
    """`process-group`, `non-leaf`, `fsdp`, `other`."""

    defined: Definition = Definition()
    """The line that keeps it, in the class of what holds it; else where its own class is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A deep copy of a model, tried without its memory."""

    name: str
    defined: Definition
    error: str | None
    """What `copy.deepcopy(model)` said; None where it succeeded."""

    objects: tuple[Uncopyable, ...] = ()
    bytes: int = 0
    """What a real copy would take."""

    stopped_after: int = 0
    """Bytes that a real copy would have taken when it stops."""

    parameters: int = 0
    copied_at: Definition | None = None
    """The line of the job's sources that copies a model, where one was seen."""

    copied_by: str | None = None
    """The call that stands there, such as `EMA(model)`."""

    cut: tuple[str, ...] = ()
