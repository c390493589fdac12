"""What is no loader and holds some is taken apart, and each loader in it is looked at."""

from __future__ import annotations

import functools
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from preflight.loaders import sent
from preflight.session.run import UsageError
from preflight.values.names import counted

pytestmark = pytest.mark.usefixtures("copies")

# As the packages have them: Lightning, transformers, timm, accelerate.
SOURCE = """
import itertools
import torch
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.ones(4))


def loads(**more):
    return DataLoader(DATA, num_workers=1, collate_fn=lambda batch: batch, **more)


class LightningDataModule:
    trainer = None

    def prepare_data(self): pass
    def setup(self, stage): pass
    def train_dataloader(self): raise NotImplementedError
    def val_dataloader(self): raise NotImplementedError


class Data(LightningDataModule):
    def prepare_data(self): self.prepared = True
    def setup(self, stage):
        assert stage == "fit" and self.prepared
        self.made = loads
    def train_dataloader(self): return self.made()


class DataOfTwo(Data):
    def val_dataloader(self): return [loads(), loads()]


class DataWithoutStage(Data):
    def setup(self): self.made = loads


def of_data_sets():
    made = LightningDataModule()  # as its `from_datasets` does
    made.train_dataloader = lambda: loads()
    return made


class Splits(dict):
    pass


Splits.__module__, Splits.__name__ = "datasets.dataset_dict", "DatasetDict"


def splits(): return Splits(dev=loads(), train=loads())


class DataOfTrainer(Data):
    def train_dataloader(self): return loads(batch_size=self.trainer.world_size)


class DataWithFault(Data):
    def train_dataloader(self): return 1 / 0


class Trainer:
    eval_dataset = None
    def get_train_dataloader(self): return loads()
    def get_eval_dataloader(self, dataset=None): raise ValueError("no eval_dataset")


class PrefetchLoader:
    def __init__(self, loader): self.loader = loader


class HandsOut:
    def __init__(self): self.train, self.val = loads(), None
    def __iter__(self): return iter((self.train, self.val))


class Settings:
    def __init__(self): self.loader, self.rate = loads(), 1e-3
    def __len__(self): return len(self.loader)
    def __iter__(self): return iter(vars(self).items())


class Around:
    def __init__(self, loader): self.loader = loader
    def __iter__(self): return self.begun()
    def begun(self): yield from itertools.islice(self.loader, 9)


class CombinedLoader:
    def __init__(self, iterables):
        self._iterables = iterables
        self._flattened = list(iterables.values())


class DataLoaderShard(DataLoader):
    def __init__(self, base):
        self.base_dataloader = base
        self.__dict__.update(base.__dict__)


class Adapter:
    def __init__(self, base):
        self.base_dataloader = base
        self.__class__ = type("DataLoaderDispatcher", (type(self), type(base)), {})
    def __getattr__(self, name):
        if name == "base_dataloader":
            raise AttributeError
        return getattr(self.base_dataloader, name)


class Wrapper:
    def __init__(self, base): self.base_dataloader = base
    def __getattr__(self, name): return getattr(self.__dict__["base_dataloader"], name)


def adapted(): return Adapter(loads())
def wrapped(): return Wrapper(loads())
def prefetched(): return PrefetchLoader(loads())
def prefetched_of_two(): return PrefetchLoader(loads()), PrefetchLoader(loads())
def combined(): return CombinedLoader({"a": loads(), "b": loads()})
def shard(): return DataLoaderShard(loads())


def cycle(loader):
    while True:
        yield from loader


def handed_out(): return HandsOut()
def of_settings(): return Settings()
def around(): return Around(loads())
def cycled(): return cycle(loads())


def batches():
    loader = loads()
    yield from loader


KEPT = []


def working():
    loader = loads(persistent_workers=True)
    KEPT.append(iter(loader))
    return loader


def iterator(): return iter(DataLoader(DATA))
def my_loader(): return loads()
def number(): return 7
"""

LOADERS = {
    "Data": [".train_dataloader"],
    "DataOfTwo": [".train_dataloader", ".val_dataloader[0]", ".val_dataloader[1]"],
    "DataWithoutStage": [".train_dataloader"],
    "of_data_sets": [".train_dataloader"],
    "splits": ["['dev']", "['train']"],
    "Trainer": [".get_train_dataloader"],
    "prefetched": [".loader"],
    "prefetched_of_two": ["[0].loader", "[1].loader"],
    "combined": ["._iterables['a']", "._iterables['b']"],
    "shard": [""],
    "adapted": [""],
    "wrapped": [".base_dataloader"],
    "cycled": [".loader"],
    "handed_out": [".train"],
    "of_settings": [".loader"],
    "around": [""],
}
PARTS = [f"train:{name}{part}" for name, parts in LOADERS.items() for part in parts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("held")
    (made / "train.py").write_text(SOURCE, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def seen(folder: Path) -> Callable[[str], Report]:
    """Look at one thing of the module."""
    return functools.cache(lambda word: preflight.run(word, folder=str(folder)))


@pytest.fixture(scope="module")
def held(copies: None, folder: Path) -> Report:
    """Look at all that holds loaders, in one run."""
    return preflight.run(*(f"train:{name}" for name in LOADERS), folder=str(folder))


@pytest.fixture(scope="module")
def typed(copies: None, folder: Path) -> Report:
    """Look at what is found in each, by its own name, in one run."""
    return preflight.run(*PARTS, folder=str(folder), select=["loader-start-method"])


def loaders_in(report: Report, word: str) -> list[str]:
    """Name the loaders looked at for a word: each has a collate function that cannot be sent."""
    found = [one for one in report.findings if one.check == "loader-start-method"]
    names = sorted(str((one.evidence or {})["loader"]) for one in found)
    return [one for one in names if re.match(re.escape(word) + r"(?!\w)", one)]


def number_of_loaders(report: Report) -> tuple[int, int]:
    """Give how many loaders a report says that it is for, and of how many."""
    (one,) = (one for one in report.coverage if one.part == "loader")
    assert one.seen.startswith(f"{one.looked_at} loader")
    return one.looked_at, one.of


@pytest.mark.parametrize("name", LOADERS)
def test_each_loader_in_it_is_looked_at(name: str, held: Report) -> None:
    number = len(LOADERS[name])
    (target,) = (one for one in held.targets if one.word == f"train:{name}")

    assert loaders_in(held, f"train:{name}") == [f"train:{name}{part}" for part in LOADERS[name]]
    assert target.text == (
        f"{counted(number, 'worker')}, {4 * number} samples in {4 * number} batches, past the end"
    )
    assert held.verdict == "go"
    assert number_of_loaders(held) == (len(PARTS),) * 2


@pytest.mark.parametrize("word", PARTS)
def test_the_name_of_each_can_be_typed(word: str, typed: Report) -> None:
    assert loaders_in(typed, word) == [word]
    assert number_of_loaders(typed) == (len(PARTS),) * 2


def test_what_asks_its_trainer_is_no_fault(seen: Callable[[str], Report]) -> None:
    report = seen("train:DataOfTrainer")

    assert report.verdict == "cannot-judge"
    assert "asks its trainer" in " ".join(str(report).split())


def test_what_raises_in_it_is_told_by_its_line(seen: Callable[[str], Report]) -> None:
    (finding,) = seen("train:DataWithFault").findings

    assert "ZeroDivisionError" in finding.message
    assert finding.at.file == "train.py"


def test_a_generator_that_makes_its_loader_is_begun_and_taken_apart(
    seen: Callable[[str], Report],
) -> None:
    report = seen("train:batches")

    assert loaders_in(report, "train:batches") == ["train:batches.loader"]
    word = "train:batches.loader"
    assert loaders_in(seen(word), word) == [word]


def test_a_loader_whose_workers_are_at_work_already_keeps_them(
    seen: Callable[[str], Report],
) -> None:
    """If we ended them along with our own, torch would raise that, at any line of ours."""
    assert seen("train:working").verdict == "go"


@pytest.mark.parametrize("name", ["iterator", "number"])
def test_what_holds_none_is_told_with_a_word_that_works(
    name: str, seen: Callable[[str], Report]
) -> None:
    report = seen(f"train:{name}")

    assert report.verdict == "cannot-judge"
    (fix,) = {one.fix for outcome in report.checks for one in outcome.broken}
    command = (fix or "").rpartition("  ")[2]
    assert command == "preflight run train:my_loader"
    assert seen(command.removeprefix("preflight run ")).verdict == "go"
    said = {"iterator": "an iterator, ", "number": "int"}
    assert said[name] in " ".join(str(report).split())


def live(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """Make one thing of the module in this process; its loaders start no worker."""
    source = folder / "held_live.py"
    source.write_text(SOURCE.replace("num_workers=1", "num_workers=0"), encoding="utf-8")
    monkeypatch.chdir(folder)
    return runpy.run_path(str(source))[name]()


@pytest.mark.parametrize("name", LOADERS)
def test_a_live_holder_is_taken_apart_as_on_the_command_line(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    walk = sent.walk_loader
    monkeypatch.setattr(
        sent,
        "walk_loader",
        lambda one, known, *more: (seen.append(known.name), walk(one, known, *more))[1],
    )

    report = preflight.inspect(loader=live(folder, name, monkeypatch))

    assert report.verdict == "go"
    assert list(dict.fromkeys(seen)) == [f"loader{part}" for part in LOADERS[name]]
    assert number_of_loaders(report) == (len(LOADERS[name]),) * 2


def test_a_live_holder_that_asks_its_trainer_cannot_be_judged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = preflight.inspect(loader=live(folder, "DataOfTrainer", monkeypatch))

    assert report.verdict == "cannot-judge"


def test_what_a_live_holder_raises_and_what_holds_none_is_the_callers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZeroDivisionError):
        preflight.inspect(loader=live(folder, "DataWithFault", monkeypatch))
    with pytest.raises(UsageError, match="int is no DataLoader"):
        preflight.inspect(loader=7)


def test_live_batches_are_left_to_who_made_them() -> None:
    """A generator gives each of them once, and who hands it over is to train with them."""
    given = (number for number in range(3))

    report = preflight.inspect(loader=given)

    assert report.verdict == "cannot-judge"
    assert "a generator of batches" in " ".join(str(report).split())
    assert [*given] == [0, 1, 2]
