"""What to do about a part of a model that copy.deepcopy cannot copy, by what it is."""

from __future__ import annotations

FIXES = {
    "process-group": "Keep the group behind a function that gives it",
    "non-leaf": "Keep its detach() instead",
    "weight-norm": "Use torch.nn.utils.parametrizations.weight_norm",
    "pruned": "Copy before this module is pruned",
    "fsdp": "Copy before the model is sharded",
    "replicated": "Copy before replicate(…)",
    "wrapper": "Copy before this module is wrapped",
    "module": "Give its class a __deepcopy__ that makes a copy",
}
"""By the kind of an `Uncopyable`."""
