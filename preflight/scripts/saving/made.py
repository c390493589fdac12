"""Runs a script once more whose numbers are none, to find the line that makes them so."""

from __future__ import annotations

import os
from dataclasses import replace

from preflight.kinds.asked import Asked
from preflight.kinds.rooms import facts_of
from preflight.scripts.process import start
from preflight.scripts.read import Heard, follow
from preflight.training.facts import LOSS, WEIGHTS, NotFinite, Steps


def made_by(steps: Steps, asked: Asked) -> Steps:
    """Give the steps of a script with the line that made the first number that is none."""
    loss, weights = steps.loss, steps.weights
    if loss is not None and (weights is None or loss.step <= weights.step):
        found = _found(LOSS, asked)
        return replace(steps, loss=_with(loss, None if found is None else found.loss))
    if weights is not None:
        found = _found(WEIGHTS, asked)
        return replace(steps, weights=_with(weights, None if found is None else found.weights))
    return steps


def _with(one: NotFinite, made: NotFinite | None) -> NotFinite:
    if made is None or made.step != one.step:  # it went otherwise this time
        return one
    return replace(one, made=made.made, by=made.by)


def _found(sought: str, asked: Asked) -> Steps | None:
    scratch = os.path.join(asked.wire["scratch"], "sought")
    os.makedirs(scratch, exist_ok=True)
    wire = {**asked.wire, "scratch": scratch}
    heard = Heard()
    with asked.step(f"look for the line that makes its {sought} no numbers"):
        running = start(wire, {**asked.options, "wants": (), "seeking": sought})
        follow(running, heard, asked._replace(wire=wire))
    seen = map(facts_of, heard.given.values())
    return next((one for one in seen if isinstance(one, Steps)), None)
