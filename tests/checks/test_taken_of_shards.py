"""What a loader leaves out, or reads in its own way, is not judged as if webdataset read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from tests.archives import tarred
from tests.pipelines.shards_to_lose import PNG, good

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = """
import io
import webdataset as wds
from PIL import Image


def plain(name):
    return not name.endswith((".seg.png", ".txt"))


def whole(sample):
    try:
        Image.open(io.BytesIO(sample["seg.png"])).load()
    except OSError:
        return False
    return True


def text(content):
    return content.decode("latin-1")


def make():
    return wds.WebDataset("{{000..001}}.tar", shardshuffle=False{}
"""

TEXTS = {
    "read by a function of the job": (
        ').decode("pil", only="jpg").map_dict(txt=text).to_tuple("jpg", "txt")',
        None,
    ),
    "taken as bytes": (').decode("pil", only="jpg").to_tuple("jpg", "txt")', Severity.WARNING),
    "left": (').decode("pil", only="jpg").to_tuple("jpg")', None),
    "left out as a file": (
        ', select_files=plain).decode("pil").to_tuple("jpg")',
        Severity.WARNING,
    ),
}

IMAGES = {
    "left": (').decode("pil", only=["jpg", "txt"]).to_tuple("jpg", "txt")', None),
    "left out as a file": (
        ', select_files=plain).decode("pil").to_tuple("jpg")',
        Severity.WARNING,
    ),
    "taken out with its sample": (
        ').select(whole).decode("pil").to_tuple("jpg", "seg.png")',
        Severity.WARNING,
    ),
}

RAISING = {
    "decoded": ').decode("pil").to_tuple("jpg", "seg.png", "txt")',
    "decoded and left": ').decode("pil").to_tuple("jpg")',
}


def job(folder: Path, made: str, *, text: bytes = b"a dog", image: bytes = PNG) -> None:
    for number in range(2):
        files = dict(good(6, 6 * number))
        keys = [name[:-4] for name in files if name.endswith(".jpg")]
        files |= {f"{key}.seg.png": PNG for key in keys}
        files |= {f"{keys[2]}.seg.png": image, f"{keys[3]}.txt": text}
        content = tarred(sorted(files.items()))
        (folder / f"{number:03}.tar").write_bytes(content)
    (folder / "train.py").write_text(TRAIN.format(made))


def really_ends(folder: Path) -> bool:
    code = "import train\nfor sample in train.make(): pass"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=False)
    return ran.returncode == 0


def worst(folder: Path, check: str, *words: str) -> Severity | None:
    report = preflight.run(*words, "train:make", folder=str(folder), elsewhere=True)
    return max((one.severity for one in report.findings if one.check == check), default=None)


@pytest.mark.parametrize("words", [(), ("data=.",)])
@pytest.mark.parametrize(("made", "told"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_no_utf_8_is_judged_by_who_reads_it(
    tmp_path: Path, made: str, told: Severity | None, words: tuple[str, ...]
) -> None:
    job(tmp_path, made, text="café".encode("latin-1"))

    assert really_ends(tmp_path)
    assert worst(tmp_path, "caption-damaged", *words) == told


@pytest.mark.parametrize(("made", "told"), IMAGES.values(), ids=IMAGES)
def test_an_image_that_is_cut_is_judged_by_who_takes_it(
    tmp_path: Path, made: str, told: Severity | None
) -> None:
    job(tmp_path, made, image=PNG[: len(PNG) // 2])

    assert really_ends(tmp_path)
    assert worst(tmp_path, "image-damaged") == told


@pytest.mark.parametrize("made", RAISING.values(), ids=RAISING)
def test_what_decode_reads_is_an_error(tmp_path: Path, made: str) -> None:
    job(tmp_path, made, text="café".encode("latin-1"), image=PNG[: len(PNG) // 2])

    assert not really_ends(tmp_path)
    assert worst(tmp_path, "caption-damaged") is Severity.ERROR
    assert worst(tmp_path, "image-damaged") is Severity.ERROR


@pytest.mark.parametrize("made", ["read by a function of the job", "taken as bytes"])
def test_where_no_epoch_was_run_a_text_that_is_no_utf_8_stays_an_error(
    tmp_path: Path, made: str
) -> None:
    job(tmp_path, TEXTS[made][0], text="café".encode("latin-1"))
    options = {"folder": str(tmp_path), "select": ["caption-damaged", "loader-unpicklable"]}

    (found,) = {
        (one.severity, one.why) for one in preflight.run("data=.", "train:make", **options).findings
    }

    assert found[0] is Severity.ERROR
    assert "takes its bytes" in (found[1] or "")
