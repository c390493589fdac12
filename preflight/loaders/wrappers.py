"""Knows what stands around a DataLoader: webdataset's WebLoader, accelerate's, the job's own.

And what stands in its place: a generator, or a function that gives one batch each time.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterable, Iterator
from typing import Any

from preflight.loaders.goes_over import goes_over
from preflight.objects.attributes import classes, own_attributes
from preflight.values.own_files import passes_on

# Where they keep the DataLoader: accelerate's of all versions since 1.0, and Lightning Fabric's.
_KEEPING = ("base_dataloader", "_dataloader")

# What makes batches of those of several loaders, and is told of by itself.
_OF_SEVERAL = frozenset({"CombinedLoader"})

# So many may stand around one another.
_DEEPEST = 2


def real_loader(thing: object) -> object:
    """Give a loader itself; of what stands around a DataLoader, that one."""
    stages = own_attributes(thing).get("pipeline")
    if type(stages) is list and stages:
        return stages[0]
    kept = _kept(thing)
    if kept:
        return own_attributes(thing)[kept]
    around = _around(thing)
    return real_loader(own_attributes(thing)[around]) if around else thing


def layers_of(thing: object) -> Iterator[object]:
    """Give a loader, and what stands in it, down to the DataLoader itself."""
    yield thing
    around = _around(thing)
    inner = own_attributes(thing)[around] if around else real_loader(thing)
    if inner is not thing:
        yield from layers_of(inner)


def without_own(thing: object) -> object:
    """Give what is left of a loader where nothing of the job's own stands around it."""
    around = _around(thing)
    return without_own(own_attributes(thing)[around]) if around else thing


def as_it_comes(thing: object) -> object | None:
    """Give the DataLoader whose batches a loader gives as they are; None: it makes others."""
    inner = real_loader(thing)
    return inner if inner is thing or _kept(thing) else None


def makes_its_own(thing: object) -> bool:
    """Whether batches go through code of a class that is not torch's own DataLoader."""
    plain: Any = classes("torch.utils.data", "DataLoader")
    begins = getattr(type(thing), "__iter__", None)
    own = begins not in [one.__iter__ for one in plain]
    return real_loader(thing) is not thing or (issubclass(type(thing), plain) and own)


def with_real(thing: Any, inner: object) -> object:
    """Give a loader with another DataLoader in it; the user's own stays as it is."""
    if real_loader(thing) is thing:
        return inner
    kept, around = _kept(thing), _around(thing)
    if not (kept or around):
        other = copy.copy(thing)
        other.pipeline = [inner, *thing.pipeline[1:]]
        return other
    other = object.__new__(type(thing))  # accelerate's own way to copy makes another loader
    own = own_attributes(thing)
    changed = {around: with_real(own[around], inner)} if around else {kept: inner}
    vars(other).update(own, **changed)
    return other


def _kept(thing: object) -> str:
    if not hasattr(type(thing), "__iter__"):  # it gives no batches by itself
        return ""
    own = own_attributes(thing)
    loader = classes("torch.utils.data", "DataLoader")
    return next((name for name in _KEEPING if issubclass(type(own.get(name)), loader)), "")


def _around(thing: object, depth: int = 0) -> str:
    """Name the attribute in which what gives batches has the one loader that it takes them from.

    Such as a class of the job's own that fetches a batch ahead. What is a loader or a data set by
    itself, or a row of things, has other things in its attributes.
    """
    kind: Any = type(thing)
    is_row = hasattr(kind, "__contains__") and not hasattr(kind, "__next__")
    if not hasattr(kind, "__iter__") or is_row or kind.__name__ in _OF_SEVERAL:
        return ""
    own = own_attributes(thing)
    loader = classes("torch.utils.data", "DataLoader")
    others = (*classes("torch.utils.data", "Dataset"), *classes("torch.nn", "Module"))
    if issubclass(kind, (*loader, *others)) or "pipeline" in own or _kept(thing):
        return ""
    held = {id(one): str(name) for name, one in own.items() if _is_loader(one, loader, depth)}
    name = held.popitem()[1] if len(held) == 1 else ""
    return name if name and goes_over(kind, name) else ""


def _is_loader(thing: object, loader: tuple[type, ...], depth: int) -> bool:
    if issubclass(type(thing), loader) or _kept(thing):
        return True
    stages = own_attributes(thing).get("pipeline")
    if type(stages) is list and stages:
        return issubclass(type(stages[0]), loader)
    return depth < _DEEPEST and bool(_around(thing, depth + 1))


class BatchSource:
    """What gives batches and is no DataLoader, with the attributes of one that has no workers."""

    def __init__(
        self,
        batches: Iterable[Any],
        what: str,
        *,
        once: bool,
        generator: types.GeneratorType[Any, Any, Any] | None = None,
        inner: object = None,
        begun: bool = False,
    ) -> None:
        self.dataset = batches
        self.generator = generator
        """What has a DataLoader among its variables; None: none is known."""

        self.taken_from = [] if inner is None else [inner]
        """That DataLoader, which is looked at beside it."""

        self.what = what
        """For people: `a generator of batches`."""

        self.once = once
        """Whether what was drawn does not come again."""

        self.begun = begun
        """Whether some of that was drawn before, and is not among the batches."""

        self.num_workers = 0
        self.collate_fn = None

    @passes_on
    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]  # as the loop would ask

    @passes_on
    def __iter__(self) -> Iterator[Any]:
        return iter(self.dataset)
