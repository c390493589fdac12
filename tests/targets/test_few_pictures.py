"""Few pictures beside code earn no GO, unless something says that a job reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from preflight.render import terminal
from preflight.scaffold.settings import write
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = b"import torch\n"
PICTURE = photo()


def repository(folder: Path, *pictures: str, script: bytes = TRAIN) -> None:
    put(folder, "README.md", content=b"# A trainer")
    put(folder, "train.py", content=script)
    put(folder, *pictures, content=PICTURE)


def run(folder: Path, *words: str) -> Report:
    return preflight.run(*words, folder=str(folder), no_ledger=True, elsewhere=True)


# --- data stays data ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pictures",
    [
        ("data/a.jpg", "data/b.jpg"),
        ("my_dataset/cat/a.jpg", "my_dataset/dog/b.jpg"),
        ("imagenet/train/cat/a.jpg", "imagenet/val/cat/b.jpg"),
        ("trainA/a.jpg", "trainB/b.jpg"),
        tuple(f"photos/{number}.jpg" for number in range(101)),
    ],
    ids=["data", "dataset", "splits", "pairs", "many"],
)
def test_pictures_that_are_called_as_data_are_or_are_many_earn_a_go(
    tmp_path: Path, pictures: tuple[str, ...]
) -> None:
    repository(tmp_path, *pictures)

    report = run(tmp_path)

    assert report.verdict == "go"
    assert not any("Nothing says" in one for one in report.reasons)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("train.py", 'ImageFolder("photos")'),
        ("train.py", "root = './photos/'"),
        ("train.py", 'files = glob("photos/cats/*.jpg")'),
        ("config/a.yaml", "data_root: photos"),
        ("config/a.yaml", "  path: ./photos/cats/"),
        ("config.json", '{"instance_data_dir": "photos"}'),
    ],
)
def test_pictures_that_a_source_or_a_settings_file_reads_earn_a_go(
    tmp_path: Path, file: str, text: str
) -> None:
    repository(tmp_path, "photos/cats/a.jpg", "photos/cats/b.jpg")
    put(tmp_path, file, content=text.encode())

    assert run(tmp_path).verdict == "go"


def test_captions_make_pictures_data_wherever_they_lie(tmp_path: Path) -> None:
    repository(tmp_path, "examples/a.jpg", "photos/b.jpg")
    put(tmp_path, "examples/a.txt", "photos/b.txt", content=b"a cat")

    assert run(tmp_path).verdict == "go"


def test_a_folder_without_code_holds_data(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.jpg", content=PICTURE)

    assert run(tmp_path).verdict == "go"


@pytest.mark.parametrize("word", ["photos", "data=photos"])
def test_pictures_that_were_named_earn_a_go(tmp_path: Path, word: str) -> None:
    repository(tmp_path, "photos/a.jpg")

    assert run(tmp_path, word).verdict == "go"


# --- pictures that only show something ------------------------------------------------------------


@pytest.mark.parametrize(
    "pictures",
    [
        ("img/a.jpg", "img/b.jpg"),
        ("contents/a.jpg",),
        ("tutorials/images/1.jpg", "tutorials/images/2.jpg"),
        ("style/images/content-images/a.jpg", "style/images/style-images/b.jpg"),
        ("data/inpainting_examples/a.jpg", "pkg/degradation/utils/test.jpg"),
        ("imagenet-samples/n01/a.jpg", "imagenet-samples/n02/b.jpg"),
        ("records/a/curve.jpg", "records/b/curve.jpg"),
        tuple(f"results/{number}.jpg" for number in range(40)),
    ],
    ids=lambda pictures: pictures[0].rpartition("/")[0],
)
def test_few_pictures_beside_code_earn_no_go(tmp_path: Path, pictures: tuple[str, ...]) -> None:
    """The page says what to type if they are data, and typing it earns one."""
    repository(tmp_path, *pictures)
    put(tmp_path, "notes.json", content=b'{"images": "photos", "about": "img"}')

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    page = " ".join(terminal.render(report).split())
    assert "of which nothing says that a job reads them." in page
    (data,) = (one for one in report.coverage if one.part == "data")
    word = (data.hint or "").removeprefix("preflight run ")
    assert word.startswith("data=")
    assert word in page
    assert run(tmp_path, word).verdict == "go"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("toolkit/paths.py", 'KEYMAPS_DIR = os.path.join(ROOT, "toolkit", "keymaps")'),
        ("run.py", 'sys.path.insert(0, "toolkit")'),
        ("config.json", '{"path": "toolkit"}'),
    ],
)
def test_who_reads_a_folder_of_code_reads_no_pictures_below_it(
    tmp_path: Path, file: str, text: str
) -> None:
    repository(tmp_path, "toolkit/audio/logo.jpg", "toolkit/plots/weights.jpg")
    put(tmp_path, "toolkit/__init__.py", "toolkit/audio/mix.py", content=b"")
    put(tmp_path, file, content=text.encode())

    assert run(tmp_path).verdict == "cannot-judge"


def test_some_that_only_show_something_beside_data_are_named(tmp_path: Path) -> None:
    repository(tmp_path, "data/a.jpg", "benchmark/plots/a.jpg", "benchmark/plots/b.jpg")

    report = run(tmp_path)

    assert report.verdict == "go"
    page = " ".join(terminal.render(report).split())
    assert "Nothing says that a job reads the data in benchmark; it was looked at." in page


def test_a_damaged_one_of_them_is_still_told(tmp_path: Path) -> None:
    repository(tmp_path, "img/a.jpg")
    put(tmp_path, "img/b.jpg", content=PICTURE[:-40])

    assert run(tmp_path).verdict == "no-go"


def test_data_beside_them_earns_a_go(tmp_path: Path) -> None:
    repository(tmp_path, "img/a.jpg", "data/train/cat/a.jpg")

    assert run(tmp_path).verdict == "go"


def test_beside_data_init_has_them_looked_at_as_a_run_without_it_does(tmp_path: Path) -> None:
    repository(tmp_path, "data/train/cat/a.jpg")
    put(tmp_path, "img/b.jpg", content=PICTURE[:-40])

    write(str(tmp_path), force=False)

    assert run(tmp_path).verdict == "no-go"


def test_what_init_writes_of_them_earns_no_go_either(tmp_path: Path) -> None:
    """They stand there commented out, for whoever trains on them."""
    repository(tmp_path, "img/a.jpg")

    write(str(tmp_path), force=False)

    said = (tmp_path / "preflight.toml").read_text(encoding="utf-8")
    assert '# [[data]]\n# path = "img"  # few pictures beside code' in said
    assert run(tmp_path).verdict == "cannot-judge"
    put(tmp_path, "img/b.jpg", content=PICTURE[:-40])
    assert run(tmp_path).verdict == "no-go"  # as before `init`


def test_a_line_of_a_million_characters_is_read_in_no_time(tmp_path: Path) -> None:
    repository(tmp_path, "img/a.jpg")
    put(tmp_path, "words.json", content=b'["words", ' + b'"img" , ' * 30_000 + b'""]')

    report = run(tmp_path)

    assert report.seconds < 20
    assert report.verdict == "cannot-judge"


def test_an_icon_beside_code_is_no_picture_that_could_be_named(tmp_path: Path) -> None:
    """SimpleTuner: `data=simpletuner` was offered, and was GO for its favicon alone."""
    repository(tmp_path, "package/static/favicon.ico")

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    assert "data=" not in terminal.render(report)


@pytest.mark.parametrize("code", ["loss.py", "src/app.tsx"])
def test_pictures_of_a_program_are_not_offered_to_be_named(tmp_path: Path, code: str) -> None:
    """ai-toolkit: `data=toolkit` was offered, and was GO for a plot and a logo."""
    repository(tmp_path, "package/audio/logo.png")
    put(tmp_path, f"package/{code}", content=b"x = 1")

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    assert "data=" not in terminal.render(report)


def test_an_icon_is_no_data_though_its_package_is_named(tmp_path: Path) -> None:
    repository(tmp_path, "pkg/static/favicon.ico")
    put(tmp_path, "settings.json", content=b'{"path": "pkg"}')

    assert run(tmp_path).verdict == "cannot-judge"
