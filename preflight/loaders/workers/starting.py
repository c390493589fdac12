"""Says how a loader's workers are started, and applies the job's settings to a copy of it."""

from __future__ import annotations

import copy
import multiprocessing
from collections.abc import Mapping
from typing import Any

from preflight.host.start_method import default_start_method
from preflight.kinds.asked import CannotLookError
from preflight.loaders.workers.fixed_method import fixed_by
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.sending.pickle_trial import is_of_forking

FROM_LAUNCH = "launch.start_method"
"""What `Sent.start_method_from` says where the job's settings name the method."""

FROM_LOADER = "the loader's multiprocessing_context"


def configured(loader: object, num_workers: int | None, start_method: str | None) -> object:
    """Copy a DataLoader with the job's settings; whatever else it is, give it as it is."""
    if not is_data_loader(loader) or (num_workers is None and start_method is None):
        return loader
    other = _copied(loader)
    vars(other).update(_iterator=None, **_not_begun(other))
    try:
        if num_workers == 0:
            other.multiprocessing_context = None  # torch takes one only where there are workers
        if num_workers is not None:
            other.num_workers = num_workers
        if other.num_workers > 0:
            other.prefetch_factor = other.prefetch_factor or 2  # what a new loader would have
            if start_method is not None and start_method != method_of(own_attributes(loader)):
                other.multiprocessing_context = start_method
    except (ValueError, TypeError) as error:
        raise CannotLookError(
            f"its DataLoader does not take the job's settings: {error}"
        ) from error
    return other


def _not_begun(loader: object) -> Mapping[str, bool]:
    """Forget workers that torchdata's loader has started already, to ask for its state."""
    flag = "_initial_iter_for_state_dict"
    return {flag: False} if flag in own_attributes(loader) else {}


def _copied(loader: object) -> Any:
    """Copy a loader, and nothing that it holds."""
    try:
        return copy.copy(loader)
    except Exception:  # noqa: BLE001  a class may have a way of its own to copy, and to fail
        other = object.__new__(type(loader))
        other.__dict__.update(own_attributes(loader))
        return other


def parts_of(loader: object) -> Mapping[str, Any]:
    """Give what torch reads of a loader; of a DataLoader also what its class computes."""
    parts = own_attributes(loader)
    if not is_data_loader(loader):
        return parts
    lacking = [name for name in _READ_BY_TORCH if name not in parts]
    return {**parts, **{name: getattr(loader, name) for name in lacking if hasattr(loader, name)}}


_READ_BY_TORCH = ("dataset", "collate_fn", "worker_init_fn", "num_workers")


def is_data_loader(thing: object) -> bool:
    """Whether it is torch's DataLoader, or of a class made of it."""
    return issubclass(type(thing), classes("torch.utils.data", "DataLoader"))


def method_of(parts: Mapping[str, Any]) -> str | None:
    """Say how a loader itself starts its workers; None where it leaves that open."""
    own = parts.get("_DataLoader__multiprocessing_context", parts.get("multiprocessing_context"))
    if isinstance(own, str):
        return own
    if not isinstance(own, multiprocessing.context.BaseContext):
        return None
    return own.get_start_method(allow_none=True)


def start_method_of(parts: Mapping[str, Any], launch: str | None, root: str) -> tuple[str, str]:
    """Say how a loader's workers are started, by itself and by the job's settings, and why."""
    own = method_of(parts)
    if own is not None and launch in (None, own):
        return own, FROM_LOADER
    if launch is not None:
        return launch, FROM_LAUNCH
    # With allow_none, since asking without it would settle the matter for the user's own code.
    method = multiprocessing.get_start_method(allow_none=True)
    if method is not None:
        return method, fixed_by(method, root)
    return default_start_method()


def travels_there(thing: object, method: str, method_from: str) -> bool:
    """Whether only this process makes it unsendable.

    A lock of multiprocessing that is made where processes are forked cannot be sent to a spawned
    one. Where spawning is the default, `multiprocessing.Lock()` makes one that can; one that was
    made by `get_context("fork")` looks just the same. So where the settings name another method
    than this process's default, all such locks get the benefit of the doubt.
    """
    if not is_of_forking(thing):
        return False
    default = multiprocessing.get_start_method(allow_none=True) or default_start_method()[0]
    return method == "fork" or (method_from == FROM_LAUNCH and default == "fork")
