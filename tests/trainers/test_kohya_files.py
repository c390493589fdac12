"""The dataset config of kohya's scripts is read as the trainer reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.scaffold.settings import write
from preflight.session.run import UsageError
from preflight.settings.toml_file import SettingsError
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")


def photos(folder: Path, number: int = 4, *, texts: str = ".txt", kind: str = "jpg") -> None:
    """Write images, each with its caption; empty: without."""
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(number):
        Image.effect_noise((40, 32), 40 + at).convert("RGB").save(folder / f"dog{at}.{kind}")
        if texts:
            put(folder, f"dog{at}{texts}", content=f"a dog, number {at}\n".encode())


def subset(image_dir: str, *more: str) -> str:
    """Write one data set of one subset."""
    lines = ["[[datasets]]", "[[datasets.subsets]]", f"image_dir = {json.dumps(image_dir)}", *more]
    return "\n".join(lines) + "\n"


def told(folder: Path, *words: str, at: str | None = None) -> list[Finding]:
    """Run in a folder and give what gates, or warns."""
    report = preflight.run(*words, folder=at or str(folder))
    return [one for one in report.findings if one.severity != Severity.NOTE]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (".txt", 'caption_extension = ".txt"'),
        (".txt", 'caption_extension = "txt"'),
        (".TXT", 'caption_extension = ".TXT"'),
        (".caption", ""),
        (".txt", 'caption_extension = ".txt"\nclass_tokens = "sks dog"'),
        ("", 'class_tokens = "sks dog"'),
        ("", "is_reg = true"),
        ("", 'caption_extension = ".txt"\nclass_tokens = "sks dog"'),
    ],
)
def test_captions_that_fit_are_left_alone(tmp_path: Path, texts: str, says: str) -> None:
    """With its dot or without; and where class tokens stand for captions, none is needed."""
    photos(tmp_path / "train" / "10_sks dog", texts=texts)
    put(tmp_path, "dataset.toml", content=subset("train/10_sks dog", says).encode())

    report = preflight.run(folder=str(tmp_path))

    assert report.findings == ()
    assert report.verdict == "go"
    assert report.job["data.0.path"].origin == "dataset.toml:3"


def test_class_tokens_stand_for_the_few_captions_that_are_not_there(tmp_path: Path) -> None:
    """The trainer asks for each image by itself."""
    photos(tmp_path / "a")
    (tmp_path / "a" / "dog1.txt").unlink()
    says = 'caption_extension = ".txt"\nclass_tokens = "dog"'
    put(tmp_path, "dataset.toml", content=subset("a", says).encode())

    assert told(tmp_path) == []


@pytest.mark.parametrize("at", ["subset", "dataset", "general"])
@pytest.mark.parametrize("more", ["", 'class_tokens = "dog"'])
def test_an_extension_that_no_caption_has_is_told_where_it_is_said(
    tmp_path: Path, at: str, more: str
) -> None:
    """The nearest level counts; others would have fitted."""
    photos(tmp_path / "a")
    wrong, right = 'caption_extension = ".caption"', 'caption_extension = ".txt"'
    levels = {
        "general": ["[general]", wrong if at == "general" else right],
        "dataset": ["[[datasets]]", wrong if at == "dataset" else ""],
        "subset": ["[[datasets.subsets]]", 'image_dir = "a"', more],
    }
    levels["subset"].append(wrong if at == "subset" else "")
    lines = [line for level in levels.values() for line in level]
    put(tmp_path, "dataset.toml", content="\n".join(lines).encode())

    (finding,) = told(tmp_path)

    assert finding.check == "sample-unpaired"
    assert (finding.at.file, finding.at.line) == ("dataset.toml", lines.index(wrong) + 1)
    assert finding.fix == 'Say caption_extension = ".txt" in dataset.toml.'


def test_without_an_extension_the_trainers_own_is_asked_for(tmp_path: Path) -> None:
    """It is .caption, unless a script that starts the trainer with this file says another one."""
    photos(tmp_path / "a")
    put(tmp_path, "dataset.toml", content=subset("a").encode())

    (finding,) = told(tmp_path)

    start = "python train.py --dataset_config dataset.toml \\\n --caption_extension=.txt\n"
    put(tmp_path, "train.sh", content=start.encode())
    assert '".caption" where it is not said, asks for .caption' in finding.message
    assert told(tmp_path) == []


def test_a_folder_that_is_not_there_is_told_at_its_line(tmp_path: Path) -> None:
    """So is one beside the file, and not where the trainer starts."""
    photos(tmp_path / "photos", texts=".caption")
    photos(tmp_path / "config" / "inner", texts=".caption")
    both = subset("photoz") + subset("inner") + subset("photos")
    put(tmp_path, "config/dataset.toml", content=both.encode())

    first, second = told(tmp_path)

    assert {first.check, second.check} == {"target-missing"}
    assert first.message == "there is no such data path; beside it lies photos"
    assert [one.at.line for one in (first, second)] == [3, 6]
    assert "from config/dataset.toml there is config/inner" in second.message
    assert [one.at.line for one in told(tmp_path, "config/dataset.toml")] == [3, 6]


def test_a_file_in_the_place_of_a_folder_is_told_at_its_line(tmp_path: Path) -> None:
    """The trainer takes it for a folder without images, and goes on."""
    photos(tmp_path / "a", texts=".caption")
    put(tmp_path, "notes.txt", content=b"x")
    put(tmp_path, "dataset.toml", content=(subset("notes.txt") + subset("a")).encode())

    (finding,) = told(tmp_path)

    assert (finding.check, finding.at.line) == ("target-missing", 3)
    assert finding.message == "is a file, and no folder"


def test_only_what_lies_in_the_folder_itself_is_read(tmp_path: Path) -> None:
    """The trainer looks at no folder below; so neither a lack there counts, nor an image."""
    photos(tmp_path / "a", texts=".caption")
    photos(tmp_path / "a" / "unused", texts="")
    photos(tmp_path / "b" / "10_dog", texts=".caption")
    put(tmp_path, "dataset.toml", content=(subset("a") + subset("b")).encode())

    (finding,) = told(tmp_path)

    assert (finding.check, finding.at.line) == ("target-missing", 6)
    assert finding.message.startswith("holds no image itself")


def test_what_the_trainer_does_not_take_for_an_image_needs_no_caption(tmp_path: Path) -> None:
    """Its list of suffixes is its own."""
    photos(tmp_path / "a", texts=".caption")
    photos(tmp_path / "a", 1, texts="", kind="gif")
    (tmp_path / "a" / "dog0.gif").rename(tmp_path / "a" / "banner.gif")
    put(tmp_path, "dataset.toml", content=subset("a").encode())

    assert told(tmp_path) == []


def test_a_metadata_file_has_the_captions(tmp_path: Path) -> None:
    """No text is asked for; the file itself must be there."""
    photos(tmp_path / "a", texts="")
    put(tmp_path, "dataset.toml", content=subset("a", 'metadata_file = "meta.json"').encode())
    (finding,) = told(tmp_path)
    put(tmp_path, "meta.json", content=b'{"dog0": {"caption": "a dog"}}')

    assert (finding.check, finding.at.line, finding.at.name) == ("target-missing", 4, "meta.json")
    assert told(tmp_path) == []


def test_images_with_their_conditions_are_both_looked_for(tmp_path: Path) -> None:
    """Class tokens do not count there: a caption is read for each image."""
    photos(tmp_path / "a", texts=".caption")
    photos(tmp_path / "edges", texts="")
    put(tmp_path, "ok.toml", content=subset("a", 'conditioning_data_dir = "edges"').encode())
    put(tmp_path, "bad.toml", content=subset("a", 'conditioning_data_dir = "edgez"').encode())

    assert told(tmp_path, "ok.toml") == []
    assert [one.at.line for one in told(tmp_path, "bad.toml")] == [4]


def test_json_of_the_same_shape_is_read_too(tmp_path: Path) -> None:
    """With the line of each key."""
    photos(tmp_path / "a")
    subsets = [{"image_dir": "a"}, {"image_dir": "b", "num_repeats": 0}, {"image_dir": "c"}]
    tree = {"general": {"caption_extension": ".txt"}, "datasets": [{"subsets": subsets}]}
    text = json.dumps(tree, indent=1)
    put(tmp_path, "dataset.json", content=text.encode())

    (finding,) = told(tmp_path, "dataset.json")

    assert finding.at.name == "c"
    assert finding.at.line == text.split("\n").index('     "image_dir": "c"') + 1
    reasons = preflight.run(folder=str(tmp_path)).reasons
    assert "Not looked at, of dataset.json: b (num_repeats = 0)." in reasons


@pytest.mark.parametrize(
    "content",
    [
        "",
        "datasets = []",
        "[[datasets]]\nsubsets = []",
        "[[datasets]]\nimage_directory = 'a'\n",
        "[[directory]]\npath = 'a'\nimage_dir = 1\n",
        "[project]\nname = 'x'\ndescription = 'image_dir'\n",
        "datasets = 3\nimage_dir = 'gone'\n",
        "[[datasets]]\n[[datasets.subsets]]\nimage_dir = 7\n",
        "image_dir = \n",
    ],
)
@pytest.mark.parametrize("name", ["dataset.toml", "pyproject.toml"])
def test_a_file_that_is_something_else_is_left_alone(
    tmp_path: Path, content: str, name: str
) -> None:
    """Other programs have data sets, too; and a word for such a file is typed wrong as before."""
    photos(tmp_path / "a")
    put(tmp_path, name, content=content.encode())

    assert told(tmp_path) == []
    with pytest.raises(UsageError, match=f"{name} is there"):
        preflight.run(name, folder=str(tmp_path))


def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    """A path of Windows in double quotes, say; the trainer stops at it."""
    photos(tmp_path / "a")
    text = '[[datasets]]\n[[datasets.subsets]]\nimage_dir = "C:\\Users\\me"\n'
    put(tmp_path, "dataset.toml", content=text.encode())

    (finding,) = told(tmp_path)

    assert (finding.at.file, finding.at.line) == ("dataset.toml", 3)
    assert finding.message.startswith("is no valid TOML")
    with pytest.raises(SettingsError, match=r"dataset\.toml:3"):
        write(str(tmp_path), force=False)


def test_of_several_files_the_one_is_read_that_a_script_names(tmp_path: Path) -> None:
    """Where none does, nobody knows which one the job reads, and the page says so."""
    photos(tmp_path / "a", texts=".caption")
    put(tmp_path, "one.toml", content=subset("a").encode())
    put(tmp_path, "two.toml", content=subset("gone").encode())
    put(tmp_path, "three_example.toml", content=subset("gone").encode())
    report = preflight.run(folder=str(tmp_path))
    put(tmp_path, "start.sh", content=b"# --dataset_config one.toml\n--dataset_config=two.toml\n")

    (finding,) = told(tmp_path)

    assert report.verdict == "go"
    assert any("one.toml and two.toml name data each" in one for one in report.reasons)
    assert finding.at.file == "two.toml"


def test_settings_of_the_jobs_own_hold_in_its_place(tmp_path: Path) -> None:
    """What preflight.toml names is looked at, and no more."""
    photos(tmp_path / "a")
    put(tmp_path, "dataset.toml", content=subset("gone").encode())
    put(tmp_path, "preflight.toml", content=b'[[data]]\npath = "a"\n')

    assert told(tmp_path) == []


def test_from_a_folder_below_the_jobs_own_paths_are_taken_from_there(tmp_path: Path) -> None:
    """The trainer starts where preflight does."""
    photos(tmp_path / "work" / "a", texts=".caption")
    put(tmp_path, "preflight.toml", content=b"[launch]\nbatch_size = 1\n")
    put(tmp_path, "work/dataset.toml", content=subset("a").encode())

    assert told(tmp_path, at=str(tmp_path / "work")) == []
    assert told(tmp_path, "dataset.toml", at=str(tmp_path / "work")) == []


def spoil(name: str, content: bytes | None) -> Callable[[Path], None]:
    """Write a file, or take it away."""

    def do(folder: Path) -> None:
        if content is None:
            (folder / name).unlink()
        else:
            put(folder, name, content=content)

    return do


@pytest.mark.parametrize(
    "harm",
    [
        lambda _: None,
        spoil("a/dog1.caption", None),
        spoil("a/dog1.jpg", b"<html>"),
        spoil("a/unused/cut.jpg", b"\xff\xd8"),
        lambda folder: os.rename(folder / "b", folder / "c"),
    ],
)
def test_what_init_writes_of_it_finds_the_same(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """Never less, and never more."""
    photos(tmp_path / "a", texts=".caption")
    photos(tmp_path / "b", texts="")
    (tmp_path / "a" / "unused").mkdir()
    tokens = 'class_tokens = "dog"'
    put(tmp_path, "dataset.toml", content=(subset("a") + subset("b", tokens)).encode())
    harm(tmp_path)
    before = preflight.run(folder=str(tmp_path))

    write(str(tmp_path), force=False)
    after = preflight.run(folder=str(tmp_path))

    def of(report: preflight.Report) -> list[tuple[str, str | None]]:
        return [(one.check, one.at.name or one.at.file) for one in report.findings]

    assert of(after) == of(before)
    assert after.verdict == before.verdict
    assert {one.word for one in after.targets} == {one.word for one in before.targets}


def test_what_lies_beside_a_named_folder_is_looked_at_and_what_a_file_leaves_out_is_not(
    tmp_path: Path,
) -> None:
    """By a bare run, and by the settings that `init` writes of it."""
    for name in ("sets/pets", "sets/other/deep", "sets/unused"):
        photos(tmp_path / name)
    for name in ("other/deep", "unused"):
        image = tmp_path / "sets" / name / "dog1.jpg"
        image.write_bytes(image.read_bytes()[:-200])
    unused = subset("sets/unused", "num_repeats = 0")
    put(tmp_path, "dataset.toml", content=(subset("sets/pets") + unused).encode())

    def damaged() -> list[str]:
        found = preflight.run(folder=str(tmp_path), elsewhere=True).findings
        return sorted(str(one.at.file) for one in found if one.check == "image-damaged")

    loose = tmp_path / "sets" / "loose.jpg"
    loose.write_bytes(image.read_bytes())

    assert damaged() == ["sets/loose.jpg", "sets/other/deep/dog1.jpg"]
    write(str(tmp_path), force=False)
    assert damaged() == ["sets/loose.jpg", "sets/other/deep/dog1.jpg"]
