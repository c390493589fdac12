"""What cached files may hold by their names, and what is none of it."""

from __future__ import annotations

TORCH = frozenset({".pt", ".pth", ".bin", ".ckpt"})
NUMPY = frozenset({".npy", ".npz"})
SAFETENSORS = ".safetensors"

# What each kind of name may hold. numpy.load goes by content, and takes pickles too; a trainer may
# compress its cache and keep the name.
MAY_HOLD = {
    **dict.fromkeys(TORCH, frozenset({"torch zip", "torch legacy", "pickle", "gzip"})),
    **dict.fromkeys(NUMPY, frozenset({"npz", "npy", "zip", "pickle", "gzip"})),
    SAFETENSORS: frozenset({"safetensors"}),
}
IS_CALLED = {
    "torch zip": "a zip archive of torch.save",
    "torch legacy": "a file of torch.save",
    "zip": "a zip archive",
    "npz": "a numpy archive (npz)",
    "npy": "a numpy array (npy)",
    "safetensors": "a safetensors file",
    "pickle": "a pickle",
    "gzip": "a gzip stream",
}

# What nobody caches under any name; the rest of what can be named may be a user's own format.
_NEVER_MEANT = frozenset({"HTML page", "XML document", "Git LFS pointer"})

# Beginnings too long to be those of a raw array by chance.
_NO_ARRAYS = frozenset(
    {
        *("PNG image", "GIF image", "WebP image", "RAR archive", "7z archive", "xz stream"),
        *("HDF5 file", "SQLite database", "Arrow file", "JPEG XL image"),
    }
)

# Of a name for torch these are left alone: corpora in Portuguese end in .pt, Python's own path
# files in .pth; a trainer may compress what it caches; torch wrote tar archives before 2017.
_LEFT_ALONE = frozenset(
    {"text file", "tar archive", "bzip2 stream", "lz4 stream", "xz stream", "zstd stream"}
)


def wanted(suffix: str) -> str:
    """Say what a file of such a name should be."""
    if suffix in TORCH:
        return "what torch.save writes"
    return {".npy": "a numpy array", ".npz": "a numpy archive"}.get(suffix, "safetensors")


def is_foreign(name: str, suffix: str) -> bool:
    """Whether what a file begins with is nothing that its name may hold."""
    if name in _NEVER_MEANT:
        return True
    # Raw arrays (numpy.memmap) are often called .npy, and may begin with anything.
    if suffix == ".npy":
        return name in _NO_ARRAYS
    if suffix not in MAY_HOLD:
        return False
    return suffix == SAFETENSORS or name not in _LEFT_ALONE
