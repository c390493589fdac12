"""Pictures of a repository's documents and tensors of its code are no data; data there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.settings.job import Job
from preflight.targets.targets import CacheFolder, Folder
from preflight.targets.words.discover import Discovered, discover
from tests.files import put


def around(folder: Path, *words: str) -> Discovered:
    return discover(words, Job(root=str(folder)), str(folder))


def data_in(folder: Path, *words: str) -> list[str]:
    return [
        os.path.relpath(one.path, folder).replace(os.sep, "/")
        for one in around(folder, *words).targets
        if isinstance(one, (Folder, CacheFolder))
    ]


# --- data stays data ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("data/docs/a.jpg", "data/assets/b.jpg"),
        ("photos/a.jpg", "photos/b.jpg"),
        ("docs/a.jpg", "docs/a.txt"),  # somebody trains on what has a caption
        ("images/a.jpg", "images/b.jpg", "images/c.jpg"),
        ("test/a.jpg", "train/b.jpg"),
        ("test/cache/a.npz", "test/a.jpg"),
        ("data/prepare.py", "data/train.npy"),
        ("pkg/__init__.py", "pkg/cache/a.npz"),
        ("pkg/__init__.py", *(f"pkg/x/{number}.npz" for number in range(12))),
        ("pkg/__init__.py", *(f"pkg/x/of-{number}.npz" for number in range(12))),
        ("examples/cache/a.npz", "examples/cache/b.npz"),
        tuple(f"examples/{number:032x}.npz" for number in range(3)),
        ("latents.npz",),
    ],
)
@pytest.mark.parametrize("words", [(), (".",)])
def test_data_in_a_folder_with_code_is_found(
    tmp_path: Path, names: tuple[str, ...], words: tuple[str, ...]
) -> None:
    put(tmp_path, "README.md", content=b"![one](images/a.jpg)")
    put(tmp_path, "train.py", *names)

    assert data_in(tmp_path, *words)
    (found,) = around(tmp_path, *words).unread or (None,)
    assert found is None or not (found.pictures or found.of_code)


def test_data_beside_a_script_that_is_run_is_said_to_be_nobody_elses(tmp_path: Path) -> None:
    """Which of it the script reads is not known; that it belongs to documents neither."""
    put(tmp_path, "train.py", "data/0.tar", "data/a.jpg", "data/a.npz", "data/train.jsonl")

    (found,) = around(tmp_path, "train.py").unread

    assert not (found.pictures or found.of_code)
    assert [one.suffix for one in found.files] == [".jsonl"]


@pytest.mark.parametrize("word", ["docs", "data=assets", "cache=pkg"])
def test_what_is_named_is_looked_at_wherever_it_lies(tmp_path: Path, word: str) -> None:
    put(tmp_path, "README.md", "train.py", "docs/a.jpg", "assets/b.jpg")
    put(tmp_path, "pkg/__init__.py", "pkg/a.npz")

    assert data_in(tmp_path, word) == [word.rpartition("=")[2]]


def test_a_folder_of_data_may_have_a_readme(tmp_path: Path) -> None:
    """As data sets of the Hugging Face hub have; it is no repository of code."""
    put(tmp_path, "set/README.md", content=b"![a](docs/a.jpg)")
    put(tmp_path, "set/docs/a.jpg", "set/docs/b.jpg")

    assert data_in(tmp_path, "set") == ["set"]


# --- documents ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder",
    [
        *("docs", "doc", "assets", "figures", "Figures", "pkg/assets", "blogs/new/media"),
        *("website", "github_page"),
    ],
)
@pytest.mark.parametrize("words", [(), (".",)])
def test_pictures_of_documents_are_no_data_set(
    tmp_path: Path, folder: str, words: tuple[str, ...]
) -> None:
    put(tmp_path, "README.md", "train.py", "pkg/model.py", f"{folder}/a.png", f"{folder}/in/b.jpg")

    assert data_in(tmp_path, *words) == []
    assert [one.pictures for one in around(tmp_path, *words).unread] == [2]


@pytest.mark.parametrize(
    "folder",
    [
        "android/app/src/main/res/mipmap-hdpi",
        "a/res/drawable",
        "ios/Demo/Assets.xcassets/b.imageset",
    ],
)
def test_the_drawings_of_an_app_are_no_data_set(tmp_path: Path, folder: str) -> None:
    put(tmp_path, "README.md", "train.py", f"runtime/{folder}/a.png", f"runtime/{folder}/b.png")

    assert data_in(tmp_path) == []
    assert [one.pictures for one in around(tmp_path).unread] == [2]


@pytest.mark.parametrize(
    ("beside", "is_page"),
    [
        (("static/css/a.css", "static/js/a.js"), True),
        (("static/favicon.ico",), True),
        (("static/css/a.css",), False),
        (("css/a.css", "js/a.js"), True),
        (("other/css/a.css", "other/js/a.js"), False),
        (("../css/a.css", "../js/a.js"), False),
    ],
)
def test_pictures_of_a_page_that_a_server_gives_are_no_data_set(
    tmp_path: Path, beside: tuple[str, ...], *, is_page: bool
) -> None:
    put(tmp_path, "README.md", "train.py", *(f"web/{one}" for one in beside))
    put(tmp_path, *(f"web/static/image/{n}.png" for n in range(3)))

    assert data_in(tmp_path) == ([] if is_page else ["web"])


@pytest.mark.parametrize("folder", ["drawables", "data/mipmaps", "xcassets", "drawable_objects"])
def test_what_is_only_called_like_it_is_data(tmp_path: Path, folder: str) -> None:
    put(tmp_path, "README.md", "train.py", *(f"{folder}/{n}.png" for n in range(4)))

    assert data_in(tmp_path) == [folder.partition("/")[0]]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("README.md", "![teaser](img/a%20b.png)"),
        ("README.md", "![teaser](<./img/a b.png> 'A title')"),
        ("readme.rst", ".. image:: img/a%20b.png\n   :width: 400\n"),
        ("README.md", '<p align="center"><img src="img/a b.png" width=80%></p>'),
        ("README.md", "<img src='https://github.com/o/r/raw/main/img/a%20b.png?raw=true'>"),
        ("README.md", "![](https://raw.githubusercontent.com/o/r/main/img/a%20b.png)"),
        ("README.md", "![](/img/a%20b.png)"),
        ("index.html", '<img src="img/a b.png">'),
        ("README.md", "[ref]: img/a%20b.png"),
    ],
)
def test_pictures_that_a_document_shows_are_no_data_set(
    tmp_path: Path, document: str, text: str
) -> None:
    put(tmp_path, document, content=text.encode())
    put(tmp_path, "train.py", "img/a b.png")

    assert data_in(tmp_path) == []


def test_a_logo_beside_the_readme_is_no_data_set(tmp_path: Path) -> None:
    put(tmp_path, "README.md", content=b"![logo](logo.png)")
    put(tmp_path, "train.py", "logo.png")

    assert data_in(tmp_path) == []


def test_the_few_pictures_that_a_readme_gives_to_try_are_no_data_wherever_they_lie(
    tmp_path: Path,
) -> None:
    put(tmp_path, "README.md", content=b"python detect.py --source data/images/bus.jpg")
    put(tmp_path, "train.py", "data/images/bus.jpg", "data/images/zidane.jpg")

    assert data_in(tmp_path) == []


def test_few_of_many_pictures_in_a_readme_leave_a_data_set_what_it_is(tmp_path: Path) -> None:
    put(tmp_path, "README.md", content=b"![one](images/0.jpg) ![two](images/1.jpg)")
    put(tmp_path, "train.py", *(f"images/{number}.jpg" for number in range(20)))

    assert data_in(tmp_path) == ["images"]


@pytest.mark.parametrize(("shown", "data"), [(3, []), (1, ["style"])])
def test_what_a_readme_shows_most_of_is_no_data_below_a_folder_of_images(
    tmp_path: Path, shown: int, data: list[str]
) -> None:
    """As an example of style transfer keeps what it was made of, and what came out."""
    text = " ".join(f"![](images/content/{number}.jpg)" for number in range(shown))
    put(tmp_path, "style/README.md", content=text.encode())
    put(tmp_path, "style/main.py", *(f"style/images/content/{number}.jpg" for number in range(4)))

    assert data_in(tmp_path) == data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_document_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, "train.py", "photos/a.jpg")
    os.mkfifo(tmp_path / "README.md")

    assert data_in(tmp_path) == ["photos"]


# --- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("pkg/__init__.py", "pkg/stats.npz"),
        ("pkg/__init__.py", "pkg/net/model.py", "pkg/net/ckpts/table5.pth"),
        ("pkg/__init__.py", "pkg/net/saliency_model.pt", "pkg/net/saliency_model.py"),
        ("tests/test_a.py", "tests/data/want.npy", "tests/data/in.png"),
        ("tests/test_a.py", "tests/data/0.tar"),
        ("test_scripts/test_a.py", "test_scripts/data/in.pt"),
        ("eval/metric.py", "eval/assets/inception.npz"),
    ],
)
@pytest.mark.parametrize("words", [(), (".",)])
def test_tensors_of_code_are_no_cache(
    tmp_path: Path, names: tuple[str, ...], words: tuple[str, ...]
) -> None:
    put(tmp_path, "README.md", "train.py", *names)

    assert data_in(tmp_path, *words) == []
    assert [one.of_code for one in around(tmp_path, *words).unread] == [1]


@pytest.mark.parametrize("folder", ["example_loras", "examples/loras", "demo"])
def test_weights_to_try_are_no_cache(tmp_path: Path, folder: str) -> None:
    names = [f"{folder}/{style}_style.safetensors" for style in ("ink", "oil", *"abcdefgh")]
    put(tmp_path, "README.md", "train.py", *names)

    assert data_in(tmp_path) == []
    assert [one.of_code for one in around(tmp_path).unread] == [len(names)]


@pytest.mark.parametrize(
    ("names", "data"),
    [
        (("test_scripts/try.py", "test_scripts/data/a.png"), []),
        (("unit_tests/try.py", "unit_tests/a.png"), []),
        (("test_images/take.py", "test_images/a.png"), ["test_images"]),
        (("test_scripts/a.png",), ["test_scripts"]),
    ],
)
def test_pictures_beside_scripts_that_test_are_no_data(
    tmp_path: Path, names: tuple[str, ...], data: list[str]
) -> None:
    put(tmp_path, "README.md", "train.py", *names)

    assert data_in(tmp_path) == data


# --- repositories, by the names of what lies in them ----------------------------------------------

_README = b'![](assets/a.jpg) ![](visuals/grid_0.png)\n<img src="figures/collage_1.jpg">'

REPOSITORIES = {
    "nanoGPT": (
        *("train.py", "model.py", "config/train_gpt2.py", "data/openwebtext/prepare.py"),
        *("data/shakespeare/prepare.py", "data/shakespeare/readme.md", "scaling_laws.ipynb"),
        *("assets/a.jpg", "assets/loss.png", "LICENSE", ".gitattributes"),
    ),
    "timm": (
        *("train.py", "setup.cfg", "pyproject.toml", "timm/__init__.py", "timm/py.typed"),
        *("timm/data/_info/synsets.txt", "hfdocs/source/models/a.mdx", "timm/data/__init__.py"),
        *("timm/models/_pruned/a.txt", "requirements.txt", "MANIFEST.in", "distributed_train.sh"),
    ),
    "DiT": (
        *("train.py", "models.py", "run_DiT.ipynb", "visuals/grid_0.png", "visuals/grid_1.png"),
        *("environment.yml", "LICENSE.txt", "diffusion/__init__.py"),
    ),
    "StableCascade": (
        *("train/train_c.py", "train/base.py", "modules/__init__.py", "figures/collage_1.jpg"),
        *("figures/controlnet-canny.jpg", "modules/cnet_modules/inpainting/saliency_model.pt"),
        *("modules/cnet_modules/pidinet/__init__.py", "configs/training/finetune_c_3b.yaml"),
        *("modules/cnet_modules/pidinet/ckpts/table5.pth", "models/download_models.sh"),
        *("gradio_app/style.css", "inference/readme.md", "requirements.txt", "WEIGHTS_LICENSE"),
    ),
    "SimpleTuner": (
        *("train.py", "simpletuner/__init__.py", "config/config.json.example", "setup.py"),
        *("config/multidatabackend.json", "simpletuner/static/js/a.js", "documentation/a.md"),
        *("docs/images/offset/A1.jpg", "docs/images/offset/Q1.png", "tests/test_a.py"),
        *("simpletuner/examples/a.peft-lora/config.json", "tests/fixtures/golden/a.json"),
    ),
    "Open-Sora": (
        *("setup.py", "opensora/__init__.py", "scripts/diffusion/train.py", "assets/texts/i2v.png"),
        *("configs/diffusion/train/image.py", "docs/zh_CN/a.md", ".github/workflows/a.yaml"),
    ),
}


@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.parametrize("words", [(), (".",)])
def test_a_repository_that_was_just_cloned_holds_no_data(
    tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    put(tmp_path, "README.md", content=_README)
    put(tmp_path, *REPOSITORIES[name])

    found = around(tmp_path, *words)

    assert [type(one).__name__ for one in found.targets] == ["Source", "Host"]
    assert not any(one.files for one in found.unread)


def test_prepared_tokens_in_such_a_repository_are_counted(tmp_path: Path) -> None:
    put(tmp_path, "README.md", content=_README)
    put(tmp_path, *REPOSITORIES["nanoGPT"])
    put(tmp_path, "data/openwebtext/train.bin", content=bytes(range(1, 200)))
    put(tmp_path, "data/shakespeare_char/meta.pkl", content=b"\x80\4}.")

    (found,) = around(tmp_path).unread

    assert {one.suffix: one.files for one in found.files} == {".bin": 1, ".pkl": 1}
    assert found.pictures == 2
