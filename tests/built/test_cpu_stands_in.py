"""Where the job runs on another machine, the CPU stands in for its GPU as far as that is honest."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Broken, Report
from tests.warming import copies

NET = """
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda:0")


class Net(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.layer = nn.Linear(2, 2, device=device)
        self.norm = nn.BatchNorm1d(2, device=device)

"""


@pytest.fixture(scope="module", autouse=True)
def _no_gpu() -> Iterator[None]:
    with copies() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        yield


def made(folder: Path, bodies: Mapping[str, str], **options: object) -> Report:
    """Look at what functions of these bodies give, all in one process."""
    names = [f"make_{number:02}" for number in range(len(bodies))]
    functions = [
        f"\n\ndef {name}():\n{textwrap.indent(body, '    ')}\n"
        for name, body in zip(names, bodies.values(), strict=True)
    ]
    (folder / "train.py").write_text(NET + "".join(functions), encoding="utf-8")
    words = [f"train:{name}" for name in names]
    return preflight.run(*words, folder=str(folder), **{"elsewhere": True, **options})


def word(bodies: Mapping[str, str], name: str) -> str:
    return f"train:make_{list(bodies).index(name):02}"


def broken(report: Report, word: str) -> list[Broken]:
    every = (one for outcome in report.checks for one in outcome.broken if one.at.name == word)
    return list(dict.fromkeys(every))


def found(report: Report, word: str) -> list[Finding]:
    name = re.compile(rf"{word.partition(':')[2]}\b")
    return [one for one in report.findings if name.search(repr(one))]


def remark(report: Report, word: str) -> str:
    return " ".join(one.text for one in report.targets if one.word == word)


HONEST = {
    "a module, by method": "return Net().cuda()",
    "a module, by name": "return Net().to('cuda')",
    "a module, by device and type": "return Net().to(DEVICE, torch.bfloat16)",
    "made there": "return Net('cuda:0')",
    "made in a context": "with torch.device('cuda'):\n    return Net()",
    "a tensor made there": "net = Net()\nnet.scale = torch.ones(2, device='cuda')\nreturn net",
    "a number alone": "return Net().to(0)",
    "a number by its name": "return Net().to(device=0, dtype=torch.bfloat16)",
    "the GPU of this number": "return Net().to(torch.device(0))",
    "a number, by method": "return Net().cuda(0)",
    "the GPU of this rank": "torch.cuda.set_device(0)\nreturn Net().cuda()",
    "the default": "torch.set_default_device('cuda')\nnet = Net()\n"
    "torch.set_default_device('cpu')\nreturn net",
    "a number as the default": "torch.set_default_device(0)\nnet = Net()\n"
    "torch.set_default_device(None)\nreturn net",
    "a number for a device": "net = Net()\nnet.scale = torch.ones(2, device=0)\nreturn net",
    "a step under autocast": (
        "net = Net().cuda()\n"
        "with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "    net.layer(torch.randn(4, 2, device=DEVICE)).sum().item()\n"
        "return net"
    ),
    "an EMA of it": "net = Net().cuda()\nnet.ema = [copy.deepcopy(net)]\nreturn net",
    "what is tied": "net = Net()\nnet.other = nn.Linear(2, 2)\n"
    "net.other.weight = net.layer.weight\nnet.cuda()\n"
    "assert net.other.weight is net.layer.weight\nreturn net",
    "back again": "return Net().cuda().cpu()",
}


ASKS_FIRST = {"asks": "return Net().to('cuda' if torch.cuda.is_available() else 'cpu')"}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made(tmp_path_factory.mktemp("honest"), HONEST | ASKS_FIRST)


@pytest.mark.parametrize("name", HONEST)
def test_what_is_moved_to_cuda_is_made_on_the_cpu_and_the_page_says_so(
    honest: Report, name: str
) -> None:
    it = word(HONEST, name)

    assert (broken(honest, it), found(honest, it)) == ([], [])
    assert "made on the CPU in place of CUDA (train.py:" in remark(honest, it)


def test_what_asks_for_no_gpu_is_told_as_ever(honest: Report) -> None:
    assert remark(honest, word(HONEST | ASKS_FIRST, "asks")) == "10 parameters"
    assert honest.verdict == "go"


NOT_HERE = {
    "an accelerator by name and number": "torch.Generator(torch.device('cuda', 0))",
    "the name of the GPU": "torch.cuda.get_device_name()",
    "what the GPU of this rank is": "torch.cuda.set_device(0); torch.cuda.current_device()",
    "its memory": "torch.cuda.get_device_properties(0).total_memory",
    "a stream": "torch.cuda.Stream()",
    "a generator": "torch.Generator(device='cuda')",
    "pinned memory": "torch.ones(2).pin_memory()",
    "a type of tensors": "torch.cuda.FloatTensor(2)",
    "a sum of one in the other": "assert next(Net().cuda().parameters()).is_cuda",
    "a look at whether the default is one": "torch.set_default_device('cuda'); n = torch.ones(2)\n"
    "torch.set_default_device('cpu'); assert n.is_cuda",
}


NCCL = {"NCCL": 'raise RuntimeError("Distributed package doesn\'t have NCCL built in")'}

FAULTS = {
    "a name": "net = Net().cuda()\nreturn no_such_name(net)",
    "a file of its own": "net = Net().cuda()\nreturn open('no_such_file')",
}

# What the recommended check in CI was not able to see.
BEHIND = {"what steps": "net = Net().cuda()\nnet.step = (n for n in [1])\nreturn net"}

RAISES = NOT_HERE | NCCL | FAULTS | BEHIND


@pytest.fixture(scope="module")
def raises(tmp_path_factory: pytest.TempPathFactory) -> Report:
    bodies = {name: f"{RAISES[name]}\nreturn Net().cuda()" for name in RAISES}
    return made(tmp_path_factory.mktemp("raises"), bodies)


@pytest.mark.parametrize("name", NOT_HERE | NCCL)
def test_what_only_a_gpu_has_cannot_be_judged(raises: Report, name: str) -> None:
    it = word(RAISES, name)

    (one,) = broken(raises, it)
    assert found(raises, it) == []
    assert re.match("it needs (CUDA|a GPU|NCCL), ", one.error)
    assert re.search(r"not judged: .*train\.py:\d+$", one.error, re.DOTALL)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_on_any_device_stays_one(raises: Report, name: str) -> None:
    it = word(RAISES, name)

    assert [one.check for one in found(raises, it)] == ["target-unbuildable"]


def test_a_model_that_cannot_be_copied_is_found_behind_its_move(raises: Report) -> None:
    it = word(RAISES, "what steps")

    assert [one.check for one in found(raises, it)] == ["model-uncopyable"]


DEFAULT = "(torch.set_default_device('{}'), TensorDataset)[1](torch.ones(8, 2"

# Data sets, and whether the job has what they hold on the GPU.
LOADERS = {
    "on the GPU": ("TensorDataset(torch.ones(8, 2).cuda())", True),
    "made of one there": ("TensorDataset(torch.ones(8, 2, device='cuda') * 2)", True),
    "made there by default": (f"{DEFAULT.format('cuda:1')}, device=None))", True),
    "made on the CPU after all": (f"{DEFAULT.format('cuda:1')}, device='cpu'))", False),
    "back on the CPU": ("TensorDataset((torch.ones(8, 2).cuda() * 2).cpu())", False),
    "the one that was moved": ("(lambda x: (x.cuda(), TensorDataset(x))[1])(torch.ones(8))", False),
}


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Report:
    bodies = {
        name: f"data = {dataset}\ntorch.set_default_device('cpu')\n"
        "return DataLoader(data, batch_size=2, num_workers=2)"
        for name, (dataset, _) in LOADERS.items()
    }
    return made(
        tmp_path_factory.mktemp("forked"), bodies, start_method="fork", select=["loader-fork"]
    )


@pytest.mark.skipif(os.name == "nt", reason="nothing is forked there")
@pytest.mark.parametrize("name", LOADERS)
def test_a_forked_worker_would_have_what_is_on_the_gpu(forked: Report, name: str) -> None:
    """A GO would be one for a loader that stops in its first batch."""
    it = word(LOADERS, name)  # type: ignore[arg-type]

    those = [one for one in found(forked, it) if one.check == "loader-fork"]
    assert any(one.evidence.get("cuda") for one in those)  # the job would have started it
    assert any(one.severity is Severity.ERROR for one in those) is LOADERS[name][1]


def test_where_the_job_runs_here_nothing_stands_in(tmp_path: Path) -> None:
    report = made(tmp_path, {"a module": "return Net().cuda()"}, elsewhere=False)

    assert [one.check for one in report.findings] == ["gpu-unusable"]
