"""Finds sources that start work as soon as they are imported, with the loaders that they make."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from preflight.sources.facts import LoaderCall, Unguarded
from preflight.sources.guard import ImportWork, modules_of_import, work_in, work_of_import
from preflight.sources.loader_calls import LoaderCalls, loader_calls, may_make_loaders
from preflight.syntax.parsing import Parsed


def unguarded_file(path: str, parsed: Parsed, root: str, file: str) -> Unguarded | None:
    """Look at a file that was named, or that holds what was named, with all that it imports.

    Args:
        path: the file.
        parsed: what stands in it.
        root: the job's folder.
        file: as reports name it.
    """
    # As a script it finds its imports beside it, as a module (`python -m`) below the job's folder.
    folders = tuple(dict.fromkeys((os.path.dirname(os.path.abspath(path)), os.path.abspath(root))))
    each = (work_of_import(path, folder, root) for folder in folders)
    work = next((one for one in each if one is not None), None)
    if work is None:
        return None
    return _found(work, file, _calls(parsed, file), tuple(_of_imports(path, folders, root)))


def unguarded_below(parsed: Parsed, file: str) -> Unguarded | None:
    """Look at one of the files of a folder, by itself; None where it starts no workers."""
    calls = _calls(parsed, file)
    if all(one.has_workers is False for one in calls.loaders):
        return None
    work = work_in(parsed, file)
    return None if work is None else _found(work, file, calls, ())


def _calls(parsed: Parsed, file: str) -> LoaderCalls:
    return loader_calls(parsed, file) if may_make_loaders(parsed.lines) else LoaderCalls()


def _of_imports(path: str, folders: Sequence[str], root: str) -> Iterator[tuple[str, LoaderCalls]]:
    """Give what stands in the modules that importing a file runs, its own left out."""
    seen = {os.path.abspath(path)}
    for folder in folders:
        for module in modules_of_import(path, folder, root):
            if module.path not in seen:
                seen.add(module.path)
                yield module.file, _calls(module.parsed, module.file)


def _found(
    work: ImportWork,
    file: str,
    own: LoaderCalls,
    imported: Sequence[tuple[str, LoaderCalls]],
) -> Unguarded:
    loaders: tuple[LoaderCall, ...] = own.loaders
    if not loaders:
        loaders = tuple(one for _, calls in imported for one in calls.loaders)
    # What stands in a function of another module need not be called.
    methods = [(file, one) for one in own.methods]
    methods += [
        (place, one) for place, calls in imported for one in calls.methods if not one.inside
    ]
    place, method = methods[0] if methods else (file, None)
    return Unguarded(
        file=file,
        at=work.file,
        line=work.line,
        code=work.code,
        what=work.what,
        guard=work.guard,
        loaders=loaders,
        start_method=method.method if method else None,
        start_method_from=f"{place}:{method.line}" if method else None,
    )
