"""Says what config files that a script names give to flags; no code is run for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from preflight.settings.config_values import read_config
from preflight.syntax.merged_configs import merged_in
from preflight.values.names import name_of

_NAMED = re.compile(rb"""["']([\w./\\-]{1,200}\.(?:ya?ml|json|toml))["']""", re.IGNORECASE)

# As Hydra has them: `@hydra.main(config_path="conf", config_name="train")`.
_HYDRA = re.compile(rb"""\bconfig_(path|name)\s*=\s*["']([\w./\\-]{1,200})["']""")

_MOST_FILES = 8
_MOST_VALUES = 5_000

# Who says so takes settings from other files, too, which may say otherwise.
_FROM_OTHERS = frozenset({"defaults", "_base_", "base", "include", "extends", "inherits"})


def given_by_configs(
    sources: Iterable[bytes], script: str, root: str
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Give what config files say, where the script or what it imports names them as a literal.

    That is the name of each, and its keys with their values as code. They lie where the job is
    started, or beside the script.
    """
    names: dict[str, None] = {}
    merges: list[Sequence[str]] = []
    for content in sources:
        merges += merged_in(content)
        found = _NAMED.findall(content)
        hydra = dict(_HYDRA.findall(content))
        if b"name" in hydra:
            found.append(os.path.join(hydra.get(b"path", b""), hydra[b"name"] + b".yaml"))
        names |= dict.fromkeys(name.decode("utf-8", "replace") for name in found)
    paths: dict[str, str] = {}
    for name in names:
        places = (os.path.join(at, name) for at in (root, os.path.dirname(script)))
        path = next(filter(os.path.isfile, places), None)
        if path is not None and len(paths) < _MOST_FILES:
            paths.setdefault(name, path)
    said = {name: tuple(_scalars(_whole(read_config(path)))) for name, path in paths.items()}
    for files in merges:
        for place, name in enumerate(files):
            later = {key for one in files[place + 1 :] for key, _ in said.get(one, ())}
            said[name] = tuple(one for one in said.get(name, ()) if one[0] not in later)
    for name, path in paths.items():
        if said[name]:
            yield name_of(path, root), said[name]


def _whole(said: Any) -> Any:
    """Give what a file says, unless it does not say all by itself."""
    return None if isinstance(said, dict) and _FROM_OTHERS & said.keys() else said


def _scalars(said: Any) -> Iterator[tuple[str, str]]:
    """Give the values of keys as code, each key with those that it lies in: `.launch.nodes`."""
    waiting = [(".", said)]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        place, one = waiting.pop()
        if isinstance(one, list):
            waiting += ((place, each) for each in one)
        elif isinstance(one, dict):
            for key, value in one.items():
                name = f"{place}{key}".replace("-", "_")
                if isinstance(value, (dict, list)):
                    waiting.append((f"{name}.", value))
                elif isinstance(key, str) and isinstance(
                    value, (bool, int, float, str, type(None))
                ):
                    yield name, repr(value)
