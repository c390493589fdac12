"""Which files were there at some time, as each process knew that shares the layer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from preflight.overlay import on_disk


class Stood:
    """Lists of files in a folder of ours, by time and process."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def tell(self, when: int, files: Iterable[str]) -> None:
        """Write down what this process knows."""
        on_disk.make_folders(self._folder)
        name = os.path.join(self._folder, f"{when}-{os.getpid()}")
        with on_disk.open_file(name, "w", encoding="utf-8") as file:
            json.dump(sorted(files), file)

    def at(self, when: int) -> set[str] | None:
        """Give what any process knew of that time; None where nobody has told."""
        names = on_disk.listdir(self._folder) if on_disk.is_folder(self._folder) else ()
        told = [one for one in names if one.startswith(f"{when}-")]
        stood: set[str] = set()
        for name in told:
            with on_disk.open_file(os.path.join(self._folder, name), encoding="utf-8") as file:
                stood.update(json.load(file))
        return stood if told else None
