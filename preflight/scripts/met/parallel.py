"""Process groups that a script opens, and models that it hands to them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from preflight.scripts.facts import Met
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch

_groups: list[Any] = []
"""All that were opened, also those that have been destroyed: they end with the process.

What ends a group waits, with Python's lock held, for a thread of torch that may wait for this lock
to let go of the group's last work: after a backward and a barrier, a rank may hang at its end. A
job of hours hardly ever meets that; one that is cut to some steps does.
"""


def _group(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note which backend was asked for, and which one there is."""

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        with watch.looking() as is_outermost:
            given = original(*args, **kwargs)
        _groups.append(sys.modules["torch.distributed"].group.WORLD)
        if is_outermost:
            asked = args[0] if args else kwargs.get("backend")
            watch.met(Met(what="group", at=watch.place(), name=_answered(asked)))
        return given

    return init_process_group


def _answered(asked: Any) -> str:
    dist: Any = sys.modules["torch.distributed"]
    answered = str(dist.get_backend())
    if answered == "undefined":  # nobody has asked for one
        answered = str(dist.get_backend_config())
    said = str(asked or answered).lower()
    return answered if said == answered else f"{said} asked for, {answered} opened"


def _part(original: Callable[..., Any], _: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def new_group(*args: Any, **kwargs: Any) -> Any:
        group = original(*args, **kwargs)
        _groups.append(group)
        return group

    return new_group


def _wrapper(kind: str) -> Callable[[Callable[..., Any], Watch], Callable[..., Any]]:
    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        """Note which model is wrapped, and how."""

        @functools.wraps(original)
        def init(whole: Any, /, *args: Any, **kwargs: Any) -> Any:
            if watch.is_here:
                inner = args[0] if args else kwargs.get("module")
                finds = ", find_unused_parameters" if kwargs.get("find_unused_parameters") else ""
                name = f"{kind} of {type(inner).__name__}{finds}"
                watch.met(Met(what="wrap", at=watch.place(), name=name))
            return original(whole, *args, **kwargs)

        return init

    return wrap


def _sharded(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def fully_shard(module: Any, *args: Any, **kwargs: Any) -> Any:
        watch.met(Met(what="wrap", at=watch.place(), name=f"FSDP of {type(module).__name__}"))
        return original(module, *args, **kwargs)

    return fully_shard


def _joins(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note that a rank with fewer batches is not waited for."""

    @functools.wraps(original)
    def enter(join: Any) -> Any:
        watch.met(Met(what="join", at=watch.place()))
        return original(join)

    return enter


POINTS = (
    Point(module="torch.distributed.distributed_c10d", name="init_process_group", wrap=_group),
    Point(module="torch.distributed", name="init_process_group", wrap=_group),
    Point(module="torch.distributed.distributed_c10d", name="new_group", wrap=_part),
    Point(module="torch.distributed", name="new_group", wrap=_part),
    Point(
        module="torch.nn.parallel.distributed",
        name="DistributedDataParallel.__init__",
        wrap=_wrapper("DistributedDataParallel"),
    ),
    Point(
        module="torch.distributed.fsdp.fully_sharded_data_parallel",
        name="FullyShardedDataParallel.__init__",
        wrap=_wrapper("FSDP"),
    ),
    Point(
        module="torch.distributed.fsdp._fully_shard._fully_shard",
        name="fully_shard",
        wrap=_sharded,
    ),
    Point(module="torch.distributed.algorithms.join", name="Join.__enter__", wrap=_joins),
)
