"""The pages are true: generated parts are current, commands work, settings are valid.

`make pages` writes the generated parts anew.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from preflight.findings import exit_codes as exits
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from tests.archives import photo, tarred
from tests.files import WHOLE, put

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (README, CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md")))

EXAMPLE = "docs/examples/image_tiny.py"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def generator() -> ModuleType:
    """Import docs/generate.py, which is no part of any package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generator()


# --- generated parts ------------------------------------------------------------------------------


def parts() -> Iterator[object]:
    """All generated parts of all pages: where they stand, what makes them, and their text.

    But for the page of the demo, which test_demo.py runs anyway.
    """
    for page in PAGES:
        for _, name, text, _ in GENERATE.PART.findall(page.read_text(encoding="utf-8")):
            if name != GENERATE.DEMO:
                yield pytest.param(name, text, id=f"{page.name}: {name}")


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("name", "text"), list(parts()))
def test_its_generated_parts_are_current(name: str, text: str) -> None:
    """A new check, option or key stands in them once they are renewed."""
    try:
        made = GENERATE.made(name)
    except GENERATE.CannotMakeError as error:
        pytest.skip(str(error))

    assert text == made


def test_a_new_page_is_renewed_too() -> None:
    """Those that are renewed are those that are held to it, and every kind of part is in use."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    marked = [name for text in texts for _, name, _, _ in GENERATE.PART.findall(text)]

    assert GENERATE.PAGES == PAGES
    unused = [one for one in GENERATE.PARTS if not any(name.startswith(one) for name in marked)]
    assert unused == []


def test_a_page_is_shortened_and_says_so() -> None:
    """The list on top, the first groups, a mark, the last line."""
    groups = "".join(f"{number}  a-check\n   is wrong\n\n" for number in range(1, 7))
    page = f"NO-GO  6 things.\n\n  1  a  is wrong\n\nIn order:\n\n{groups}Looked at    a\n\nNO-GO\n"

    assert GENERATE.shortened(page) == (
        "NO-GO  6 things.\n\n  1  a  is wrong\n\nIn order:\n\n"
        + "".join(f"{number}  a-check\n   is wrong\n\n" for number in (1, 2, 3))
        + "…\n\nNO-GO\n"
    )
    assert "3  a-check" not in GENERATE.shortened(page.replace("3  a-check", "   a-check"))


def test_every_table_of_the_settings_is_described() -> None:
    """And every key of each; `[[model]]` has those of `[[loader]]`."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    described = set(re.findall(r"<!-- generated: keys of \[+(\w+)\]+ -->", text))

    fields = {one.name for one in dataclasses.fields(Job)}
    assert described == {"job", *fields} - {
        *("name", "root", "python", "model", "plugins", "origins"),
        *("data_files", "spelled"),  # what was read, and no settings
    }


# --- blocks ---------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    mark: str
    """What the comment directly above it says: `not run: needs Slurm`, `exit: 4`; else empty."""


_BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(*languages: str) -> Iterator[Block]:
    """All blocks in these languages that somebody wrote; generated ones are held to more."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        plain = GENERATE.PART.sub(lambda part: "\n" * part[0].count("\n"), text)
        for found in _BLOCK.finditer(plain):
            if found[2] in languages:
                line = plain.count("\n", 0, found.start(2)) + 1
                yield Block(page.name, line, found[2], found[3], found[1] or "")


def each(found: Iterator[Block]) -> pytest.MarkDecorator:
    params = [pytest.param(one, id=f"{one.page}:{one.line}") for one in found]
    return pytest.mark.parametrize("block", params)


# --- commands -------------------------------------------------------------------------------------


def make_job_of_the_pages(folder: Path) -> None:
    """Build a small sound job that has all that the commands name."""
    for place in ("photos", "train/10_sks dog", "reg/1_dog"):
        put(folder / place, "a.jpg", "b.jpg", content=photo(width=32, height=32))
        put(folder / place, "a.txt", "b.txt", content=b"a photograph")
    for number in range(100):
        content = tarred({f"{number}.txt": b"a dog"})
        put(folder, f"data/train-{number:03}.tar", content=content)
    for place in ("cache/text", "out/checkpoint-500"):
        put(folder, f"{place}/a.safetensors", content=WHOLE)
    subsets = "".join(
        f'[[datasets.subsets]]\nimage_dir = "{place}"\n'
        for place in ("train/10_sks dog", "reg/1_dog")
    )
    extension = 'caption_extension = ".txt"'
    (folder / "dataset.toml").write_text(f"[general]\n{extension}\n[[datasets]]\n{subsets}")
    zipfile.ZipFile(folder / "train" / "10_sks dog" / "a_0032x0032_sdxl.npz", "w").close()
    (folder / "train.py").write_text(
        "import torch\n"
        "def make_loader():\n    return torch.utils.data.DataLoader([1, 2])\n"
        "def make_model():\n    return torch.nn.Linear(2, 2)\n"
        "def make_parts():\n    return make_loader(), make_model()\n"
    )


def runnable() -> Iterator[Block]:
    """Blocks of commands that need no more than a folder, each once, since some import torch."""
    found = {one.text: one for one in blocks("console", "bash", "fish")}
    return (one for one in found.values() if not one.mark.startswith("not run:"))


@each(runnable())
def test_its_commands_work(preflight: Run, tmp_path: Path, block: Block) -> None:
    """One after the other, on the job that they are about; only a GPU may be missing."""
    make_job_of_the_pages(tmp_path)
    codes = block.mark.removeprefix("exit: ").split(" or ") if block.mark else ["0"]

    for command in block.text.splitlines():
        words = shlex.split(command)
        variables = dict(words.pop(0).split("=") for _ in range(words.index("preflight")))
        done = preflight(*words[1:], env=variables)
        assert str(done.returncode) in codes, done


def test_what_is_not_run_says_why() -> None:
    marks = [one.mark for one in blocks("console", "bash", "fish")]

    assert len([mark for mark in marks if mark.startswith("not run: ")]) < len(marks) / 3


@each(blocks("python"))
def test_its_python_can_be_read(block: Block) -> None:
    """No more is asked of what needs other people's packages."""
    ast.parse(block.text)


# --- settings -------------------------------------------------------------------------------------


@each(blocks("toml"))
def test_its_settings_are_valid(tmp_path: Path, block: Block) -> None:
    """Every key of the examples is known, and every value means something."""
    (tmp_path / (block.mark or "preflight.toml")).write_text(block.text, encoding="utf-8")

    job = make_job(folder=str(tmp_path), environ={})

    assert job.origins


def test_its_settings_come_to_what_they_say(tmp_path: Path) -> None:
    whole = next(one for one in blocks("toml") if one.page == "settings.md")
    (tmp_path / "preflight.toml").write_text(whole.text, encoding="utf-8")
    job = make_job(folder=str(tmp_path), environ={})

    assert job.launch.gpus == 8
    assert job.cache[0].of == ("data/train-{000..099}.tar",)
    assert job.loader[0].kwargs == {"batch_size": 16}


# --- the rest -------------------------------------------------------------------------------------


def test_it_names_what_the_classifiers_name() -> None:
    """The systems and versions of Python on which the suite has passed, and no others."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)\"", project)
    systems = re.findall(r"Operating System :: (?:POSIX :: )?(\w+)\"", project)

    said = f"Tested on {' and '.join(systems)} with Python {', '.join(versions)}."
    assert said in README.read_text(encoding="utf-8")


def test_every_version_that_it_names_is_one_of_the_matrix() -> None:
    """Whoever adds one to either has to have run it."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)\"", project)
    listed = re.search(r"^PYTHONS = \[(.*)\]$", (ROOT / "noxfile.py").read_text(), re.MULTILINE)

    assert listed is not None
    assert set(versions) <= set(re.findall(r"3\.\d+", listed[1]))


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "report.md"], ids=lambda page: page.name)
def test_it_names_every_exit_code(page: Path) -> None:
    """Scripts and schedulers act on them."""
    table = re.findall(r"^\| (\d+) \|", page.read_text(encoding="utf-8"), re.MULTILINE)

    codes = [value for name, value in vars(exits).items() if name.startswith("EXIT_")]
    assert [*map(int, table)] == sorted(codes)


def test_the_readme_can_be_read_at_one_go() -> None:
    """What is longer belongs into docs/."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_readme_leads_to_pages_that_are_there() -> None:
    """The links of the other pages are held by the test below."""
    links = re.findall(r"\]\(((?:docs/|CONTRIBUTING)[^)#]+)", README.read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Every page is in the navigation, and every link and anchor leads somewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "checks" / "index.html").is_file()
    left_out = [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        if page.name not in (ROOT / "mkdocs.yml").read_text()
    ]
    assert left_out == []
