"""cache-foreign tells what lies in a cache and is none of its entries."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import preflight
from preflight.cached_files.cache_listing import is_left_over, is_unfinished
from preflight.caches.facts import Alike, CacheFolderFacts
from preflight.findings.finding import Finding, Severity
from preflight.testing import ask

pytestmark = pytest.mark.usefixtures("at_hand")


def found(folder: Path, *words: str) -> list[Finding]:
    report = preflight.run(
        *(words or ("cache=cache",)), folder=str(folder), elsewhere=True, select=["cache-foreign"]
    )
    return list(report.findings)


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))


def write_all(folder: Path, names: str, numbers: Iterable[int]) -> None:
    """Write an entry for each number, of which a name may have the hash."""
    for number in numbers:
        write(folder / names.format(number, hash=hashed(number)))


def hashed(number: int) -> str:
    return hashlib.md5(str(number).encode()).hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        *("a.pt", "template.npz", "tmpfiles.txt", "lock.npz", "partial_sums.npz", "README.md"),
        *("clock", "unlocked.txt", "a.temperature", ".gitignore", "model.part1.bin", "stamp"),
        *("block.pt", "a.tmpl", ".tempo", "download", "a.downloads"),
    ],
)
def test_names_of_entries_and_of_other_files_are_not_left_over(name: str) -> None:
    assert not is_left_over(name)


@pytest.mark.parametrize(
    "name", ["tmp.pt", "tmpfiles.npz", "tmp_1.npz", "room_tmp.npz", "a.tmpl.npz", "tmpabcdefgh.npz"]
)
def test_entries_that_are_called_after_something_are_finished(name: str) -> None:
    assert not is_unfinished(name)


@pytest.mark.parametrize(
    "name", ["a.tmp.npz", "tmp8x2kz1qd.npz", "a.tmp.1234.npz", "tmpab_defgh.npz"]
)
def test_unfinished_entries_are_told_though_they_are_whole(tmp_path: Path, name: str) -> None:
    """`numpy.savez` adds its suffix to a temporary name, and a loader takes it for an entry."""
    write_all(tmp_path / "cache", "{}.npz", range(5))
    write(tmp_path / "cache" / name)

    (one,) = found(tmp_path)

    assert one.message == f"holds 1 temporary file or lock that a writer has left: {name}"


@pytest.mark.parametrize(
    "name",
    [
        *("a.pt.tmp", "a.pt.tmp.1234", "a.tmp", "tmpx8_k2zq1", ".tmp1k3bV8", ".a.pt.Xk3d9Q"),
        *("a.pt.lock", ".lock"),
        *("a.pt.part", "blob.incomplete", "a.pt~", ".nfs000000001", "a.pt.temp-7", ".a.pt.swp"),
        *("a.pt.tmp12345", "a.pt.tmp8x2k", ".tmp_a.pt", ".temp-a.npz", "a.npz.lck"),
        *("a.pt.crdownload", "a.safetensors.filepart", "a.npz.aria2", "a.pt.download"),
    ],
)
def test_names_of_temporary_files_and_locks_are_known(name: str) -> None:
    assert is_left_over(name)


def test_ordinary_caches_are_left_alone(tmp_path: Path) -> None:
    """One kind; two kinds of a few files; a model's own mixture; parts that share their hashes."""
    for names in ("one/{}.npz", "parts/{hash}-pooled.npz", "parts/{hash}-prompt.npz"):
        write_all(tmp_path / "cache", names, range(30))
    for number in range(12):
        write(tmp_path / "cache" / "two" / f"{number}.npz")
        np.save(tmp_path / "cache" / "two" / f"{number}.npy", np.zeros(3))

    for name in ("one", "two", "parts"):
        assert found(tmp_path, f"cache=cache/{name}") == []


def test_what_writers_have_left_is_one_note(tmp_path: Path) -> None:
    write(tmp_path / "cache" / "a.npz")
    for name in ("b.npz.tmp", "c.npz.tmp.77", "a.npz.lock"):
        (tmp_path / "cache" / name).touch()

    (finding,) = found(tmp_path)

    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "holds 3 temporary files and locks that a writer has left: a.npz.lock, b.npz.tmp "
        "and c.npz.tmp.77"
    )


def test_a_few_files_of_another_format_are_told_by_name(tmp_path: Path) -> None:
    write_all(tmp_path / "cache", "{}.npz", range(40))
    np.save(tmp_path / "cache" / "40.npy", np.zeros(3))

    (finding,) = found(tmp_path)

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "holds 1 file of another format (numpy arrays) than the 40 numpy archives in it: 40.npy"
    )
    assert finding.fix == "Move it to a folder of its own."


def test_a_file_that_is_told_from_entries_by_its_name_is_a_note(tmp_path: Path) -> None:
    """As the mean of all features beside them; under their suffix it is read as one of them."""
    write_all(tmp_path / "cache", "{}.npz", range(40))
    np.save(tmp_path / "cache" / "mean.npy", np.zeros(3))

    (finding,) = found(tmp_path)
    assert finding.severity is Severity.NOTE

    (tmp_path / "cache" / "mean.npy").rename(tmp_path / "cache" / "mean.npz")
    report = preflight.run("cache=cache", folder=str(tmp_path), elsewhere=True)
    assert [(one.check, one.severity) for one in report.findings] == [
        ("cache-foreign", Severity.WARNING)
    ]


def test_two_caches_in_folders_of_their_own_are_left_alone(tmp_path: Path) -> None:
    """As both lie below the folder that was named; a stray file of the other does not count."""
    write_all(tmp_path / "cache" / "text", "{hash}-flux.npz", range(20))
    write_all(tmp_path / "cache" / "vae", "{hash}.npz", range(100, 120))
    write(tmp_path / "cache" / "text" / f"{hashed(7)}.npz")

    assert found(tmp_path) == []


def test_two_caches_in_one_folder_are_told_by_their_names(tmp_path: Path) -> None:
    """Of hashes that mostly stand for one of them only."""
    write_all(tmp_path / "cache", "{hash}-flux.npz", range(20))
    write_all(tmp_path / "cache", "{hash}-sd3.npz", range(15, 30))

    (finding,) = found(tmp_path)

    assert finding.message == (
        "holds entries of 2 kinds, most of which stand for other samples: "
        "20 *-flux.npz and 15 *-sd3.npz"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_one_folder_under_two_names_is_told(tmp_path: Path) -> None:
    write(tmp_path / "cache" / "a.npz")
    (tmp_path / "link").symlink_to("cache")
    (tmp_path / "preflight.toml").write_text(
        '[[cache]]\npath = "cache"\n\n[[cache]]\npath = "link"\n'
    )

    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["cache-foreign"])

    (finding,) = report.findings
    assert finding.at.file == "link"
    assert "under the name cache" in finding.message


@pytest.mark.parametrize(("other", "told"), [("{stem}_te.npy", 0), ("{stem}_sdxl.npy", 1)])
def test_two_kinds_that_say_how_they_are_named_share_a_folder(
    tmp_path: Path, other: str, told: int
) -> None:
    """As kohya's scripts put latents and texts beside their images."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.npy").write_bytes(b"")
    entry = '[[cache]]\npath = "photos"\nkey = "{}"\n'
    text = entry.format("{stem}_sdxl.npy") + entry.format(other)
    (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path))

    assert len([one for one in report.findings if one.check == "cache-foreign"]) == told


def test_a_folder_of_checkpoints_holds_many_formats_by_design() -> None:
    facts = CacheFolderFacts(
        file="out",
        entries=31,
        formats=(
            Alike(what="safetensors", count=30, names=("a",)),
            Alike(what="torch zip", count=1, names=("b",)),
        ),
        checkpoints=1,
    )

    assert ask("cache-foreign", facts) == []


def test_two_caches_that_say_their_keys_may_share_a_folder(tmp_path: Path) -> None:
    """Each of them is told from the other by its names; a third kind is nobody's."""
    write_all(tmp_path / "cache", "{hash}-flux.npz", range(12))
    write_all(tmp_path / "cache", "{hash}-vae.npz", range(100, 112))
    keys = ("{md5(caption)}-flux.npz", "{md5(path)}-vae.npz")
    settings = "".join(f'[[cache]]\npath = "./cache"\nkey = "{key}"\n' for key in keys)
    (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")

    def told() -> list[str]:
        report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["cache-foreign"])
        return [one.message for one in report.findings]

    alone = told()
    write_all(tmp_path / "cache", "{hash}-sd3.npz", range(200, 205))
    (with_third,) = told()

    assert alone == []
    assert "entries of 3 kinds" in with_third
