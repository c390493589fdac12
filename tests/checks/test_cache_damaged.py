"""cache-damaged says of each cached file what is wrong with it, once; of a whole one, nothing."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import preflight
from preflight.cached_files.cache_listing import list_cache
from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.file_access.facts import Damage
from preflight.findings.finding import Aside, Finding, Severity
from preflight.testing import ask
from tests import contents
from tests.archives import flipped
from tests.contents import case, written

AGAIN = "Move it aside and have it made again; write to another name first and rename at the end."
TURNED = "one bit is turned, in byte {:,}, most likely by memory or a disk"


def findings(folder: Path) -> list[Finding]:
    return [
        finding
        for path in list_cache(str(folder)).files
        for finding in ask("cache-damaged", read_cache(path, str(folder), lambda _: None))
    ]


def told(damage: Damage, file: str = "a.pt", kind: str = "unknown") -> Finding:
    (found,) = ask("cache-damaged", CacheFacts(file=file, size=5, format=kind, damage=damage))
    assert isinstance(found, Finding)
    return found


def finding_of(name: str, content: bytes, folder: Path) -> Finding:
    """Ask about one file of such bytes; it must be found, and once."""
    (folder / name).write_bytes(content)
    found = findings(folder)
    assert len(found) == 1
    return found[0]


def saved(**options: Any) -> bytes:
    return contents.saved({"a": torch.arange(20_000.0)}, **options)


def test_a_whole_file_is_left_alone() -> None:
    for verified in (True, False):
        facts = CacheFacts(file="a.pt", size=9, format="torch zip", verified=verified)
        assert ask("cache-damaged", facts) == []


def test_the_whole_case_is_left_alone(tmp_path: Path) -> None:
    """It is what torch and numpy would have written: they read it."""
    folder = tmp_path / case("cache-damaged").make(tmp_path, mended=True)[0]

    assert findings(folder) == []
    for path in folder.glob("*.pt"):
        assert torch.load(path, weights_only=True)["prompt_embeds"].shape == (4, 1024)
    with np.load(folder / "latents.npz") as arrays:
        assert arrays["mean"].shape == (1024,)
    assert np.load(folder / "mean.npy").shape == (1024,)


def test_each_file_of_the_damaged_case_is_found_once(tmp_path: Path) -> None:
    folder = tmp_path / case("cache-damaged").make(tmp_path, mended=False)[0]

    assert {str(one.at): one.message for one in findings(folder)} == {
        "cut.pt": "ends at 8,192 of at least 16,607 bytes: most likely killed in mid-write",
        "empty.pt": "is empty: most likely killed between open and write",
        "fetched.pt": "is an HTML page, not what torch.save writes",
        "flipped.pt": f"has wrong bytes in data/0 (its CRC differs): {TURNED.format(2_318)}",
        "latents.npz": f"has wrong bytes in mean.npy (its CRC differs): {TURNED.format(600)}",
        "stopped.npz": (
            "holds an array, mean.npy, that ends at 2,000 of 4,224 bytes: most likely an error or "
            "Ctrl-C stopped its writer midway"
        ),
        "mean.npy": "ends at 4,223 of 4,224 bytes",
        "weights.safetensors": "ends at 4,096 of 16,472 bytes: most likely killed in mid-write",
    }


def test_mending_changes_contents_and_nothing_else(tmp_path: Path) -> None:
    names = []
    for mended in (False, True):
        folder = tmp_path / str(mended)
        folder.mkdir()
        made = folder / case("cache-damaged").make(folder, mended=mended)[0]
        names.append(sorted(os.listdir(made)))

    assert names[0] == names[1]


def test_a_finding_says_it_all(tmp_path: Path) -> None:
    found = finding_of("a.pt", WHOLE[:5000], tmp_path)

    # The pickle's length, which the sum has in it, is torch's own affair.
    assert re.fullmatch(r"ends at 5,000 of at least 80,[0-9]{3} bytes", found.message)
    assert found == Finding(
        check="cache-damaged",
        severity=Severity.ERROR,
        message=found.message,
        at=found.at,
        why="torch.load stops at it: [Errno 22] Invalid argument, without the file or the cause.",
        fix=AGAIN,
        aside=(Aside(file="a.pt", bytes=5000),),
        evidence={"kind": "cut", "format": "torch zip", "bytes": 5000, "offset": 5000},
        fingerprint=found.fingerprint,
    )
    assert str(found.at) == "a.pt"


def said_of(path: Path) -> str:
    """Give what the reader of such files says when it loads this one."""
    try:
        if path.suffix == ".pt":
            torch.load(path, weights_only=True)
        else:
            with open(path, "rb") as file, np.load(file) as arrays:
                dict(arrays)
    except Exception as error:  # noqa: BLE001  whatever it raises is what is quoted
        return f"{type(error).__name__}: {error}"
    return "nothing"


NPZ = flipped(written(np.savez, a=np.arange(1000), b=np.arange(10)), 4000)
WHOLE = saved()
SMALL = contents.saved({"a": torch.arange(10.0)})
LEGACY = saved(_use_new_zipfile_serialization=False)
WRONG = flipped(WHOLE, 50_000)
UNTYPED = contents.saved(torch.ones(3).untyped_storage(), _use_new_zipfile_serialization=False)
QUOTES = {
    "an empty file": ("a.pt", b"", "EOFError: ", "EOFError that says nothing"),
    "a small cut": ("a.pt", WHOLE[:3000], "failed finding central directory", None),
    "a cut": ("a.pt", WHOLE[:30_000], "[Errno 22] Invalid argument", None),
    "a large cut": ("a.pt", WHOLE[:75_000], "failed finding central directory", None),
    "a tail behind a small one": ("a.pt", SMALL + bytes(8192), "[Errno 22] Invalid argument", None),
    "a long tail": ("a.pt", WHOLE + bytes(90_000), "failed finding central directory", None),
    "a wrong byte": ("a.pt", WRONG, "nothing", "compares no checksums"),
    "zeros": ("a.pt", bytes(9000), "legacy .tar format", None),
    "a page": ("a.pt", b"<html></html>", "Weights only load failed", "blames weights_only"),
    "no type": ("a.pt", UNTYPED, "has no attribute 'dtype'", None),
    "a legacy cut": ("a.pt", LEGACY[:9000], "unexpected EOF", None),
    "an empty archive": ("a.npz", b"", "No data left in file", None),
    "a wrong byte in npz": ("a.npz", NPZ, "Bad CRC-32", None),
    "a cut npz": ("a.npz", NPZ[:4096], "File is not a zip file", None),
}


@pytest.mark.parametrize(("name", "content", "really", "quoted"), QUOTES.values(), ids=list(QUOTES))
def test_what_is_quoted_is_what_the_reader_says(
    tmp_path: Path, name: str, content: bytes, really: str, quoted: str | None
) -> None:
    """So that somebody who searches for the message finds the cause."""
    if really == "legacy .tar format" and torch.__version__ < "2.6":
        pytest.skip("this torch says nothing of the sort")
    found = finding_of(name, content, tmp_path)

    assert really in said_of(tmp_path / name)
    assert (quoted or really) in (found.why or "")


def test_a_file_that_was_never_fetched_is_to_be_fetched() -> None:
    text = "is a Git LFS pointer of a file of 2.0 MB that was not fetched"
    found = told(Damage(kind="not-fetched", text=text, fetch="cache/text"))

    assert (found.message, found.severity) == (text, Severity.ERROR)
    assert found.fix == 'Fetch it:  git lfs pull --include="cache/text"'
    assert found.why == "torch.load stops at it, and blames weights_only or a zip archive."


def test_what_is_too_long_for_a_pointer_is_replaced_by_its_file(tmp_path: Path) -> None:
    """Git LFS fetches nothing in its place."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    found = finding_of("model.safetensors", pointer + b"x" * 2000, tmp_path)

    assert found.message == "is a Git LFS pointer of a file of 9 bytes, not safetensors"
    assert found.fix == "Download the file itself: this is what Git LFS keeps in its place."


@pytest.mark.parametrize("kind", ["cut", "structure"])
@pytest.mark.parametrize("name", ["a.safetensors", "a.npy", "a.dat"])
def test_every_kind_of_damage_has_its_consequence(name: str, kind: str) -> None:
    found = told(Damage(kind=kind, text="is odd"), name)

    assert "stops at it" in (found.why or "")
    assert (found.why or "").endswith("reads what nobody wrote.") == (kind == "structure")


def test_what_several_processes_wrote_is_not_made_again_as_before(tmp_path: Path) -> None:
    """The right size and a wrong record: made again as before, it comes again."""
    page = WHOLE[:50_000] + np.random.default_rng(3).bytes(4096) + WHOLE[54_096:]
    found = finding_of("a.pt", page, tmp_path)

    assert found.message == (
        "has wrong bytes in data/0 (its CRC differs): "
        "most likely several processes wrote it at once"
    )
    assert found.fix == AGAIN


@pytest.mark.parametrize(
    ("name", "is_model"),
    [
        ("model.safetensors", True),
        ("model-00002-of-00004.safetensors", True),
        ("diffusion_pytorch_model.fp16.safetensors", True),
        ("pytorch_model.bin", True),
        ("consolidated.00.pth", True),
        ("models_a_and_b.pt", False),
        ("model/a.pt", False),
        ("00002.pt", False),
    ],
)
def test_what_is_downloaded_need_not_be_made_again(name: str, *, is_model: bool) -> None:
    found = told(Damage(kind="cut", text="ends at 5 of 9 bytes"), f"base/{name}")

    assert found.fix == ("Move it aside, and make or download it again." if is_model else AGAIN)


@pytest.mark.parametrize("kind", ["cut", "checksum", "empty"])
def test_a_checkpoint_is_not_to_be_made_again(kind: str) -> None:
    damage = Damage(kind=kind, text="is odd")
    found = told(damage, "out/checkpoint-500/optimizer.pt", "torch zip")

    assert (found.fix or "").startswith("Go on from a checkpoint that is whole, or begin anew")


def test_the_same_file_keeps_its_fingerprint_when_its_numbers_change(tmp_path: Path) -> None:
    """A baseline holds for the file, not for where it was cut this time."""
    first = finding_of("a.pt", WHOLE[:5000], tmp_path)

    assert finding_of("a.pt", WHOLE[:6000], tmp_path).fingerprint == first.fingerprint
    (tmp_path / "a.pt").unlink()
    assert finding_of("b.pt", WHOLE[:5000], tmp_path).fingerprint != first.fingerprint


def test_an_array_that_was_not_written_to_its_end_is_told_as_numpy_says_it(tmp_path: Path) -> None:
    """The archive is whole, and numpy.load opens it."""
    cut = contents.archive(("latents.npy", written(np.save, np.arange(1_000.0))[:4_000]))
    found = finding_of("a.npz", cut, tmp_path)

    with np.load(tmp_path / "a.npz") as held, pytest.raises(ValueError, match="EOF: reading array"):
        held["latents"]
    assert found.severity is Severity.ERROR
    assert found.message == (
        "holds an array, latents.npy, that ends at 4,000 of 8,128 bytes: most likely an error or "
        "Ctrl-C stopped its writer midway"
    )
    assert "EOF: reading array data" in (found.why or "")


@pytest.mark.parametrize(("at", "is_right"), [(1_000, False), (None, True)], ids=["in", "behind"])
def test_bytes_that_came_into_an_array_are_told_as_numpy_takes_them(
    tmp_path: Path, at: int | None, is_right: object
) -> None:
    """It loads the array all the same."""
    whole = written(np.save, np.arange(1_000.0))
    for number in range(6):
        (tmp_path / f"{number}.npy").write_bytes(whole)
    end = len(whole) if at is None else at
    (tmp_path / "3.npy").write_bytes(whole[:end] + b"\r\r\r" + whole[end:])

    (found,) = preflight.run("cache=.", folder=str(tmp_path), select=["cache-damaged"]).findings

    assert np.array_equal(np.load(tmp_path / "3.npy"), np.arange(1_000.0)) is is_right
    assert found.at.file == "3.npy"
    assert found.why == (
        "numpy.load ends with its array, and says nothing: other numbers, where bytes came between."
    )


def test_a_file_of_torch_is_judged_as_one_although_its_name_ends_like_an_archives(
    tmp_path: Path,
) -> None:
    """As the checkpoints of the ImageNet example do; before 2017 they were tar archives."""
    (tmp_path / "best.pth.tar").write_bytes(WHOLE)
    with tarfile.open(tmp_path / "old.pth.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("sys_info"))
    assert findings(tmp_path) == []

    found = finding_of("best.pth.tar", WHOLE[:8192], tmp_path)
    assert found.message.startswith("ends at 8,192 of at least ")


def test_a_bomb_is_a_warning() -> None:
    """A numpy.load of the array is not harmed by it."""
    found = told(Damage(kind="bomb", text="unpacks to much"), "a.npz", "npz")

    assert found.severity is Severity.WARNING
    assert "numpy.load" in (found.why or "")
