"""Has the ranks of one machine start again together: rank 0 says with which words, or that not.

They speak by files in the layer that is theirs in common, behind the end of the first run of each.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from preflight.resuming.starts import Start

_POLL = 0.05


class Again(NamedTuple):
    """How ranks are started again."""

    words: list[str]
    port: int
    """Of a store of their own: that of the launch still holds what they told there before."""

    environ: dict[str, str]
    """Variables by which the script is told to go on."""

    says_so: bool
    """Whether these words and variables say that it does."""

    place: int = 0
    """Where these words stand, if they are given in place of another."""

    @property
    def launch(self) -> dict[str, str]:
        """Give the variables by which they find each other."""
        return {"MASTER_PORT": str(self.port), "TORCHELASTIC_USE_AGENT_STORE": "False"}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        port: int = one.getsockname()[1]
        return port


class Ranks:
    """All ranks of a launch, as one of them sees them."""

    def __init__(self, wire: Mapping[str, Any], patience: float, alive: Callable[[], None]) -> None:
        self.number: int = wire["rank"]
        self._size: int = wire["ranks"]
        script = zlib.crc32(json.dumps([wire["path"], wire["module"], wire["args"]]).encode())
        self._folder = os.path.join(wire["layer"], f"ranks-{script}")
        self._patience = patience
        self._alive = alive

    def ended(self, *, whole: bool) -> None:
        """Say that the first run of this one has ended, and whether it could be one to go on."""
        self._write(f"ended-{self.number}", whole)

    def all_ended_whole(self) -> bool:
        """Wait for the others, and say whether all have come, and could go on."""
        told = [self._read(f"ended-{one}") for one in range(1, self._size)]
        return all(told)

    def say(self, start: Start | None) -> Again | None:
        """As rank 0, say how they are started again; None: they are not."""
        again = start and Again(
            [*start.words], _free_port(), {**start.environ}, start.says_so, start.place
        )
        self._write("again", again)
        return again

    def hear(self) -> Again | None:
        """As another one, hear it."""
        told = self._read("again")
        return None if told is None else Again(*told)

    def _write(self, name: str, value: object) -> None:
        path = os.path.join(self._folder, name)
        os.makedirs(self._folder, exist_ok=True)
        with open(f"{path}.{self.number}", "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(f"{path}.{self.number}", path)

    def _read(self, name: str) -> Any:
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            with (
                contextlib.suppress(FileNotFoundError),
                open(os.path.join(self._folder, name), encoding="utf-8") as file,
            ):
                return json.load(file)
            self._alive()
            time.sleep(_POLL)
        return None
