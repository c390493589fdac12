"""A state that is saved into memory is followed to the file into which it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.render.terminal import render
from tests.scripts.test_resume import UNLOADED, UNSAVED, Change, files_in, rehearse, told, write
from tests.warming import start_copies

SAVE = 'torch.save(state, os.path.join(args.output, "last.pt.tmp"))'
BUFFER = "import io; buffer = io.BytesIO(); torch.save(state, buffer); "
PART = 'os.path.join(args.output, "last.pt.tmp")'

WAYS = {
    "at once": f'file = open({PART}, "wb"); file.write(buffer.getvalue()); file.close()',
    "as it lies": f'file = open({PART}, "wb"); file.write(buffer.getbuffer()); file.close()',
    "by pathlib": f"import pathlib; pathlib.Path({PART}).write_bytes(buffer.getvalue())",
    "in parts": "import shutil; buffer.seek(0); "
    f'file = open({PART}, "wb"); shutil.copyfileobj(buffer, file, 100); file.close()',
    "by a thread": "import pathlib, threading; thread = threading.Thread("
    f"target=pathlib.Path({PART}).write_bytes, args=[buffer.getvalue()]); "
    "thread.start(); thread.join()",
}


def by(way: str) -> Change:
    return (SAVE, BUFFER + WAYS[way])


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start_copies(monkeypatch)


@pytest.mark.parametrize("way", ["at once", "by a thread"])
def test_a_script_that_goes_on_is_go(way: str, tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py", by(way))
    before = files_in(tmp_path)

    report = rehearse(tmp_path)

    assert report.verdict == "go"
    assert report.findings == ()
    assert files_in(tmp_path) == before
    said = " ".join(render(report, verbose=1).split())
    assert "20 saves" in said
    assert "resumed with --resume runs/plain/last.pt: 3 steps" in said


@pytest.mark.parametrize("way", WAYS)
def test_an_optimizer_that_was_not_saved_is_told(way: str, tmp_path: Path) -> None:
    text = write(tmp_path, "plain_resume.py", UNSAVED, UNLOADED, by(way))

    report = rehearse(tmp_path)

    line = "optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)"
    assert ("script-resume", line) in told(report, text)


def test_what_is_in_memory_alone_is_no_save(tmp_path: Path) -> None:
    """As where a state is copied, or sent to others; a file of the same length is not it."""
    other = f'file = open({PART}, "wb"); file.write(bytes(len(buffer.getvalue()))); file.close()'
    write(tmp_path, "plain_resume.py", (SAVE, BUFFER + other))

    report = rehearse(tmp_path)

    assert report.findings == ()
    assert "no save seen" in " ".join(render(report, verbose=1).split())
