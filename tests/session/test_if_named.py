"""What is read only where it is named is told from what nothing reads, with what to type."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path

import pytest
import torch

from preflight.render import renderer, terminal
from preflight.session.run import UsageError
from tests.files import put
from tests.session.test_coverage import first_line, part, run, shards
from tests.session.test_key_lists import PARTS

pytestmark = pytest.mark.usefixtures("at_hand")

PIECES = {"a": "model-00001-of-00002.bin", "b": "model-00002-of-00002.bin"}
NUMBERS = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }".ljust(117) + b"\n" + bytes(16)
)
INDEX = json.dumps({"metadata": {}, "weight_map": PIECES})


def zipped(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, PARTS[0][1] if name.endswith(".png") else b"some text")


def test_what_is_read_where_it_is_named_is_told_from_what_nothing_reads(tmp_path: Path) -> None:
    """With one command that names them, and works as it is typed."""
    shards(tmp_path / "data")
    zipped(tmp_path / "datasets/pets.zip", "a.png", "b.png")
    zipped(tmp_path / "datasets/texts.zip", "a.txt", "b.txt")
    put(tmp_path, "tokens/train.bin", content=b"\x01\x02\x03" * 999)
    torch.save({"w": torch.ones(4)}, tmp_path / "tokens" / "model-1.pt")
    (tmp_path / "old weights").mkdir()
    (tmp_path / "tokens/model-1.pt").rename(tmp_path / "old weights/model-00001-of-00001.bin")

    report = run(tmp_path)

    data = part(report, "data")
    assert dict(data.unread) == {".bin": 1, ".zip": 1}
    assert dict(data.if_named) == {".bin": 1, ".zip": 1}
    assert data.if_named_by == "preflight run data=datasets/pets.zip 'cache=old weights'"
    assert "1 .bin and 1 .zip file that no reader reads" in first_line(report)
    assert "1 .bin and 1 .zip file to be named" in first_line(report)
    page = " ".join(terminal.render(report).split())
    assert f"Not named 1 .bin and 1 .zip file are read where named: {data.if_named_by}" in page
    markdown = renderer("markdown")(report).replace("`", "")
    assert f"- 1 .bin and 1 .zip file are read where named: {data.if_named_by}" in markdown
    again = run(tmp_path, *shlex.split(data.if_named_by)[2:])
    assert (again.verdict, part(again, "data").seen) == ("go", "1 archive (2 images)")
    assert part(again, "cache").seen == "1 cache"


def test_pieces_of_a_model_are_named_as_a_checkpoint(tmp_path: Path) -> None:
    """Of which the index says what is missing."""
    shards(tmp_path / "data")
    put(tmp_path, "weights/pytorch_model.bin.index.json", content=INDEX.encode())
    torch.save({"w": torch.ones(4)}, tmp_path / "weights/model-00001-of-00002.bin")

    named_by = part(run(tmp_path), "data").if_named_by

    assert named_by == "preflight run checkpoint=weights"
    assert run(tmp_path, *shlex.split(named_by)[2:]).verdict == "no-go"


def test_a_file_at_the_top_is_named_by_itself(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    torch.save({"w": torch.ones(4)}, tmp_path / "a.bin")

    assert part(run(tmp_path), "data").if_named_by == "preflight run cache=a.bin"
    assert run(tmp_path, "cache=a.bin").verdict == "go"


def test_of_many_files_few_are_opened(tmp_path: Path) -> None:
    zipped(tmp_path / "zips/000.zip", "a.png")
    for number in range(1, 40):
        (tmp_path / f"zips/{number:03}.zip").symlink_to("000.zip")

    put(tmp_path, "a.py")

    around = part(run(tmp_path), "data")

    assert (dict(around.if_named), dict(around.unread)) == ({".zip": 40}, {})


def test_a_folder_of_what_has_to_be_named_says_so(tmp_path: Path) -> None:
    zipped(tmp_path / "sets/zips/pets.zip", "a.png")

    with pytest.raises(UsageError, match=r"; data=sets/zips/pets\.zip would be looked at$"):
        run(tmp_path, "sets")
    assert run(tmp_path, "data=sets/zips/pets.zip").verdict == "go"


def test_what_settings_pass_over_is_no_part_of_the_documents(tmp_path: Path) -> None:
    """They name a source alone; without them, all that lies around is looked at."""
    shards(tmp_path / "data")
    put(tmp_path, "train.py", content=b"import os\n")
    put(tmp_path, "cache/a.npy", "cache/b.npy", content=NUMBERS)
    put(tmp_path, "photos/a.png", "photos/a.txt", content=PARTS[0][1])
    settings = tmp_path / "preflight.toml"
    settings.write_text('[[source]]\npath = "train.py"\n')

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    page = " ".join(terminal.render(report).split())
    assert "not taken for data" not in page
    assert "none named: 4 .tar, 2 .npy and 1 .png file are read where named" in page
    assert dict(part(report, "data").if_named) == {".tar": 4, ".png": 1}
    assert dict(part(report, "cache").if_named) == {".npy": 2}
    hints = [one.hint for one in report.coverage[:2]]
    assert hints == ["preflight run data=data", "preflight run cache=cache"]
    for hint in hints:
        assert run(tmp_path, *shlex.split(hint or "")[2:]).findings == ()
    settings.unlink()
    around = run(tmp_path)
    assert [one.of for one in around.coverage[:2]] == [5, 1]
    assert not any(one.if_named for one in around.coverage)


def test_what_settings_pass_over_of_a_repository_stays_its_own(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import os\n")
    put(tmp_path, "lib/__init__.py", "README.md")
    put(tmp_path, "tests/test_a.py")
    put(tmp_path, "tests/a.npy", "tests/b.npy", content=NUMBERS)
    (tmp_path / "preflight.toml").write_text('[[source]]\npath = "train.py"\n')

    report = run(tmp_path)

    assert not any(one.if_named for one in report.coverage)
    assert "2 cached files and shards of the repository's" in report.reasons[-1]


@pytest.mark.parametrize("suffix", [".txt", ".caption"])
def test_images_without_a_suffix_are_told_whatever_their_size(tmp_path: Path, suffix: str) -> None:
    """Names of hashes have none; a caption beside one says what it would be read as."""
    put(tmp_path, "pets/cat.png", content=PARTS[0][1])
    for name in ("LICENSE", "done", "Makefile"):
        put(tmp_path, f"pets/{name}", content=b"free for all\n")
    put(tmp_path, f"pets/cat{suffix}", content=b"a cat")
    assert part(run(tmp_path, "pets"), "data").if_named == {}

    for name in ("9f86d081", "ab12"):
        put(tmp_path, f"pets/{name}", content=PARTS[0][1])
    put(tmp_path, f"pets/ab12{suffix}", content=b"a dog")
    report = run(tmp_path, "pets")

    data = part(report, "data")
    assert dict(data.if_named) == {"": 2}
    assert "2 suffixless files to be named" in first_line(report)
    (found,) = [one for one in report.findings if one.check == "sample-unpaired"]
    assert found.message == "has its image under another name: ab12, and ab12.png is what is read"
    assert found.fix == "Rename ab12 to ab12.png."
    (tmp_path / "pets/ab12").rename(tmp_path / "pets/ab12.png")
    assert run(tmp_path, "pets").findings == ()
