"""What a source does with the names of files is read off it, where it reads images."""

from __future__ import annotations

import pytest

from preflight.sources.file_use import files_used_in, may_use_files
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
