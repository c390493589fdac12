"""Sources that the settings name (`[[source]]`) are read as those that a word names."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.session.run import UsageError
from preflight.settings.merge import make_job
from preflight.settings.toml_file import SettingsError
from preflight.targets.targets import Dataset, Folder, Shard, Source
from preflight.targets.words.discover import discover
from tests.archives import samples, tarred
from tests.files import put


def settings(folder: Path, text: str) -> None:
    (folder / "preflight.toml").write_text(text)


@pytest.mark.parametrize(
    ("name", "path"), [(".", ""), ("./", ""), ("lib", "lib"), ("a.py", "a.py")]
)
def test_a_file_or_a_folder_is_read(tmp_path: Path, name: str, path: str) -> None:
    put(tmp_path, "a.py", "lib/b.py")
    settings(tmp_path, f'[[source]]\npath = "{name}"\n')

    found = discover((), make_job(folder=str(tmp_path), environ={}), str(tmp_path))

    expected = Source(path=str(tmp_path / path) if path else str(tmp_path))
    assert [one for one in found.targets if isinstance(one, Source)] == [expected]


def test_what_reads_a_variable_is_told(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import os\nrank = int(os.environ['SLURM_LOCALID'])\n")
    settings(tmp_path, '[[source]]\npath = "train.py"\n')

    report = preflight.run(folder=str(tmp_path), select=["env-launch"])

    assert [(one.check, one.at.file, one.at.line) for one in report.findings] == [
        ("env-launch", "train.py", 2)
    ]


def test_one_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    settings(tmp_path, '# the job\n[[source]]\npath = "trian.py"\n')
    put(tmp_path, "train.py")

    (finding,) = preflight.run(folder=str(tmp_path), elsewhere=True).findings

    assert (finding.check, finding.at.file, finding.at.line) == (
        "target-missing",
        "preflight.toml",
        3,
    )
    assert "train.py" in finding.message


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('[source]\npath = "a.py"\n', r"write \[\[source\]\], with two brackets"),
        ("[[source]]\n", "source.0.path: is required"),
        ('[[source]]\nfile = "a.py"\n', "source.0.file: unknown key"),
        ('[[sources]]\npath = "a.py"\n', "did you mean source"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, mistake: str) -> None:
    settings(tmp_path, text)

    with pytest.raises(SettingsError, match=mistake):
        make_job(folder=str(tmp_path), environ={})


def test_a_shard_of_a_range_is_no_part_of_the_folder_around_it(tmp_path: Path) -> None:
    """It would be told twice, and its keys compared with those of all other shards below."""
    put(tmp_path, "photos/a.jpg")
    put(tmp_path, "photos/0.tar", "photos/b.tar", content=tarred(samples(2)))
    settings(tmp_path, '[[data]]\nshards = "photos/{0..0}.tar"\n\n[[data]]\npath = "photos"\n')

    found = discover((), make_job(folder=str(tmp_path), environ={}), str(tmp_path))

    photos = str(tmp_path / "photos")
    shards = [Shard(path=f"{photos}/{name}") for name in ("0.tar", "b.tar")]
    assert {one for one in found.targets if isinstance(one, (Shard, Folder))} == {
        *shards,
        Folder(path=photos),
    }
    assert found.datasets == (
        Dataset(name="photos/{0..0}.tar", shards=(shards[0].path,), entry=0),
        Dataset(name="photos", shards=(shards[1].path,), entry=1),
        Dataset(name="photos", folder=photos, entry=1),
    )


def test_a_pattern_finds_shards_in_a_folder_with_brackets(tmp_path: Path) -> None:
    """The folder of the job is no part of the pattern."""
    folder = tmp_path / "run[1]"
    put(folder, "0.tar", "1.tar")

    found = discover(("*.tar",), make_job(folder=str(folder), environ={}), str(folder))

    assert sum(isinstance(one, Shard) for one in found.targets) == 2


@pytest.mark.parametrize("text", [b"{}\n", b"a,b\n1,2\n", b"a: 1\n", b"", b"PK\x05\x06"])
def test_a_file_of_the_settings_that_is_no_python_is_refused(tmp_path: Path, text: bytes) -> None:
    """As `source=x.json` is: counted as a source, it made a GO of nothing."""
    put(tmp_path, "x.json", content=text)
    settings(tmp_path, '# the job\n[[source]]\npath = "x.json"\n')

    with pytest.raises(UsageError, match=r"^preflight\.toml:3: source=x\.json is there, and is no"):
        preflight.run(folder=str(tmp_path), elsewhere=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", b""),
        ("train.pyw", b"print(1)\n"),
        ("train", b"#!/usr/bin/env python\nprint(1)\n"),
        ("train.cfg", b"import os\n"),
    ],
)
def test_a_file_of_the_settings_that_is_python_is_read(
    tmp_path: Path, name: str, text: bytes
) -> None:
    put(tmp_path, name, content=text)
    settings(tmp_path, f'[[source]]\npath = "{name}"\n')

    found = discover((), make_job(folder=str(tmp_path), environ={}), str(tmp_path))

    assert Source(path=str(tmp_path / name)) in found.targets
