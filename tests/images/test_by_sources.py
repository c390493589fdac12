"""What sources do with the names of files says how grave it is that one is missing, or too many."""

from __future__ import annotations

from contextlib import nullcontext
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


DATASET = """from PIL import Image
from pathlib import Path

class Pairs:
    def __init__(self, images_dir, mask_dir):
        self.mask_dir = Path(mask_dir)
        self.ids = [one.stem for one in Path(images_dir).iterdir()]

    def __getitem__(self, index):
        found = list(self.mask_dir.glob(self.ids[index] + "_mask.*"))
        {line}
        return Image.open(found[0])
"""
TRAINS = "from {module} import Pairs\nif __name__ == '__main__':\n"
TRAINS += "    Pairs('data/imgs', './data/masks/')\n"
OTHERS = {
    "asserts": (
        DATASET.replace("{line}", "mask_files = found\n        assert len(mask_files) == 1"),
        1,
    ),
    "raises": (
        DATASET.replace("{line}", "if len(mask_found) == 0:\n            raise KeyError(index)"),
        1,
    ),
    "nobody says": (DATASET.replace("{line}", "pass"), 0),
    "other assertion": (DATASET.replace("{line}", "assert mask.max() <= 255"), 0),
    "takes the masks that are there": (
        DATASET.replace("(images_dir)", "(mask_dir)").replace(
            "{line}", "assert len(mask_found) == 1"
        ),
        0,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("module", ["pairs", "other"])
def test_a_mask_is_needed_where_a_source_on_the_way_raises_without(
    tmp_path: Path, name: str, module: str
) -> None:
    source, raises = OTHERS[name]
    put(tmp_path, *(f"data/imgs/{n}.jpg" for n in range(8)), content=photo())
    put(tmp_path, *(f"data/masks/{n}_mask.gif" for n in range(7)), content=photo())
    put(tmp_path, "pairs.py", content=source.encode())
    put(tmp_path, "other.py", content=b"from PIL import Image\nclass Pairs: ...\n")

    (finding,) = found(tmp_path, TRAINS.format(module=module))

    graver = raises and module == "pairs"
    assert finding.severity == (Severity.ERROR if graver else Severity.WARNING)
    assert ((finding.why or "").startswith("pairs.py:1")) == bool(graver)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("inside", ["", ".gitkeep"])
def test_an_empty_folder_of_masks_is_told_where_a_source_raises_without(
    tmp_path: Path, name: str, inside: str
) -> None:
    """Else it may be for what is yet to be drawn, or for what the job itself writes."""
    source, raises = OTHERS[name]
    put(tmp_path, *(f"data/imgs/{n}.jpg" for n in range(8)), content=photo())
    (tmp_path / "data/masks").mkdir()
    put(tmp_path, *(f"data/masks/{one}" for one in (inside,) if one), content=b"")
    put(tmp_path, "pairs.py", content=source.encode())

    findings = found(tmp_path, TRAINS.format(module="pairs"))

    assert [(one.severity, one.message[:35]) for one in findings] == (
        [(Severity.ERROR, "has nothing for 8 of 8 images of da")] * raises
    )


def test_a_folder_whose_masks_lie_deeper_is_not_empty(tmp_path: Path) -> None:
    source, _ = OTHERS["asserts"]
    put(tmp_path, *(f"data/imgs/{n}.jpg" for n in range(8)), content=photo())
    put(tmp_path, *(f"data/masks/all/{n}_mask.gif" for n in range(8)), content=photo())
    put(tmp_path, "pairs.py", content=source.encode())

    assert found(tmp_path, TRAINS.format(module="pairs")) == []


# --- every file of a folder -----------------------------------------------------------------------

TAKES = """import glob, os
from pathlib import Path
from PIL import Image

class Images:
    def __init__(self, folder):
        {init}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        {item}

if __name__ == "__main__":
    data = Images("data")
    for index in range(len(data)):
        data[index]
"""
OPENS = "return Image.open(os.path.join('data', self.names[index])).load()"
ALL = {
    "all names": ("self.names = os.listdir(folder)", OPENS),
    "sorted": ("self.names = sorted(one.name for one in Path(folder).iterdir())", OPENS),
    "all files that are not hidden": (
        "self.names = [one for one in os.listdir(folder) if not one.startswith('.')]",
        OPENS,
    ),
    "by their stems": (
        "self.names = [os.path.splitext(one)[0] for one in os.listdir(folder)]",
        "return Image.open(f'data/{self.names[index]}.jpg').load()",
    ),
}
CHOSEN = {
    "by their end": (
        "self.names = [one for one in os.listdir(folder) if one.endswith('.jpg')]",
        OPENS,
    ),
    "by their suffix": (
        "self.names = [p.name for p in Path(folder).iterdir() if p.suffix == '.jpg']",
        OPENS,
    ),
    "by what does not end so": (
        "self.names = [one for one in os.listdir(folder) if '.db' not in one]",
        OPENS,
    ),
    "by a pattern": (
        (
            "self.names = [os.path.basename(p) for p in glob.glob(folder + '/*.jpg')]\n"
            "        self.every = os.listdir(folder)"
        ),
        OPENS,
    ),
    "goes on": (
        "self.names = os.listdir(folder)",
        f"try:\n            {OPENS}\n        except OSError:\n            return None",
    ),
    "counted": (
        (
            "self.count = len(os.listdir(folder)) - 1\n"
            "        self.names = [f'{n}.jpg' for n in range(self.count)]"
        ),
        OPENS,
    ),
}


def put_images(folder: Path, foreign: str, *, count: int = 8) -> None:
    put(folder, *(f"data/{n}.jpg" for n in range(count)), content=photo())
    put(folder, f"data/{foreign}", content=b"\xd0\xcf\x11\xe0" + bytes(60))


@pytest.mark.parametrize("foreign", ["Thumbs.db", "notes.txt"])
@pytest.mark.parametrize("name", [*ALL, *CHOSEN])
def test_a_file_that_is_no_image_is_told_where_a_data_set_takes_all(
    tmp_path: Path, name: str, foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "by what does not end so" and foreign != "Thumbs.db":
        return
    init, item = {**ALL, **CHOSEN}[name]
    source = TAKES.format(init=init, item=item)
    put_images(tmp_path, foreign)
    told = [one for one in found(tmp_path, source) if one.check == "image-damaged"]
    assert [one.severity for one in told] == ([Severity.WARNING] if name in ALL else [])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) if name in ALL else nullcontext():  # noqa: PT011 - of Pillow's
        exec(compile(source, "train.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("folder", ["data/masks", "other"])
def test_files_that_belong_there_are_no_foreign_ones(tmp_path: Path, folder: str) -> None:
    source = TAKES.format(init=ALL["all names"][0], item=OPENS)
    if folder == "other":  # each image has its own
        put(tmp_path, *(f"data/{n}.jpg" for n in range(8)), content=photo())
        put(tmp_path, *(f"data/{n}.json" for n in range(8)), content=b"{}")
    else:
        put(tmp_path, *(f"data/imgs/{n}.jpg" for n in range(8)), content=photo())
        put(tmp_path, *(f"data/masks/{n}.gif" for n in range(8)), content=photo("GIF"))
        put(tmp_path, "data/masks/Thumbs.db", content=bytes(60))
    assert not any(one.check == "image-damaged" for one in found(tmp_path, source))
