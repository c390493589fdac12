"""Makes, in a process that a script has started, the watch of which that process was told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

from preflight.scripts.elsewhere import lay_over_disk
from preflight.scripts.inside import ASKED
from preflight.scripts.surroundings.as_main import make_room
from preflight.scripts.watch import Watch


def watch_of(told: Mapping[str, Any]) -> Watch:
    """Make one as the script has that started this process, with options of its own."""
    options = {**asked_in(told["home"])["options"], **told["options"]}
    return Watch(
        root=told["root"],
        scratch=told["scratch"],
        folder=told["folder"],
        batches=options["batches"],
        epochs=options["epochs"],
        options=options,
    )


def lay_as_told(watch: Watch, told: Mapping[str, Any], begun: Collection[str]) -> None:
    """Lay over the disk what was laid there for the script, before anything of it is imported.

    `begun` are the modules with which this process has begun, as any of Python's does.
    """
    if told["path"] is not None:
        sys.path[:] = told["path"]
    make_room(begun)
    script = asked_in(told["home"])["script"]
    layer = script.get("layer") or told["home"]
    lay_over_disk(watch, {**script, "layer": layer, "folders": told["always"]})


def asked_in(home: str) -> Mapping[str, Any]:
    """Give what the script itself was asked to be."""
    with open(os.path.join(home, ASKED), encoding="utf-8") as file:
        asked: Mapping[str, Any] = json.load(file)
    return asked
