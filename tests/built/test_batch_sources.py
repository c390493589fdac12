"""What gives batches and is no DataLoader is looked at as a loader without workers."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report

pytestmark = pytest.mark.usefixtures("copies")

SOURCE = """
import torch
from torch.utils.data import DataLoader, TensorDataset


def batch(): return torch.zeros(4, 3), torch.zeros(4)


def generator():
    for _ in range(6):
        yield batch()


def generator_of_its_own_loader():
    for each in DataLoader(TensorDataset(torch.zeros(12, 3)), batch_size=4):
        yield each


def iterator(): return iter([batch() for _ in range(6)])


class Stream:
    def __init__(self): self.left = 6
    def __iter__(self): return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return batch()


class EachEpoch:
    def __iter__(self): return generator()


class UsedUp:
    def __init__(self): self.given = generator()
    def __iter__(self): return self.given


class Words:
    def __iter__(self): return iter(["a", "b"])


def several():
    words = {"loaders": Words(), "parameters": generator()}
    return {"train": EachEpoch(), "train_loader": EachEpoch(), "of_words": Words(), "more": words}


def get_batch(split="train"): return batch()
def get_split_batch(split): return batch()
def load_data(): return torch.zeros(400, 3), torch.zeros(400)


def raises():
    yield batch()
    raise ValueError("no second batch")


def nothing(): return iter(())
def lines(): return open(__file__, encoding="utf-8")
def losses(): yield from (torch.tensor(0.5) for _ in range(6))


if __name__ == "__main__":
    for images, labels, captions in generator():
        pass
"""

# With the number of batches of an epoch.
SOUND = {
    "iterator": 6,
    "Stream": 6,
    "EachEpoch": 6,
    "generator_of_its_own_loader": 3,
}

NOT_SEEN = (
    "loader-fork",
    "loader-heavy",
    "loader-start-method",
    "loader-unloadable",
    "loader-unpicklable",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("batches")
    (made / "train.py").write_text(SOURCE, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def sound(folder: Path) -> Report:
    return preflight.run(*(f"train:{one}" for one in SOUND), folder=str(folder), num_workers=2)


def outcomes(report: Report) -> dict[str, str]:
    return {one.id: one.outcome for one in report.checks}


def page(report: Report) -> str:
    return " ".join(str(report).split())


def test_what_gives_batches_is_run_to_its_end(sound: Report) -> None:
    assert sound.verdict == "go"
    seen = {one.word: one.text for one in sound.targets}
    for name, batches in SOUND.items():
        assert f"{4 * batches} samples in {batches} batches, past the end" in seen[f"train:{name}"]
    by_id = outcomes(sound)
    assert {by_id[one] for one in ("loader-contract", "loader-slow", "loader-stuck")} == {"passed"}


def test_what_workers_and_pickle_would_tell_is_skipped_with_a_reason(sound: Report) -> None:
    skipped = {
        one.id: [each.reason for each in one.skipped if "to workers is not seen" in each.reason]
        for one in sound.checks
        if one.id in NOT_SEEN
    }

    assert {one: outcomes(sound)[one] for one in NOT_SEEN} == dict.fromkeys(NOT_SEEN, "skipped")
    assert all(skipped.values())


def test_a_function_that_gives_one_batch_a_call_has_no_end(folder: Path) -> None:
    report = preflight.run("train:get_batch", folder=str(folder), budget=2.0)

    assert report.verdict == "go"
    assert "one batch a call, without end" in page(report)
    assert "past the end" not in page(report)


def test_what_may_be_all_data_is_no_batch_unless_it_is_said(folder: Path) -> None:
    report = preflight.run("train:load_data", folder=str(folder))

    assert report.verdict == "cannot-judge"
    (fix,) = {each.fix or "" for one in report.checks for each in one.broken}
    word = fix.rpartition("preflight run ")[2]
    assert word == "loader=train:load_data"
    assert preflight.run(word, folder=str(folder), budget=2.0).verdict == "go"


def test_arguments_that_are_missing_are_named_in_the_settings_to_write(folder: Path) -> None:
    report = preflight.run("train:get_split_batch", folder=str(folder))

    assert report.verdict == "cannot-judge"
    (fix,) = {each.fix or "" for one in report.checks for each in one.broken}
    table = fix.rpartition("  ")[2]
    assert "split = …" in table
    settings = folder / "split.toml"
    settings.write_text(table.replace("…", '"val"'), encoding="utf-8")
    assert preflight.run(folder=str(folder), config=str(settings), budget=2.0).verdict == "go"


@pytest.mark.parametrize(
    ("name", "check", "words"),
    [
        ("generator", "loader-contract", "for `images, labels, captions`, which is a tuple of 2"),
        ("raises", "loader-stuck", "ValueError: no second batch"),
        ("nothing", "loader-end", "ends without a batch"),
        ("UsedUp", "loader-end", "gives 6 batches in its first epoch, and none in its second"),
    ],
)
def test_damage_is_found_as_in_a_loader(folder: Path, name: str, check: str, words: str) -> None:
    report = preflight.run(f"train:{name}", folder=str(folder))

    assert report.verdict == "no-go"
    (finding,) = report.findings
    assert finding.check == check
    assert words in finding.message


def test_of_several_things_those_that_are_called_loaders_are_drawn_from(folder: Path) -> None:
    """And not what else gives something in a loop: words, parameters."""
    words = ["train:several", "train:several['train_loader']"]
    report = preflight.run(*words, folder=str(folder), select=["loader-end", "loader-stuck"])

    assert report.verdict == "go"
    texts = [one.text for one in report.targets[:2]]
    assert [one.count("24 samples in 6 batches, past the end") for one in texts] == [1, 1]


@pytest.mark.parametrize(
    ("name", "words"), [("lines", "it gives a str"), ("losses", "a tensor of one number")]
)
def test_what_gives_no_batches_is_no_loader(folder: Path, name: str, words: str) -> None:
    report = preflight.run(f"train:{name}", folder=str(folder))

    assert report.verdict == "cannot-judge"
    assert words in page(report)


def test_a_generator_of_which_nothing_is_drawn_earns_no_go(folder: Path) -> None:
    assert (
        preflight.run("train:generator", folder=str(folder), depth="index").verdict
        == "cannot-judge"
    )
