"""Says why a damaged file is not moved aside by itself."""

from __future__ import annotations

PACKED = "only members of it are damaged: pack it again without them"
"""Of a shard."""

PART = "it is a part of a checkpoint, of which all goes together: move its folder by hand"
"""Of a cached file."""
