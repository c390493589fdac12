"""Runs in a process that a script has started for work of its own: it writes where the script does.

A process of a pool, a worker of a loader, or another script that it runs finds what the script has
written, and spoils nothing. Nobody watches it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from typing import Any

from preflight.scripts.started.told_of import lay_as_told, watch_of
from preflight.scripts.surroundings.as_main import main_module
from preflight.scripts.without_our_lines import leave_us_out


def begin(told: Mapping[str, Any], begun: Collection[str]) -> None:
    """Lay over the disk what was laid there for the script."""
    lay_as_told(watch_of(told), told, begun)


def main(begun: Collection[str]) -> None:
    """Do so, and run what Python was to run, as it would."""
    told = json.loads(sys.argv.pop(1))
    begin(told, begun)
    try:
        main_module({**told["runs"], "args": sys.argv[1:]}, begun)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  whatever it raises
        leave_us_out(error)
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None
