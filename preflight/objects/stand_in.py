"""Lets code that asks for CUDA run on the CPU, where the job runs on another machine.

What it would have on a GPU is remembered, so that it is not taken for something that a worker may
have. Which GPU it is, is all the same here. Whatever else asks for one (its name, a stream, NCCL)
raises as it does without one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from preflight.values.own_files import passes_on

_MOVES = frozenset({"to", "cuda", "cpu"})
_NAMES_DEVICES = frozenset({"device", "_parse_to"})  # and makes nothing there
_CPU = "cpu"
_BEFORE_CUDA = 15
"""In the order in which torch asks who loads something: 10 is for the CPU, and 20 for CUDA."""

_held: dict[int, Any] = {}
"""Weak references to the memory of tensors that the job would have on a GPU, by its address."""


@dataclass(slots=True)
class StoodIn:
    """Whether, and from which line on, the CPU stood in for a GPU."""

    frames: traceback.StackSummary | None = field(default=None)
    """Of the call that asked for one first, the innermost last."""

    by_default: bool = False
    """Whether a GPU was asked for wherever nothing else is said."""

    def ask(self) -> None:
        """Take note of who asks for a GPU, if it is the first."""
        if self.frames is None:
            self.frames = traceback.extract_stack()


def holds(tensor: Any) -> bool:
    """Whether the job would have this tensor, or the memory that it shows, on a GPU."""
    memory = _memory(tensor) if _held else None
    known = None if memory is None else _held.get(memory._cdata)  # noqa: SLF001  torch's own key
    return known is not None and not known.expired()


@contextlib.contextmanager
def in_place_of_cuda(stood_in: StoodIn) -> Iterator[None]:
    """Have tensors that are asked for on CUDA made on the CPU, and remember that."""
    from torch.overrides import TorchFunctionMode

    class OnTheCpu(TorchFunctionMode):  # type: ignore[misc, no-any-unimported, unused-ignore]
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            return _call(func, tuple(args), dict(kwargs or {}), stood_in)

    with OnTheCpu(), _taken_note_of(stood_in), _loaded(stood_in), _in_threads(OnTheCpu):
        yield


@contextlib.contextmanager
def _in_threads(mode: Callable[[], contextlib.AbstractContextManager[Any]]) -> Iterator[None]:
    """Have threads that begin from then on be under a mode, too: each has modes of its own."""
    start = threading.Thread.start

    @functools.wraps(start)
    @passes_on
    def start_under_it(thread: threading.Thread) -> None:
        run = thread.run

        @passes_on
        def run_under_it() -> None:
            with mode():
                run()

        thread.run = run_under_it  # type: ignore[method-assign]
        start(thread)

    threading.Thread.start = start_under_it  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


@contextlib.contextmanager
def _taken_note_of(stood_in: StoodIn) -> Iterator[None]:
    """Stand in for what says which GPU is meant from then on, of which a mode is not told."""
    import torch
    from torch.overrides import _pop_mode_temporarily

    by_default, of_rank = torch.set_default_device, torch.cuda.set_device

    @passes_on
    def set_default_device(device: Any) -> None:
        stood_in.by_default = _is_named(device)
        if stood_in.by_default:
            stood_in.ask()
        with _pop_mode_temporarily():  # older torch has that asked first which it lays on top
            by_default(_CPU if stood_in.by_default else device)

    @passes_on
    def set_device(device: Any) -> None:
        if not (_is_named(device) or device is None):
            return of_rank(device)
        stood_in.ask()
        return None

    torch.set_default_device, torch.cuda.set_device = set_default_device, set_device
    try:
        yield
    finally:
        torch.set_default_device, torch.cuda.set_device = by_default, of_rank


@contextlib.contextmanager
def _loaded(stood_in: StoodIn) -> Iterator[None]:
    """Have `torch.load` keep on the CPU what a file, or its `map_location`, says is on a GPU."""
    from torch import serialization
    from torch.storage import _StorageBase

    def keep(storage: Any, location: str) -> Any:
        if not _is_named(location):
            return None
        stood_in.ask()
        _hold_memory(storage)
        return storage

    @passes_on
    def cuda(storage: Any, *_: Any, **__: Any) -> Any:
        return keep(storage, "cuda")

    moved, _StorageBase.cuda = _StorageBase.cuda, cuda  # type: ignore[assignment, method-assign, unused-ignore]
    serialization.register_package(_BEFORE_CUDA, lambda _: None, keep)  # type: ignore[no-untyped-call, unused-ignore]
    try:
        yield
    finally:
        _StorageBase.cuda = moved  # type: ignore[method-assign, unused-ignore]
        registry = serialization._package_registry  # noqa: SLF001  torch has no way to undo it
        registry[:] = [one for one in registry if one[2] is not keep]


@passes_on
def _call(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], stood_in: StoodIn
) -> Any:
    """Call a function of torch; what comes of tensors on a GPU is on it, too."""
    import torch

    name = getattr(func, "__name__", "")
    if name in _NAMES_DEVICES:
        given = [_by_name(one) for one in args[:1]] if len(args) == 1 or name != "device" else args
        if "device" in kwargs:
            kwargs["device"] = _by_name(kwargs["device"])
        return func(*given, *args[len(given) :], **kwargs)
    moves = name in _MOVES and bool(args) and isinstance(args[0], torch.Tensor)
    asks = name == "cuda" if moves else False
    if moves and name != "to":
        args, kwargs = (args[0], _CPU), _of_to(args[1:], kwargs)
        func = torch.Tensor.to
    else:
        asks, args, kwargs = _asked(args, kwargs, is_move=moves)
    if stood_in.by_default and kwargs.get("device") is None and func in _device_constructors():
        asks = True
    if asks:
        stood_in.ask()
    was = _held and any(holds(one) for one in _tensors((args, kwargs)))
    device = _device_of(args[1:], kwargs) if moves else None
    if moves and device is not None and asks != holds(args[0]):
        kwargs["copy"] = True  # as it goes from one memory to the other
    gave = func(*args, **kwargs)
    if asks or (was and device is None):
        for one in _tensors(gave):
            _hold(one)
    return gave


def _device_constructors() -> Collection[Callable[..., Any]]:
    """Give the functions that make a tensor where nothing else is said: torch's own list."""
    from torch.utils import _device

    return _device._device_constructors()  # type: ignore[no-untyped-call, no-any-return, unused-ignore]  # noqa: SLF001


def _hold(tensor: Any) -> None:
    memory = _memory(tensor)
    if memory is not None:
        _hold_memory(memory)


def _hold_memory(memory: Any) -> None:
    from torch.multiprocessing.reductions import StorageWeakRef

    if not _held:  # by the end of Python, torch cannot free them any more
        atexit.register(_held.clear)
    reference: Any = StorageWeakRef(memory)  # type: ignore[no-untyped-call, unused-ignore]
    _held[reference.cdata] = reference


def _of_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of `cuda(device, non_blocking)` that `to` takes as well."""
    kept = {key: value for key, value in kwargs.items() if key == "memory_format"}
    return kept | ({"non_blocking": True} if len(args) > 1 or "non_blocking" in kwargs else {})


def _asked(
    args: tuple[Any, ...], kwargs: dict[str, Any], *, is_move: bool
) -> tuple[bool, tuple[Any, ...], dict[str, Any]]:
    """Say whether a GPU is asked for, and give the arguments that ask for the CPU."""
    places = [
        number
        for number, one in enumerate(args)
        if _is_cuda(one) or (is_move and number == 1 and _is_named(one))
    ]
    named = [key for key, one in kwargs.items() if key == "device" and _is_named(one)]
    named += [key for key, one in kwargs.items() if key != "device" and _is_cuda(one)]
    args = tuple(_CPU if number in places else one for number, one in enumerate(args))
    on_gpu = is_move and any(holds(one) for one in args[1:2])  # `x.to(other)`
    return bool(places or named) or on_gpu, args, kwargs | dict.fromkeys(named, _CPU)


def _device_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Give what a call of `to` names as its device, or the tensor beside which it goes."""
    import torch

    named = (*args[:1], *(kwargs[key] for key in ("device", "other") if key in kwargs))
    return next(
        (one for one in named if one is not None and not isinstance(one, torch.dtype)), None
    )


def _by_name(value: Any) -> Any:
    """Name the GPU that is meant by its number alone."""
    return f"cuda:{value}" if type(value) is int else value


def _is_cuda(value: Any) -> bool:
    import torch

    return isinstance(value, torch.device) and value.type == "cuda"


def _is_named(value: Any) -> bool:
    """Whether a value names a GPU where a device is asked for: `"cuda:0"`, `0`."""
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return _is_cuda(value) or type(value) is int


def _tensors(value: Any, depth: int = 0) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)) and depth < 3:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _tensors(one, depth + 1)


def _memory(tensor: Any) -> Any:
    import torch

    try:
        with torch._C.DisableTorchFunction():  # noqa: SLF001  no question for whoever watches
            return tensor.untyped_storage()
    except (AttributeError, RuntimeError, NotImplementedError, ValueError):
        return None  # of sparse and other tensors without memory of their own
