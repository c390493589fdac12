"""What sources do with the names of files says how grave it is that one is missing, or too many."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

ASKS = "from PIL import Image\nfor p in paths:\n    if not p.with_suffix('.txt').exists():\n"
ASKS += "        continue\n    Image.open(p)\n"
ASKS += "if __name__ == '__main__':\n    main()\n"
RAISES = ASKS.replace("continue", "raise KeyError(p)")
ATTRIBUTES = b"\x00\x05\x16\x07" + bytes(60)


def found(folder: Path, source: str) -> list[Finding]:
    put(folder, "train.py", content=source.encode())
    report = preflight.run(folder=str(folder), no_ledger=True, elsewhere=True)
    assert not any(one.broken for one in report.checks)
    return [one for one in report.findings if one.check in ("sample-unpaired", "image-damaged")]


@pytest.mark.parametrize(
    ("source", "severity"), [(ASKS, Severity.WARNING), (RAISES, Severity.ERROR)]
)
def test_a_source_that_asks_for_a_caption_goes_on_without(
    tmp_path: Path, source: str, severity: Severity
) -> None:
    put(tmp_path, *(f"data/{n}.jpg" for n in range(8)), content=photo())
    put(tmp_path, *(f"data/{n}.txt" for n in range(5)), content=b"a dog")
    put(tmp_path, "write_captions.py", content=ASKS.encode())

    findings = found(tmp_path, source)

    assert [(one.at.file, one.severity) for one in findings] == [
        (f"data/{n}.jpg", severity) for n in (5, 6, 7)
    ]
    assert ("train.py:3 asks whether it is there" in (findings[0].why or "")) == (source == ASKS)


@pytest.mark.parametrize(
    ("listing", "why"),
    [
        ("os.listdir('data')", "train.py:2 takes all names"),
        ("[]", "os.listdir() and Path.glob() give all names"),
        ("glob.glob('data/*.jpg')", None),
    ],
)
def test_what_macos_left_beside_images_is_told_unless_it_is_spared(
    tmp_path: Path, listing: str, why: str | None
) -> None:
    put(tmp_path, *(f"data/{n}.jpg" for n in range(8)), content=photo())
    put(tmp_path, *(f"data/._{n}.jpg" for n in range(8)), content=ATTRIBUTES)

    findings = found(tmp_path, f"from PIL import Image\nfiles = {listing}\nImage.open(files[0])\n")

    told = [(one.message, one.severity, (one.why or "")[: len(why or "")]) for one in findings]
    message = "holds 8 files of macOS that are named as images, such as data/._0.jpg"
    assert told == ([(message, Severity.WARNING, why)] if why else [])
