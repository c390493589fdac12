"""dataset-classes holds folders against what torchvision's ImageFolder makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.findings.finding import Finding, Severity
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

HEAD = "import argparse, os\nfrom pathlib import Path\nfrom torchvision import datasets\n\n"
TWO = (
    "parser = argparse.ArgumentParser()\n"
    'parser.add_argument("--data", default="data")\n'
    "args = parser.parse_args()\n"
    'train = datasets.ImageFolder(os.path.join(args.data, "train"))\n'
    'val = datasets.ImageFolder(os.path.join(args.data, "val"))\n'
)
OWN = "class Own(datasets.ImageFolder):\n"
BY_TEST = (
    "def build(args, is_train):\n"
    '    root = os.path.join(args.path, "train" if is_train else "val")\n'
    "    return datasets.ImageFolder(root)\n"
)
PLAIN = ("train/cat", "train/dog", "val/cat", "val/dog")


@pytest.fixture
def picture(tmp_path: Path) -> bytes:
    path = tmp_path / "one.jpg"
    Image.linear_gradient("L").convert("RGB").resize((32, 32)).save(path)
    content = path.read_bytes()
    path.unlink()
    return content


def found_by(
    folder: Path, picture: bytes, source: str, names: tuple[str, ...], *words: str
) -> list[Finding]:
    """Look at a job whose folders these are; one that ends in `/` is empty."""
    for name in names:
        if name.endswith("/"):
            (folder / "data" / name).mkdir(parents=True)
        elif name.rpartition("/")[2].count("."):
            content = b"\x00\x05\x16\x07" + bytes(40) if "._" in name else picture
            put(folder, f"data/{name}", content=content)
        else:
            put(folder, f"data/{name}/1.jpg", content=picture)
    put(folder, "train.py", content=(HEAD + source).encode())
    words = words or ("source=train.py", "data")
    report = preflight.run(*words, folder=str(folder), no_ledger=True, select=["dataset-classes"])
    assert not any(one.broken for one in report.checks)
    return [one for one in report.findings if one.check == "dataset-classes"]


HEALTHY = {
    "the same folders": (TWO, PLAIN),
    "few-shot splits": (TWO, ("train/cat", "train/dog", "val/emu", "val/fox")),
    "a test folder without labels": (
        TWO.replace('"val"', '"test"'),
        ("train/cat", "train/dog", "test/all"),
    ),
    "the last class is not in val": (TWO, (*PLAIN, "train/emu")),
    "an empty class that may be": (
        TWO.replace('"train")', '"train"), allow_empty=True'),
        (*PLAIN[:2], "train/emu/", *PLAIN[2:]),
    ),
    "labels that are mapped": (
        TWO.replace('"val"))', '"val"), target_transform=str)'),
        (*PLAIN, "val/bee"),
    ),
    "samples that are made anew": (f"{TWO}val.samples = []\n", (*PLAIN, "val/bee")),
    "files that it chooses itself": (
        'datasets.ImageFolder("data/train", is_valid_file=bool)\n',
        (*PLAIN, "train/emu/1.npy.gif"),
    ),
    "images and labels": ("os.listdir('data')\n", ("images", "labels/", "masks/")),
    "another ImageFolder": (
        "class ImageFolder:\n    pass\n\nImageFolder('data/train')\n",
        (*PLAIN, "train/emu/"),
    ),
    "one of the job's own": (
        "from datasets import ImageFolder\nImageFolder('data/train')\n",
        (*PLAIN, "train/emu/"),
    ),
    "one that finds classes by itself": (
        f"{OWN}    def find_classes(self, at):\n        return []\n\nOwn('data/train')\n",
        (*PLAIN, "train/emu/"),
    ),
    "a folder that is not there": ('datasets.ImageFolder("elsewhere/train")\n', PLAIN),
    "train and val beside one class": (
        'datasets.ImageFolder("data")\n',
        ("train", "val"),
    ),
    "checkpoints of a notebook within a class": (
        TWO,
        (*PLAIN, "train/cat/.ipynb_checkpoints/1-checkpoint.jpg"),
    ),
    "a home folder": ('datasets.ImageFolder(os.path.expanduser("~/train"))\n', PLAIN),
    "an address": ('datasets.ImageFolder("s3://b/train")\n', PLAIN),
}


@pytest.mark.parametrize("case", HEALTHY)
def test_what_is_read_as_it_was_meant_is_left_alone(
    case: str, tmp_path: Path, picture: bytes
) -> None:
    """Odd but legal layouts, and other classes of the same name."""
    source, names = HEALTHY[case]

    assert found_by(tmp_path, picture, source, names) == []


DAMAGED = {
    "an empty class": (TWO, (*PLAIN, "train/emu/"), "1 holds no image: emu"),
    "a hidden folder": (TWO, (*PLAIN, "train/.ipynb_checkpoints/"), "no image: .ipynb_checkpoints"),
    "a class of other suffixes": (TWO, (*PLAIN, "train/emu/1.gif"), "(they hold .gif)"),
    "no class": ('datasets.ImageFolder("data/train")\n', ("train/1.jpg",), "no folder for a class"),
    "a class more in front": (TWO, (*PLAIN, "val/bee"), "cat is 1 here, and 0 there"),
    "a class less in the middle": (TWO, (*PLAIN, "train/cow"), "dog is 1 here, and 2 there"),
    "the same classes, spelled otherwise": (
        TWO,
        ("train/ant", "train/Bee", "val/ant", "val/bee"),
        "ant is 0 here, and 1 there",
    ),
    "the folder above": ('datasets.ImageFolder("data")\n', PLAIN, "has train and val for"),
    "a class of a notebook's": (
        TWO,
        (*PLAIN, "train/.ipynb_checkpoints/1.jpg", "val/.ipynb_checkpoints/1.jpg"),
        "has .ipynb_checkpoints for a class, with 1 image",
    ),
    "files of macOS": (TWO, (*PLAIN, "train/cat/._1.jpg"), "such as cat/._1.jpg"),
    "a comprehension": (
        'sets = {x: datasets.ImageFolder(os.path.join("data", x)) for x in ["train", "val"]}\n',
        (*PLAIN, "val/bee"),
        "gives 2 of 2 classes other labels than data/train",
    ),
    "two names at once": (
        'TRAIN, VAL = "data/train", "data/val"\ndatasets.ImageFolder(TRAIN)\n',
        (*PLAIN, "train/emu/"),
        "no image: emu",
    ),
    "beside a file": (
        'datasets.ImageFolder(os.path.join(os.path.dirname("data/all.csv"), "train"))\n',
        (*PLAIN, "train/emu/"),
        "no image: emu",
    ),
    "an option by another name": (
        TWO.replace("(args.data", "(data").replace("train =", "data = args.data\ntrain ="),
        (*PLAIN, "train/emu/"),
        "no image: emu",
    ),
    "pathlib": ('ROOT = Path("data")\ndatasets.ImageFolder(ROOT / "train")\n',
        (*PLAIN, "train/emu/"), "no image: emu"),
    "a class made of it": (
        f"{OWN}    def __getitem__(self, at):\n        return at\n\nOwn('data/train')\n",
        (*PLAIN, "train/emu/"),
        "no image: emu",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_what_imagefolder_stops_at_or_misreads_is_an_error(
    case: str, tmp_path: Path, picture: bytes
) -> None:
    """Where the script that was named writes the folder out."""
    source, names, said = DAMAGED[case]
    found = found_by(tmp_path, picture, source, names)

    assert {one.severity for one in found} == {Severity.ERROR}
    assert any(said in one.message for one in found), found


SETTINGS = {
    "by a key": 'cfg = json.load(open("a.json"))\ndatasets.ImageFolder(cfg["root"])\n',
    "by a part of the path": 'cfg = json.load(open("a.json"))\n'
    'datasets.ImageFolder(os.path.join(cfg["above"], "train"))\n',
    "by what a function is handed": "def make(folder, size):\n"
    "    return datasets.ImageFolder(folder)\n\n"
    'with open("a.json") as f:\n    cfg = json.load(f)\nmake(cfg["root"], 3)\n',
    "on a line with others": 'cfg = json.load(open("a.json"))\n'
    'print(os.path.join("data", "val"), datasets.ImageFolder(cfg["root"]))\n',
}


@pytest.mark.parametrize("source", SETTINGS.values(), ids=SETTINGS)
def test_a_folder_that_settings_name_is_the_one(
    source: str, tmp_path: Path, picture: bytes
) -> None:
    """An empty class of it stops the script; one of another folder does not."""
    for root, severities in (("train", [Severity.ERROR]), ("val", [])):
        said = f'{{"root": "data/{root}", "above": "{"data" if severities else "other"}"}}'
        put(tmp_path, "a.json", content=said.encode())
        put(tmp_path, "other/train/cat/1.jpg", content=picture)
        found = found_by(tmp_path, picture, f"import json\n{source}", (*PLAIN, "train/emu/"))
        assert [one.severity for one in found] == severities
        (tmp_path / "data/train/emu").rmdir()


GUESSED = {
    "the end of a path": (
        'def build(args):\n    return datasets.ImageFolder(os.path.join(args.path, "train"))\n',
        (*PLAIN, "train/emu/"),
    ),
    "a split by a test": (
        BY_TEST,
        (*PLAIN, "val/bee"),
    ),
    "behind a flag": (
        'if os.environ.get("FOLDERS"):\n    datasets.ImageFolder("data/train")\n',
        (*PLAIN, "train/emu/"),
    ),
    "labels that nobody uses": (
        f"{TWO}for images, _ in val:\n    print(images)\n",
        (*PLAIN, "val/bee"),
    ),
    "images that are left out": (TWO, (*PLAIN, "train/cat/2.gif")),
    "a class more at the end": (TWO, (*PLAIN, "val/emu")),
}


@pytest.mark.parametrize("case", GUESSED)
def test_what_may_be_otherwise_is_a_warning(case: str, tmp_path: Path, picture: bytes) -> None:
    """A path of which the end is known leads to the folder that was named."""
    source, names = GUESSED[case]
    found = found_by(tmp_path, picture, source, names)

    assert [one.severity for one in found] == [Severity.WARNING]


def test_a_bare_run_judges_what_the_script_reads(tmp_path: Path, picture: bytes) -> None:
    """Without a word, where it was GO."""
    found = found_by(tmp_path, picture, TWO, (*PLAIN, "train/emu/"), ".")

    assert [one.severity for one in found] == [Severity.ERROR]
    assert [one.at.file for one in found] == ["data/train"]


def test_a_file_that_is_not_started_is_a_guess(tmp_path: Path, picture: bytes) -> None:
    """One of several scripts of a folder reads what the job may never see."""
    put(tmp_path, "tool.py", content=(HEAD + 'datasets.ImageFolder("data/raw")\n').encode())
    names = (*PLAIN, "raw/cat", "raw/emu/")
    found = found_by(
        tmp_path, picture, f'if __name__ == "__main__":\n    {TWO.splitlines()[0]}\n', names, "."
    )

    assert [(one.severity, one.at.file) for one in found] == [(Severity.WARNING, "data/raw")]


# --- splits of which no source says where they lie ------------------------------------------------

LACKS = ("train/cat", "train/dog", "train/emu", "val/cat", "val/emu")
BARE = "import torch\n"
ARGS = "def build(args):\n    return datasets.ImageFolder(args.val_dir, None)\n"
TIMM = "from timm.data import create_dataset\n\n\ndef build(args):\n    return create_dataset({})\n"

AS_MEANT = {
    "all classes": ("", (*LACKS, "val/dog")),
    "a last class that is not in val": ("", (*PLAIN, "train/emu")),
    "no splits": ("", ("cat", "dog")),
    "a test without labels": ("", ("train/cat", "train/dog", "test/1.jpg")),
    "a test without labels in one folder": ("", ("train/cat", "train/dog", "test/all")),
    "few-shot splits": ("", ("train/cat", "train/dog", "val/bee", "val/fox")),
    "some people in both": ("", ("train/ann", "train/bob", "train/cy", "val/cy", "val/dee")),
    "what is trained on has no faults": ("", ("train/good", "test/bad", "test/good")),
    "images, depths and masks": ("", ("train/depth", "train/mask", "train/rgb", "val/rgb")),
    "pairs": ("", ("train/A", "train/B", "val/B")),
    "years": ("", ("train/2019", "train/2020", "val/2020")),
    "captions": ("", (*LACKS, "train/cat/1.txt", "train/dog/1.txt", "train/emu/1.txt")),
    "a list of classes": ("", (*LACKS, "classes.txt")),
    "a reader of the job's own": (BARE, LACKS),
    "labels that are mapped": (ARGS.replace("None", "None, str"), LACKS),
    "labels that timm is told": (TIMM.format('"", class_map="map.txt"'), LACKS),
    "another kind of timm's": (TIMM.format('"hfds/pets"'), LACKS),
    "folders that the source names itself": ('datasets.ImageFolder("data/train")\n', LACKS),
    "a class that is empty, which timm leaves out": (
        TIMM.format("args.name"),
        ("train/cat", "train/dog", "val/cat", "val/dog/"),
    ),
}


def of_layout(folder: Path, picture: bytes, source: str, names: tuple[str, ...]) -> list[Finding]:
    found = found_by(
        folder, picture, source, names, *(("data", "source=train.py")[: 1 + bool(source)])
    )
    assert {one.severity for one in found} <= {Severity.WARNING}
    return found


@pytest.mark.parametrize("case", AS_MEANT)
def test_splits_that_may_be_so_on_purpose_are_left_alone(
    case: str, tmp_path: Path, picture: bytes
) -> None:
    source, names = AS_MEANT[case]

    assert of_layout(tmp_path, picture, source, names) == []


MOVED = "gives 1 of 2 classes other labels than {}: emu is 1 here, and 2 there; only there: dog"
EMPTY = "has 3 folders for classes, of which 1 holds no image: dog"
UNEVEN = {
    "a class less": ("", LACKS, MOVED.format("data/train")),
    "the first of two": ("", (*PLAIN[:2], "val/dog"), "dog is 0 here, and 1 there"),
    "a class more": ("", (*PLAIN, "val/bee"), "cat is 1 here, and 0 there; only here: bee"),
    "an empty class": ("", (*LACKS, "val/dog/"), EMPTY),
    "a class of texts": ("", (*LACKS, "val/dog/1.md.md"), EMPTY),
    "deeper": ("", tuple(f"a/b/{one}" for one in LACKS), MOVED.format("data/a/b/train")),
    "a path that nobody knows": (ARGS, LACKS, MOVED.format("data/train")),
    "beside a list that nobody may read": (ARGS, (*LACKS, "labels.txt"), "emu is 1 here"),
    "timm": (TIMM.format('"", root=args.data'), LACKS, "emu is 1 here, and 2 there"),
    "timm, and an empty class": (TIMM.format("args.name"), (*LACKS, "val/dog/"), "emu is 1 here"),
}


@pytest.mark.parametrize("case", UNEVEN)
def test_a_class_that_one_split_lacks_is_a_warning(
    case: str, tmp_path: Path, picture: bytes
) -> None:
    source, names, said = UNEVEN[case]

    (found,) = of_layout(tmp_path, picture, source, names)
    assert said in found.message
    assert "(a guess: " in found.message
    assert [one.file for one in found.also if one.file == "train.py"] == ["train.py"] * bool(source)


def test_splits_that_are_named_one_by_one_are_held_against_each_other(
    tmp_path: Path, picture: bytes
) -> None:
    (found,) = found_by(tmp_path, picture, "", LACKS, "data/train", "data/val")

    assert found.at.file == "data/val"
    assert found_by(tmp_path, picture, "", (), "data/val") == []
