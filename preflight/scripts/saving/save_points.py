"""The entry points of libraries by which scripts save, load, step, and are told to resume."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Mapping
from typing import Any

from preflight.overlay.on_disk import path_of
from preflight.scripts.points import Point
from preflight.scripts.saving.arguments import POINTS as ARGUMENTS
from preflight.scripts.saving.loading import File
from preflight.scripts.saving.log import OF_LIGHTNING, log_of
from preflight.scripts.watch import Watch


def _path_in(place: int, name: str) -> Callable[[tuple[Any, ...], Mapping[str, Any], Any], str]:
    def path(args: tuple[Any, ...], named: Mapping[str, Any], _given: Any) -> str:
        file = named.get(name, args[place] if len(args) > place else "")
        file = getattr(file, "name", file) if not isinstance(file, os.PathLike) else file
        if type(file) is int:  # of `os.fdopen`: it was opened by its path before
            return path_of(file)
        return os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else ""

    return path


def _returned(_args: tuple[Any, ...], _named: Mapping[str, Any], given: Any) -> str:
    return os.fsdecode(given) if isinstance(given, (str, os.PathLike)) else ""


def _of_parts(args: tuple[Any, ...], named: Mapping[str, Any], given: Any) -> str:
    """Say where torch.distributed.checkpoint saves: its writer knows, where the call does not."""
    folder = _path_in(9, "checkpoint_id")(args, named, given)
    return folder or _returned(args, named, getattr(named.get("storage_writer"), "path", None))


def _saver(
    writer: str,
    path_of: Callable[[tuple[Any, ...], Mapping[str, Any], Any], str],
    *,
    redirects: tuple[int, str] | None = None,
    state: tuple[int, str] | None = (0, ""),
) -> Callable[[Any, Watch], Any]:
    """Wrap what saves: who saved what, and in which state training was."""

    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(original)
        def save(*args: Any, **named: Any) -> Any:
            log = log_of(watch)
            with log.saving() as outermost:
                path = path_of(args, named, None)
                moved = _moved(args, named, redirects, watch)
                try:
                    given = original(*moved[0], **moved[1])
                except Exception as error:
                    _as_named(error, watch)
                    if outermost:
                        log.failed(path, writer, error)
                    raise
                path = path or path_of(args, named, given)
                if writer == "torch.save" and path:
                    is_own = outermost and watch.is_own(watch.caller())
                    log.files[log.real(path)] = File(writer, watch.place(), is_own)
                held = _given(redirects, args, named) if redirects and not path else None
                if outermost and isinstance(held, io.BytesIO):
                    log.held(held, writer, state and _given(state, args, named))
                elif outermost and (path or writer != "torch.save"):
                    log.saved(path, writer, state and _given(state, args, named))
                return given

        return save

    return wrap


def _pickler(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Take a pickle for a save where the model is in it: pickles are used for much else."""
    save = _saver("pickle.dump", _path_in(1, "file"))(original, watch)

    @functools.wraps(original)
    def dump(*args: Any, **named: Any) -> Any:
        saves = args and log_of(watch).is_trained(args[0])
        return (save if saves else original)(*args, **named)

    return dump


def _given(place: tuple[int, str], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    number, name = place
    return named.get(name, args[number] if len(args) > number else None)


def _moved(
    args: tuple[Any, ...], named: Mapping[str, Any], place: tuple[int, str] | None, watch: Watch
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Have libraries that open files by themselves write into the layer."""
    if place is None or watch.layer is None:
        return args, named
    number, name = place
    file = _given(place, args, named)
    if not isinstance(file, (str, os.PathLike)):
        return args, named
    path = watch.layer.writing(file, fresh=True)
    if name in named:
        return args, {**named, name: path}
    return (*args[:number], path, *args[number + 1 :]), named


def _as_named(error: Exception, watch: Watch) -> None:
    """Speak of a file by the name that the script gave it."""
    if watch.layer is not None:
        layer = watch.layer
        error.args = tuple(layer.said(one) if isinstance(one, str) else one for one in error.args)


def _reader(name: str, *, gives_state: bool = False) -> Callable[[Any, Watch], Any]:
    """Have libraries that open files by themselves read from the layer."""

    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        log = log_of(watch)  # which hears of what is read from now on
        is_noted = gives_state and watch.options.get("resuming")

        @functools.wraps(original)
        def read(*args: Any, **named: Any) -> Any:
            layer = watch.layer
            if layer is None:
                return original(*args, **named)
            if isinstance(named.get(name), (str, os.PathLike)):
                named[name] = layer.opening(named[name])
            elif args and isinstance(args[0], (str, os.PathLike)):
                args = (layer.opening(args[0]), *args[1:])
            given = original(*args, **named)
            # What a library loads, it takes apart in its own way: Lightning goes on by its loops.
            is_own = is_noted and watch.is_own(watch.caller())
            return log.loaded.noting(given) if is_own else given

        return read

    return wrap


def _optimizer(original: Callable[..., None], watch: Watch) -> Callable[..., None]:
    @functools.wraps(original)
    def made(optimizer: Any, *args: Any, **named: Any) -> None:
        original(optimizer, *args, **named)
        if watch.is_here:
            log_of(watch).made(optimizer)

    return made


def _schedule(original: Callable[..., None], watch: Watch) -> Callable[..., None]:
    @functools.wraps(original)
    def made(schedule: Any, *args: Any, **named: Any) -> None:
        original(schedule, *args, **named)
        if watch.is_here:
            log_of(watch).scheduled(schedule)

    return made


def _state(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    if not watch.options.get("resuming"):
        return original

    @functools.wraps(original)
    def load(of: Any, *args: Any, **named: Any) -> Any:
        given = original(of, *args, **named)
        if watch.is_here:
            into = log_of(watch).into
            into.module(of, given) if hasattr(of, "named_parameters") else into.add(of)
        return given

    return load


def _batch(original: Callable[[Any], Any], watch: Watch) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def give(batches: Any) -> Any:
        batch = original(batches)
        if watch.is_here and watch.while_at == "training":
            log_of(watch).given = batch
        return batch

    return give


_SAFE = "safetensors.torch"
_PATH = _path_in(1, "filename")

POINTS = (
    *ARGUMENTS,
    # `import torch` gives both by names of its own, which may be there before us.
    *(
        Point(module=module, name=name, wrap=wrap)
        for module in ("torch.serialization", "torch")
        for name, wrap in (
            ("save", _saver("torch.save", _path_in(1, "f"), redirects=(1, "f"))),
            ("load", _reader("f", gives_state=True)),
        )
    ),
    Point(module="pickle", name="dump", wrap=_pickler),
    Point(module="safetensors", name="safe_open", wrap=_reader("filename")),
    Point(module=_SAFE, name="safe_open", wrap=_reader("filename")),
    *(
        Point(
            module=_SAFE,
            name=name,
            wrap=_saver(f"{_SAFE}.{name}", _PATH, redirects=(1, "filename")),
        )
        for name in ("save_file", "save_model")
    ),
    Point(
        module="accelerate.accelerator",
        name="Accelerator.save_state",
        # Its own `step` counts the batches of which gradients are added up, anew in each epoch.
        wrap=_saver("Accelerator.save_state", _returned, state=None),
    ),
    *(
        Point(
            module=module,
            name="Trainer.save_checkpoint",
            wrap=_saver(OF_LIGHTNING, _path_in(1, "filepath")),
        )
        for module in ("pytorch_lightning.trainer.trainer", "lightning.pytorch.trainer.trainer")
    ),
    *(
        Point(
            module=module,
            name="Fabric.save",
            wrap=_saver("Fabric.save", _path_in(1, "path"), state=(2, "state")),
        )
        for module in ("lightning_fabric.fabric", "lightning.fabric.fabric")
    ),
    Point(
        module="torch.distributed.checkpoint.state_dict_saver",
        name="save",
        wrap=_saver("torch.distributed.checkpoint.save", _of_parts),
    ),
    Point(module="torch.optim.optimizer", name="Optimizer.__init__", wrap=_optimizer),
    Point(module="torch.optim.optimizer", name="Optimizer.load_state_dict", wrap=_state),
    Point(module="torch.nn.modules.module", name="Module.load_state_dict", wrap=_state),
    Point(module="torch.optim.lr_scheduler", name="LRScheduler.__init__", wrap=_schedule),
    Point(module="torch.utils.data.dataloader", name="_BaseDataLoaderIter.__next__", wrap=_batch),
)
