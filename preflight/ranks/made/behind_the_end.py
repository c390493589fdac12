"""Asks a data set for a place behind its end, where the sampler of a rank gives one."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from preflight.objects.random_state import kept_random_state
from preflight.values.own_files import passes_on


@passes_on
def ask_behind_the_end(dataset: Any, places: Iterable[Any], length: int | None) -> None:
    """Draw the first sample behind the end, as the loop of that rank will.

    Most data sets raise there. Some count round, or have more than they say, so that only asking
    tells.

    Raises:
        Exception: what the user's code raises.
    """
    if length is None:
        return
    whole = (one for one in places if isinstance(one, numbers.Integral))
    past = next((one for one in whole if int(one) >= length), None)
    if past is None:
        return
    at_once = getattr(dataset, "__getitems__", None)
    with kept_random_state():
        _ = dataset[past] if at_once is None else at_once([past])
