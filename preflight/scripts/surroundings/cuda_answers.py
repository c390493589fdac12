"""Answers what a script asks of torch.cuda, where the CPU stands in for a GPU.

Of which kind the GPU is, nobody knows here; it is told as one that can do what the CPU does. That
there is one is not told: libraries would ask it for more than can be answered.
"""

from __future__ import annotations

import contextlib
import sys
import time
from abc import ABCMeta
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

_NAME, _CAPABILITY, _BYTES = "the CPU in place of a GPU", (8, 0), 80 * 2**30


class Device(contextlib.AbstractContextManager[Any]):
    """The one that there is."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._at = 0.0

    def __exit__(self, *_: object) -> None:
        """Be it no more."""


class AllZero(dict[str, int]):
    """As many of anything as there are of none: no memory of a GPU is used."""

    def __missing__(self, _: str) -> int:
        """Count what nobody has counted."""
        return 0


class Stream(Device):
    """Computes at once, as the CPU does; of an event, too, there is nothing to wait for."""

    def query(self) -> bool:
        """Say that all was computed."""
        return True

    def synchronize(self, *_: Any) -> None:
        """Wait for nothing."""

    wait = wait_event = wait_stream = synchronize

    def record_event(self, event: Event | None = None) -> Event:
        """Have an event happen."""
        event = event or Event()
        event.record()
        return event


class Event(Stream):
    """Happens when it is recorded."""

    def record(self, *_: Any) -> None:
        """Remember when."""
        self._at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Give the milliseconds until another one."""
        return 1000 * (end._at - self._at)


@contextlib.contextmanager
def answered(ask: Callable[[], None]) -> Iterator[None]:
    """Have functions and classes answer that raise without a GPU; `ask` is told of each."""
    import torch

    _register_as_streams()
    every = (
        (torch.cuda, _answers(torch)),
        (torch.cuda.memory, {"memory_stats": _counts, "mem_get_info": (_BYTES, _BYTES)}),
        (torch.cuda.nvtx, dict.fromkeys(("range_push", "range_pop", "mark"))),
        (torch.Tensor, {"record_stream": None}),
        (torch, {"Generator": _generator(torch)}),
    )
    with contextlib.ExitStack() as undo:
        for owner, answers in every:
            for name, answer in answers.items():
                before = getattr(owner, name, None)
                if before is not None:
                    undo.callback(setattr, owner, name, before)
                    setattr(owner, name, _telling(answer, ask))
        yield


def _register_as_streams() -> None:
    """Have older torch take these for streams and events: its compiler asserts that they are."""
    bases = sys.modules.get("torch._streambase")
    for name, own in {"_StreamBase": Stream, "_EventBase": Event}.items():
        base = getattr(bases, name, None)
        if isinstance(base, ABCMeta):
            base.register(own)


def _telling(answer: Any, ask: Callable[[], None]) -> Any:
    if isinstance(answer, type):
        return answer

    def give(*args: Any, **kwargs: Any) -> Any:
        ask()
        return answer(*args, **kwargs) if callable(answer) else answer

    return give


def _counts(*_: Any, **__: Any) -> AllZero:
    return AllZero()


def _answers(torch: Any) -> dict[str, Any]:
    properties = SimpleNamespace(
        name=_NAME,
        total_memory=_BYTES,
        major=_CAPABILITY[0],
        minor=_CAPABILITY[1],
        multi_processor_count=1,
    )
    nothing = (
        *("synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect"),
        *("set_rng_state", "set_rng_state_all", "set_stream", "set_per_process_memory_fraction"),
    )
    return {
        **dict.fromkeys(nothing),
        "current_device": 0,
        "get_device_name": _NAME,
        "get_device_capability": _CAPABILITY,
        "get_device_properties": properties,
        "is_bf16_supported": True,
        "memory_stats": _counts,
        "memory_snapshot": [],
        "memory_summary": "",
        "mem_get_info": (_BYTES, _BYTES),
        "get_rng_state": lambda *_, **__: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "current_stream": Stream,
        "default_stream": Stream,
        "stream": lambda one: one or Stream(),
        "device": Device,
        "Stream": Stream,
        "Event": Event,
    }


def _generator(torch: Any) -> type:
    own = torch.Generator

    class AsGenerator(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, own)

    class Generator(metaclass=AsGenerator):
        """Gives one of the CPU, whatever it is asked for."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return own("meta" if str(device) == "meta" else "cpu")

    # Generators are pickled by this name, also to workers that know nothing of us.
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator
