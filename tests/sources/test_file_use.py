"""What a source does with the names of files is read off it, where it reads images."""

from __future__ import annotations

import pytest

from preflight.sources.file_names.file_use import files_used_in, may_use_files
from preflight.syntax.parsing import parse_text

LOAD = "def load(p):\n    text = os.path.splitext(p)[0] + '.txt'\n"


def how(code: str) -> list[tuple[str, int | None]]:
    return [(one.how, one.at.line) for one in files_used_in(parse_text(code), "train.py")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("files = os.listdir(root)", "lists"),
        ("files = list(root.glob('**/*.jpg'))", "lists"),
        ("files = [p for p in Path('x').rglob('*') if p.suffix in ('.jpg', '.png')]", "lists"),
        ("files = [os.path.join(a, f) for a, _, fs in os.walk(root) for f in fs]", "lists"),
        ("files = glob.glob('data/*.jpg')", "spares"),
        ("files = glob('data/*.jpg')", "spares"),
        ("files = [f for f in os.listdir(r) if not f.startswith('.')]", "spares"),
        ("files = [f for f in os.listdir(r) if f[0] != '.']", "spares"),
    ],
)
def test_a_folder_is_listed_with_hidden_names_or_without(code: str, expected: str) -> None:
    assert how(code) == [(expected, 1)]


@pytest.mark.parametrize(
    "code", ["files = root.glob('*.json')", "for one in ast.walk(tree): pass", "walk(root)"]
)
def test_what_lists_no_images_is_none(code: str) -> None:
    assert how(code) == []


@pytest.mark.parametrize(
    "code",
    [
        f"{LOAD}    if os.path.exists(text):\n        return text\n    return ''\n",
        f"{LOAD}    return open(text).read() if os.path.isfile(text) else ''\n",
        "def f(root):\n\n    return [p for p in root if p.with_suffix('.txt').exists()]\n",
        "for p in paths:\n    t = p.with_suffix('.cap')\n    if not t.exists():\n      continue\n",
    ],
)
def test_a_test_for_a_caption_is_found(code: str) -> None:
    assert how(code) == [("asks", 3)]


@pytest.mark.parametrize(
    "code",
    [
        f"{LOAD}    if not os.path.exists(text):\n        raise FileNotFoundError(text)\n",
        f"{LOAD}    assert os.path.exists(text)\n",
        f"{LOAD}    if os.path.exists(ckpt_path):\n        resume(ckpt_path)\n",
        "def f(p):\n    if os.path.exists(p):\n        return Image.open(p)\n",
    ],
)
def test_no_other_test_is_taken_for_one(code: str) -> None:
    assert how(code) == []


def test_lists_are_named_by_their_files() -> None:
    code = "rows = pd.read_csv(os.path.join(root, 'train.csv'))\nopen('../lists/val.txt')\n"

    found = files_used_in(parse_text(code), "train.py")

    assert [(one.how, one.names) for one in found] == [
        ("table", ("train.csv",)),
        ("table", ("val.txt",)),
    ]


def test_sources_without_images_are_not_parsed_for_it() -> None:
    assert may_use_files(b"for n in os.listdir(r):\n    Image.open(n)\n")
    assert not may_use_files(b"for n in os.listdir(r):\n    torch.load(n)\n")


def absences(code: str) -> list[tuple[str, tuple[str, ...]]]:
    uses = files_used_in(parse_text(code), "train.py")
    return [(one.how, one.names) for one in uses if one.how in ("skips", "needs", "counts")]


@pytest.mark.parametrize(
    "code",
    [
        "for row in rows:\n    if not os.path.exists(row['image']):\n        continue\n",
        "rows = [one for one in rows if (root / one).is_file()]\n",
        (
            "class D:\n  def __getitem__(self, i):\n    if not exists(self.paths[i]):\n"
            "      return self[i + 1]\n"
        ),
        (
            "for p in paths:\n    try:\n        x = Image.open(p)\n    except OSError:\n"
            "        continue\n"
        ),
    ],
)
def test_what_goes_on_without_a_file_is_found(code: str) -> None:
    assert absences(code) == [("skips", ())]


@pytest.mark.parametrize(
    "code",
    [
        "if not os.path.exists(folder):\n    download()\n",
        "for p in paths:\n    if not os.path.exists(p):\n        raise KeyError(p)\n",
        "for p in paths:\n    if not p.with_suffix('.txt').exists():\n        continue\n",
        "for n in epochs:\n    if not os.path.exists(out_dir):\n        os.mkdir(out_dir)\n",
        (
            "for p in paths:\n    try:\n        x = Image.open(p)\n    except KeyError:\n"
            "        continue\n"
        ),
        (
            "for p in paths:\n    try:\n        x = Image.open(p)\n    except OSError:\n"
            "        raise KeyError(p)\n"
        ),
    ],
)
def test_what_stops_or_asks_for_something_else_goes_on_without_nothing(code: str) -> None:
    assert absences(code) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def __getitem__(s, i):\n    assert os.path.exists(mask_path)\n", [("needs", ("mask",))]),
        ("def load(p):\n    assert len(depth_file) == 1, p\n", [("needs", ("depth",))]),
        (
            "for p in images:\n    if not p.parent.joinpath('gt').exists():\n        raise E\n",
            [("needs", ("gt",))],
        ),
        (
            (
                "def __init__(s):\n    a, masks = listdir(img_dir), listdir(mask_dir)\n"
                "    assert len(a) == len(masks)\n"
            ),
            [("counts", ("mask",))],
        ),
        ("def __init__(s):\n    assert os.path.exists(mask_path)\n", []),
        ("def load(p):\n    if len(mask_found) != 1:\n        raise E\n", [("needs", ("mask",))]),
        ("def load(p):\n    if len(mask_found) > 1:\n        raise E\n", []),
        ("def load(p):\n    if os.path.exists(mask_path):\n        raise E\n", []),
        ("def load(p):\n    assert not os.path.exists(mask_path)\n", []),
        ("def load(s):\n    assert os.path.isdir(mask_dir)\n    exists(mask_dir)\n", []),
        ("def load(s):\n    assert mask_dir.exists()\n", []),
        ("def load(p):\n    if s.masks:\n        assert os.path.exists(mask_path)\n", []),
        ("def load(p):\n    try:\n        assert exists(mask_path)\n    except E: pass\n", []),
        (
            "for n in images:\n    assert os.path.isfile(os.path.join(s.mask_dir, n))\n",
            [("needs", ("mask",))],
        ),
        (
            (
                "masks = {p.stem for p in mask_dir.glob('*.png')}\nfor p in images:\n"
                "    if p.stem not in masks:\n        raise KeyError(p)\n"
            ),
            [("needs", ("mask",))],
        ),
        ("for p in masks:\n    if p.stem not in masks_done:\n        raise E\n", []),
        ("for p in images:\n    if p.stem in masks:\n        raise E\n", []),
        ("if kind not in masks:\n    raise E\n", []),
        ("def load(s):\n    assert mask.shape == image.shape\n", []),
        ("def forward(x):\n    assert len(images) == len(masks)\n", []),
        ("masks = listdir(mask_dir)\ndef load(i):\n    assert len(mask_file) == 1\n", []),
    ],
)
def test_what_is_needed_beside_an_image_is_found(
    code: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert absences(code) == expected


def test_folders_of_masks_are_named() -> None:
    assert may_use_files(b"masks = './data/masks/'")
    assert may_use_files(b'open("https://a.b/c/Masks_2/d.png")')
    assert may_use_files(b"""x = '"' + 'labels/a'""")
    assert not may_use_files(b"a = b/c  # masks/ of 'all'")
    assert not may_use_files(b"a = '" + b"/" * 100_000)
    assert not may_use_files(b"masks = batch['masks']")
    uses = files_used_in(parse_text("a = './data/masks/'\nb = 'the masks'"), "train.py")
    assert [(one.how, one.names) for one in uses] == [("folder", ("masks",))]
