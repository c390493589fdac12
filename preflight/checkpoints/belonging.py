"""Says what a single checkpoint lacks, by what else is in it: one state belongs to another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from preflight.cached_files.cache_listing import is_left_over
from preflight.targets.folders import CHECKPOINT

MODEL = "its model"
"""How a model is called of which nobody knows in what file it was."""

# What accelerate and transformers write beside a model, and nothing else.
_STATES = re.compile(
    r"optim\w*\.(?:bin|pt)|\w*scheduler(?:_\d+)?\.(?:bin|pt)|scaler\.pt|sampler(?:_\d+)?\.bin"
    r"|dl_state_dict(?:_\d+)?\.bin|rng_state(?:_\d+)?\.pth|random_states_\d+\.pkl"
    r"|training_args\.bin|.*\.(?:json|log|txt|md|ya?ml)"
)
_SCHEDULER = re.compile(r"scheduler(?:_\d+)?(\.(?:bin|pt))")
_RANK_STATE = re.compile(r"rng_state(?:_\d+)?\.pth")
_RANDOM = re.compile(r"random_states_\d+\.pkl")

# What they load first, and stop where there is no model to it.
_OPTIMIZER = re.compile(r"optimizer(?:_\d+)?\.(?:bin|pt)")
_OF_ACCELERATE = re.compile(r"(?:model|pytorch_model)(?:_\d+)?\.(?:safetensors|bin)")


def lacking_by_itself(folder: str) -> tuple[str, ...]:
    """Name what is not there of a checkpoint of accelerate or transformers, by its own files.

    A scheduler is nobody's without its optimizer, nor is either without a model. accelerate writes
    the states of random numbers last, into `checkpoints/checkpoint_3`, and transformers
    `trainer_state.json`; who has `training_args.bin` beside other states is transformers. Of a
    model alone, or of one with an optimizer and no scheduler, nobody can say that there was more:
    a job may have none, and what is to be loaded from is often reduced to it.
    """
    home, name = os.path.split(os.path.abspath(folder))
    if CHECKPOINT.fullmatch(name) is None:
        return ()
    here = [one for one in os.listdir(folder) if not is_left_over(one)]
    every = [one for one in _files_in(folder) if not is_left_over(os.path.basename(one))]
    has_optimizer = any("optim" in one.lower() for one in every)
    scheduler = next(filter(None, map(_SCHEDULER.fullmatch, sorted(here))), None)
    lacks = []
    is_state = scheduler is not None or any(map(_OPTIMIZER.fullmatch, here))
    if is_state and all(_STATES.fullmatch(os.path.basename(one)) for one in every):
        lacks.append(MODEL)
    if scheduler is not None and not has_optimizer:
        lacks.append(f"optimizer{scheduler[1]}")
    if scheduler is None and {"optimizer.pt", "trainer_state.json"}.issubset(here):
        lacks.append("scheduler.pt")  # transformers loads both, or neither
    has_rank_state = any(map(_RANK_STATE.fullmatch, here))
    if has_rank_state and "trainer_state.json" in here and not (has_optimizer or scheduler):
        lacks += ["optimizer.pt", "scheduler.pt"]  # written before it, by the same option
    if has_rank_state or "optimizer.pt" in here:
        lacks += {"trainer_state.json"}.difference(here) if "training_args.bin" in here else []
    is_accelerates = os.path.basename(home) == "checkpoints" and name.startswith("checkpoint_")
    if is_accelerates and not any(map(_RANDOM.fullmatch, here)):
        is_model = any(map(_OF_ACCELERATE.fullmatch, here))
        lacks += ["optimizer.bin"] if is_model and not has_optimizer and scheduler is None else []
        begun = is_model or any(map(_OPTIMIZER.fullmatch, here))
        lacks += ["random_states_0.pkl"] if begun else []
    return tuple(lacks)


def is_weights_only(folder: str) -> bool:
    """Whether transformers was told to save no more than the model (`save_only_model`)."""
    if CHECKPOINT.fullmatch(os.path.basename(os.path.abspath(folder))) is None:
        return False
    every = {os.path.basename(one) for one in _files_in(folder) if not is_left_over(one)}
    states = (_RANK_STATE.fullmatch, _SCHEDULER.fullmatch, re.compile("(?i).*optim.*").match)
    is_state = any(state(one) for one in every for state in states)
    return {"trainer_state.json", "training_args.bin"} <= every and not is_state


def _files_in(folder: str) -> Iterator[str]:
    for place, _, files in os.walk(folder):
        yield from (os.path.relpath(os.path.join(place, one), folder) for one in files)
