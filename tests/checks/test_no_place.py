"""What is advised where a file cannot be written, and where one cannot be read."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import preflight
from checks._no_place import to_write, to_write_at
from preflight.users_code.frames import said_by

WRITES = {
    "a file that is opened": "with open({!r}, 'w') as file: file.write('x')",
    "by its mode": "open({!r}, mode='ab').close()",
    "numpy": "import numpy; numpy.save({!r}, numpy.zeros(3))",
    "a text": "import pathlib; pathlib.Path({!r}).write_text('x')",
    "a picture": "from PIL import Image; Image.new('RGB', (8, 8)).save({!r})",
    "pandas": "import pandas; pandas.DataFrame().to_csv({!r})",
}


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def raised(code: str) -> str | None:
    try:
        exec(code, {})
    except OSError as error:
        return said_by(error)
    return None


@pytest.mark.parametrize("line", WRITES.values(), ids=WRITES)
def test_a_line_that_writes_works_once_its_folder_is_made(tmp_path: Path, line: str) -> None:
    code = line.format("out/deep/x.png")
    with within(tmp_path):
        error = raised(code)
        assert error is not None
        fix = to_write_at(code, error, str(tmp_path))
        assert fix == 'Make its folder before this line:  os.makedirs("out/deep", exist_ok=True)'
        exec(fix.partition(":  ")[2], {"os": os})
        assert raised(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "open('out/x.txt')",
        "open('out/x.txt', 'r')",
        "import numpy; numpy.load('out/x.npy')",
        "from PIL import Image; Image.open('out/a.png').save('out/b.png')",
    ],
)
def test_a_line_that_reads_is_not_told_to_make_a_folder(tmp_path: Path, code: str) -> None:
    with within(tmp_path):
        error = raised(code)

    assert error is not None
    assert to_write_at(code, error, str(tmp_path)) is None


def by_torch(path: str) -> None:
    import torch

    torch.save({"a": torch.ones(2)}, path)


def by_safetensors(path: str) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"a": torch.ones(2)}, path)


@pytest.mark.parametrize("save", [by_torch, by_safetensors])
def test_what_savers_of_states_say_is_known(tmp_path: Path, save: Callable[[str], None]) -> None:
    path = str(tmp_path / "out" / "x.pt")
    with pytest.raises(Exception, match=r"does not exist|No such file") as caught:
        save(path)

    fix = to_write(said_by(caught.value), "out/x.pt")

    assert fix == 'Make its folder before this line:  os.makedirs("out", exist_ok=True)'


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/data/x.pt'", "may write to"),
        ("OSError: [Errno 28] No space left on device", "Make room"),
        ("TypeError: cannot pickle 'module' object", None),
    ],
)
def test_other_errors_of_a_save_are_told_apart(error: str, words: str | None) -> None:
    fix = to_write(error, "out/x.pt")

    assert words in fix if fix and words else fix is None


@pytest.mark.usefixtures("at_hand")
def test_the_advice_for_a_state_without_a_folder_mends_the_script(tmp_path: Path) -> None:
    text = "import os, torch\n{}\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'out/last.pt')\n"
    script = tmp_path / "train.py"
    script.write_text(text.format("pass"), encoding="utf-8")

    report = preflight.run("train.py", folder=str(tmp_path), select=["script-save"])

    (finding,) = report.findings
    made = re.search(r"os\.makedirs\(.+\)", finding.fix or "")
    assert made is not None
    script.write_text(text.format(made[0]), encoding="utf-8")
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True, timeout=100)
