"""Finds out where packages lie when the first one is asked for: few readers of files need any."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class LateSite:
    """Stands behind all that finds modules; is asked for what is not in the standard library."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Have site find the packages, once, and find the module among them."""
        # What the standard library lacks here, it lacks for good; so does a package a part of it.
        if path is not None or name in sys.stdlib_module_names:
            return None
        bring_in()
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def put_off() -> None:
    """Have the packages found when one is asked for, in a process that was started without them."""
    if sys.flags.no_site:
        sys.meta_path.append(LateSite)


def bring_in() -> None:
    """Find the packages now, as Python does by itself at its start."""
    if LateSite in sys.meta_path:
        sys.meta_path.remove(LateSite)
        import site

        site.main()
