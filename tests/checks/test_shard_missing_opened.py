"""shard-missing holds the shards that scripts and loaders open against the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from tests.archives import tarred
from tests.files import put
from tests.pipelines.shards_to_lose import good

pytestmark = pytest.mark.usefixtures("at_hand")

HEAD = "import argparse, os\nimport webdataset as wds\n\n"
FOUR = "data/{000..003}.tar"
EIGHT = "data/{000..007}.tar"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Four of eight shards."""
    for number in range(4):
        put(tmp_path, f"data/{number:03}.tar", content=tarred(good(2, number * 2)))
    put(tmp_path, "other/000.tar", content=tarred(good(2, 50)))
    return tmp_path


def found_by(folder: Path, source: str, *words: str, **flags: Any) -> list[Finding]:
    put(folder, "train.py", content=(HEAD + source).encode())
    words = words or ("source=train.py", FOUR)
    report = preflight.run(*words, folder=str(folder), no_ledger=True, **flags)
    assert not any(one.broken for one in report.checks)
    return [one for one in report.findings if one.check == "shard-missing"]


HEALTHY = {
    "all there": f'wds.WebDataset("{FOUR}")\n',
    "a path": 'wds.WebDataset(os.path.join("data", "{000..003}.tar"))\n',
    "one of two": f'wds.WebDataset("{EIGHT}" if os.environ.get("BIG") else "{FOUR}")\n',
    "by file:": f'wds.WebDataset("file:{FOUR}")\n',
    "a constant": f'URLS = "{FOUR}"\nwds.WebDataset(URLS)\n',
    "behind an address": 'wds.WebDataset("https://x.org/{000..007}.tar")\n',
    "a command": 'wds.WebDataset("pipe:aws s3 cp s3://b/{000..007}.tar -")\n',
    "some behind addresses": 'wds.WebDataset(["data/007.tar", "s3://b/008.tar"])\n',
    "a variable": f'def f(urls="{EIGHT}"):\n    return wds.WebDataset(urls)\n\nf()\n',
    "an option": "args = argparse.ArgumentParser().parse_args()\nwds.WebDataset(args.data)\n",
    "half a name": 'wds.WebDataset(f"{os.environ.get(0)}/{{000..007}}.tar")\n',
    "a constant that changes": f'URLS = "{EIGHT}"\nURLS = "{FOUR}"\nwds.WebDataset(URLS)\n',
    "one that a function changes": (
        f'URLS = "{EIGHT}"\n\ndef f():\n    global URLS\n    URLS = 1\n\n'
        "f()\nwds.WebDataset(URLS)\n"
    ),
    "a home folder": 'wds.WebDataset("~/data/{000..007}.tar")\n',
    "a function that nobody calls": f'def f():\n    return wds.WebDataset("{EIGHT}")\n',
    "one that only itself calls": f'def f():\n    f()\n    wds.WebDataset("{EIGHT}")\n',
    "a class that nobody makes": (
        f'class A:\n    def __init__(self):\n        self.a = wds.WebDataset("{EIGHT}")\n'
    ),
    "behind a flag": f'if os.environ.get("BIG"):\n    wds.WebDataset("{EIGHT}")\n',
    "called behind a flag": (
        f'def f():\n    wds.WebDataset("{EIGHT}")\n\nif os.environ.get("BIG"):\n    f()\n'
    ),
    "where nothing else helps": (
        f'try:\n    wds.WebDataset("{FOUR}")\nexcept OSError:\n    wds.WebDataset("{EIGHT}")\n'
    ),
    "a test": f'def test_it():\n    wds.WebDataset("{EIGHT}")\n\ntest_it()\n',
    "another file's main": "import own\n",
    "an import for types": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import shards\n"
    ),
}


@pytest.mark.parametrize("source", HEALTHY.values(), ids=HEALTHY)
def test_what_is_there_or_is_not_said_in_full_or_need_not_run_is_left_alone(
    job: Path, source: str
) -> None:
    put(job, "own.py", content=f'{HEAD}if __name__ == "__main__":\n'.encode())
    with (job / "own.py").open("a") as file:
        file.write(f'    wds.WebDataset("{EIGHT}")\n')
    put(job, "shards.py", content=f'{HEAD}wds.WebDataset("{EIGHT}")\n'.encode())

    assert found_by(job, source) == []


LIST = """wds.DataPipeline(
    wds.SimpleShardList(
        ["data/000.tar", "data/004.tar", "data/005.tar", "data/006.tar", "data/007.tar"]
    ),
    wds.tarfile_to_samples(),
)
"""

IN_A_FUNCTION = f"""def f(args):
    return wds.WebDataset("{EIGHT}").decode()

def main():
    f(1)

if __name__ == "__main__":
    main()
"""

IN_A_METHOD = f"""class Data:
    def train_dataloader(self):
        return wds.WebDataset("{EIGHT}")

Data()
"""

OPENED = {
    "a literal": (f'wds.WebDataset("{EIGHT}")\n', 4),
    "by file:": (f'wds.WebDataset("file:{EIGHT}")\n', 4),
    "by its keyword": (f'wds.WebDataset(urls="{EIGHT}")\n', 4),
    "a constant": (f'URLS = "{EIGHT}"\nwds.WebDataset(URLS)\n', 5),
    "a constant in a text": (
        'AT: str = "data"\nLAST = "007"\nwds.WebDataset(f"{AT}/{{000..{LAST}}}.tar")\n',
        6,
    ),
    "a path": ('AT = "data"\nwds.WebDataset(os.path.join(AT, "{000..007}.tar"))\n', 5),
    "a sum": ('AT = "data/"\nwds.WebDataset(AT + "{000..007}.tar")\n', 5),
    "a list": (LIST, 4),
    "in a function": (IN_A_FUNCTION, 5),
    "in a method": (IN_A_METHOD, 6),
}


@pytest.mark.parametrize(("source", "line"), OPENED.values(), ids=OPENED)
def test_shards_that_a_script_names_in_full_and_that_are_not_there_are_told(
    job: Path, source: str, line: int
) -> None:
    (found,) = found_by(job, source)
    (of_folder,) = found_by(job, source, "source=.", FOUR)

    assert of_folder == found
    assert (found.at.file, found.at.line, found.severity) == ("train.py", line, Severity.ERROR)
    assert "as the source is written (a guess: no loader was made)" in found.message
    assert "4 are not there: data/004.tar, data/005.tar, data/006.tar and 1 more" in found.message
    assert "FileNotFoundError" in (found.why or "")


def test_what_a_script_imports_counts_and_paths_begin_where_the_script_lies(job: Path) -> None:
    """Or where the job is started, whichever has more of them."""
    put(
        job,
        "run/own.py",
        content=f'{HEAD}def f():\n    wds.WebDataset("in/{{0..2}}.tar")\n'.encode(),
    )
    put(job, "run/main.py", content=b"from own import f\n\nf()\n")
    put(job, "run/in/0.tar", "run/in/1.tar", content=tarred(good()))

    (found,) = found_by(job, "", "source=run/main.py", FOUR)
    (of_folder,) = found_by(job, "", "source=run", FOUR)

    assert of_folder == found
    assert (found.at.file, found.at.line) == ("run/own.py", 5)
    assert found.message.endswith("of which 1 is not there: run/in/2.tar")


def test_words_that_name_other_shards_than_the_script_opens_are_no_quiet_go(job: Path) -> None:
    """What is there was not looked at; where nothing is there, it may lie elsewhere."""
    put(job, "train.py", content=f'{HEAD}wds.WebDataset("{FOUR}")\n'.encode())
    report = preflight.run("source=train.py", "other", folder=str(job), no_ledger=True)

    assert (report.verdict, report.findings, report.complete) == ("go", (), False)
    said = "4 shards were not looked at: train.py:4 opens it, as the source is written, and it was "
    assert any(one.startswith(said) for one in report.reasons)
    (found,) = found_by(job, 'wds.WebDataset("gone/{0..7}.tar")\n', "source=train.py", "other")
    assert found.severity is Severity.WARNING
    assert "opens 8 shards" in found.message


@pytest.mark.parametrize(
    ("handler", "severity", "why"),
    [
        ("", Severity.ERROR, "raises"),
        (", handler=wds.warn_and_continue", Severity.WARNING, "trains without them"),
        (", handler=wds.warn_and_stop", Severity.ERROR, "ends the stream"),
        (", handler=own", Severity.ERROR, "as its handler has it"),
    ],
)
def test_how_bad_it_is_is_what_the_handler_makes_of_it(
    job: Path, handler: str, severity: Severity, why: str
) -> None:
    (found,) = found_by(job, f'wds.WebDataset("{EIGHT}"{handler})\n')

    assert found.severity is severity
    assert why in (found.why or "")


def test_nothing_is_said_of_shards_where_the_job_runs_elsewhere_or_no_source_is_named(
    job: Path,
) -> None:
    source = f'wds.WebDataset("{EIGHT}")\n'

    assert found_by(job, source, elsewhere=True) == []
    assert found_by(job, source, "source=.", "data", elsewhere=True) == []
    assert found_by(job, source, "data") == []


def test_a_script_of_a_folder_of_which_no_shard_is_here_may_be_an_example(job: Path) -> None:
    (found,) = found_by(job, 'wds.WebDataset("gone/{0..7}.tar")\n', "source=.", FOUR)

    assert found.severity is Severity.NOTE
    assert found_by(job, HEALTHY["called behind a flag"], "source=.", FOUR) == []


def test_scripts_of_a_folder_are_told_once_and_remembered(job: Path) -> None:
    """Two of them lead to the same line, and a demo of the module itself is none of the job's."""
    put(job, "own.py", content=f'{HEAD}def f():\n    wds.WebDataset("{EIGHT}")\n'.encode())
    put(job, "b/main.py", content=b"from own import f\n\nf()\n")
    put(job, "tests/test_own.py", content=b"from own import f\n\nf()\n")
    put(job, "train.py", content=b"from own import f\n\nf()\n")
    for _ in range(2):
        report = preflight.run("source=.", FOUR, folder=str(job), select=["shard-missing"])

        assert [one.at.file for one in report.findings] == ["own.py"]
    put(job, "train.py", "b/main.py", content=b"from own import f\n")

    assert not preflight.run("source=.", FOUR, folder=str(job)).findings


def test_a_gap_that_a_word_names_is_told_once(job: Path) -> None:
    found = found_by(job, f'wds.WebDataset("{EIGHT}")\n', "source=train.py", EIGHT)

    assert [one.at.file for one in found] == [f"data/00{number}.tar" for number in range(4, 8)]


LIVE = """
def kept(exn):
    return True

def make(urls="data/{}.tar", handler={}):
    data = wds.WebDataset(urls, handler=handler, shardshuffle=False).decode("pil")
    return wds.WebLoader(data, batch_size=None, num_workers=0)

wds.WebDataset("data/{{000..099}}.tar")
"""


@pytest.mark.parametrize(
    ("range_of", "handler", "severity"),
    [
        ("{000..003}", "wds.reraise_exception", None),
        ("{000..007}", "wds.reraise_exception", Severity.ERROR),
        ("{000..007}", "wds.warn_and_continue", Severity.WARNING),
    ],
)
def test_a_live_loader_is_held_against_the_disk_and_overrules_its_source(
    job: Path, range_of: str, handler: str, severity: Severity | None
) -> None:
    source = LIVE.format(range_of, handler)

    found = found_by(job, source, "train:make", "source=train.py", FOUR, select=["shard-missing"])

    assert [one.severity for one in found] == [severity] * (severity is not None)
    assert all(one.at.name == "train:make" and "a guess" not in one.message for one in found)


def test_another_file_that_is_not_there_is_told_as_what_keeps_batches_away(job: Path) -> None:
    """All shards are there, and the same error comes of a table that the job opens beside them."""
    source = """
def label(sample):
    with open("data/labels.csv") as file:
        return file.read()

def make(urls="data/{000..003}.tar"):
    data = wds.WebDataset(urls, shardshuffle=False).map(label)
    return wds.WebLoader(data, batch_size=None, num_workers=0)
"""
    put(job, "train.py", content=(HEAD + source).encode())
    checks = ["loader-stuck", "shard-missing"]
    (found,) = preflight.run("train:make", FOUR, folder=str(job), select=checks).findings

    assert (found.check, found.at.file, found.at.line) == ("loader-stuck", "train.py", 6)
    assert "FileNotFoundError" in found.message
    assert "labels.csv" in found.message


def test_a_shard_that_a_pass_meets_late_is_told_once(job: Path) -> None:
    """The loader gives batches before it; loader-end would tell the same with webdataset's line."""
    source = f'def make():\n    data = wds.WebDataset("{EIGHT}", shardshuffle=False)\n'
    source += "    return wds.WebLoader(data.batched(1, list), batch_size=None, num_workers=0)\n"
    put(job, "train.py", content=(HEAD + source).encode())
    report = preflight.run("train:make", folder=str(job), select=["shard-missing", "loader"])
    errors = [one.check for one in report.findings if one.severity is Severity.ERROR]
    (end,) = (one for one in report.checks if one.id == "loader-end")

    assert errors == ["shard-missing"]
    assert end.looked_at
