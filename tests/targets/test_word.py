"""Words of the command line are read by the first rule that fits."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from preflight.findings.looks import Left
from preflight.host.gather import Hosts
from preflight.host.kind import HOST
from preflight.settings.job import CacheSettings, DataSettings, Job, Launch
from preflight.targets.folders import look_around
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import (
    Built,
    CacheFolder,
    Folder,
    Host,
    Missing,
    Remote,
    Shard,
    Source,
)
from preflight.targets.words import braces
from preflight.targets.words.discover import discover
from preflight.targets.words.scripts import read_script
from preflight.targets.words.word import read_word
from preflight.values.byte_sizes import format_size, parse_size
from preflight.values.code_name import parse_pick, parse_spec, write_pick
from preflight.values.names import counted, name_of, shown, text_of
from tests.files import put
from tests.questions import run_of


def kinds(word: str, folder: Path) -> list[str]:
    return [type(target).__name__ for target in read_word(word, os.fspath(folder))]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with one of each."""
    tarfile.open(tmp_path / "a.tar", "w").close()
    put(tmp_path, "photos/a.JPG", "cache/a.pt")
    (tmp_path / "mod.py").write_text("def make(): pass\n")
    return tmp_path


@pytest.mark.parametrize(
    ("word", "taken_for"),
    [
        ("a.tar", ["Shard"]),
        ("photos", ["Folder"]),
        ("photos/a.JPG", ["Folder"]),
        ("cache", ["CacheFolder"]),
        ("cache/a.pt", ["CacheFolder"]),
        (".", ["Shard", "Folder", "CacheFolder", "Source"]),
        ("mod:make", ["Built"]),
        ("mod.py:make", ["Built"]),
        ("./mod.py:make", ["Built"]),
        ("mod:make[0]['val'].train", ["Built"]),
        ("loader=mod:make", ["Loader"]),
        ("model=mod:make", ["Model"]),
        ("source=mod.py", ["Source"]),
        ("data=photos/a.JPG", ["Folder"]),
        ("checkpoint=cache", ["CacheFolder"]),
        ("host=here", ["Host"]),
        ("*.tar", ["Shard"]),
        ("{a,b}.tar", ["Shard", "Missing"]),
        ("a.tar::b.tar", ["Shard", "Missing"]),
        ("s3://bucket/a.tar", ["Remote"]),
        ("pipe:cat a.tar", ["Shard"]),
        ("pipe:cat a.tar | cat", ["Remote"]),
        ("hf://datasets/x/{0..2}.tar", ["Remote"]),
    ],
)
def test_what_a_word_is_taken_for(place: Path, word: str, taken_for: list[str]) -> None:
    assert kinds(word, place) == taken_for


def test_what_torch_saved_is_no_shard_although_its_name_ends_like_one(tmp_path: Path) -> None:
    """The example of ImageNet, and timm, call their checkpoints so."""
    put(tmp_path, "out/checkpoint-1.pth.tar", "out/model_best.PTH.TAR", content=b"PK\3\4")

    for word in ("out", "out/checkpoint-1.pth.tar", "out/*.pth.tar", "cache=out", "checkpoint=out"):
        assert set(kinds(word, tmp_path)) == {"CacheFolder"}, word
    assert [type(one) for one in look_around(os.fspath(tmp_path))] == [CacheFolder]


@pytest.mark.parametrize(
    "name",
    ["mod:make", "{0..3}.tar", "*.tar", "a::b.tar", "x=y.tar", "weird=data.tar", "s3:.tar"],
)
def test_a_path_that_exists_is_a_path_before_anything_else(place: Path, name: str) -> None:
    """Before `:` `{` `*` mean anything."""
    tarfile.open(place / name, "w").close()
    suffix = name.endswith(".tar")

    if suffix:
        assert kinds(name, place) == ["Shard"]
        assert read_word(name, str(place))[0].path == str(place / name)  # type: ignore[union-attr]
    else:
        with pytest.raises(UnknownWordError, match="is there, and is no shard"):
            read_word(name, str(place))


@pytest.mark.parametrize("place", ["out", "out/step-100", "out/epoch_0", "out/iter_0000100"])
@pytest.mark.parametrize("word", ["out", "cache=out", "checkpoint=out", "."])
def test_checkpoints_in_parts_are_known_as_such(tmp_path: Path, word: str, place: str) -> None:
    """As torch.distributed.checkpoint writes them, whatever they are called for."""
    put(tmp_path, f"{place}/__0_0.distcp", content=b"PK")

    found = discover([word], Job(root=str(tmp_path)), str(tmp_path)).targets

    caches = [one for one in found if isinstance(one, CacheFolder)]
    assert [(os.path.basename(one.path), one.checkpoint) for one in caches] == [("out", True)]


def test_a_cache_beside_checkpoints_in_parts_is_one_of_its_own(tmp_path: Path) -> None:
    """A name with a number in it makes no checkpoint of a folder."""
    names = ("out/step-100/__0_0.distcp", "epoch_1/a.pt", "latents/b.npz")
    put(tmp_path, *names, content=b"PK")

    found = discover([], Job(root=str(tmp_path)), str(tmp_path)).targets

    caches = [one for one in found if isinstance(one, CacheFolder)]
    told = {os.path.basename(one.path): one.checkpoint for one in caches}
    assert told == {"out": True, "epoch_1": False, "latents": False}


@pytest.mark.parametrize("word", ["cache=photos", "data=cache", "cache=a.tar", "checkpoint=hollow"])
def test_a_kind_that_a_path_does_not_hold_is_told(place: Path, word: str) -> None:
    """It would be a GO about nothing."""
    (place / "hollow").mkdir()

    with pytest.raises(UnknownWordError, match=r"holds no|by its name"):
        read_word(word, str(place))


def test_a_drive_is_no_address(place: Path) -> None:
    """A scheme has two letters or more."""
    with pytest.raises(UnknownWordError):
        read_word("C://data/a.tar", str(place))


def test_the_host_is_looked_at_unless_the_job_runs_elsewhere(place: Path) -> None:
    here = discover(["cache"], Job(root=str(place)), str(place))
    away = discover(["cache"], Job(root=str(place), launch=Launch(elsewhere=True)), str(place))

    assert [one for one in here.targets if isinstance(one, Host)] == [Host(implied=True)]
    assert [one for one in away.targets if isinstance(one, Host)] == []
    assert Host(implied=True) in away.apart
    for found, job in ((here, Job()), (away, Job(launch=Launch(elsewhere=True)))):
        gather = Hosts(HOST, run_of(str(place), *found.targets)._replace(job=job))
        (left,) = [*gather.add(Host(implied=True)), *gather.questions()]
        assert isinstance(left, Left) == job.launch.elsewhere


def test_a_file_that_two_words_name_is_looked_at_once(place: Path) -> None:
    found = discover(["a.tar", "*.tar"], Job(root=str(place)), str(place))

    assert sum(isinstance(one, Shard) for one in found.targets) == 1
    assert [word for word, _ in found.pairs] == ["a.tar", "*.tar"]


def test_the_source_of_a_loader_is_read_too(place: Path) -> None:
    """What it reads at start-up stops the job as well."""
    found = discover(["mod:make"], Job(root=str(place)), str(place))

    assert Source(path=str(place / "mod.py"), implied=True) in found.targets


def test_with_no_word_the_settings_are_looked_at(place: Path) -> None:
    """A path that is not there is a target that is missing, with the place that names it."""
    job = Job(
        root=str(place),
        data=(DataSettings(path="photos", captions="textfile", images=(".JPG",)),),
        cache=(CacheSettings(path="caches"),),
        origins={"cache.0.path": "preflight.toml:7"},
    )

    found = discover([], job, str(place / "photos"))

    (folder,) = [one for one in found.targets if isinstance(one, Folder)]
    assert folder.captions.rule == "textfile"
    assert folder.captions.images == ("jpg",)
    (missing,) = [one for one in found.targets if isinstance(one, Missing)]
    assert (missing.named_in, missing.named_at) == ("preflight.toml", 7)


def test_with_nothing_named_what_lies_around_is_looked_at(place: Path) -> None:
    """Each folder directly below is a target of its own; hidden ones are passed over."""
    put(place, ".git/x.pt", "env/pyvenv.cfg", "env/x.pt")

    found = look_around(str(place))

    assert found == (
        Shard(path=str(place / "a.tar")),
        Folder(path=str(place / "photos")),
        CacheFolder(path=str(place / "cache")),
        Source(path=str(place)),
    )


def test_links_that_loop_are_followed_once(place: Path) -> None:
    """A data set may be a link; a link to its own parent is no endless walk."""
    (place / "photos" / "again").symlink_to(place, target_is_directory=True)

    assert len(look_around(str(place / "photos"), whole=True)) >= 1


# --- names in the user's code ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "home", "name"),
    [
        ("train:make", "train", "make"),
        ("pkg.train:make", "pkg.train", "make"),
        ("a b/train.py:make", "a b/train.py", "make"),
        ("C:\\x\\train.py:make", "C:\\x\\train.py", "make"),
        ("训练:创建", "训练", "创建"),
    ],
)
def test_a_spec_is_a_home_and_a_name(text: str, home: str, name: str) -> None:
    """A module is dotted; a file ends in .py."""
    spec = parse_spec(text)

    assert spec is not None
    assert (spec.home, spec.name) == (home, name)


@pytest.mark.parametrize("text", ["train", ":make", "train:", "train:make()", "a b:make", "x:1"])
def test_what_is_no_spec(text: str) -> None:
    assert parse_spec(text) is None


def test_a_pick_goes_in_step_by_step() -> None:
    """Attributes, numbers and keys; what is written back reads the same."""
    steps = parse_pick(".a[0]['b c'][-1]")

    assert steps == (("attr", "a"), ("item", 0), ("item", "b c"), ("item", -1))
    assert write_pick(steps) == ".a[0]['b c'][-1]"
    assert parse_pick("[x]") is None
    assert parse_pick("[0") is None


# --- braces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "{a,b}",
        "{000..009}",
        "{a..e..2}",
        "x{1..3}{a,b{1..4}}",
        "{5..1}",
        "{a}",
        "{}",
        "a,b",
        "x{1..2}::y{1..3}",
        "{a",
        "a}",
        "\\{a,b}",
        "{01..10..3}",
    ],
)
def test_braces_are_counted_before_they_are_expanded(pattern: str) -> None:
    expected = sum(braces.count(part) for part in pattern.split("::"))

    assert len(list(braces.expand(pattern))) == expected


@pytest.mark.parametrize(
    "pattern", ["{0..99999999999}", "{0..9999}{0..9999}", "{" * 500, "{1..2000000}"]
)
def test_too_many_names_are_refused_at_once(pattern: str) -> None:
    with pytest.raises(braces.TooManyError):
        braces.expand(pattern)


# --- sizes and names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [("80GB", 80 * 10**9), ("80GiB", 80 * 2**30), ("1.5 gb", 1_500_000_000), ("12 B", 12)],
)
def test_a_size_has_a_unit(text: str, size: int) -> None:
    """GB is decimal, GiB is binary; the case of letters is of no matter."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["80", "80G", "GB", "-1GB", "1e3GB", "", "80 GBs", "nanGB"])
def test_a_bare_number_is_no_size(text: str) -> None:
    """Nobody knows whether it means GB or GiB."""
    with pytest.raises(ValueError, match="80GB or 80GiB"):
        parse_size(text)


def test_sizes_are_said_in_the_unit_that_fits() -> None:
    sizes = (0, 1, 999, 1500, 2_100_000, 10**12)

    said = [format_size(size) for size in sizes]

    assert said == ["0 bytes", "1 byte", "999 bytes", "1.5 kB", "2.1 MB", "1.0 TB"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plain.jpg", "plain.jpg"),
        ("Ä 狗 🐕.jpg", "Ä 狗 🐕.jpg"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        (text_of(b"caf\xe9"), "caf\\xe9"),
        ("\u2028line", "\\u2028line"),
        ("family 👨‍👩‍👧", "family 👨‍👩‍👧"),
    ],
)
def test_names_are_shown_and_never_obeyed(name: str, said: str) -> None:
    """Whatever a console would interpret is escaped; letters of any script are not."""
    assert shown(name) == said


def test_files_are_named_relative_to_the_job(tmp_path: Path) -> None:
    """With forward slashes; absolute where they lie elsewhere."""
    root = str(tmp_path / "job")

    assert name_of(str(tmp_path / "job" / "a" / "b.tar"), root) == "a/b.tar"
    assert name_of("a/../b.tar", root) == "b.tar"
    assert name_of(str(tmp_path / "c.tar"), root) == (tmp_path / "c.tar").as_posix()
    assert counted(1, "shard") == "1 shard"
    assert counted(12000, "shard") == "12,000 shards"


def test_a_built_target_keeps_its_folder(place: Path) -> None:
    """The code runs where the job would be started."""
    (target,) = read_word("mod:make", str(place))

    assert target == Built(spec="mod:make", folder=str(place))
    (remote,) = read_word("s3://b/x.tar", str(place))
    assert remote == Remote(address="s3://b/x.tar")


def test_a_star_passes_over_what_lies_beside_the_shards(place: Path) -> None:
    """A list of checksums, or what a download has left; alone, it is a mistake."""
    (place / "a.tar.md5").touch()

    found = discover(["*.tar*"], Job(root=str(place)), str(place))

    assert [type(target).__name__ for _, target in found.pairs] == ["Shard"]
    with pytest.raises(UnknownWordError, match=r"a\.tar\.md5"):
        discover(["*.md5"], Job(root=str(place)), str(place))


def test_shards_that_lie_around_are_named_by_their_folder(tmp_path: Path) -> None:
    """A page has no line for each of a thousand."""
    (tmp_path / "data").mkdir()
    for number in range(3):
        tarfile.open(tmp_path / "data" / f"{number}.tar", "w").close()

    found = discover([], Job(root=str(tmp_path)), str(tmp_path))

    assert [word for word, target in found.pairs if isinstance(target, Shard)] == ["data"] * 3


def test_a_module_that_was_rewritten_meanwhile_is_read_again(place: Path) -> None:
    """Whoever calls preflight from a notebook asks again in the same process."""
    (place / "mod.py").write_text("def make_old(): ...\n")
    with pytest.raises(UnknownWordError, match="make_new"):
        read_word("mod:make_new", str(place))

    (place / "mod.py").write_text("def make_new(): ...\n")

    assert read_word("mod:make_new", str(place)) == (Built(spec="mod:make_new", folder=str(place)),)


def test_a_match_at_the_top_of_a_file_binds_its_names(place: Path) -> None:
    (place / "mod.py").write_text("match [print, 1]:\n    case [make, *rest]: ...\n")

    assert kinds("mod:make", place) == kinds("mod:rest", place) == ["Built"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tools/dat.py", "tools/data.py"),
        ("./tools/dat.py", "./tools/data.py"),
        ("tool/data.py", "tools/data.py"),
        ("runn.py", "run.py"),
    ],
)
def test_a_script_that_is_spelled_nearly_so_is_proposed_with_its_folder(
    tmp_path: Path, typed: str, meant: str
) -> None:
    put(tmp_path, "tools/data.py", "run.py")

    with pytest.raises(UnknownWordError, match=f"did you mean {meant}\\?"):
        read_script((typed,), str(tmp_path))
