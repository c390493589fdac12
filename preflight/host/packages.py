"""Which packages are installed, and in which version, without importing any of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

# Folders of installed packages are named NAME-VERSION.dist-info, with `_` for `-` in the name
# (the specification of the core metadata, "recording installed projects").
_SUFFIX = ".dist-info"


def installed(names: Iterable[str], path: Iterable[str]) -> Mapping[str, str]:
    """Give the version of each of these distributions that is installed.

    Args:
        names: as on the package index, such as `nvidia-ml-py`.
        path: folders to look in, as `sys.path` has them; the first that holds a package wins.
    """
    wanted = {name.lower().replace("-", "_"): name for name in names}
    found: dict[str, str] = {}
    for folder in path:
        for stem, version in _distributions(folder):
            name = wanted.get(stem)
            if name is not None:
                found.setdefault(name, version)
    return found


def _distributions(folder: str) -> Iterable[tuple[str, str]]:
    try:
        entries = os.listdir(folder or ".")
    except OSError:
        return
    for entry in entries:
        if entry.endswith(_SUFFIX):
            name, _, version = entry.removesuffix(_SUFFIX).partition("-")
            yield name.lower().replace("-", "_").replace(".", "_"), version
