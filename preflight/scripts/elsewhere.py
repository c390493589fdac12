"""Has what a script writes go to the scratch folder, and what it would send nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from preflight.overlay.lay_over import lay_over
from preflight.overlay.layer import Layer
from preflight.scripts.failing import guarded
from preflight.scripts.watch import Watch

# Services that keep a record of a run, and write it to a folder where they are told so. They say at
# home how they are used, unless that is refused; mlflow takes a folder only where it is allowed to.
_OFFLINE = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "WANDB_MODE": "offline",
    "WANDB_ERROR_REPORTING": "false",
    "NEPTUNE_MODE": "offline",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_START_ONLINE": "false",
    "COMET_AUTO_LOG_DISABLE": "true",
    "COMET_ERROR_TRACKING_ENABLE": "false",
    "SWANLAB_MODE": "offline",
}

# What names the folder of such a record: each has one of its own.
_FOLDERS = {
    "WANDB_DIR": "",
    "WANDB_CACHE_DIR": "wandb-cache",  # and what it says of itself
    "WANDB_DATA_DIR": "wandb-data",
    "SWANLAB_LOG_DIR": "swanlab",
    "COMET_OFFLINE_DIRECTORY": "comet",
    "__AIM_REPO_NAME__": "aim",
}


def folder_of(script: Mapping[str, Any]) -> str:
    """Give the folder in which a script lies; that of a module is the current one."""
    path = script["path"]
    return os.path.dirname(os.path.realpath(path)) if path else os.getcwd()


def layer_of(script: Mapping[str, Any], root: str) -> Layer:
    """Give the layer of a script: over its folders, and over what its arguments name."""
    home = folder_of(script)
    values = [one.partition("=")[2] or one for one in script["args"]]
    named = (os.path.abspath(one) for one in values if os.path.isabs(one))
    always = script.get("folders") or (root, os.getcwd(), home, *named)
    return Layer(script.get("layer") or script["scratch"], always=tuple(always))


def lay_over_disk(watch: Watch, script: Mapping[str, Any]) -> None:
    """Have nothing written for real, unless that was asked for, and nothing sent."""
    folder = os.path.join(watch.scratch, "tracked")
    os.makedirs(folder, exist_ok=True)
    os.environ.update(_OFFLINE)
    os.environ.update({name: os.path.join(folder, one) for name, one in _FOLDERS.items()})
    # A folder that is there already would be taken for one that has experiments.
    records = os.path.join(folder, "mlflow")
    os.environ["MLFLOW_TRACKING_URI"] = "file://" + records.replace(os.sep, "/")
    if not watch.options["allow_writes"]:
        watch.layer = layer_of(script, watch.root)
        lay_over(watch.layer, lambda call: guarded(call, watch))
