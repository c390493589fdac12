"""Reads what the processes of a run have counted, also while they run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from preflight.flow.answers import lines_of, read_answers
from preflight.flow.counting import MOST

LATER, STAGES = "later", "stages.json"
"""The folder of pipelines that are made while others run, and what is told of each."""


def read(about: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Put together what all processes have counted by now; also while a loader was made."""
    home = about["folder"]
    inner = [one for folder in (home, *about["made_in"]) for one in _later(folder)]
    own = read_answers(home) if about.get("asks") else _read(home, len(about["stages"]))
    return {**own, "later": inner}


def _read(folder: str, stages: int) -> dict[str, list[Any]]:
    gave, swallowed = [0] * stages, [0] * stages
    reasons: dict[tuple[object, ...], dict[str, Any]] = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".counts"):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            whole = file.read()
        slots = memoryview(whole[: len(whole) // 8 * 8]).cast("Q")
        if len(slots) < 2 * stages + 2 * MOST:
            continue
        for stage in range(stages):
            gave[stage] += slots[stage]
            swallowed[stage] += slots[stages + stage]
        told = f"{path}.reasons"
        for one in lines_of(told) if os.path.exists(told) else ():
            slot = one.pop("slot")
            key = tuple(one[name] for name in ("stage", "by", "caught", "file", "line", "goes_on"))
            key += (str(one["error"]).partition(":")[0],)
            known = reasons.setdefault(key, {**one, "times": 0, "varies": False})
            known["times"] += slots[slot]
            known["varies"] |= bool(slots[slot + 1]) or known["error"] != one["error"]
    return {"gave": gave, "swallowed": swallowed, "reasons": [*reasons.values()]}


def _later(folder: str) -> list[dict[str, Any]]:
    """Read what pipelines count that were made by then; the innermost first, which begin last."""
    found = []
    home = os.path.join(folder, LATER)
    for name in os.listdir(home) if os.path.isdir(home) else ():
        try:
            with open(os.path.join(home, name, STAGES), encoding="utf-8") as file:
                told = json.load(file)
        except OSError:  # it is being made
            continue
        found.append({**told, **_read(os.path.join(home, name), len(told["stages"]))})
    return sorted(found, key=lambda one: -one["since"])
