"""dataset-small holds samples against one step of the job, and shards against its workers."""

from __future__ import annotations

import dataclasses
import tarfile
import warnings
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.datasets.facts import DatasetFacts
from preflight.findings.finding import Finding, Location, Severity
from preflight.settings.job import DataSettings, Job, Launch
from tests.archives import samples, tarred
from tests.asking import told

pytestmark = pytest.mark.usefixtures("at_hand")


def shards(*sizes: int, unread: int = 0) -> DatasetFacts:
    return DatasetFacts(
        name="data/{000..999}.tar",
        file="data",
        shards=tuple(f"data/{number:03}.tar" for number in range(len(sizes))),
        sizes=sizes,
        samples=sum(sizes),
        unread=unread,
    )


def folder(images: int) -> DatasetFacts:
    return DatasetFacts(name="photos", file="photos", is_folder=True, samples=images)


def found(facts: DatasetFacts, data: DataSettings | None = None, **launch: Any) -> list[Finding]:
    job = Job(launch=Launch(**launch), data=(data,) if data is not None else ())
    facts = dataclasses.replace(facts, entry=0 if data is not None else None)
    return told("dataset-small", facts, job)


@pytest.mark.parametrize("facts", [shards(1), shards(5, 5), folder(1), shards(0, 1)])
def test_any_data_set_is_enough_where_nothing_is_said_of_the_launch(facts: DatasetFacts) -> None:
    assert found(facts) == []


def test_ranks_that_divide_shards_as_the_settings_say_are_left_to_world_ownership() -> None:
    """By `datasets`, each rank keeps every N-th sample of all shards where these are too few."""
    said = dataclasses.replace(shards(8, 8, 8), split_said=True)
    drawn = dataclasses.replace(said, drawn_once="train.py:12")

    assert found(said, world_size=4) == []
    assert [one.severity for one in found(drawn, world_size=4)] == [Severity.ERROR]
    assert [one.severity for one in found(shards(8, 8, 8), world_size=4)] == [Severity.WARNING]
    assert [one.severity for one in found(said, num_workers=4)] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("facts", "launch"),
    [
        (shards(8, 8), {"batch_size": 8, "world_size": 2}),
        (shards(8, 8), {"batch_size": 4, "world_size": 2, "grad_accum": 2}),
        (shards(1, 1, 1, 1), {"world_size": 2, "num_workers": 2}),
        (shards(1, 1), {"world_size": 2, "num_workers": 0}),
        (folder(16), {"batch_size": 16, "num_workers": 8}),
        (folder(16), {"nodes": 2, "gpus": 8}),
    ],
)
def test_just_enough_is_left_alone(facts: DatasetFacts, launch: dict[str, int]) -> None:
    assert found(facts, **launch) == []


def test_repeats_and_a_batch_of_its_own_count(tmp_path: Path) -> None:
    """As SimpleTuner counts repeats: one of them is the second pass."""
    small = folder(8)

    assert found(small, DataSettings(path="p", batch_size=8), batch_size=99) == []
    assert found(small, DataSettings(path="p", repeats=1), batch_size=16) == []
    assert len(found(small, DataSettings(path="p", repeats=1), batch_size=17)) == 1


def test_fewer_samples_than_a_step_are_told_with_the_numbers() -> None:
    (finding,) = found(shards(5, 5), batch_size=4, world_size=2, grad_accum=2)

    assert finding.severity is Severity.WARNING
    assert finding.at == Location(file="data", name="data/{000..999}.tar")
    assert finding.message == (
        "holds 10 samples, fewer than the 16 of one step: a batch of 4 x 2 ranks x 2 batches to a "
        "step"
    )


def test_fewer_shards_than_workers_are_told() -> None:
    (finding,) = found(shards(90, 90, 90), world_size=2, num_workers=4)

    assert finding.message == "has 3 shards for 8 workers: 2 ranks x 4 workers"
    assert "5 of them get no shard" in (finding.why or "")


def test_fewer_shards_than_ranks_are_told() -> None:
    (finding,) = found(shards(90, 90, 90), world_size=4)

    assert finding.message == "has 3 shards for 4 ranks"


def test_a_data_set_that_lacks_both_is_one_finding() -> None:
    (finding,) = found(shards(2), batch_size=4, num_workers=2)

    assert finding.message == (
        "holds 2 samples, fewer than the 4 of one step: a batch of 4; "
        "has 1 shard for 2 workers: 1 rank x 2 workers"
    )


def test_what_was_not_read_may_be_enough() -> None:
    """Shards are counted all the same."""
    assert found(shards(5, unread=1), batch_size=16) == []
    assert len(found(shards(5, unread=1), batch_size=16, world_size=3)) == 1


def test_webdataset_raises_in_a_worker_that_has_no_shard(tmp_path: Path) -> None:
    """What the check says of it, by a real loader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset
    from torch.utils.data import DataLoader

    (tmp_path / "0.tar").write_bytes(tarred(samples(4)))
    source = webdataset.WebDataset([str(tmp_path / "0.tar")], shardshuffle=False)
    loader = DataLoader(source, batch_size=None, num_workers=2)

    with pytest.raises(ValueError, match="fewer shards than workers"):
        list(loader)


def test_a_data_set_without_a_sample_is_told_through_a_run(tmp_path: Path) -> None:
    tarfile.open(tmp_path / "empty.tar", "w").close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "full.tar").write_bytes(tarred({"0.txt": b"a dog"}))

    report = preflight.run("empty.tar", "other/full.tar", folder=str(tmp_path), elsewhere=True)

    (finding,) = report.findings
    assert (finding.check, finding.at.file) == ("dataset-small", "empty.tar")
    assert finding.message == "holds no sample"
    assert report.verdict == "no-go"


def test_a_folder_that_the_settings_name_and_that_holds_no_image_is_an_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "notes.txt").write_text("nothing yet")
    (tmp_path / "preflight.toml").write_text('[[data]]\npath = "photos"\n')

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    (finding,) = report.findings
    assert (finding.check, finding.severity) == ("target-missing", Severity.ERROR)
    assert report.verdict == "no-go"


def test_a_data_set_of_nothing_but_a_damaged_shard_is_left_to_shard_damaged(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.tar").write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(2_000))

    report = preflight.run("x.tar", folder=str(tmp_path), elsewhere=True)

    assert {one.check for one in report.findings} == {"shard-damaged"}


@pytest.mark.parametrize(
    "words", [("0.tar", "1.tar", "2.tar"), ("{0..2}.tar",), ("*.tar",), (".",)]
)
def test_a_shard_without_a_sample_beside_full_ones_is_told(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A single sample is one that somebody meant."""
    (tmp_path / "0.tar").write_bytes(tarred(samples(20)))
    (tmp_path / "1.tar").write_bytes(tarred(samples(1, start=50)))
    tarfile.open(tmp_path / "2.tar", "w").close()

    how = {"folder": str(tmp_path), "elsewhere": True, "select": ["dataset"]}
    report = preflight.run(*words, **how)
    (tmp_path / "2.tar").write_bytes(tarred(samples(1, start=60)))
    mended = preflight.run(*words, **how)

    (finding,) = report.findings
    assert (finding.check, finding.at.file) == ("dataset-small", "2.tar")
    assert finding.severity is Severity.WARNING
    assert finding.message == "holds no sample; its data set has 3 shards"
    assert mended.findings == ()


def test_several_shards_without_a_sample_are_one_finding_however_they_are_drawn() -> None:
    some = dataclasses.replace(shards(0, 9, 0, 0), empty=("a.tar", "b.tar", "c.tar"))

    for facts in (some, dataclasses.replace(some, resampled="train:make", unread=2)):
        (finding,) = found(facts)

        assert finding.message.startswith("holds no sample, nor do 2 more; its data set has")
        assert [one.file for one in finding.also] == ["b.tar", "c.tar"]


def test_a_shard_without_a_sample_leaves_a_worker_with_nothing() -> None:
    some = dataclasses.replace(shards(9, 0, 9), empty=("data/001.tar",), drawn_once="train.py:3")

    (finding,) = found(some, num_workers=3)

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "has 2 shards with samples and 1 without (data/001.tar) for 3 workers: 1 rank x 3 workers"
    )
    assert found(dataclasses.replace(some, empty=()), num_workers=3) == []
    assert [one.severity for one in found(some, num_workers=2)] == [Severity.WARNING]


def test_a_damaged_shard_of_no_whole_sample_is_left_to_shard_damaged(tmp_path: Path) -> None:
    (tmp_path / "0.tar").write_bytes(tarred(samples(20)))
    (tmp_path / "1.tar").write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(2_000))

    report = preflight.run(
        "{0..1}.tar", folder=str(tmp_path), elsewhere=True, select=["dataset", "shard"]
    )

    assert {one.check for one in report.findings} == {"shard-damaged"}


MAKES = """
import warnings
warnings.simplefilter("ignore")
import webdataset as wds
from torch.utils.data import DataLoader

RESAMPLED = {resampled}


def make():
    data = wds.WebDataset({urls!r}, shardshuffle=False, {options}resampled=RESAMPLED)
    return DataLoader(data, batch_size=None, num_workers={workers})
"""


def job_of(
    folder: Path, shards: int, workers: int, *, resampled: bool = False, options: str = ""
) -> str:
    """Write so many shards, and a source of which a loader is made; give the source."""
    for number in range(shards):
        content = tarred({f"{number}.txt": b"a dog"})
        (folder / f"{number}.tar").write_bytes(content)
    urls = [str(folder / f"{number}.tar") for number in range(shards)]
    text = MAKES.format(urls=urls, workers=workers, resampled=resampled, options=options)
    (folder / "train.py").write_text(text, encoding="utf-8")
    return text


@pytest.mark.parametrize(
    ("shards", "workers", "options"),
    [(2, 3, ""), (3, 3, ""), (2, 0, ""), (2, 3, "empty_check=False, ")],
)
def test_a_loader_is_judged_as_its_own_workers_behave(
    tmp_path: Path, shards: int, workers: int, options: str
) -> None:
    """Its own number counts, and not that of the settings, which fits in each case."""
    made: dict[str, Any] = {}
    exec(job_of(tmp_path, shards, workers, options=options), made)
    try:
        raises = len(list(made["make"]())) != shards
    except ValueError:
        raises = True

    report = preflight.run(
        f"{{0..{shards - 1}}}.tar",
        "train:make",
        folder=str(tmp_path),
        elsewhere=True,
        num_workers=1,
        select=["dataset", "loader"],
    )

    found = [one for one in report.findings if one.check == "dataset-small"]
    assert [one.severity for one in found] == [Severity.ERROR] * raises
    assert [one.message for one in found] == (
        ["has 2 shards for 3 workers: 1 rank x 3 workers of train:make"] * raises
    )


@pytest.mark.parametrize("resampled", [True, False])
def test_a_loader_that_was_built_overrules_an_expression(
    tmp_path: Path, *, resampled: bool
) -> None:
    job_of(tmp_path, 2, 4, resampled=resampled)

    report = preflight.run(
        "{0..1}.tar",
        "train:make",
        folder=str(tmp_path),
        elsewhere=True,
        select=["dataset", "loader-unpicklable"],
    )

    assert report.verdict == ("go" if resampled else "no-go")
    assert (report.findings == ()) == resampled


def test_an_expression_that_nobody_knows_is_a_warning_that_names_it(tmp_path: Path) -> None:
    job_of(tmp_path, 2, 4)

    report = preflight.run(
        "{0..1}.tar", "source=train.py", folder=str(tmp_path), elsewhere=True, num_workers=4
    )

    (finding,) = report.findings
    assert (finding.check, finding.severity) == ("dataset-small", Severity.WARNING)
    assert "which train.py:11 decides" in (finding.why or "")


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ({}, Severity.WARNING),
        ({"drawn_once": "train.py:3"}, Severity.ERROR),
        ({"drawn_once": "train.py:3", "perhaps_resampled": "train.py:9"}, Severity.WARNING),
    ],
    ids=["nobody says", "a source", "a source and an expression"],
)
def test_too_few_shards_are_an_error_where_it_is_known_how_they_are_drawn(
    said: dict[str, str], severity: Severity
) -> None:
    facts = dataclasses.replace(shards(9, 9), **said)

    (finding,) = found(facts, world_size=2, num_workers=2)

    assert finding.severity is severity


def test_a_loader_that_divides_nothing_among_ranks_needs_shards_for_its_workers() -> None:
    facts = dataclasses.replace(shards(9, 9), drawn_once="train:make", workers=2, is_divided=False)

    assert found(facts, world_size=8) == []
    assert len(found(dataclasses.replace(facts, is_divided=True), world_size=8)) == 1


def test_the_launch_is_taken_from_the_command(tmp_path: Path) -> None:
    for number in range(2):
        files = samples(5, start=5 * number)
        (tmp_path / f"{number}.tar").write_bytes(tarred(files))
    job = {"folder": str(tmp_path), "elsewhere": True, "select": ["dataset"]}

    assert preflight.run("{0..1}.tar", **job, batch_size=5, grad_accum=2).findings == ()
    (finding,) = preflight.run("{0..1}.tar", **job, batch_size=5, grad_accum=3).findings

    assert finding.at.name == "{0..1}.tar"
    assert finding.evidence == {"samples": 10, "step": 15}


SHARES = """
import os

import webdataset as wds
from torch.utils.data import DataLoader


def of(urls, workers=0, **how):
    data = wds.WebDataset(urls, shardshuffle=False, **how)
    return DataLoader(data, batch_size=None, num_workers=workers)


def overlapping():
    return {{
        "drawn": of({urls!r}[:2], 3, resampled=True),
        "all": of({urls!r}, 3),
    }}


def own():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return of({urls!r}[rank::ranks], nodesplitter=lambda own: own)
"""


@pytest.mark.parametrize(("factory", "ranks"), [("overlapping", 1), ("own", 2)])
def test_a_loader_is_judged_by_all_that_it_reads_and_divides(
    tmp_path: Path, factory: str, ranks: int
) -> None:
    """Some of its shards are those of another loader, which draws them; or they are a rank's own.

    Two ranks of one shard each do, and so do four shards for three workers.
    """
    job_of(tmp_path, 4 if ranks == 1 else 2, 0)
    urls = sorted(str(one) for one in tmp_path.glob("*.tar"))
    (tmp_path / "train.py").write_text(SHARES.format(urls=urls), encoding="utf-8")

    report = preflight.run(
        f"loader=train:{factory}",
        folder=str(tmp_path),
        elsewhere=True,
        world_size=ranks,
        select=["dataset", "loader"],
    )

    assert [one.message for one in report.findings if one.check == "dataset-small"] == []
