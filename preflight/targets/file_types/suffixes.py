"""How the names of shards, images and cached files end."""

from __future__ import annotations

from preflight.formats.suffixes import dcp as dcp_names
from preflight.formats.suffixes.images import EXTENSIONS

SHARD_SUFFIXES = (
    *(".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"),
    *(".tar.xz", ".txz", ".tar.zst", ".tar.zstd", ".tzst"),
)
IMAGE_SUFFIXES = tuple(sorted(f".{one}" for one in EXTENSIONS))

PTH_TAR = ".pth.tar"
"""How checkpoints of torch.save are often called, after what torch wrote before 2017."""

CACHE_SUFFIXES = (".pt", ".pth", PTH_TAR, ".ckpt", ".safetensors", ".npz", ".npy", dcp_names.PART)

TABLES = ("metadata.jsonl", "metadata.csv")
"""Tables of captions that are read, in the folder of the images or above it, by their names."""

COLUMNAR_SUFFIXES = (".arrow", ".parquet")
"""Files of rows, as `datasets` and others keep them, which no reader reads."""
