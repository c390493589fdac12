"""Which globals of a pickle torch.load takes with weights_only, and which it refuses.

As in torch/_weights_only_unpickler.py of PyTorch 2.13. Families of names are given by pattern, so
that a type of a later torch is no surprise.
"""

from __future__ import annotations

import re

_ALLOWED = frozenset(
    {
        "_codecs.encode",
        "builtins.bytearray",
        "builtins.complex",
        "builtins.set",
        "collections.Counter",
        "collections.OrderedDict",
        "torch.Size",
        "torch.Tensor",
        "torch._tensor._rebuild_from_type_v2",
        "torch.bool",
        "torch.device",
        "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout",
        "torch.storage.TypedStorage",
        "torch.storage.UntypedStorage",
        # These it takes once the module that they are of is imported.
        "torch._dynamo.decorators._DimRange",
        "torch.distributed.device_mesh.DeviceMesh",
        "torch.distributed.tensor.DTensor",
        "torch.distributed.tensor._dtensor_spec.DTensorSpec",
        "torch.distributed.tensor._dtensor_spec.TensorMeta",
        "torch.distributed.tensor.placement_types.Partial",
        "torch.distributed.tensor.placement_types.Replicate",
        "torch.distributed.tensor.placement_types.Shard",
        "torch.nested._internal.nested_tensor.NestedTensor",
        "torch.nested._internal.nested_tensor._rebuild_njt",
    }
)
_ALLOWED_KIND = re.compile(
    r"torch\.(?:"
    r"(?:q?u?int|b?float|complex|bits)\d+[a-z0-9_]*"
    r"|per_(?:tensor|channel)_[a-z_]+"
    r"|_utils\._rebuild_[a-z0-9_]+"
    r"|(?:cuda\.|sparse\.|cuda\.sparse\.)?[A-Z][A-Za-z0-9]*(?:Storage|Tensor)"
    r")",
    re.ASCII,
)


def refused(module: str, name: str) -> str | None:
    """Give `module.name` where torch.load refuses it, and None where it does not.

    Python 2's names of modules, which torch.save writes into pickles of protocol 2, are its names.
    """
    full = f"{'builtins' if module == '__builtin__' else module}.{name}"
    return None if full in _ALLOWED or _ALLOWED_KIND.fullmatch(full) else full
