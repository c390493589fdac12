"""Classes of a user that do something odd where they arrive, or on the way."""

from __future__ import annotations

import multiprocessing.reduction
import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy
import torch


class Noisy:
    """Loads with prints, warnings, signals, a thread and a pause, and loads all the same."""

    def __setstate__(self, state: object) -> None:
        assert torch.utils.data.get_worker_info() is None
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # works in the main thread only
        os.chdir(os.path.dirname(__file__))
        print("loading")
        print("loading", file=sys.stderr)
        os.write(1, b"from below\n")
        warnings.warn("slow", stacklevel=1)
        threading.Thread(target=time.sleep, args=(0.5,)).start()
        sys.setrecursionlimit(5_000)
        time.sleep(0.3)

    def __getstate__(self) -> Any:
        return {"anything": 1}


class Catches:
    """Tries what fails where it arrives, and goes on."""

    def __getstate__(self) -> Any:
        return {"path": "/nowhere/at/all"}

    def __setstate__(self, state: dict[str, str]) -> None:
        try:
            open(state["path"], "rb").close()
        except OSError:
            self.missing = True


class FromEnvironment:
    """Reads a variable where it arrives, which the factory has set for good."""

    def __init__(self) -> None:
        os.environ["LOADER_CASES_STAGE"] = "train"

    def __getstate__(self) -> Any:
        return {"stage": "LOADER_CASES_STAGE"}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.stage = os.environ[state["stage"]]


class MakesTensors:
    """Gives its state as tensors that are made for the purpose, and not kept."""

    def __getstate__(self) -> Any:
        return {"numbers": torch.arange(3)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.numbers = state["numbers"].tolist()


class CountsAgain:
    """Looks, where it arrives, at the numbers that were sent."""

    def __init__(self, size: int) -> None:
        self.index = torch.arange(size)
        self.sizes = numpy.arange(size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        assert int(state["index"][-1]) == int(state["sizes"][-1]) > 0, "numbers were lost"
        self.__dict__.update(state)


class SharesDescriptor:
    """Hands an open descriptor to the worker, as multiprocessing's own objects do."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> Any:
        return _take_over, (multiprocessing.reduction.DupFd(self.descriptor),)


def _take_over(duplicate: Any) -> SharesDescriptor:
    descriptor = duplicate.detach()
    os.fstat(descriptor)
    return SharesDescriptor(descriptor)


class OnlyWhileStarting:
    """May be pickled only while a process starts, as multiprocessing's own locks."""

    def __getstate__(self) -> Any:
        multiprocessing.context.assert_spawning(self)
        return {"a": 1}
