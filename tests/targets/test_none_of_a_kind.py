"""A file that is none of a kind's is refused, or not looked at: never damage, and never a GO."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import preflight
from preflight.session.run import UsageError
from preflight.targets.targets import BUILT
from preflight.targets.words.patterns import words
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

ODD = {
    "settings.json": b'{"a": 1}',
    "train.bin": b"\x01\x02" * 700,
    "table.csv": b"a,b\n1,2\n",
    "README.md": b"# hi\n",
    "notes.txt": b"",
    "empty": b"",
    "run.yaml": b"a: 1\n",
    "rows.parquet": b"PAR1" + bytes(50) + b"PAR1",
    "clip.mp4": b"\0\0\0\x18ftypmp42" + bytes(100),
    "all.zip": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("kind", ["", *sorted(words())])
def test_what_is_none_of_a_kind_is_neither_damaged_nor_a_go(tmp_path: Path, kind: str) -> None:
    """By itself, and as all that a folder holds."""
    assert set(words()) >= {"data", "cache", "checkpoint", "source", "host", *filter(None, BUILT)}
    names = ["settings.json", "empty"] if kind == "host" else list(ODD)  # each starts a process
    for name, place in itertools.product(names, ("{}", "in-{}/{}")):
        path = place.format(name, name)
        put(tmp_path, path, content=ODD[name])
        word = f"{kind}={path.partition('/')[0]}".removeprefix("=")
        try:
            report = preflight.run(word, folder=str(tmp_path), elsewhere=True, no_ledger=True)
        except UsageError:
            continue
        assert (report.verdict, report.findings) == ("cannot-judge", ()), word
