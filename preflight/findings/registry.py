"""Finds the checks: the modules in preflight.checks without a leading underscore, and plug-ins."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import ModuleType

from preflight.findings.check import Check
from preflight.values.names import nearest

GROUP = "train_preflight.checks"
"""The entry-point group of plug-ins; each entry point names a module that holds one check."""

# In which order a job would meet them, by the first words of their ids: mending from the first on
# never uncovers an earlier one.
ORDER = (
    "target",
    "env",
    "gpu",
    "host",
    "world",
    "shard",
    "sample",
    "image",
    "caption",
    "dataset",
    "cache",
    "loader",
    "model",
    "source",
    "script",
)


class NoSuchCheckError(LookupError):
    """An id, or a prefix of ids, that names no check."""


def place(check_id: str) -> tuple[int, str]:
    """Where a check stands in the order in which a job would meet what it looks at."""
    word = check_id.partition("-")[0]
    return (ORDER.index(word) if word in ORDER and "/" not in check_id else len(ORDER), check_id)


@functools.cache
def built_in() -> Mapping[str, Check]:
    """Load the checks that come with the package, in the order in which a job would meet them."""
    package = importlib.import_module("preflight.checks")
    names = sorted(
        file.removesuffix(".py")
        for folder in package.__path__
        for file in os.listdir(folder)
        if file.endswith(".py")
    )
    checks = [
        only_check(importlib.import_module(f"preflight.checks.{name}"))
        for name in names
        if not name.startswith("_")
    ]
    return {one.id: one for one in sorted(checks, key=lambda one: place(one.id))}


def load() -> tuple[Mapping[str, Check], list[tuple[str, str]]]:
    """Load all checks, the plug-ins' last, and say which plug-ins could not be taken, and why.

    A plug-in's id is `plugin/name`: the distribution's entry point gives the first half.
    """
    import importlib.metadata

    checks = dict(built_in())
    bad: list[tuple[str, str]] = []
    try:
        entries = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda one: one.name)
    except (ValueError, TypeError, OSError) as error:  # a single bad package ends it for all
        entries = []
        bad.append((GROUP, f"the entry points of installed packages cannot be read: {error}"))
    for entry in entries:
        try:
            found = only_check(importlib.import_module(entry.module))
        except Exception as error:  # noqa: BLE001  a plug-in's module is the user's code
            bad.append((entry.name, f"{type(error).__name__}: {error}"))
            continue
        plugin = entry.dist.name if entry.dist is not None else entry.name
        checks[f"{plugin}/{found.id}"] = _renamed(found, f"{plugin}/{found.id}")
    return checks, bad


def only_check(module: ModuleType) -> Check:
    """Take the one check out of a module.

    Raises:
        TypeError: the module holds none, or several.
    """
    found = [value for value in vars(module).values() if isinstance(value, Check)]
    if len(found) != 1:
        raise TypeError(f"{module.__name__} holds {len(found)} checks; a module holds one")
    return found[0]


def chosen(
    checks: Mapping[str, Check], *, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> Mapping[str, Check]:
    """Keep the checks that are selected and not ignored; each word is an id or a prefix of ids.

    Raises:
        NoSuchCheckError: a word that fits no check, with the nearest id.
    """
    select, ignore = tuple(select), tuple(ignore)
    for word in (*select, *ignore):
        matching(word, checks)
    return {
        check_id: one
        for check_id, one in checks.items()
        if one.always
        or (
            (not select or any(fits(word, check_id) for word in select))
            and not any(fits(word, check_id) for word in ignore)
        )
    }


def fits(word: str, check_id: str) -> bool:
    """Whether a word names this check: by its id, or by a prefix that ends where a word ends."""
    return check_id == word or check_id.startswith((word.rstrip("-") + "-", word + "/"))


def matching(word: str, checks: Mapping[str, Check]) -> tuple[str, ...]:
    """All ids that a word names.

    Raises:
        NoSuchCheckError: there is none.
    """
    found = tuple(check_id for check_id in checks if fits(word, check_id))
    if not found:
        prefixes = {check_id.partition("-")[0] for check_id in checks}
        near = nearest(word, [*checks, *prefixes])
        hint = f"; did you mean {near}?" if near else "; `preflight checks` lists them"
        raise NoSuchCheckError(f"there is no check {word!r}{hint}")
    return found


def _renamed(found: Check, check_id: str) -> Check:
    """Give a plug-in's check its full id, also where it makes findings through its own name."""

    def ask(facts: object, job: object):  # type: ignore[no-untyped-def]  # noqa: ANN202
        for finding in found.ask(facts, job):  # type: ignore[arg-type]
            yield replace(finding, check=check_id)

    return replace(found, id=check_id, ask=ask)
