"""What a file holds is one whole version, or a database to which each writer has added."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from preflight.storage.whole_version import Judge, TornError


def add(path: Path, *keys: str) -> str:
    """Write rows as a cache in one database does."""
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("create table if not exists cache (key text primary key, value blob)")
        for key in keys:
            base.execute("insert or replace into cache values (?, ?)", (key, bytes(9_000)))
    return str(path)


def test_a_database_is_whole_whoever_has_written_to_it(tmp_path: Path) -> None:
    """And whatever its name; torn where a part of it is not there."""
    judge = Judge(add(tmp_path / f"{one}.pt", one) for one in ("a", "b"))
    both = add(tmp_path / "both.pt", "a", "b", "c")

    assert judge.name == "sqlite3"
    judge.look(both)
    with pytest.raises(FileNotFoundError):
        judge.look(str(tmp_path / "none.pt"))
    with open(both, "r+b") as file:
        file.truncate(8_192)
    with pytest.raises(TornError):
        judge.look(both)
