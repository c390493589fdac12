"""Imports the user's code as the job would: as rank 0, by the names that Python would find."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.sources import unguarded as guard
from preflight.users_code.fresh.descendants import import_psutil
from preflight.users_code.gpu_here import sees_gpu
from preflight.values.code_name import Spec, module_file
from preflight.values.this_process import full_path, working_folder

# What is loaded here before the user's code, and by whose names it may have modules of its own.
_LOADED = ("preflight", "psutil")

# A module may hold many of the loaders and models that were named.
_work_of_import = functools.cache(guard.work_of_import)


def import_torch() -> None:
    """Import torch, before anything of the user's can stand in its way; psutil as well."""
    import_psutil()
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise CannotLookError(
            f"torch cannot be imported by {sys.executable}: {error}",
            fix="Name the interpreter of the job by --python: the one that has its torch.",
        ) from error


_asked: list[tuple[str, traceback.StackSummary]] = []


def group_asked_for() -> tuple[str, traceback.StackSummary] | None:
    """Give the backend of the group that the user's code asked for first, and the calls to that."""
    return _asked[0] if _asked else None


def join_world(ranks: int, nodes: int = 1, rank: int = 0) -> None:
    """Stand for a rank: the launcher's variables, and a process group that talks to nobody.

    A call of `init_process_group` in the user's code then finds the group that is there.
    """
    import torch.distributed as dist

    launched = {
        **dict.fromkeys(("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK"), 0),
        **dict.fromkeys(("WORLD_SIZE", "ROLE_WORLD_SIZE"), ranks),
        "LOCAL_WORLD_SIZE": max(ranks // nodes, 1),
        "GROUP_WORLD_SIZE": nodes,
        "ROLE_NAME": "default",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": 29500,
    }
    if ranks > 1 and not sees_gpu():  # else accelerate takes this rank for the only one
        launched |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": 1}
    for variable, value in launched.items():
        os.environ.setdefault(variable, str(value))
    if not dist.is_available() or dist.is_initialized():
        return
    try:
        fake: Any = importlib.import_module("torch.testing._internal.distributed.fake_pg")
        if hasattr(fake, "ret_work"):  # an older torch, whose barrier gives nothing to wait for
            fake.FakeProcessGroup.barrier = lambda *_, **__: fake.ret_work(None)
        dist.init_process_group("fake", store=fake.FakeStore(), rank=rank, world_size=ranks)
    except (ImportError, AttributeError, ValueError, RuntimeError):
        # The fake group is private to torch; a real group of one stands in for it.
        store = dist.HashStore()  # type: ignore[attr-defined]  # not in the stubs
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)

    def already_there(backend: object = None, *_: object, **__: object) -> None:
        """Make none: there was one before the user's code ran. Note what the first was to be."""
        if not _asked:
            _asked.append((str(backend or ""), traceback.extract_stack()))

    make = dist.new_group

    @functools.wraps(make)
    def new_group(
        ranks: Any = None, timeout: Any = None, backend: Any = None, *more: Any, **named: Any
    ) -> Any:
        """Make a group that talks to nobody either, whatever it is to talk by."""
        return make(ranks, timeout, backend and dist.get_backend(), *more, **named)

    dist.init_process_group = already_there
    dist.distributed_c10d.init_process_group = already_there
    dist.new_group = dist.distributed_c10d.new_group = new_group


def refuse_unguarded(spec: Spec, root: str) -> None:
    """Stop before an import that would start the training."""
    path = _source_of(spec)
    if path is None:
        return
    # What an import puts first on the path: the file's folder, or the current one.
    folder = working_folder() if spec.file is None else os.path.dirname(full_path(path))
    work = _work_of_import(path, folder, root)
    if work is not None:
        raise CannotLookError(
            f"importing {spec.home} would start the training: {work.at}:{work.line} {work.what}",
            fix=f"{work.guard}  To look all the same:  --import-anyway",
        )


def _source_of(spec: Spec) -> str | None:
    if spec.file is not None:
        return spec.file
    assert spec.module is not None  # noqa: S101  for the type checker
    return module_file(working_folder(), spec.module.split("."))


def import_named(spec: Spec) -> ModuleType:
    """Import as `python FILE` and `python -m MODULE` would find it."""
    if sys.path[:1] == [os.path.dirname(os.__file__)]:  # which was for us
        del sys.path[0]
    if spec.file is not None:
        return _import_file(full_path(spec.file))
    assert spec.module is not None  # noqa: S101  for the type checker
    folder = working_folder()
    sys.path.insert(0, folder)
    for top in (*_LOADED, spec.module.partition(".")[0]):
        _make_room(top, folder)
    try:
        return importlib.import_module(spec.module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if spec.module == missing or spec.module.startswith(missing + "."):
            raise MistypedError(f"there is no module {missing} in {folder}") from error
        raise


def _import_file(path: str) -> ModuleType:
    folder, name = os.path.split(path)
    stem = name.removesuffix(".py")
    sys.path.insert(0, folder)
    sys.argv[:] = [path]
    for top in _LOADED:
        _make_room(top, folder)
    if stem.isidentifier():
        _make_room(stem, folder)
        if _would_find(stem, path):
            return importlib.import_module(stem)
    found = importlib.util.spec_from_file_location(stem, path)
    if found is None or found.loader is None:
        raise MistypedError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[stem] = module
    found.loader.exec_module(module)
    return module


def _would_find(stem: str, path: str) -> bool:
    """Whether an import of this name gives this file: the path has no say for what is built in."""
    try:
        known = importlib.util.find_spec(stem)
    except ValueError:  # loaded already, by something that left no trace of where it is
        return False
    origin = known.origin if known is not None else None
    return origin is not None and full_path(origin) == path


def files_of_workers(spec: Spec) -> dict[str, str]:
    """Give the file that a worker has to be told: the path would lead it elsewhere by this name.

    In the job it is the main module, which multiprocessing finds by its file.
    """
    if spec.file is None:
        return {}
    path = full_path(spec.file)
    stem = os.path.basename(path).removesuffix(".py")
    found = importlib.machinery.PathFinder.find_spec(stem)
    if stem not in sys.builtin_module_names and found is not None and found.origin == path:
        return {}
    return {stem: path}


def _make_room(top: str, folder: str) -> None:
    """Let the user's own module have its name, where something we imported holds it already."""
    loaded = sys.modules.get(top)
    here = os.path.join(folder, top)
    ours_to_find = os.path.isfile(here + ".py") or os.path.isdir(here)
    if loaded is None or not ours_to_find:
        return
    file = getattr(loaded, "__file__", None) or ""
    if not full_path(file).startswith(full_path(folder) + os.sep):
        del sys.modules[top]
