"""What lies below a module that refuses to be copied: a copy made another way copies that too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from preflight.objects.attributes import classes, own_attributes, slots
from preflight.objects.paths import attribute, item, type_name

# Wrappers of torch: beside the module in them, all that they hold is made anew with them.
_WRAPPER = "torch.nn.parallel.distributed.DistributedDataParallel"
_SHARDING = "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel"
_COMPILED = "torch._dynamo.eval_frame.OptimizedModule"
_TABLES = ("_modules", "_parameters", "_buffers")


def is_module(thing: object) -> bool:
    """Whether it is a module of torch, which holds weights, so that no copy must share it."""
    return issubclass(type(thing), classes("torch.nn", "Module"))


def is_tensor(thing: object) -> bool:
    """Whether it is a tensor of torch, of whatever class."""
    return issubclass(type(thing), classes("torch", "Tensor"))


def viewed_by(thing: object) -> object:
    """Give the tensor of which this one is a view; None of anything else."""
    if not is_tensor(thing):
        return None
    torch: Any = sys.modules["torch"]
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
        return cast("Any", thing)._base  # noqa: SLF001  torch has no other name for it


def is_wrapper(thing: object) -> bool:
    """Whether it is a wrapper of torch around one module, of which each rank has all weights."""
    return _is(thing, _WRAPPER)


def is_sharding(thing: object) -> bool:
    """Whether it is one that has the weights of its module in pieces: it keeps groups of ranks."""
    return _is(thing, _SHARDING)


def _is(thing: object, name: str) -> bool:
    return any(type_name(one) == name for one in type(thing).__mro__)


def compiled_in(thing: object) -> object:
    """Give what torch.compile(…) has made this of: to copy one calls the other's own deepcopy."""
    return _part(thing, "_orig_mod") if _is(thing, _COMPILED) else None


class Inner(NamedTuple):
    """The module in a wrapper, which is what jobs copy."""

    module: object
    path: str
    """How it is written from the model, `module`, or with torch.compile around `_orig_mod.module`.
    """

    wrapper: object


def inner_of(model: object) -> Inner | None:
    """Give the module in a wrapper that a model is, maybe a compiled one."""
    path, wrapper = "module", model
    while (inside := compiled_in(wrapper)) is not None:
        path, wrapper = f"_orig_mod.{path}", inside
    name = "module" if is_wrapper(wrapper) else "_fsdp_wrapped_module" * is_sharding(wrapper)
    inner = _part(wrapper, name)
    return None if inner is None else Inner(inner, path, wrapper)


def _part(module: object, name: str) -> object:
    modules = own_attributes(module).get("_modules")  # no dict where torch.jit.script made it
    return dict.get(modules, name) if isinstance(modules, dict) else None


def below_refusing(thing: object) -> list[tuple[str, object]]:
    """Give the parts of a module and its attributes, but for the hooks by which torch shards.

    Of what is no module, the modules that it keeps: no copy is to share their weights.
    """
    return [one for one in _below(thing) if is_module(thing) or is_module(one[1])]


def _below(thing: object) -> Iterator[tuple[str, object]]:
    for name, value in (*own_attributes(thing).items(), *slots(thing)):
        if name in _TABLES and isinstance(value, dict):  # older torch has OrderedDicts there
            yield from ((attribute(name) + item(key), part) for key, part in dict.items(value))
        elif name.isidentifier() and "_hooks" not in name and not _is_made_anew(thing):
            yield attribute(name), value


def _is_made_anew(thing: object) -> bool:
    return is_wrapper(thing) or is_sharding(thing)
