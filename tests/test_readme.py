"""The README is true: its pages are real, its tables are generated, its commands work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.command import catalogue
from preflight.findings import registry
from preflight.findings.check import Check
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from preflight.shards.facts import ShardFacts

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RENEW = bool(os.environ.get("PREFLIGHT_RENEW"))
"""`PREFLIGHT_RENEW=1 pytest tests/test_readme.py` writes the generated parts anew."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def part(name: str) -> str:
    """What stands in the README under a mark."""
    text = README.read_text(encoding="utf-8")
    return text.split(f"<!-- {name} -->\n", 1)[1].split("<!-- end -->", 1)[0]


def renew(name: str, content: str) -> None:
    """Write the part under a mark anew."""
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(f"<!-- {name} -->\n", 1)
    _, tail = rest.split("<!-- end -->", 1)
    README.write_text(f"{head}<!-- {name} -->\n{content}<!-- end -->{tail}", encoding="utf-8")


def test_the_demos_page_is_the_real_one(preflight: Run) -> None:
    """But for its times and its folder, which differ with every run."""
    done = preflight("demo")
    page = re.sub(r"/\S*preflight-demo-\w+", "/tmp/preflight-demo", done.stdout)
    if "this machine has none" not in page:
        pytest.skip("the README shows the page of a machine without a GPU")
    if RENEW:
        renew("generated: preflight demo", f"```console\n$ preflight demo\n\n{page}```\n")

    assert still(part("generated: preflight demo")) == still(
        f"```console\n$ preflight demo\n\n{page}```\n"
    )


def still(page: str) -> str:
    """Take out what a clock decides."""
    return re.sub(r"Took  .*\n(             .*\n)*", "", page)


def test_the_table_of_checks_is_current() -> None:
    """A new check stands in it once it is renewed."""
    table = catalogue.listing("markdown") + "\n"
    if RENEW:
        renew("generated: preflight checks --format markdown", table)

    assert part("generated: preflight checks --format markdown") == table


def commands() -> list[str]:
    """All `preflight run` commands that are shown on lines of their own."""
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("preflight run")]


@pytest.mark.parametrize("command", commands())
def test_its_commands_work(preflight: Run, tmp_path: Path, command: str) -> None:
    """On a small sound job that has all that they name; only a GPU may be missing."""
    from PIL import Image

    (tmp_path / "photos").mkdir()
    for name in ("a", "b"):
        Image.new("RGB", (32, 32), "tan").save(tmp_path / "photos" / f"{name}.jpg")
        (tmp_path / "photos" / f"{name}.txt").write_text("a photograph")
    (tmp_path / "data").mkdir()
    for number in range(100):
        tarfile.open(tmp_path / "data" / f"train-{number:03}.tar", "w").close()
    for folder in ("cache/text", "out/checkpoint-500"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "def make_loader():\n    return torch.utils.data.DataLoader([1, 2])\n"
        "def make_model():\n    return torch.nn.Linear(2, 2)\n"
    )

    done = preflight(*shlex.split(command)[1:])

    assert done.returncode == (4 if "--gpus" in command else 0), done


def test_its_settings_are_valid(tmp_path: Path) -> None:
    """Every key of the examples is known."""
    jobs = []
    for text in re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")
        jobs.append(make_job(folder=str(tmp_path), environ={}))

    of_a_cache, job = jobs
    assert of_a_cache.cache[0].of == ("pets",)
    assert job.launch.gpus == 8
    assert job.loader[0].kwargs == {"batch_size": 16}


def test_its_check_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example is taken as it stands, and asked."""
    text = README.read_text(encoding="utf-8")
    code = re.search(
        r"<!-- example: checks/shard_heavy.py -->\n```python\n(.*?)```", text, re.DOTALL
    )
    assert code is not None
    (tmp_path / "shard_heavy.py").write_text(code[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    heavy: Check = registry.only_check(importlib.import_module("shard_heavy"))

    small = ShardFacts(file="a.tar", size=10**9, damage=(), members=1, samples=1)
    large = ShardFacts(file="b.tar", size=11 * 10**9, damage=(), members=1, samples=1)
    assert heavy.id == "shard-heavy"
    assert list(heavy.ask(small, Job())) == []
    assert [one.message for one in heavy.ask(large, Job())] == ["holds 11.0 GB"]


def test_it_names_what_the_classifiers_name() -> None:
    """The systems and versions of Python on which the suite has passed, and no others."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)\"", project)
    systems = re.findall(r"Operating System :: (?:POSIX :: )?(\w+)\"", project)

    said = f"Tested on {' and '.join(systems)} with Python {', '.join(versions)}."
    assert said in README.read_text(encoding="utf-8")
