"""SimpleTuner's list of data backends is read as the trainer reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.scaffold.settings import write
from preflight.session.run import UsageError
from preflight.trainers.json_lines import json_lines
from tests.files import put, sha256

pytestmark = pytest.mark.usefixtures("at_hand")

LIST = "config/multidatabackend.json"
TEXT = {"id": "text", "type": "local", "dataset_type": "text_embeds", "cache_dir": "cache/text"}


def photos(folder: Path, number: int = 4, *, texts: str = ".txt") -> None:
    """Write images, each with its caption; empty: without."""
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(number):
        Image.effect_noise((40, 32), 40 + at).convert("RGB").save(folder / f"dog{at}.jpg")
        if texts:
            put(folder, f"dog{at}{texts}", content=f"a dog, number {at}\n".encode())


def backend(name: str, folder: str, **more: Any) -> dict[str, Any]:
    """Write one data set."""
    said = {"id": name, "type": "local", "instance_data_dir": folder}
    return {**said, "caption_strategy": "textfile", **more}


def job(folder: Path, *backends: dict[str, Any], **config: Any) -> None:
    """Write the list, and the config that names it."""
    put(folder, LIST, content=json.dumps(backends, indent=2).encode())
    options = {"--data_backend_config": LIST, "--model_family": "flux", **config}
    put(folder, "config/config.json", content=json.dumps(options, indent=2).encode())


def latents(folder: Path, number: int = 4) -> None:
    """Write the entry of each image, as the trainer names them."""
    folder.mkdir(parents=True)
    for at in range(number):
        torch.save(torch.ones(4, 4), folder / f"{sha256(f'dog{at}')}.pt")


def told(folder: Path, *words: str) -> list[Finding]:
    """Run in a folder and give what gates, or warns."""
    report = preflight.run(*words, folder=str(folder))
    return [one for one in report.findings if one.severity != Severity.NOTE]


def line_of(folder: Path, text: str) -> int:
    """Find the line of the list that has a text."""
    lines = (folder / LIST).read_text().split("\n")
    return next(at for at, one in enumerate(lines, start=1) if text in one)


@pytest.mark.parametrize(
    ("more", "state"),
    [({"type": "aws"}, "part"), ({"dataset_type": "mesh"}, "part"), ({"disabled": True}, "whole")],
)
def test_what_the_job_uses_and_nobody_reads_makes_its_data_a_part(
    tmp_path: Path, more: dict[str, Any], state: str
) -> None:
    photos(tmp_path / "datasets" / "dog")
    job(tmp_path, backend("dog", "datasets/dog"), {"id": "far", "cache_dir": "x", **more})

    report = preflight.run(folder=str(tmp_path))

    (data,) = (one for one in report.coverage if one.part == "data")
    assert (report.verdict, data.state, report.complete) == ("go", state, state == "whole")


@pytest.mark.parametrize("words", [(), (LIST,), ("config/config.json",)])
def test_a_healthy_job_is_looked_at_by_its_list(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Data, latents held against them, texts; what is not looked at is said."""
    photos(tmp_path / "datasets" / "dog")
    photos(tmp_path / "datasets" / "reg", texts="")
    latents(tmp_path / "cache" / "vae")
    put(tmp_path, "cache/text/.keep")
    reg = {"caption_strategy": "instanceprompt", "instance_prompt": "dog"}
    job(
        tmp_path,
        backend("dog", "datasets/dog", cache_dir_vae="cache/vae", minimum_image_size=0),
        backend("reg", "datasets/reg", cache_dir_vae="cache/{model_family}/{id}", **reg),
        backend("old", "datasets/gone", disabled=True),
        {"id": "far", "type": "aws", "aws_bucket_name": "b", "aws_secret_access_key": "k3yk3yk3y"},
        {"id": "hub", "type": "huggingface", "dataset_name": "a/b", "cache_dir_vae": "cache/hub"},
        TEXT,
    )

    report = preflight.run(*words, folder=str(tmp_path))

    assert [one for one in report.findings if one.severity != Severity.NOTE] == []
    assert report.verdict == "go"
    assert {one.word for one in report.targets} == {
        *("datasets/dog", "datasets/reg", "cache/vae", "cache/text"),
    }
    said = "old (disabled), far (type aws) and hub (type huggingface)"
    assert f"Not looked at, of {LIST}: {said}." in report.reasons
    files = {one.origin.partition(":")[0] for one in report.job.values()}
    assert {LIST, "config/config.json"} <= files or words == (LIST,)
    assert "k3yk3yk3y" not in report.to_json()
    assert any(one.id == "cache-incomplete" and one.looked_at for one in report.checks)


@pytest.mark.parametrize("strategy", ["filename", "instanceprompt", "parquet", None])
@pytest.mark.parametrize("kind", ["image", "conditioning", "eval"])
def test_only_texts_are_asked_for_where_the_strategy_says_so(
    tmp_path: Path, strategy: str | None, kind: str
) -> None:
    """Where nothing is said, captions are names of files."""
    photos(tmp_path / "a", texts="")
    one = backend("a", "a", dataset_type=kind, caption_strategy=strategy)
    job(tmp_path, {key: value for key, value in one.items() if value is not None}, TEXT)

    assert told(tmp_path) == []


def test_a_strategy_of_the_config_holds_where_a_backend_says_none(tmp_path: Path) -> None:
    """As an option of the trainer does."""
    photos(tmp_path / "a", texts=".caption")
    one = backend("a", "a")
    del one["caption_strategy"]
    job(tmp_path, one, TEXT, **{"--caption_strategy": "textfile"})

    (finding,) = told(tmp_path)

    assert (finding.check, finding.at.file) == ("sample-unpaired", LIST)


def test_texts_of_another_suffix_are_told_at_the_strategy(tmp_path: Path) -> None:
    """The trainer reads .txt, and nothing says another one."""
    photos(tmp_path / "a", texts=".caption")
    job(tmp_path, backend("a", "a"), TEXT)

    (finding,) = told(tmp_path)

    assert finding.at.line == line_of(tmp_path, "caption_strategy")
    assert 'caption_strategy = "textfile" asks for .txt, and beside them is .caption' in (
        finding.message
    )
    assert finding.fix == "Rename them to .txt: the trainer reads no others."


def test_folders_that_are_gone_or_empty_are_told_at_their_lines(tmp_path: Path) -> None:
    """The trainer stops at them, or has nothing to train on."""
    photos(tmp_path / "a")
    (tmp_path / "b").mkdir()
    job(tmp_path, backend("a", "a"), backend("b", "b"), backend("c", "c"), TEXT)

    first, second = told(tmp_path)

    assert {first.check, second.check} == {"target-missing"}
    assert [one.at.line for one in (first, second)] == [
        line_of(tmp_path, '"instance_data_dir": "b"'),
        line_of(tmp_path, '"instance_data_dir": "c"'),
    ]


def test_a_list_that_is_not_there_or_no_json_is_told(tmp_path: Path) -> None:
    """At the line of the config that names it, or at its own."""
    photos(tmp_path / "a")
    job(tmp_path, backend("a", "a"))
    put(tmp_path, LIST, content=b'[\n{"id": "a",}\n]')
    (broken,) = told(tmp_path)
    (tmp_path / LIST).unlink()
    (gone,) = told(tmp_path)

    assert (broken.at.file, broken.at.line, broken.check) == (LIST, 2, "target-missing")
    assert broken.message.startswith("is no valid JSON")
    assert (gone.at.file, gone.at.line, gone.at.name) == ("config/config.json", 2, LIST)


def test_a_cache_that_is_to_be_made_is_no_fault(tmp_path: Path) -> None:
    """But one that is spelled nearly like one that is there may be meant."""
    photos(tmp_path / "a")
    latents(tmp_path / "cache" / "latents")
    job(tmp_path, backend("a", "a", cache_dir_vae="cache/new"), TEXT)
    fresh = told(tmp_path)
    job(tmp_path, backend("a", "a", cache_dir_vae="cache/latent"), TEXT)

    (finding,) = told(tmp_path)

    assert fresh == []
    assert finding.message == "there is no such cache folder yet; beside it lies latents"


@pytest.mark.parametrize(("says", "found"), [({}, True), ({"minimum_image_size": 512}, False)])
def test_entries_that_lack_are_told_unless_images_are_left_out(
    tmp_path: Path, says: dict[str, int], *, found: bool
) -> None:
    """Of an image that is too small, no latents are made."""
    photos(tmp_path / "a", 6)
    latents(tmp_path / "cache", 5)
    job(tmp_path, backend("a", "a", cache_dir_vae="cache", **says), TEXT)

    assert [one.check for one in told(tmp_path)] == ["cache-incomplete"] * found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config/config.env", 'export DATALOADER_CONFIG="config/multidatabackend.json"\n'),
        ("config/config.toml", 'data_backend_config = "config/multidatabackend.json"\n'),
        ("config/flux/config.json", '{"data_backend_config": "config/multidatabackend.json"}'),
        ("config/config.json", '{"model_type": "bert", "hidden_size": 768}'),
        ("notes.txt", "no config at all"),
    ],
)
def test_the_list_is_found_by_each_form_of_the_config(
    tmp_path: Path, name: str, content: str
) -> None:
    """And without one, by its usual name."""
    photos(tmp_path / "a", texts=".caption")
    put(tmp_path, LIST, content=json.dumps([backend("a", "a"), TEXT]).encode())
    put(tmp_path, name, content=content.encode())

    assert [one.check for one in told(tmp_path)] == ["sample-unpaired"]


@pytest.mark.parametrize("content", [b"[]", b"{}", b"3", b'[{"id": 1}]', b'["a"]', b'{"id": []}'])
def test_json_that_is_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """Whatever it is called."""
    photos(tmp_path / "a")
    put(tmp_path, LIST, content=content)

    assert told(tmp_path) == []
    with pytest.raises(UsageError):
        preflight.run(LIST, folder=str(tmp_path))


def test_a_list_of_what_lies_elsewhere_alone_is_no_go(tmp_path: Path) -> None:
    """Nothing of the job was looked at."""
    job(tmp_path, {"id": "hub", "type": "huggingface", "dataset_name": "a/b"})
    put(tmp_path, "train.py", content=b"print(1)\n")

    assert preflight.run(folder=str(tmp_path)).verdict == "cannot-judge"
    with pytest.raises(UsageError, match=r"names nothing that lies here.*hub \(type huggingface\)"):
        preflight.run(LIST, folder=str(tmp_path))


def test_what_init_writes_of_it_finds_the_same(tmp_path: Path) -> None:
    """Never less."""
    photos(tmp_path / "a", 6)
    latents(tmp_path / "cache" / "vae", 5)
    latents(tmp_path / "cache" / "text", 2)
    hashed = backend("a", "a", cache_dir_vae="cache/vae", hash_filenames=True)
    job(tmp_path, hashed, backend("b", "b"), TEXT)
    before = preflight.run(folder=str(tmp_path))

    write(str(tmp_path), force=False)
    after = preflight.run(folder=str(tmp_path))

    assert [one.check for one in after.findings] == ["target-missing", "cache-incomplete"]
    assert [one.check for one in before.findings] == [one.check for one in after.findings]
    assert {one.word for one in after.targets} == {one.word for one in before.targets}


def test_lines_of_json_are_found_whatever_its_form() -> None:
    """Brackets in strings, keys in one line, empty lists."""
    text = '{"a": [\n1, {"b]": "}\\"",\n"c": []}, [\n[2], 3]],\n "d":\n{}}'

    lines = json_lines(text)

    expected = {"": 1, "a": 1, "a.0": 2, "a.1": 2, "a.1.b]": 2, "a.1.c": 3, "a.2": 3, "d": 5}
    assert {key: lines[key] for key in expected} == expected
    assert lines["a.2.0.0"] == lines["a.2.1"] == 4
