"""A checkpoint that is written by pickle is a save; other pickles are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.render.terminal import render
from tests.scripts.test_resume import UNLOADED, UNSAVED, Change, files_in, rehearse, told, write
from tests.warming import start_copies

SAVE = 'torch.save(state, os.path.join(args.output, "last.pt.tmp"))'
FILE = 'open(os.path.join(args.output, "last.pt.tmp"), "wb")'
PICKLED: tuple[Change, ...] = (
    (SAVE, f"with {FILE} as file: pickle.dump(state, file)"),
    ("torch.load(args.resume)", 'pickle.load(open(args.resume, "rb"))'),
    ("import json\n", "import json\nimport pickle\n"),
)


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start_copies(monkeypatch)


def test_a_script_that_pickles_its_state_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py", *PICKLED)
    before = files_in(tmp_path)

    report = rehearse(tmp_path)

    assert (report.verdict, report.findings) == ("go", ())
    assert files_in(tmp_path) == before
    said = " ".join(render(report, verbose=1).split())
    assert "resumed with --resume runs/plain/last.pt: 2 steps" in said


FAULTS: dict[str, tuple[tuple[Change, ...], str, str]] = {
    "what does not pickle": (
        (
            *PICKLED,
            ('"epoch": epoch,\n            "args"', '"epoch": lambda: 0,\n            "args"'),
        ),
        "script-save",
        f"with {FILE} as file: pickle.dump(state, file)",
    ),
    "an optimizer that is not saved": (
        (*PICKLED, UNSAVED, UNLOADED),
        "script-resume",
        "optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_pickled_state_are_told(fault: str, tmp_path: Path) -> None:
    changes, check, line = FAULTS[fault]
    text = write(tmp_path, "plain_resume.py", *changes)

    assert (check, line) in told(rehearse(tmp_path), text)


@pytest.mark.parametrize("held", ["'x': x", "'labels': y[:4]"])
def test_a_pickle_of_something_else_is_no_save(held: str, tmp_path: Path) -> None:
    """As features of a batch, or labels of as many as a layer has numbers beside its weights."""
    other = f"with {FILE} as file: pickle.dump({{{held}, 'accuracy': accuracy}}, file)"
    write(tmp_path, "plain_resume.py", (SAVE, other), *PICKLED[2:])

    report = rehearse(tmp_path)

    assert report.findings == ()
    assert "no save seen" in " ".join(render(report, verbose=1).split())
