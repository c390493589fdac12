"""Has a script that asks for GPUs run on the CPU, where `--device cpu` says so."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Lack
from preflight.values.own_files import passes_on
from preflight.values.wire import to_brief

_OF_GPU = re.compile(r"(?i)\b(?:is_)?cuda|\bgpu|\bnccl|\bnvidia|cudnn|\bdevice\b")
_RAISED_FOR_IT = (RuntimeError, AssertionError, NotImplementedError, ValueError)


def wants_cpu(options: Mapping[str, Any]) -> bool:
    """Whether a script that asks for a GPU is to have the CPU: it is said so, or none is here."""
    if options["device"] == "cpu":
        return True
    if not options["elsewhere"]:
        return False
    from preflight.users_code.gpu_here import sees_gpu

    return not sees_gpu()


def stand_in(watch: Watch, around: contextlib.ExitStack) -> None:
    """Have the CPU stand in for a GPU, and tell which line asked for one first."""
    from preflight.objects.stand_in import StoodIn, in_place_of_cuda
    from preflight.scripts.surroundings.cuda_answers import answered

    stood_in = StoodIn()
    around.enter_context(in_place_of_cuda(stood_in))
    around.enter_context(answered(stood_in.ask))
    around.enter_context(_told_of_one(watch, stood_in.ask))
    watch.stood_in = True
    watch.lacks.insert(0, lack_of)

    def tell() -> None:
        frames = watch.own.frames(stood_in.frames) if stood_in.frames is not None else ()
        if frames:
            watch.tell(on_cpu=to_brief(frames[-1]))

    around.callback(tell)


@contextlib.contextmanager
def _told_of_one(watch: Watch, ask: Callable[[], None]) -> Iterator[None]:
    """Have some lines of the script told that there is one GPU, and no other line.

    Those that end it without one, or that start a process for each.
    """
    import torch

    from preflight.users_code.lacks.asked_for_gpu import counts_for_processes, ends_but_for_cuda

    def telling(original: Callable[..., int], *rules: Callable[[str, int], bool]) -> Any:
        @functools.wraps(original)
        @passes_on
        def count() -> int:
            frame = sys._getframe(1)  # noqa: SLF001
            file, line = frame.f_code.co_filename, frame.f_lineno
            if watch.is_own(frame) and any(rule(file, line) for rule in rules):
                ask()
                return type(original())(1)
            return original()

        return count

    with contextlib.ExitStack() as undo:
        for name, *rules in (
            ("is_available", ends_but_for_cuda),
            ("device_count", ends_but_for_cuda, counts_for_processes),
        ):
            original = getattr(torch.cuda, name)
            undo.callback(setattr, torch.cuda, name, original)
            setattr(torch.cuda, name, telling(original, *rules))
        yield


def lack_of(error: BaseException) -> Lack | None:
    """Say whether this may have been raised only since the CPU stood in for a GPU."""
    text = "".join(traceback.format_exception_only(type(error), error))
    if isinstance(error, AssertionError):  # which need not say anything
        text += "".join(one.line or "" for one in traceback.extract_tb(error.__traceback__)[-1:])
    if isinstance(error, _RAISED_FOR_IT) and _OF_GPU.search(text):
        return Lack(kind="stand-in", name="CUDA, for which the CPU stood in")
    return None


def _group(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have ranks talk by gloo where the job has them talk by NCCL."""

    @functools.wraps(original)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if watch.stood_in and backend is not None and "nccl" in str(backend):
            watch.shortened("gloo in place of nccl")
            backend = "gloo"
            kwargs.pop("device_id", None)
        return original(backend, *args, **kwargs)

    return init_process_group


def _parallel(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have a model wrapped that lies on no GPU."""

    @functools.wraps(original)
    def wrap(whole: Any, /, *args: Any, **kwargs: Any) -> Any:
        if watch.stood_in:
            inner, places, more = args[:1], args[1:3], args[3:]
            args = (*inner, *(None for _ in places), *more)
            kwargs = {key: one for key, one in kwargs.items() if key not in _ON_GPUS}
        return original(whole, *args, **kwargs)

    return wrap


def _loading(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have tensors of a file loaded to the CPU: what reads it is no function of torch."""

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        if watch.stood_in:
            args = tuple("cpu" if _is_gpu(one) else one for one in args)
            kwargs |= {"device": "cpu"} if "device" in kwargs else {}
        return original(*args, **kwargs)

    return load


def _is_gpu(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"cuda(?::\d+)?", value) is not None


_ON_GPUS = frozenset({"device_ids", "output_device"})

POINTS = (
    Point(module="torch.distributed.distributed_c10d", name="init_process_group", wrap=_group),
    Point(module="torch.distributed", name="init_process_group", wrap=_group),
    Point(
        module="torch.nn.parallel.distributed",
        name="DistributedDataParallel.__init__",
        wrap=_parallel,
    ),
    Point(module="safetensors.torch", name="load_file", wrap=_loading),
    Point(module="safetensors.torch", name="load_model", wrap=_loading),
)
