"""What a script's loaders lose behind its first batches is counted, too, or said not to be."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from tests.archives import tarred
from tests.scripts.rehearsing import line_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

HEAD = """\
import glob, random
import torch
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset

model = torch.nn.Linear(1, 1)
SHARDS = sorted(glob.glob("data/*.tar"))
GO_ON = wds.ignore_and_continue


def number(sample):
    return torch.tensor([float(sample["txt"])])


def of_own(sample):
    import preflight.own

    return number({"txt": preflight.own.text_of(sample)})


def one(sample):
    return torch.ones(1)


def until_30(sample):
    if sample["__key__"] == "00030":
        raise ValueError("the 30th")
    return sample


def pipeline(work, handler=GO_ON, urls=SHARDS, first=dict):
    stages = [wds.SimpleShardList(urls), wds.split_by_worker, wds.tarfile_to_samples()]
    return wds.DataPipeline(*stages, wds.decode(), wds.map(first), wds.map(work, handler=handler))


class Late(IterableDataset):
    def __init__(self, work):
        self.work = work

    def __iter__(self):
        for each in SHARDS:
            yield from pipeline(self.work, urls=[each])


class Named(Late):
    # Has a module that is called as ours is, of which its worker knows before, or after.

    def __init__(self, early):
        super().__init__(of_own)
        self.early = early

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.early:
            import preflight.own


class Lenient(IterableDataset):
    def __init__(self, many):
        self.many = many

    def __iter__(self):
        for number in range(250):
            try:
                if number >= self.many or random.random() > 2:
                    raise KeyError(number)
                yield torch.ones(1)
            except Exception:
                continue


def train(batches, most=None):
    for step, batch in enumerate(batches):
        model(batch).sum().backward()
        if step + 1 == most:
            break


def main():
    random.seed(0)
"""

SOUND = (
    "train(iter(DataLoader(pipeline(one), 5)))",
    "train(iter(DataLoader(Late(one), 5, num_workers=1)))",
    "train(iter(DataLoader(pipeline(one), 5)), 1)",
    "train(iter(DataLoader(pipeline(number, urls=SHARDS[:1]), 5)))",
    "train(iter(DataLoader(Lenient(250), 5)))",
)

BAD = (
    "train(iter(DataLoader(pipeline(number), 5)))",
    "train(iter(DataLoader(pipeline(number), 5, num_workers=2, persistent_workers=True)))",
    "train(iter(DataLoader(pipeline(number, wds.warn_and_continue), 5)))",
    "train(iter(DataLoader(Late(number), 5)))",
    "train(iter(DataLoader(Late(number), 5, num_workers=1)))",
    "train(iter(DataLoader(Lenient(50), 5)))",
    "train(iter(DataLoader(Named(True), 5, num_workers=1, multiprocessing_context='spawn')))",
    "train(iter(DataLoader(Named(False), 5, num_workers=1, multiprocessing_context='spawn')))",
    "train(iter(DataLoader(pipeline(number), 5)), 1)",
    "train(iter(DataLoader(Late(number), 5)), 1)",
)

LEFT = "train(iter(DataLoader(pipeline(one, first=until_30), 5)), 1)"


def _folder(path: Path, *lines: str) -> Path:
    (path / "data").mkdir(parents=True)
    for shard, (first, many, text) in enumerate(((0, 50, b"1"), (50, 100, b"x"), (150, 100, b"x"))):
        samples = ((f"{number:05}.txt", text) for number in range(first, first + many))
        (path / "data" / f"{shard}.tar").write_bytes(tarred(samples))
    (path / "preflight").mkdir()
    (path / "preflight" / "__init__.py").touch()
    own = "def text_of(sample):\n    return sample['txt']\n"
    (path / "preflight" / "own.py").write_text(own, encoding="utf-8")
    text = HEAD + textwrap.indent("\n".join(lines), "    ")
    guard = 'if __name__ == "__main__":\n    main()\n'
    (path / "train.py").write_text(f"{text}\n\n\n{guard}", encoding="utf-8")
    return path


def _rehearsed(folder: Path, *words: str) -> Report:
    checks = ("loader-starved", "dataset-survival", "script-stopped", "script-stuck")
    return preflight.run(*words, "train.py", folder=str(folder), select=checks)


def _told(report: Report) -> list[str]:
    return [f"{one.check} {one.at.name}: {one.message}" for one in report.findings]


def test_whole_epochs_without_losses_are_left_alone(tmp_path: Path) -> None:
    """Also where a script leaves them early; and it draws the random numbers that it would."""
    draws = 'print("drawn", [random.random() for _ in range(3)])'
    seen = _rehearsed(_folder(tmp_path, *SOUND, draws))

    assert _told(seen) == []
    assert [one for one in seen.reasons if "was counted" in one or "known in the run" in one] == []


def test_all_that_is_lost_in_an_epoch_is_counted(tmp_path: Path) -> None:
    folder = _folder(tmp_path, *BAD)
    seen = _rehearsed(folder)

    lines = [line_of(folder / "train.py", one) for one in BAD]
    begins = {one.partition("; ")[0] for one in _told(seen)}
    assert begins == {
        f"loader-starved loader (train.py:{one}): 50 of 250 samples come out" for one in lines
    }


def test_files_that_were_read_and_the_run_tell_one_story(tmp_path: Path) -> None:
    """What the shards show is told once, by the number that really comes through."""
    lines = (
        'data = wds.WebDataset(SHARDS, shardshuffle=False).decode(handler=GO_ON).to_tuple("txt")',
        "train(iter(DataLoader(data.map(lambda one: torch.ones(1)), 5)))",
    )
    folder = _folder(tmp_path, *lines)
    samples = {f"{number:03}.txt": b"\xff" if number > 20 else b"1" for number in range(250)}
    for one in (folder / "data").iterdir():
        one.unlink()
    (folder / "data" / "0.tar").write_bytes(tarred(samples))
    (told,) = _told(_rehearsed(folder, "data"))

    assert told.startswith("dataset-survival loader (train.py:")
    assert "21 of 250 samples come through" in told


def test_what_was_not_counted_is_said(tmp_path: Path) -> None:
    """An epoch that a script leaves by itself may raise behind that: it would not come to it."""
    folder = _folder(tmp_path, LEFT)
    seen = _rehearsed(folder)
    line = line_of(folder / "train.py", LEFT)

    assert seen.verdict == "go"
    assert _told(seen) == []
    (said,) = (one for one in seen.reasons if "was counted" in one)
    assert said == (
        f"1 pipeline was not looked at: not all that goes through loader (train.py:{line}) was "
        "counted: behind the batches that the script took, it raises ValueError: the 30th."
    )


def test_an_epoch_that_raises_on_its_way_stops_the_script_as_a_plain_run(tmp_path: Path) -> None:
    folder = _folder(tmp_path, LEFT.replace(", 1)", ")"))
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    seen = _rehearsed(folder)

    assert plain.stderr.splitlines()[-1] == "ValueError: the 30th"
    assert [(one.check, one.at.line) for one in seen.findings] == [
        ("script-stopped", line_of(folder / "train.py", "raise ValueError(")),
    ]
