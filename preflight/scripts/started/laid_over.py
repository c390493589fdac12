"""Runs in a process that a script has spawned for work of its own: it writes where the script does.

A process of a pool, or a worker of a loader, finds what the script has written, and spoils nothing.
"""

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


def begin(told: Mapping[str, Any], begun: Collection[str]) -> None:
    """Lay over the disk what was laid there for the script; nobody watches this process."""
    with open(os.path.join(told["home"], ASKED), encoding="utf-8") as file:
        asked = json.load(file)
    script, options = asked["script"], asked["options"]
    watch = Watch(
        root=told["root"],
        scratch=told["scratch"],
        folder=told["folder"],
        batches=options["batches"],
        epochs=options["epochs"],
        options=options,
    )
    sys.path[:] = told["path"]
    make_room(begun)
    layer = script.get("layer") or told["home"]
    lay_over_disk(watch, {**script, "layer": layer, "folders": told["always"]})
