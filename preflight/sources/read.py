"""Reads Python sources, and never runs them."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace

from preflight.host.environment import launcher_of
from preflight.host.start_method import default_start_method
from preflight.kinds.asked import Asked
from preflight.pipelines.facts import Reads
from preflight.pipelines.written import written_pipelines
from preflight.sources.environment_reads import FoundReads, environment_reads, is_stored_before
from preflight.sources.facts import EnvironmentRead, SourceFacts, Unguarded
from preflight.sources.guard import modules_of_import, work_in, work_of_import
from preflight.sources.loader_calls import LoaderCalls, draws_in, loader_calls
from preflight.syntax.parsing import Parsed, UnparsableError, parse
from preflight.targets.targets import Source
from preflight.values.names import name_of
from preflight.values.wire import from_wire

# Larger files are data that somebody wrote as Python.
_MOST_BYTES = 4 << 20

_MOST_FILES = 20_000

_OTHER_PEOPLES = frozenset({"node_modules", "__pycache__", "site-packages", "dist-packages"})

# Files of a folder that a training run never loads.
_NOT_THE_JOB = frozenset({"setup.py", "conftest.py", "noxfile.py"})


def look(asked: Asked) -> Iterator[SourceFacts]:
    """Read the sources that are asked about."""
    yield read_source(from_wire(Source, asked.wire), asked.root, os.environ)


def read_source(source: Source, root: str, environment: Mapping[str, str]) -> SourceFacts:
    """Read a Python file, or all of them below a folder, against an environment.

    Raises:
        OSError: the file or folder that was named cannot be opened.
    """
    path = os.path.join(root, source.path)
    is_folder = os.path.isdir(path)
    files = list(itertools.islice(_python_files(path), _MOST_FILES + 1)) if is_folder else [path]
    found: dict[str, FoundReads] = {}
    unguarded: list[Unguarded | None] = []
    unreadable: list[tuple[str, ...]] = []
    draws: dict[str, str] = {}
    pipelines: tuple[Reads, ...] = ()
    for file in files[:_MOST_FILES]:
        name = name_of(file, root)
        try:
            parsed = parse(_content(file))
        except UnparsableError as error:
            unreadable.append((name, str(error.line or ""), str(error)))
            continue
        except OSError as error:
            if not is_folder:
                raise
            unreadable.append((name, "", error.strerror or str(error)))
            continue
        about = os.path.basename(file).removesuffix(".py") if is_folder else ""
        found[name] = environment_reads(parsed, name, about=about)
        for how, line in draws_in(parsed.tree)._asdict().items():
            if line is not None:
                draws.setdefault(how, f"{name}:{line}")
        if not is_folder and any(
            "DataPipeline" in one or "WebDataset" in one for one in parsed.lines
        ):
            pipelines = written_pipelines(parsed.tree, name)
        unguarded.append(
            _unguarded_below(parsed, name)
            if is_folder
            else _unguarded_file(file, parsed, root, name)
        )
    if len(files) > _MOST_FILES:
        unreadable.append((name_of(path, root), "", f"holds more than {_MOST_FILES:,} sources"))
    method, method_from = default_start_method()
    return SourceFacts(
        file=name_of(path, root),
        files=min(len(files), _MOST_FILES),
        reads=tuple(_judged(found, environment)),
        unreadable=tuple(unreadable),
        is_folder=is_folder,
        implied=source.implied,
        unguarded=tuple(one for one in unguarded if one is not None),
        default_start_method=method,
        default_start_method_from=method_from,
        pipelines=pipelines,
        resampled=draws.get("resampled"),
        perhaps_resampled=draws.get("perhaps"),
        drawn_once=draws.get("once"),
        in_allocation="SLURM_JOB_ID" in environment,
    )


def _content(path: str) -> bytes:
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a FIFO would wait for ever
        raise OSError("it is no regular file")
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise UnparsableError(f"is larger than {_MOST_BYTES >> 20} MiB")
    return content


def _python_files(folder: str) -> Iterator[str]:
    """Give the job's own sources below a folder, in order; links to folders are not followed."""
    stack = [folder]
    while stack:
        here = stack.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            if here == folder:
                raise
            continue
        for entry in entries:
            if entry.name.endswith(".py") and entry.name not in _NOT_THE_JOB and entry.is_file():
                yield entry.path
        inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        stack.extend(entry.path for entry in reversed(inner) if _is_the_jobs(entry))


def _is_the_jobs(entry: os.DirEntry[str]) -> bool:
    return not (
        entry.name.startswith(".")
        or entry.name in _OTHER_PEOPLES
        or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        or os.path.exists(os.path.join(entry.path, "conda-meta"))
    )


def _judged(
    found: Mapping[str, FoundReads], environment: Mapping[str, str]
) -> Iterator[EnvironmentRead]:
    """Say of each read whether the variable is set, here or by the sources themselves."""
    stored: dict[str, set[str]] = {}
    for name, one in found.items():
        for store in one.stores:
            stored.setdefault(store.variable, set()).add(name)
    dotenv = any(one.loads_dotenv for one in found.values())
    for name, one in found.items():
        for read in one.reads:
            elsewhere = bool(stored.get(read.variable, set()) - {name})
            loaded = dotenv and launcher_of(read.variable) is None
            guarded = read.guarded or elsewhere or loaded or is_stored_before(read, one.stores)
            yield replace(read, is_set=read.variable in environment, guarded=guarded)


# --- work that starts at an import ----------------------------------------------------------------


def _unguarded_file(path: str, parsed: Parsed, root: str, file: str) -> Unguarded | None:
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
    return _with_loaders(replace(work, file=file), *modules.values())


def _unguarded_below(parsed: Parsed, file: str) -> Unguarded | None:
    """Look at one of the files of a folder, by itself; None where it starts no workers."""
    calls = loader_calls(parsed, file)
    if all(one.has_workers is False for one in calls.loaders):
        return None
    work = work_in(parsed, file)
    return None if work is None else _with_loaders(work, calls)


def _with_loaders(work: Unguarded, own: LoaderCalls, *imported: LoaderCalls) -> Unguarded:
    methods = list(own.methods)
    # What stands in a function of another module need not be called.
    methods += (one for calls in imported for one in calls.methods if not one.inside)
    method, place, _ = methods[0] if methods else (None, None, None)
    return replace(
        work,
        loaders=own.loaders or tuple(one for calls in imported for one in calls.loaders),
        start_method=method,
        start_method_from=place,
    )
