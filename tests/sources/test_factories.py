"""Functions and classes that make loaders and models are found in sources, which are only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.sources.makers.factories import factories_in, worth_offering

TOP = """
import torch, timm, wds, pl
from torch.utils.data import DataLoader

class Net(torch.nn.Module):
    pass
"""

OWN_MODULE = "class ToyDataModule:\n    def train_dataloader(self):\n        return 1\n"

# A source, and what is found in it of each kind.
FOUND = {
    "a call": ("def a():\n    return DataLoader([])", ["loader a"]),
    "a variable": ("def a():\n    x = DataLoader([])\n    return x", ["loader a"]),
    "a variable of a variable": (
        "def a():\n    x = DataLoader([])\n    y = x\n    return y",
        ["loader a"],
    ),
    "an annotation": ("def a() -> DataLoader:\n    return b.c", ["loader a"]),
    "an annotation in quotes": ("def a() -> 'data.DataLoader[int]':\n    return b", ["loader a"]),
    "an annotated variable": ("def a():\n    x: DataLoader = f()\n    return x", ["loader a"]),
    "a tuple": (
        "def a():\n    x, y = DataLoader([]), DataLoader([])\n    return x, y",
        ["loader a"],
    ),
    "a table": ("def a():\n    d = {}\n    d['t'] = DataLoader([])\n    return d", ["loader a"]),
    "either": ("def a(x):\n    return DataLoader(x) if x else None", ["loader a"]),
    "a chain": ("def a():\n    return wds.WebLoader([]).unbatched().shuffle(3)", ["loader a"]),
    "through another": (
        "def a():\n    return b()\ndef b():\n    return DataLoader([])",
        ["loader a"],
    ),
    "prepared": ("def a():\n    x = DataLoader([])\n    return acc.prepare(x)", ["loader a"]),
    "an own loader": (
        "class Mine(DataLoader):\n    pass\ndef a():\n    return Mine()",
        ["loader a"],
    ),
    "a DataModule": ("class Data(pl.LightningDataModule):\n    pass", ["loader Data"]),
    "a Trainer": ("class Mine(Trainer):\n    pass", ["loader Mine"]),
    "a function that makes a Trainer": (
        "def a(ds):\n    t = tf.Trainer(model=Net(), train_dataset=ds)\n    return t",
        ["loader a"],
    ),
    "a Trainer of one's own by another function": (
        (
            "class Mine(Trainer):\n    pass\n"
            "def build_it():\n    return Mine(train_dataset=[1])\n"
            "def build_a():\n    return build_it()"
        ),
        ["loader build_a"],
    ),
    "batches": ("def get_batch(split):\n    return x, y", ["loader get_batch"]),
    "a model": ("def a():\n    m = Net().cuda()\n    return torch.compile(m)", ["model a"]),
    "models of several sizes": ("def a():\n    return Net()\ndef b():\n    return Net()", "ab"),
    "by its name": ("def create_model(x):\n    return REGISTRY[x]()", ["model create_model"]),
    "of a library": ("def a():\n    return timm.create_model('x')", ["model a"]),
    "a usual name beside helpers": (
        "def make_loader():\n    return inner()\ndef inner():\n    return DataLoader([])",
        ["loader make_loader"],
    ),
    "a class of the job's own DataModule": (
        f"{OWN_MODULE}class Mine(ToyDataModule):\n    pass",
        ["loader Mine"],
    ),
    "a DataModule beside helpers": (
        "class Data(pl.LightningDataModule):\n    pass\ndef a():\n    return DataLoader([])",
        ["loader Data"],
    ),
}


def offered(folder: Path) -> list[str]:
    return [f"{one.kind} {one.call}" for one in worth_offering(factories_in(str(folder)))]


@pytest.mark.parametrize(("source", "found"), FOUND.values(), ids=FOUND)
def test_what_makes_something_is_found(tmp_path: Path, source: str, found: list[str]) -> None:
    (tmp_path / "net.py").write_text(TOP)
    top = TOP.partition("class")[0] + "from net import Net\n"
    (tmp_path / "train.py").write_text(f"{top}{source}\n")
    wanted = [f"model {name}" for name in found] if isinstance(found, str) else found

    names = [one.replace("train:", "") for one in offered(tmp_path) if "net:" not in one]

    assert names == wanted


NOTHING = {
    "a loop that trains": "def train():\n    loader = DataLoader([])\n    return run(loader)",
    "what is handed a model": "def freeze(model: Net) -> torch.nn.Module:\n    return model",
    "a private one": "def _loader():\n    return DataLoader([])",
    "an inner function": "def a():\n    def b():\n        return DataLoader([])\n    return 3",
    "a Trainer of Lightning": "def build_a():\n    return pl.Trainer(max_epochs=1)",
    "a Trainer that is none of a library": (
        "class Trainer:\n    pass\ndef build_a(d):\n    return Trainer(train_dataset=d)"
    ),
    "a class of such a Trainer": "class NetTrainer:\n    pass\nclass Mine(NetTrainer):\n    pass",
    "a class of a DataModule without loaders": (
        "class ToyDataModule:\n    pass\nclass Mine(ToyDataModule):\n    size = 1"
    ),
    "nothing returned": "def get_model():\n    print(1)",
    "what sends files": "def prepare_hub_uploader(args):\n    return Uploader(args)",
    "what fetches files": "def get_downloader():\n    return Fetch()",
    "something else": "def load_config():\n    return dict()",
    "a class for others": "class BaseNet(nn.Module):\n    pass",
    "an abstract one": (
        "class Op(nn.Module):\n    @abc.abstractmethod\n    def forward(self, x):\n        pass"
    ),
    "no Python": "def (:",
}


@pytest.mark.parametrize("source", NOTHING.values(), ids=NOTHING)
def test_what_makes_nothing_is_left_alone(tmp_path: Path, source: str) -> None:
    (tmp_path / "train.py").write_text(source + "\n# DataLoader\n")

    assert offered(tmp_path) == []


def test_tests_are_no_part_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("tests/data.py", "test_data.py", "conftest.py"):
        (tmp_path / name).write_text("def make_loader():\n    return DataLoader([])\n")

    assert offered(tmp_path) == []


def test_a_block_is_no_model_of_its_own(tmp_path: Path) -> None:
    """nanoGPT's: one class is the model, and the others are built in it."""
    (tmp_path / "model.py").write_text(
        "class Block(nn.Module):\n    pass\n"
        "class GPT(nn.Module):\n    def __init__(self, config):\n        self.one = Block()\n"
    )

    (found,) = worth_offering(factories_in(str(tmp_path)))

    assert (found.call, found.line, found.needs) == ("model:GPT", 3, ("config",))


def test_what_a_lesser_one_calls_is_still_offered(tmp_path: Path) -> None:
    """As `create_model_and_diffusion` calls `create_model`, and gives more than a model."""
    source = (
        "def create_model(size):\n    return Net(size)\n"
        "def create_model_and_sampler(size):\n    return create_model(size), 1\n"
    )
    (tmp_path / "build.py").write_text(TOP + source, encoding="utf-8")
    (tmp_path / "act.py").write_text(TOP.replace("Net", "Swish"), encoding="utf-8")

    assert offered(tmp_path) == ["model build:create_model"]
