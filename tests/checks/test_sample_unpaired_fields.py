"""sample-unpaired tells shards that lack a field which most samples of their data set have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import preflight
from tests.archives import photo, tarred
from tests.files import put

JSON = b'{"width": 7}'

BOTH = {"jpg": photo(), "txt": b"a dog", "json": JSON}
WITHOUT = {"jpg": photo(), "txt": b"a dog"}


def shards(folder: Path, each: Iterable[dict[str, bytes]]) -> None:
    for number, fields in enumerate(each):
        keys = [f"{number}-{sample}" for sample in range(5)]
        files = {f"{key}.{name}": what for key in keys for name, what in fields.items()}
        put(folder, f"{number:03}.tar", content=tarred(files))


def told(folder: Path, *words: str) -> list[tuple[str | None, str, str]]:
    report = preflight.run("*.tar", *words, folder=str(folder), no_ledger=True)
    findings = [one for one in report.findings if one.check == "sample-unpaired"]
    return [(one.at.file, one.severity.name, one.message) for one in findings]


@pytest.mark.parametrize("field", ["json", "npz", "clip.npy", "seg.pyd"])
def test_one_shard_of_four_without_a_field_is_told(tmp_path: Path, field: str) -> None:
    shards(tmp_path, [WITHOUT, *[WITHOUT | {field: JSON}] * 3])

    assert told(tmp_path) == [("000.tar", "WARNING", f"has no .{field} in 5 samples")]


HEALTHY = {
    "all have it": [BOTH] * 4,
    "none has it": [WITHOUT] * 4,
    "half have it": [BOTH, BOTH, WITHOUT, WITHOUT],
    "one alone has it": [BOTH, WITHOUT, WITHOUT, WITHOUT],
    "another image": [BOTH | {"mask.png": photo("PNG")}] * 3 + [BOTH],
    "one shard": [WITHOUT],
}


@pytest.mark.parametrize("each", HEALTHY.values(), ids=HEALTHY)
def test_what_is_not_of_most_samples_is_left_alone(
    tmp_path: Path, each: list[dict[str, bytes]]
) -> None:
    shards(tmp_path, each)

    assert told(tmp_path) == []


def test_a_loader_says_itself_what_it_asks_for(tmp_path: Path) -> None:
    shards(tmp_path, [WITHOUT, *[BOTH] * 3])
    text = (
        "import webdataset\n"
        "def make():\n"
        f"    shards = {str(tmp_path / '{000..003}.tar')!r}\n"
        '    data = webdataset.WebDataset(shards, shardshuffle=False).to_tuple("jpg", "txt")\n'
        "    return webdataset.WebLoader(data, batch_size=None)\n"
    )
    (tmp_path / "job.py").write_text(text, "utf-8")

    assert told(tmp_path, "job:make") == []
