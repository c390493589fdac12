"""Whether workers divide a stream among them is seen by what they give, and by how much of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import preflight
from preflight.batches.child.between_workers import Noted, of_shards, repeated_so_far
from preflight.findings.finding import Finding
from preflight.findings.report import Report
from tests.batches.dividing import divided, lay_shards, of
from tests.warming import copies

pytestmark = pytest.mark.slow

DIVIDING = Path(__file__).with_name("dividing.py")

# What comes, and what comes without workers.
REPEATED: Mapping[str, str] = {
    **dict.fromkeys(
        [
            *("tensors", "dicts", "texts", "pairs", "words", "labels", "padded", "augmented"),
            *("counted", "counted_by_chance"),
            *("pictures", "of_bytes", "objects", "shuffled", "persistent", "dropped", "web"),
            "web_rebatched",
        ],
        "80 samples in place of 40",
    ),
    "made_alike": "40 samples in place of 20",
    "made_alike_by_chance": "40 samples in place of 20",
    "three_workers": "120 samples in place of 40",
    "chained": "120 samples in place of 60",
    "packed": "20 batches in place of 10",
    "boxes": "20 batches in place of 10",
    "one_by_one": "80 batches in place of 40",
    "fields_one_by_one": "80 batches in place of 40",
    "texts_one_by_one": "80 batches in place of 40",
    "pairs_one_by_one": "82 batches in place of 41",
    "web_one_by_one": "80 batches in place of 40",
    "many": "120 batches in place of 60",
}

UNEVEN: Mapping[str, tuple[str, str]] = {
    "shuffled_and_divided": ("warning", " more than once among its 2 workers, and leaves out "),
    "always_first": ("warning", "gives the same 8 samples in each epoch, of a stream that has"),
    "always_first_of_batches": ("warning", "gives the same 12 samples in each epoch, of a"),
    "numbered_by_other_shards": ("warning", "gives 10 samples more than once among its 2 workers"),
    "overlapping": ("warning", "gives 2 samples more than once among its 2 workers, of 40 that"),
    "without_the_rest": ("note", "leaves out 3 of 43 samples, which none of its 4 workers gives"),
    "without_threes": ("warning", "leaves out 4 of 40 samples, which are in no part of the batch"),
    "of_other_parts": ("warning", "leaves out 20 of 40 samples, which none of its 2 workers"),
    "of_other_parts_one_by_one": ("warning", "leaves out 20 of 40 batches, which none of its 2"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Report]]:
    """Look at a dict of loaders, once for all tests."""
    folder = tmp_path_factory.mktemp("dividing")
    shutil.copy(DIVIDING, folder)
    lay_shards(folder)
    with copies():
        yield cache(
            lambda name: preflight.run(
                f"dividing:{name}",
                folder=str(folder),
                select=["loader-end", "loader-stuck", "loader-random"],
                budget=160.0,  # a busy machine has time, too
            )
        )


def told(report: Report, key: str) -> Finding:
    (finding,) = [one for one in report.findings if f"[{key!r}]" in str(one.at.name)]
    return finding


@pytest.mark.parametrize("name", REPEATED)
def test_a_stream_that_each_worker_gives_whole_is_told(
    name: str, seen: Callable[[str], Report]
) -> None:
    """Whatever its samples are: also such as are equal by what they hold."""
    finding = told(seen("repeated"), name)

    assert finding.check == "loader-end"
    assert finding.severity.word == "warning"
    assert finding.message.endswith(f"once from each worker: {REPEATED[name]}")


@pytest.mark.parametrize("name", UNEVEN)
def test_parts_of_workers_that_overlap_or_lie_apart_are_told(
    name: str, seen: Callable[[str], Report]
) -> None:
    severity, message = UNEVEN[name]
    finding = told(seen("uneven"), name)

    assert (finding.check, finding.severity.word) == ("loader-end", severity)
    assert message in finding.message


def test_streams_that_are_divided_or_drawn_by_chance_are_left_alone(
    seen: Callable[[str], Report],
) -> None:
    report = seen("even")

    assert [f"{one.at.name}: {one.message}" for one in report.findings] == []
    assert [one.broken for one in report.checks if one.broken] == []
    assert "past the end" in report.targets[0].text


def test_a_divided_stream_that_is_left_before_its_end_may_count_in_each_worker(
    tmp_path: Path,
) -> None:
    shutil.copy(DIVIDING, tmp_path)
    report = preflight.run(
        "dividing:endless", folder=str(tmp_path), select=["loader-end"], budget=8.0
    )

    assert "batches drawn" in report.targets[0].text
    assert report.findings == ()


def test_shards_that_all_workers_draw_alike_are_told_once(seen: Callable[[str], Report]) -> None:
    """Also where each puts their samples into another order."""
    found = {one.at.name: one for one in seen("drawn").findings}

    assert {name[-7:-2] for name in found if name} == {"alike", "mixed"}
    assert {one.check for one in found.values()} == {"loader-random"}
    assert len(found) == len(seen("drawn").findings)


@pytest.mark.parametrize(
    ("first", "other", "is_told"),
    [
        (range(0, 40, 2), range(1, 40, 2), False),  # divided
        ([0] * 20, [0] * 20, False),  # zeros
        ([*range(20)], [*range(20)], True),
        ([*range(20)], [*range(16)], True),  # one batch fewer as yet
        ([*range(8)], [*range(8)], False),  # too early to tell
    ],
)
def test_what_workers_have_given_so_far_is_held_against_each_other(
    first: list[int], other: list[int], *, is_told: bool
) -> None:
    noted = Noted(2, 4)
    rounds = [each[number : number + 4] for number in range(0, 20, 4) for each in (first, other)]
    for samples in rounds:
        if samples:
            noted.take([f"caption {one}" for one in samples])
    found = repeated_so_far(of(divided(int)), noted)

    assert (found is not None) is is_told
    if found is not None:
        assert found.given == 2 * found.alone == 2 * len(other)


def test_a_number_that_each_shard_counts_anew_names_no_sample() -> None:
    """As of the rows of a file."""
    datasets = pytest.importorskip("datasets")
    stream = datasets.IterableDataset.from_generator(range, gen_kwargs={"shards": [*range(4)]})
    noted = Noted(1, 8)
    for shard in range(4):
        names = [f"image {shard}-{one}" for one in range(8)]
        noted.take({"name": names, "row": list(range(8))})

    assert of_shards(stream, noted) is None


@pytest.mark.parametrize(
    ("shards", "times", "is_told"), [(4, 4, True), (4, 1, False), (4, 3, False), (1, 1, False)]
)
def test_shards_of_datasets_that_each_give_all_are_told(
    shards: int, times: int, *, is_told: bool
) -> None:
    """As those of a generator that does not ask which one it is given."""
    datasets = pytest.importorskip("datasets")
    stream = datasets.IterableDataset.from_generator(range, gen_kwargs={"shards": [*range(shards)]})
    noted = Noted(1, 4)
    for _ in range(times):
        noted.take([f"caption {one}" for one in range(8)])
    found = of_shards(stream, noted)

    assert (found is not None) is is_told
    assert of_shards([1, 2, 3], noted) is None
    if found is not None:
        assert (found.given, found.alone, found.shards) == (32, 8, 4)


NOTING = """
import dividing

def noted(*_):
    with open("noted.txt", "a") as file:
        file.write("begun ")
    return range(40)

def one_of(id_, of_):
    return noted() if id_ == 0 else range(40)

def make():
    return dividing.of(one_of)
"""


def test_a_stream_is_gone_through_four_times_in_all(
    seen: Callable[[str], Report], tmp_path: Path
) -> None:
    """Its first batches, two epochs, and one without workers."""
    (tmp_path / "train.py").write_text(NOTING, encoding="utf-8")
    shutil.copy(DIVIDING, tmp_path)
    report = preflight.run("train:make", folder=str(tmp_path))

    assert "once from each worker" in report.findings[0].message
    assert (tmp_path / "noted.txt").read_text(encoding="utf-8").split() == ["begun"] * 4
