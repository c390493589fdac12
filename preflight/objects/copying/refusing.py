"""What lies below a module that refuses to be copied: a copy made another way copies that too."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import attribute, item, type_name

# Wrappers of torch: beside the module in them, all that they hold is made anew with them.
_WRAPPERS = frozenset(
    {
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    }
)
_TABLES = ("_modules", "_parameters", "_buffers")


def is_module(thing: object) -> bool:
    """Whether it is a module of torch, which holds weights, so that no copy must share it."""
    return issubclass(type(thing), classes("torch.nn", "Module"))


def is_wrapper(thing: object) -> bool:
    """Whether it is a wrapper of torch around the one module `.module`."""
    return any(type_name(one) in _WRAPPERS for one in type(thing).__mro__)


def below_refusing(thing: object) -> list[tuple[str, object]]:
    """Give the parts of a module and its attributes, but for the hooks by which torch shards.

    Of what is no module, the modules that it keeps: no copy is to share their weights.
    """
    return [one for one in _below(thing) if is_module(thing) or is_module(one[1])]


def _below(thing: object) -> Iterator[tuple[str, object]]:
    for name, value in list(own_attributes(thing).items()):
        if name in _TABLES and isinstance(value, dict):  # older torch has OrderedDicts there
            yield from ((attribute(name) + item(key), part) for key, part in dict.items(value))
        elif name.isidentifier() and "_hooks" not in name and not is_wrapper(thing):
            yield attribute(name), value
