"""A job may remove the folder in which it works, and work on: that is no bug of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight

pytestmark = [
    pytest.mark.usefixtures("copies"),
    pytest.mark.skipif(sys.platform == "win32", reason="nobody can remove it there"),
]

# torch asks for the folder while it imports this.
HEAD = """
import os, tempfile
import torch, torch._dynamo
from torch.utils.data import DataLoader

home = os.getcwd()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
"""

TRAINS = """
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.arange(8.0)[:, None], batch_size=2):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
"""

ASKS = """
for ask in (os.getcwd, lambda: os.path.abspath("x"), lambda: open("x", "w")):
    try:
        ask()
        raise SystemExit(3)
    except FileNotFoundError:
        pass
"""

ENDS = {
    "well": ("torch.save(model.state_dict(), os.path.join(home, 'model.pt'))", None),
    "where it catches what it asks": (ASKS, None),
    "where it does not": ("os.getcwd()", "FileNotFoundError"),
    "by an exception of another sort": ("raise KeyError('mine')", "KeyError: 'mine'"),
    "with an exit code": ("raise SystemExit(4)", "exit code 4"),
}


@pytest.mark.parametrize(("end", "error"), ENDS.values(), ids=ENDS.keys())
def test_a_script_goes_on_in_a_folder_that_is_gone_as_it_does_by_itself(
    tmp_path: Path, end: str, error: str | None
) -> None:
    (tmp_path / "train.py").write_text(HEAD + TRAINS + end + "\n")
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    report = preflight.run("script=train.py", folder=str(tmp_path), elsewhere=True, no_ledger=True)

    assert not any(one.broken for one in report.checks), report.checks
    assert (report.verdict, plain.returncode == 0) == ("no-go" if error else "go", not error)
    assert not error or any(error in one.message for one in report.findings)


@pytest.mark.parametrize(
    ("gives", "verdict"),
    [
        ("return DataLoader(torch.arange(8.0), batch_size=2, num_workers=1)", "go"),
        ("return torch.nn.Linear(1, 1)", "go"),
        ("raise KeyError('mine')", "no-go"),
    ],
)
def test_what_is_made_in_a_folder_that_is_gone_is_judged(
    tmp_path: Path, gives: str, verdict: str
) -> None:
    body = "".join(f"    {line}\n" for line in HEAD.strip().splitlines()[3:])
    text = "import os, tempfile\nimport torch\nfrom torch.utils.data import DataLoader\n\n"
    (tmp_path / "job.py").write_text(f"{text}def make():\n{body}    {gives}\n")

    report = preflight.run("job:make", folder=str(tmp_path), elsewhere=True, no_ledger=True)

    assert not any(one.broken for one in report.checks), report.checks
    assert report.verdict == verdict
