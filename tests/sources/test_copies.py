"""The line that copies the model is found in a script and in what it imports."""

from __future__ import annotations

import copyreg
from pathlib import Path
from typing import Any

import pytest
from torch.optim.swa_utils import AveragedModel

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.objects.facts import ModelCopy
from preflight.targets.targets import Source
from tests.files import put
from tests.read_sources import read_source

pytestmark = pytest.mark.usefixtures("at_hand")

OWN = """\
import copy


class Average:
    def __init__(self, model, decay=0.99):
        self.module = self._frozen(model)

    def _frozen(self, model):
        return copy.deepcopy(model).eval()
"""
SHADOW = """\
class EMA:
    def __init__(self, model, decay):
        self.shadow = {name: one.clone() for name, one in model.named_parameters()}
"""


def copied_in(folder: Path, files: dict[str, str]) -> ModelCopy | None:
    """Write these files, and read the script among them."""
    for name, text in files.items():
        put(folder, name, content=text.encode())
    return read_source(Source(path="train.py"), str(folder), {}).model_copy


COPIED = {
    "in the script": ({"train.py": "\nema = EMA(model)\n"}, "train.py:2 EMA(model)"),
    "in a module": (
        {"train.py": "import lib\n", "lib.py": "\ndef f(model):\n    return deepcopy(model)\n"},
        "lib.py:3 deepcopy(model)",
    ),
    "in a module of a module": (
        {
            "train.py": "def main():\n    from core import a\n",
            "core/__init__.py": "",
            "core/a.py": "from .b import *\n",
            "core/b.py": "self.ema = ModelEmaV3(self.unet, decay=0.9)\n",
        },
        "core/b.py:1 ModelEmaV3(self.unet, decay=0.9)",
    ),
    "by an own class": (
        {"train.py": "from lib import Average\nema = Average(net)\n", "lib.py": OWN},
        "train.py:2 Average(net)",
    ),
    "by an own class of an own class": (
        {
            "train.py": "from lib import Mine\nema = Mine(net)\n",
            "lib.py": "from base import Average\nclass Mine(Average):\n    pass\n",
            "base.py": OWN,
        },
        "train.py:2 Mine(net)",
    ),
    "by an own class of torch's": (
        {"train.py": "class Mine(AveragedModel):\n    pass\n\n\nema = Mine(net)\n"},
        "train.py:5 Mine(net)",
    ),
    "by keyword": ({"train.py": "ema = EMA(model=model)\n"}, "train.py:1 EMA(model=model)"),
    "by a class, and by itself before": (
        {"train.py": "import lib\nteacher = deepcopy(model)\n", "lib.py": "EMA(model)\n"},
        "lib.py:1 EMA(model)",
    ),
    "of what a function makes": (
        {"train.py": "EMA(build(Config()))\n"},
        "train.py:1 EMA(build(Config()))",
    ),
    "of a method of what is made": (
        {"train.py": "EMA(Net.load())\n"},
        "train.py:1 EMA(Net.load())",
    ),
    "in the main guard of the script": (
        {"train.py": 'if __name__ == "__main__":\n    EMA(model)\n'},
        "train.py:2 EMA(model)",
    ),
}


@pytest.mark.parametrize(("files", "line"), COPIED.values(), ids=COPIED)
def test_the_line_that_copies_is_found_on_the_way(
    tmp_path: Path, files: dict[str, str], line: str
) -> None:
    found = copied_in(tmp_path, files)

    assert found is not None
    assert f"{found.file}:{found.line} {found.code}" == line


NOT_COPIED = {
    "nothing": {"train.py": "model = Net()\n"},
    "an own class that keeps tensors": {
        "train.py": "from lib import EMA\nema = EMA(model, 0.99)\n",
        "lib.py": SHADOW,
    },
    "a class that is given tensors": {"train.py": "ema = EMA(model.parameters(), 0.99)\n"},
    "a class that is given its model later": {"train.py": "ema = EMA(0.99)\nema.add(model)\n"},
    "layers": {
        "train.py": "class Stack:\n    def __init__(self, layer):\n"
        "        self.all = [deepcopy(layer) for _ in range(6)]\nStack(encoder_layer)\n"
    },
    "a layer of an encoder": {"train.py": "layers = [deepcopy(encoder_layer) for _ in range(6)]"},
    "a module that nobody imports": {"train.py": "", "lib.py": "EMA(model)\n"},
    "a main guard that does not run": {
        "train.py": "import lib\n",
        "lib.py": 'if __name__ == "__main__":\n    EMA(model)\n',
    },
    "one that is made for its average": {"train.py": "def averaged():\n    return EMA(Net())\n"},
    "the same on a device": {"train.py": "ema = deepcopy(models.UNet(3).to(device).eval())\n"},
    "a test": {"train.py": "def test_it():\n    EMA(model)\n"},
}


@pytest.mark.parametrize("files", NOT_COPIED.values(), ids=NOT_COPIED)
def test_what_copies_no_model_of_the_job_is_not_named(
    tmp_path: Path, files: dict[str, str]
) -> None:
    assert copied_in(tmp_path, files) is None


MODEL = """\
import threading
import torch

def make():
    model = torch.nn.Linear(2, 2)
    model.lock = threading.Lock()
    return model
"""


def test_a_model_that_cannot_be_copied_is_told_with_the_line_of_the_script(tmp_path: Path) -> None:
    put(tmp_path, "model.py", content=MODEL.encode())
    put(tmp_path, "lib.py", content=OWN.encode())
    train = b"from lib import Average\nfrom model import make\nmodel = make()\nAverage(model)\n"
    put(tmp_path, "train.py", content=train)

    alone = preflight.run("model=model:make", folder=str(tmp_path))
    words = ("model=model:make", "source=train.py")
    together = preflight.run(*words, folder=str(tmp_path), select=("model-uncopyable",))

    (before,), (found,) = (
        [one for one in report.findings if one.check == "model-uncopyable"]
        for report in (alone, together)
    )
    assert "Whoever makes an EMA" in (before.why or "")
    assert (found.why or "").startswith("Average(model), train.py:4, copies the model. The copy")


IMPORTS = (
    "from model import make\nfrom torch.optim.swa_utils import AveragedModel\nmodel = make()\n"
)


def told_with(folder: Path, line: str) -> tuple[str, Finding]:
    put(folder, "model.py", content=MODEL.encode())
    put(folder, "train.py", content=(IMPORTS + line).encode())
    words = ("model=model:make", "source=train.py")
    report = preflight.run(*words, folder=str(folder), select=("model-uncopyable",))
    (found,) = report.findings
    return report.verdict, found


def test_for_a_class_that_copies_by_itself_the_fix_is_what_works_inside_it(tmp_path: Path) -> None:
    _, found = told_with(tmp_path, "ema = AveragedModel(model)\n")
    _, _, code = (found.fix or "").partition(":  ")
    space: dict[str, Any] = {"AveragedModel": AveragedModel}
    exec(MODEL, space)
    space["model"] = space["make"]()
    with pytest.raises(TypeError):
        AveragedModel(space["model"])

    *before, last = code.split("; ")
    rules = dict(copyreg.dispatch_table)
    try:
        exec("; ".join(before), space)
        ema = eval(last, space)
    finally:
        copyreg.dispatch_table.clear()
        copyreg.dispatch_table.update(rules)

    assert type(ema) is AveragedModel
    assert ema.module.weight is not space["model"].weight


def test_a_script_that_averages_parameters_only_is_not_stopped(tmp_path: Path) -> None:
    verdict, found = told_with(tmp_path, "ema = EMAModel(model.parameters())\n")

    assert (verdict, found.severity) == ("go", Severity.NOTE)
    assert "EMAModel(model.parameters()), train.py:4, keeps" in (found.why or "")
