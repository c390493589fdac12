"""Finds sources that start work at their import, with the loaders whose workers import them."""

from __future__ import annotations

import os

from preflight.sources.facts import Unguarded
from preflight.sources.guard import modules_of_import, work_in, work_of_import
from preflight.sources.loader_calls import LoaderCalls, loader_calls, makes_loaders
from preflight.syntax.parsing import Parsed


def unguarded_file(path: str, parsed: Parsed, root: str, file: str) -> Unguarded | None:
    """Look at a file that was named, or that holds what was named, with all that it imports."""
    own = os.path.abspath(path)
    # As a script it finds its imports beside it, as a module (`python -m`) below the job's folder.
    folders = dict.fromkeys((os.path.dirname(own), os.path.abspath(root)))
    each = (work_of_import(path, folder, root) for folder in folders)
    work = next(filter(None, each), None)
    if work is None:
        return None
    modules: dict[str, LoaderCalls] = {own: loader_calls(parsed, file)}
    for folder in folders:
        for one in modules_of_import(path, folder, root):
            if one.path not in modules:
                modules[one.path] = loader_calls(one.parsed, one.file)
    return _with_loaders(work._replace(file=file), *modules.values())


def unguarded_alone(parsed: Parsed, file: str) -> Unguarded | None:
    """Look at one of the files of a folder, by itself; None where it starts no workers."""
    work = work_in(parsed, file) if makes_loaders(parsed) else None
    if work is None:
        return None
    calls = loader_calls(parsed, file)
    if all(one.has_workers is False for one in calls.loaders):
        return None
    return _with_loaders(work, calls)


def _with_loaders(work: Unguarded, own: LoaderCalls, *imported: LoaderCalls) -> Unguarded:
    methods = list(own.methods)
    # What stands in a function of another module need not be called.
    methods += (one for calls in imported for one in calls.methods if not one.inside)
    method, place, _ = methods[0] if methods else (None, None, None)
    return work._replace(
        loaders=own.loaders or tuple(one for calls in imported for one in calls.loaders),
        start_method=method,
        start_method_from=place,
    )
