"""webdataset opens no shard of zstd by its name; a job that says how is left alone."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from preflight.formats.packing.zstd import tarfile_unpacks
from tests.archives import epoch, samples, tarred

zstandard = pytest.importorskip("zstandard")

pytestmark = [
    pytest.mark.skipif(tarfile_unpacks(), reason="tarfile reads zstd by itself"),
    pytest.mark.usefixtures("at_hand"),
]


def job(folder: Path, script: str | None = None) -> list[tuple[Severity, str]]:
    content = zstandard.ZstdCompressor().compress(tarred(samples(3, image=b"x" * 700)))
    (folder / "0.tar.zst").write_bytes(content)
    words = ["data=0.tar.zst"]
    if script is not None:
        (folder / "train.py").write_text(script)
        words.append("source=train.py")
    report = preflight.run(*words, folder=str(folder), select=["shard-damaged"])
    return [(one.severity, one.message) for one in report.findings]


def epoch_of(address: str) -> int:
    from webdataset import WebDataset

    return sum(1 for _ in WebDataset(address, shardshuffle=False, empty_check=False))


def test_by_its_name_alone_it_is_a_warning(tmp_path: Path) -> None:
    ((severity, message),) = job(tmp_path)

    assert severity is Severity.WARNING
    assert "webdataset opens none of it by its name" in message
    assert epoch((tmp_path / "0.tar.zst").read_bytes()) == ([], True)


def test_a_source_that_does_not_speak_of_zstd_changes_nothing(tmp_path: Path) -> None:
    script = "import webdataset\ndata = webdataset.WebDataset('0.tar.zst')\n"

    assert len(job(tmp_path, script)) == 1


@pytest.mark.parametrize(
    "script",
    [
        "import webdataset\ndata = webdataset.WebDataset('pipe:zstd -dc 0.tar.zst')\n",
        "import zstandard\n",
        "from compression import zstd\n",
        "import subprocess\nsubprocess.Popen(['unzstd', '-c', '0.tar.zst'])\n",
    ],
)
def test_a_source_that_says_how_leaves_it_alone(tmp_path: Path, script: str) -> None:
    assert job(tmp_path, script) == []


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not here")
def test_the_address_that_is_proposed_works(tmp_path: Path) -> None:
    job(tmp_path)

    assert epoch_of(f"pipe:zstd -dc {shlex.quote(str(tmp_path / '0.tar.zst'))}") == 3
