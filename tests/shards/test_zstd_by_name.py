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


def job(
    folder: Path,
    script: str | None = None,
    *,
    word: str = "source=train.py",
    shard: str = "0.tar.zst",
) -> list[tuple[Severity, str]]:
    content = zstandard.ZstdCompressor().compress(tarred(samples(3, image=b"x" * 700)))
    (folder / shard).write_bytes(content)
    words = [f"data={shard}"]
    if script is not None:
        (folder / "train.py").write_text(script)
        words.append(word)
    select = ["shard-damaged"] + ["loader-unpicklable"] * word.startswith("loader=")
    report = preflight.run(*words, folder=str(folder), select=select)
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
        "import webdataset\ndata = webdataset.WebDataset(f'pipe:cat {n} | zstd -T4 -cd')\n",
        "URL = 'pipe:pzstd --decompress -c {}'\n",
        "def read(command=('zstd', '-q', '-dc')):\n    pass\n",
        "import zstandard\nstream = zstandard.ZstdDecompressor().stream_reader(x)\n",
        "import zstandard as zd\nstream = zd.open('0.tar.zst')\n",
        "from zstandard import ZstdDecompressor\n",
        "from compression import zstd\nfile = zstd.open('0.tar.zst')\n",
        "import fsspec\nfile = fsspec.open('0.tar.zst', compression='zstd')\n",
        "import subprocess\nsubprocess.Popen(['unzstd', '-c', '0.tar.zst'])\n",
    ],
)
def test_a_source_that_says_how_leaves_it_alone(tmp_path: Path, script: str) -> None:
    assert job(tmp_path, script) == []


@pytest.mark.parametrize(
    "script",
    [
        "MESSAGE = 'shards are packed with zstd'\n",
        "'Shards are unpacked by zstd -dc before the run.'\n",
        "import zstandard\n",
        "from zstandard import ZstdCompressor\nZstdCompressor().compress(b'x')\n",
        "import subprocess\nsubprocess.run(['zstd', '-19', '0.tar'])\n",
        "import subprocess\nsubprocess.run('zstd -dc train.log.zst', shell=True)\n",
        "import pandas\ntable.to_parquet('x', compression='zstd')\n",
        "import zstandard\ndef log(f):\n    return zstandard.ZstdDecompressor().stream_reader(f)\n",
    ],
)
def test_one_that_only_packs_or_speaks_of_it_changes_nothing(tmp_path: Path, script: str) -> None:
    """No name of zstd is opened by webdataset, whatever else the job does with zstd."""
    by_name = "import webdataset\ndata = webdataset.WebDataset('0.tar.zst')\n"

    assert len(job(tmp_path, script + by_name)) == 1


@pytest.mark.parametrize(
    "opener",
    [
        "other = webdataset.WebDataset('pipe:zstd -dc 1.tar.zst')\n",
        "webdataset.gopen.gopen_schemes['zst'] = zstandard.open\n",
    ],
)
def test_one_that_has_a_way_of_its_own_for_some_is_left_alone(tmp_path: Path, opener: str) -> None:
    by_name = "import webdataset, zstandard\ndata = webdataset.WebDataset('0.tar.zst')\n"

    assert job(tmp_path, by_name + opener) == []


def test_a_live_loader_counts_before_what_else_the_sources_say(tmp_path: Path) -> None:
    script = (
        "import webdataset\n"
        "LOG = 'zstd -dc {}'\n"
        "SHARDS = '0.tar.zst'\n"
        "def make():\n"
        "    return webdataset.WebDataset(SHARDS)\n"
    )

    assert job(tmp_path, script) == []
    assert len(job(tmp_path, script, word="loader=train:make")) == 1


@pytest.mark.parametrize("word", ["source=.", "."])
def test_so_does_one_in_a_folder_of_sources(tmp_path: Path, word: str) -> None:
    """Of which it is known later what opens shards."""
    script = (
        "import webdataset\n"
        "if __name__ == '__main__':\n"
        "    data = webdataset.WebDataset('pipe:zstd -dc 0.tar.zst')\n"
    )

    assert job(tmp_path, script, word=word) == []
    assert job(tmp_path, script.replace("pipe:zstd -dc ", ""), word=word)


OWN = """
import tarfile
import pyarrow
from torch.utils.data import DataLoader, IterableDataset

class Shards(IterableDataset):
    def __init__(self, paths):
        self.paths = paths
    def __iter__(self):
        for path in self.paths:
            with pyarrow.input_stream(path, compression="detect") as stream:
                with tarfile.open(fileobj=stream, mode="r|") as archive:
                    yield from (one.name for one in archive)

def make():
    return DataLoader(Shards(["0.tar.zst"]))

def others():
    return DataLoader(Shards(["train.py"]))
"""


@pytest.mark.parametrize(("word", "found"), [("loader=train:make", 0), ("loader=train:others", 1)])
def test_a_live_loader_that_lists_it_opens_it_in_its_own_way(
    tmp_path: Path, word: str, found: int
) -> None:
    assert len(job(tmp_path, OWN, word=word)) == found


def test_its_short_name_is_known_as_well(tmp_path: Path) -> None:
    assert len(job(tmp_path, shard="0.tzst")) == 1
    unpacks = "from zstandard import ZstdDecompressor\n"
    assert job(tmp_path, unpacks, shard="0.tzst") == []


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not here")
@pytest.mark.parametrize("home", ["shards", "my shards", "of '24"])
def test_the_address_that_is_proposed_works(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / home).mkdir()
    job(tmp_path / home)
    monkeypatch.chdir(tmp_path)
    (found,) = preflight.run(f"data={home}/0.tar.zst", select=["shard-damaged"]).findings

    address = (found.fix or "").partition("the address  ")[2].partition("  or name")[0]

    assert address.startswith("pipe:")
    assert epoch_of(address) == 3


@pytest.mark.skipif(shutil.which("zstd") is None, reason="there is no zstd")
def test_a_loader_that_stops_at_one_is_told_who_unpacks_it(tmp_path: Path) -> None:
    """And that is read, as the page says it."""
    job(tmp_path)
    made = "import webdataset\ndef make():\n    return webdataset.WebDataset('0.tar.zst')\n"
    (tmp_path / "train.py").write_text(made)

    report = preflight.run("train:make", folder=str(tmp_path), select=["loader-stuck"])

    (found,) = report.findings
    assert "pipe:zstd -dc 0.tar.zst" in (found.fix or "")
    assert epoch_of(f"pipe:zstd -dc {shlex.quote(str(tmp_path / '0.tar.zst'))}") == 3
