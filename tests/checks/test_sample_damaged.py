"""sample-damaged tells fields that webdataset's decode() refuses, where others like it decode."""

from __future__ import annotations

import gc
import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pytest
import torch
import webdataset

import preflight
from preflight.findings.finding import Finding
from tests.archives import photo, shard_facts, tarred
from tests.asking import told
from tests.files import put


def npy(*shape: int) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(np.prod(shape)).reshape(shape))
    return stream.getvalue()


def npz(save: Callable[..., object] = np.savez) -> bytes:
    stream = io.BytesIO()
    save(stream, latent=np.arange(600).reshape(20, 30))
    return stream.getvalue()


def pth(*, is_zip: bool = True) -> bytes:
    stream = io.BytesIO()
    torch.save({"latent": torch.arange(600)}, stream, _use_new_zipfile_serialization=is_zip)
    return stream.getvalue()


# Older versions raise what their decoders do.
_REFUSED = (getattr(webdataset, "DecodingError", ValueError), BadZipFile, EOFError, RuntimeError)

SOUND = {
    "json": b'{"width": 7}',
    "npy": npy(3, 2),
    "cls": b"7",
    "index": b"12\n",
    "npz": npz(),
    "pth": pth(),
    "latent.npy": npy(3, 2),
    "a.b.json": b"{}",
}

DAMAGED = {
    "empty JSON": ("json", b""),
    "torn JSON": ("json", b'{"width": '),
    "zeros": ("json", b"\0" * 40),
    "an empty array": ("npy", b""),
    "a torn array": ("npy", npy(3, 2)[:-9]),
    "no array": ("npy", b"an error page"),
    "no number": ("cls", b"dog"),
    "an empty number": ("index", b""),
    "an empty archive": ("npz", b""),
    "a torn archive": ("npz", npz()[:-300]),
    "a torn packed archive": ("npz", npz(np.savez_compressed)[:-40]),
    "an archive that is none": ("npz", b"an error page"),
    "torn tensors": ("pth", pth()[:-200]),
    "tensors that were never written": ("pth", b""),
    "a torn array with a name": ("latent.npy", npy(3, 2)[:-9]),
    "empty JSON with names": ("a.b.json", b""),
}

WHOLE = {
    "JSON of one number": ("json", b"7"),
    "JSON with a mark": ("json", b"[1, NaN]"),
    "an array without rows": ("npy", npy(0, 2)),
    "an array of no dimension": ("npy", npy()),
    "a negative number": ("cls", b" -1\n"),
    "a packed archive": ("npz", npz(np.savez_compressed)),
    "tensors of before 1.6": ("pth", pth(is_zip=False)),
}


def shard(field: str, *contents: bytes) -> bytes:
    files: dict[str, bytes] = {}
    for number, content in enumerate(contents):
        files |= {f"{number}.jpg": photo(), f"{number}.{field}": content}
    return tarred(files)


def found(tmp_path: Path, field: str, *contents: bytes) -> list[Finding]:
    return told("sample-damaged", shard_facts(tmp_path, shard(field, *contents)))


def decodes(tmp_path: Path, content: bytes) -> bool:
    """Whether webdataset's own decode() comes to the end of a shard."""
    put(tmp_path, "plain.tar", content=content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            list(webdataset.WebDataset(str(tmp_path / "plain.tar"), shardshuffle=False).decode())
        except (ValueError, AssertionError, *_REFUSED):
            return False
        finally:
            gc.collect()  # closes the shard
    return True


@pytest.mark.parametrize(("field", "content"), WHOLE.values(), ids=WHOLE)
def test_what_decodes_is_left_alone(tmp_path: Path, field: str, content: bytes) -> None:
    contents = (SOUND[field], SOUND[field], content)

    assert decodes(tmp_path, shard(field, *contents))
    assert found(tmp_path, field, *contents) == []


@pytest.mark.parametrize(("field", "content"), DAMAGED.values(), ids=DAMAGED)
def test_what_does_not_is_told_with_its_sample(tmp_path: Path, field: str, content: bytes) -> None:
    contents = (SOUND[field], content, SOUND[field])

    assert not decodes(tmp_path, shard(field, *contents))
    (finding,) = found(tmp_path, field, *contents)
    assert finding.message.startswith(f"1 of 3 .{field} files is no ")
    assert finding.message.endswith(f": 1.{field}")


@pytest.mark.parametrize("field", ["npz", "pth"])
def test_archives_in_a_packed_shard_are_read_too(tmp_path: Path, field: str) -> None:
    contents = (SOUND[field], SOUND[field][:-200], SOUND[field])
    put(tmp_path, "0.tar.gz", content=gzip.compress(shard(field, *contents)))

    report = preflight.run("0.tar.gz", folder=str(tmp_path), no_ledger=True)

    assert [one.check for one in report.findings] == ["sample-damaged"]


@pytest.mark.parametrize("field", SOUND)
def test_a_format_of_the_jobs_own_is_none(tmp_path: Path, field: str) -> None:
    assert found(tmp_path, field, b"own", b"own", SOUND[field]) == []


@pytest.mark.parametrize("field", [one for one in SOUND if one != "pth"])  # which has no head
def test_half_of_them_are_no_format_of_its_own(tmp_path: Path, field: str) -> None:
    (finding,) = found(tmp_path, field, b"own", SOUND[field])

    assert finding.message.startswith(f"1 of 2 .{field} files is no ")


def test_fields_that_nobody_knows_are_not_read(tmp_path: Path) -> None:
    assert found(tmp_path, "pose", b"1", b"", b"2") == []


LOADER = """
import webdataset
def make():
    return webdataset.WebDataset({shard!r}, shardshuffle=False){stages}
"""


@pytest.mark.parametrize("stages", ['.to_tuple("jpg")', '.decode().to_tuple("jpg", "json")'])
def test_of_a_loader_dataset_survival_says_what_becomes_of_them(
    tmp_path: Path, stages: str
) -> None:
    put(tmp_path, "0.tar", content=shard("json", SOUND["json"], b"", SOUND["json"]))
    text = LOADER.format(shard=str(tmp_path / "0.tar"), stages=stages)
    (tmp_path / "job.py").write_text(text, "utf-8")

    report = preflight.run("0.tar", "job:make", folder=str(tmp_path), no_ledger=True)

    told = {one.check for one in report.findings}
    assert "sample-damaged" not in told
    assert ("dataset-survival" in told) is ("decode" in stages)


def test_with_depth_index_nothing_is_read(tmp_path: Path) -> None:
    put(tmp_path, "0.tar", content=shard("json", SOUND["json"], b"", SOUND["json"]))

    report = preflight.run("0.tar", folder=str(tmp_path), no_ledger=True, depth="index")

    assert report.findings == ()
