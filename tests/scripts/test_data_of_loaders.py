"""What the loaders of a script read is looked at whole, and not only what its few batches had."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
import torch
from PIL import Image

import preflight
from preflight.findings.report import Report
from preflight.render.terminal import render
from tests.warming import start_copies

pytestmark = pytest.mark.slow

OF_FILES = """
import glob
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision_like import to_tensor

class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        return to_tensor(Image.open(self.paths[index]).convert("RGB"))

def loader():
    return DataLoader(Photos(sorted(glob.glob("data/*.png"))), batch_size=4)
"""

OF_SHARDS = """
import glob
import webdataset
from torchvision_like import to_tensor

def loader():
    shards = sorted(glob.glob("data/*.tar"))
    set = webdataset.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("jpg")
    return webdataset.WebLoader(set.map_tuple(to_tensor), batch_size=4)
"""

TRAIN = """
import torch
from data import loader

def main():
    model = torch.nn.Linear(192, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for batch in loader():
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")

if __name__ == "__main__":
    main()
"""

TO_TENSOR = """
import torch

def to_tensor(image):
    return torch.tensor(list(image.tobytes()), dtype=torch.float32) / 255
"""

MADE = """
import os
from PIL import Image

if not os.path.isdir("data"):
    os.makedirs("data")
    for number in range(12):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(f"data/{number:02}.png")
"""


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start_copies(monkeypatch)


def lay(folder: Path, data: str, train: str = TRAIN) -> None:
    (folder / "data.py").write_text(data)
    (folder / "train.py").write_text(train)
    (folder / "torchvision_like.py").write_text(TO_TENSOR)


def put_photos(folder: Path) -> Path:
    (folder / "data").mkdir()
    for number in range(12):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / "data" / f"{number:02}.png")
    return folder / "data" / "11.png"


def put_shards(folder: Path) -> Path:
    (folder / "data").mkdir()
    for shard in range(3):
        with tarfile.open(folder / "data" / f"{shard}.tar", "w") as tar:
            for number in range(8):
                body = io.BytesIO()
                Image.new("RGB", (8, 8), (number, 0, 0)).save(body, "JPEG")
                member = tarfile.TarInfo(f"{shard}{number:04}.jpg")
                member.size = len(body.getvalue())
                tar.addfile(member, io.BytesIO(body.getvalue()))
    return folder / "data" / "2.tar"


def look(folder: Path, *words: str) -> Report:
    return preflight.run(*words, "train.py", folder=str(folder))


def errors(report: Report) -> list[tuple[str, str | None]]:
    return [(one.check, one.at.file) for one in report.findings if one.severity.name == "ERROR"]


def first_line(report: Report) -> str:
    return " ".join(render(report).partition("\n\n")[0].split())


def test_files_of_a_loader_that_is_made_anew_in_each_epoch_are_counted_once(tmp_path: Path) -> None:
    lay(tmp_path, OF_FILES)
    put_photos(tmp_path)

    report = look(tmp_path)

    assert errors(report) == []
    assert first_line(report).startswith("GO for 12 images, 1 loader and 1 script")


def test_an_image_that_no_batch_of_the_rehearsal_had_is_told(tmp_path: Path) -> None:
    """Once, also where the folder is named beside the script."""
    lay(tmp_path, OF_FILES)
    last = put_photos(tmp_path)
    last.write_bytes(last.read_bytes()[:50])

    assert errors(look(tmp_path)) == [("image-damaged", "data/11.png")]
    assert errors(look(tmp_path, "data=data")) == [("image-damaged", "data/11.png")]


@pytest.mark.parametrize("left", [50, 5])
def test_an_image_that_stops_the_script_is_told_once(left: int, tmp_path: Path) -> None:
    """What Pillow raises of it stops the rehearsal: to mend is the image, and no line."""
    lay(tmp_path, OF_FILES)
    first = put_photos(tmp_path).with_name("00.png")
    first.write_bytes(first.read_bytes()[:left])

    assert errors(look(tmp_path)) == [("image-damaged", "data/00.png")]


def test_an_image_that_is_in_no_list_is_told_where_it_stops_the_script(tmp_path: Path) -> None:
    hidden = OF_FILES.replace(
        "Image.open(self", "Image.open(open('mask.png', 'rb')) and Image.open(self"
    )
    lay(tmp_path, hidden)
    put_photos(tmp_path)
    (tmp_path / "mask.png").write_bytes(b"no image")

    assert errors(look(tmp_path)) == [("script-stopped", "data.py")]


def test_shards_of_a_loader_are_read_to_their_end(tmp_path: Path) -> None:
    pytest.importorskip("webdataset")
    lay(tmp_path, OF_SHARDS)
    last = put_shards(tmp_path)
    whole = look(tmp_path)
    last.write_bytes(last.read_bytes()[:3_000])

    assert errors(whole) == []
    assert first_line(whole).startswith("GO for 3 shards (24 samples), 1 loader")
    assert ("shard-damaged", "data/2.tar") in errors(look(tmp_path))


OF_LATENTS = """
import glob
import torch
from torch.utils.data import DataLoader, Dataset

class Latents(Dataset):
    def __init__(self, paths):
        self.paths = paths
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        return torch.load(self.paths[index])

def loader():
    return DataLoader(Latents(sorted(glob.glob("latents/*.pt"))), batch_size=4)
"""


def put_latents(folder: Path) -> Path:
    (folder / "latents").mkdir()
    for number in range(12):
        torch.save(torch.zeros(192), folder / "latents" / f"{number:02}.pt")
    return folder / "latents" / "11.pt"


@pytest.mark.parametrize("words", [("train.py",), ("data:loader",), ("latents/", "train.py")])
def test_cached_files_of_a_loader_are_read_as_those_of_a_cache(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Once, also where their folder is named."""
    lay(tmp_path, OF_LATENTS)
    last = put_latents(tmp_path)
    whole = preflight.run(*words, folder=str(tmp_path))
    last.write_bytes(last.read_bytes()[:700])
    cut = preflight.run(*words, folder=str(tmp_path))

    assert errors(whole) == []
    assert ("12 cached files" in first_line(whole)) == (words[0] != "latents/")
    assert ("cache-damaged", "latents/11.pt") in errors(cut)
    assert [one for one, _ in errors(cut)].count("cache-damaged") == 1


def test_raw_numbers_that_a_loader_lists_are_no_cached_file(tmp_path: Path) -> None:
    """Tokens as nanoGPT writes them have no format: they are said not to be read."""
    lay(
        tmp_path,
        OF_LATENTS.replace("latents/*.pt", "tokens/*.bin").replace("torch.load", "open_raw"),
    )
    text = (tmp_path / "data.py").read_text()
    raw = (
        "def open_raw(path):\n    return torch.from_file(path, size=192, dtype=torch.uint8) / 255\n"
    )
    (tmp_path / "data.py").write_text(text + raw)
    (tmp_path / "tokens").mkdir()
    for number in range(4):
        (tmp_path / "tokens" / f"{number}.bin").write_bytes(bytes(range(1, 193)))

    report = look(tmp_path)

    assert errors(report) == []
    assert "lists it, and .bin of a loader is not read" in " ".join(render(report).split())


BY_RANKS = """
import torch
import train

if __name__ == "__main__":
    torch.multiprocessing.spawn(train.of_rank, nprocs=2)
"""


def test_what_each_rank_of_a_script_reads_is_counted_once(tmp_path: Path) -> None:
    lay(tmp_path, OF_LATENTS, TRAIN + "\ndef of_rank(rank):\n    main()\n")
    put_latents(tmp_path)
    (tmp_path / "ranks.py").write_text(BY_RANKS)

    report = preflight.run("ranks.py", folder=str(tmp_path))

    assert errors(report) == []
    assert first_line(report).startswith("GO for 12 cached files, 1 loader and 1 script")


@pytest.mark.skipif(not os.path.isfile("/proc/self/mem"), reason="Linux has a file without pages")
def test_a_cached_file_that_cannot_be_read_is_not_counted_as_looked_at(tmp_path: Path) -> None:
    lay(tmp_path, OF_LATENTS)
    last = put_latents(tmp_path)
    last.unlink()
    last.symlink_to("/proc/self/mem")

    report = preflight.run("data:loader", folder=str(tmp_path))

    (data,) = (one.seen for one in report.coverage if one.part == "data")
    assert data == "11 cached files"
    assert not report.complete


def test_what_was_among_temporary_files_and_is_gone_is_no_missing_file(tmp_path: Path) -> None:
    """As of a script that lays its data where it removes them at its end."""
    kept = "with tempfile.TemporaryDirectory() as place:\n        put(place)\n"
    train = TRAIN.replace(
        "    model =", "    " + kept + "        run(place)\n\ndef run(place):\n    model =", 1
    )
    made = (
        "import tempfile\nfrom PIL import Image\n\ndef put(place):\n    for number in range(12):\n"
        "        Image.new('RGB', (8, 8), (number, 0, 0)).save(f'{place}/{number:02}.png')\n"
    )
    data = OF_FILES.replace("def loader():", "def loader(place):").replace('"data/*', 'f"{place}/*')
    lay(tmp_path, data, made + train.replace("loader()", "loader(place)"))

    report = look(tmp_path)

    assert errors(report) == []
    assert "12 files were not looked at: loader (train.py:" in " ".join(render(report).split())


def test_what_a_script_makes_itself_is_said_to_be_passed_over(tmp_path: Path) -> None:
    """It lies in no folder of the job: nothing is missing, and nothing of it was looked at."""
    lay(tmp_path, OF_FILES, MADE + TRAIN)

    report = look(tmp_path)

    assert not (tmp_path / "data").exists()
    assert errors(report) == []
    said = " ".join(render(report).split())
    assert "12 files were not looked at: loader (train.py:" in said
    assert "lists it, and the script itself makes it" in said
