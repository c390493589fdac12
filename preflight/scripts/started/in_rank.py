"""Runs in a process that a script has spawned, before anything of the script: it is watched."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Collection, Mapping
from typing import Any

from preflight.scripts.cpu_instead import stand_in, wants_cpu
from preflight.scripts.failing import tell_failure
from preflight.scripts.inside import listen
from preflight.scripts.saving.log import log_of
from preflight.scripts.started.rank_starts import starts_of
from preflight.scripts.started.told_of import lay_as_told, watch_of
from preflight.scripts.watch import Watch
from preflight.values.own_files import passes_on


def begin(told: Mapping[str, Any], begun: Collection[str]) -> None:
    """Watch this process as that one was which has spawned it.

    `begun` are the modules with which it has begun, as any does that is spawned.
    """
    watch = watch_of(told)
    try:
        _begin(watch, told, begun)
    except Exception as error:
        tell_failure(error, watch)
        raise


@passes_on
def _begin(watch: Watch, told: Mapping[str, Any], begun: Collection[str]) -> None:
    lay_as_told(watch, told, begun)
    listen(watch, told["home"])
    starts = starts_of(watch)
    starts.home, starts.is_to_begin = told["home"], True
    log_of(watch).has_way = told["has_way"]
    around = contextlib.ExitStack()
    if wants_cpu(watch.options):
        stand_in(watch, around)
    if watch.options.get("seeking"):
        steps = importlib.import_module("preflight.scripts.met.steps")
        around.enter_context(steps.sought(watch))
    watch.on_stop.append(around.close)
