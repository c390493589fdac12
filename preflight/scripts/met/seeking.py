"""Finds the line that makes a loss or gradients NaN, in a run of the script that is only for it."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from preflight.scripts.watch import Watch
from preflight.training.facts import LOSS, NotFinite
from preflight.training.origins import Origins
from preflight.training.step_numbers import StepNumbers

_CALL = re.compile(r'\s+File "(.+)", line (\d{1,9}), in (.+)')
_FUNCTION = re.compile(r"Function '(\w+?)(?:Backward\d*)?'")


@contextmanager
def seeking(watch: Watch, numbers: StepNumbers) -> Iterator[None]:
    """Have all that the script computes looked at, which takes several times as long."""
    import torch

    if watch.options["seeking"] == LOSS:
        origins = Origins(watch.place)
        numbers.origin_of = origins.of
        with origins.listening():
            yield
    else:
        torch.autograd.set_detect_anomaly(True)
        yield


@contextmanager
def slopes(watch: Watch, numbers: StepNumbers) -> Iterator[None]:
    """Hear of gradients that are NaN: torch says where the value was made of which they are."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except RuntimeError as error:
            by = _FUNCTION.match(str(error))
            for one in said if by is not None else ():
                calls = _CALL.findall(str(one.message))
                trace = [
                    traceback.FrameSummary(file, int(line), name) for file, line, name in calls
                ]
                made = watch.own.frames(trace)[-1:]
                if made and by is not None:
                    numbers.bad_weights = NotFinite(step=numbers.steps + 1, made=made[0], by=by[1])
            raise
