"""Readers of files that take long show life all the while, where they go round themselves."""

from __future__ import annotations

import contextlib
import importlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from preflight.kinds.asked import Asked
from tests.archives import tarred
from tests.contents import saved

NAMES = [f"{number:06}.jpg" for number in range(8_000)]


def key_names(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """Look for a key in a shard that is not packed, of many members."""
    path = folder / "x.tar"
    path.write_bytes(tarred(dict.fromkeys(NAMES, b"x")))
    return "preflight.datasets.key_names:look", {"path": str(path), "hashes": ["1"]}


def table(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """Read a table of few lines, each of them long."""
    row = {"file_name": "a.jpg", "text": "a dog", "embedding": [0.5] * 20_000}
    (folder / "metadata.jsonl").write_text((json.dumps(row) + "\n") * 40)
    return "preflight.pairing.tables:look", {"path": "metadata.jsonl"}


def names_in(name: str, text: str) -> Callable[[Path], tuple[str, Mapping[str, Any]]]:
    def make(folder: Path) -> tuple[str, Mapping[str, Any]]:
        (folder / name).write_text(text)
        reader = "preflight.datasets.named_in_lists:look"
        return reader, {"paths": [str(folder / name)], "folders": [str(folder)]}

    return make


def outline(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """Look at the structure alone of an archive of many records."""
    (folder / "a.pt").write_bytes(saved({f"{number:x}": number for number in range(20_000)}))
    return "preflight.cached_files.read:look", {"folder": str(folder), "names": ["a.pt"]}


def labels(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """Read an archive of which the labels are most."""
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("dataset.json", json.dumps({"labels": [[one, 3] for one in NAMES]}))
    return "preflight.zips.read:look", {"path": "x.zip"}


CASES: dict[str, Callable[[Path], tuple[str, Mapping[str, Any]]]] = {
    "keys in a shard": key_names,
    "a table of long lines": table,
    "a list of names": names_in("list.txt", "\n".join(NAMES)),
    "a list in JSON": names_in("list.json", json.dumps([{"file": one} for one in NAMES])),
    "the outline of an archive": outline,
    "the labels of an archive": labels,
}


@pytest.mark.parametrize("case", CASES)
def test_life_is_shown_all_the_while(tmp_path: Path, case: str) -> None:
    reader, wire = CASES[case](tmp_path)
    module, _, name = reader.partition(":")
    told: list[object] = []
    asked = Asked(
        wire=wire,
        options={"root": str(tmp_path), "depth": "index"},
        alive=lambda *_: told.append(1),
        step=lambda _: contextlib.nullcontext(),
        opening=lambda _: None,
        some=lambda *_: None,
        memory=1 << 32,
    )

    assert list(getattr(importlib.import_module(module), name)(asked)) or "list" in case
    assert len(told) >= 6
