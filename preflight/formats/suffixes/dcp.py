"""What torch.distributed.checkpoint calls its files.

As in torch/distributed/checkpoint/filesystem.py of PyTorch 2.13.
"""

from __future__ import annotations

import re

PART = ".distcp"
"""How the name of a part ends, which holds items of one rank."""

PART_NAME = re.compile(r"__(\d+)_\d+\.distcp")
"""What torch calls one: by its rank, and its number among those of that rank."""

PLAN = ".metadata"
"""How the name of the file ends that says which item lies where."""

PLAN_NAME = re.compile(r"(?:__(\d+))?\.metadata")
"""What such a file is called: one for all ranks, or one for each of them."""

PLAN_MARK = b"torch.distributed"
"""What stands at the beginning of one: the module of all that is in it."""
