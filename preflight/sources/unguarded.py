"""Finds work that a module starts as soon as it is imported, so that nobody starts it by looking.

A script that calls `main()` outside `if __name__ == "__main__":` would train when it is imported:
in our child, and again in each of its own workers wherever those are spawned.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence

from preflight.sources.facts import Unguarded
from preflight.sources.loader_calls import LoaderCalls, loader_calls, makes_loaders
from preflight.sources.work.training import Training
from preflight.syntax.imports.modules import Modules, dotted_of, places_of_job
from preflight.syntax.parsing import Parsed, UnparsableError, parse_text
from preflight.syntax.running import Ran
from preflight.syntax.scopes import Module

_LONGEST_CODE = 120


def work_at_import(text: str, file: str) -> Unguarded | None:
    """Give the first work that importing this code would start; None where it would start none.

    What the code itself imports is not looked at. Code that cannot be parsed starts nothing:
    importing it says so by itself.
    """
    try:
        return work_in(parse_text(text), file)
    except UnparsableError:
        return None


def work_in(parsed: Parsed, file: str) -> Unguarded | None:
    """Do the same with code that is parsed already."""
    return _first_work(Modules(), [Module(file, parsed)])


def work_of_import(path: str, folder: str, root: str) -> Unguarded | None:
    """Give the first work that importing this file would start, its own imports included.

    Args:
        path: the file of the module.
        folder: what stands first on `sys.path`; modules are the user's own that are found below it,
            or below another place on `sys.path` that belongs to the job.
        root: the job's folder; files are named relative to it.

    Imports that stand in functions are not followed: nothing runs them yet.
    """
    modules, named = _named(path, folder, root)
    return _first_work(modules, named) if named else None


def modules_of_import(path: str, folder: str, root: str) -> tuple[Module, ...]:
    """Give the own modules that importing this file runs, as far as they can be found.

    The arguments are those of `work_of_import`.
    """
    modules, named = _named(path, folder, root)
    found = dict.fromkeys(named)
    waiting = [(one, one.running()) for one in reversed(named)]
    while waiting:
        module, statements = waiting[-1]
        for ran in statements:
            fresh = [one for one in modules.run_by(ran.node, module) if one not in found]
            if fresh:
                found.update(dict.fromkeys(fresh))
                waiting.extend((one, one.running()) for one in reversed([*dict.fromkeys(fresh)]))
                break
        else:
            waiting.pop()
    return tuple(found)


def _named(path: str, folder: str, root: str) -> tuple[Modules, list[Module]]:
    """Read a module behind the packages that it lies in; none where it cannot be read."""
    full = os.path.abspath(path)
    modules = Modules(folders=(os.path.abspath(folder), *places_of_job(root)), root=root)
    dotted = dotted_of(full, os.path.abspath(folder))
    named = modules.read_file(full, dotted)
    if named is None:
        return modules, []
    return modules, [*(one for one in modules.chain(dotted[:-1]) if one is not named), named]


def _first_work(modules: Modules, named: Sequence[Module]) -> Unguarded | None:
    """Go through the modules as an import would: what is imported runs before what follows it."""
    training = Training(modules)
    entered = set(named)
    waiting = [(one, one.running(), "") for one in reversed(named)]
    last = named[-1]
    while waiting:
        module, statements, by = waiting[-1]
        for ran in statements:
            if isinstance(ran.node, (ast.Import, ast.ImportFrom)):
                asked = modules.run_by(ran.node, module)
                fresh = [one for one in dict.fromkeys(asked) if one not in entered]
                if fresh:
                    entered.update(fresh)
                    reached = f"{module.file}:{ran.line} imports it"
                    waiting.extend((one, one.running(), reached) for one in reversed(fresh))
                    break
                continue
            what = training.of_statement(ran, module.scope)
            if what is not None:
                if not by and module is not last:
                    by = f"it runs before {last.file}"
                return _found(ran, module, f"{what} ({by})" if by else what, last.file)
        else:
            waiting.pop()
    return None


def _found(ran: Ran, module: Module, what: str, named: str) -> Unguarded:
    first = module.parsed.lines[ran.line - 1].strip()[:_LONGEST_CODE]
    is_one_line = ran.node.end_lineno == ran.line
    return Unguarded(
        file=named,
        at=module.file,
        line=ran.line,
        code=first if is_one_line else f"{first} …",
        what=what,
        guard=f'Put {_lines(ran.outer)} of {module.file} under `if __name__ == "__main__":`.',
    )


def _lines(statement: ast.stmt) -> str:
    first, last = Ran(statement, statement, in_loop=False).line, statement.end_lineno
    return f"line {first}" if last in {first, None} else f"lines {first} to {last}"


# --- with the loaders whose workers import it -----------------------------------------------------


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
