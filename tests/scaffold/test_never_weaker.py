"""What a run without words looks at, the run after `preflight init` looks at too."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight
from preflight.cached_files.cache_listing import list_cache
from preflight.findings.report import Report
from preflight.scaffold.settings import write
from preflight.settings.merge import make_job
from preflight.settings.toml_file import SettingsError
from preflight.targets.targets import CacheFolder, Folder, Host, Missing, Shard, Source, Unlistable
from preflight.targets.words.discover import Discovered, discover
from tests.archives import samples, tarred
from tests.files import WHOLE, put

pytestmark = pytest.mark.usefixtures("at_hand")

ROOT = Path(__file__).parents[2]
FIXTURES = sorted(path.parent.name for path in ROOT.glob("fixtures/*/make.py"))


def found_in(folder: Path) -> Discovered:
    """Find what a run without words would look at."""
    return discover((), make_job(folder=str(folder), environ={}), str(folder))


def looked_at(found: Discovered) -> set[tuple[str, str]]:
    """Give each thing that is looked at, with its kind; of caches, each file in them."""
    every: set[tuple[str, str]] = set()
    for one in found.targets:
        if isinstance(one, CacheFolder) and one.is_to_be:
            continue  # it has no files yet
        if isinstance(one, CacheFolder):
            listing = list_cache(one.path)
            files = (*listing.files, *listing.left_over, *(path for path, _ in listing.unreadable))
            every |= {("cache", os.path.realpath(path)) for path in files}
            every |= {("states", one.path)} if one.checkpoint else set()
        elif isinstance(one, (Shard, Folder, Source, Unlistable, Missing)):
            every.add((type(one).__name__, one.path))
        else:
            assert isinstance(one, Host), one
    return every


def caches_of(found: Discovered) -> set[str]:
    """Give each cache by itself, be it of the settings or around."""
    return {os.path.normpath(one.path) for one in found.targets if isinstance(one, CacheFolder)}


def compared(folder: Path) -> tuple[Discovered, Discovered]:
    """Look before and after `init`."""
    before = found_in(folder)
    write(str(folder), force=True)
    return before, found_in(folder)


def never_less(folder: Path) -> None:
    before, after = compared(folder)

    assert looked_at(before) - looked_at(after) == set()
    assert caches_of(before) <= caches_of(after)
    assert len(set(after.targets)) == len(after.targets)
    shards = [path for one in after.datasets for path in one.shards]
    assert len(set(shards)) == len(shards), "a shard of two data sets is told twice"


@pytest.mark.parametrize("code", [True, False], ids=["beside sources", "beside none"])
@pytest.mark.parametrize("at", ["shards/0.tar", "0.tar"])
def test_what_nobody_reads_is_told_after_it_too(tmp_path: Path, at: str, *, code: bool) -> None:
    put(tmp_path, at, content=tarred(samples(2)))
    if code:
        put(tmp_path, "train.py", content=b"import torch\n")
    put(tmp_path, "tokens/train.bin", "table/all.parquet", content=bytes(range(256)) * 9)
    before = preflight.run(folder=str(tmp_path))

    write(str(tmp_path), force=True)

    (told,) = (one for one in before.coverage if one.part == "data")
    assert told.unread == {".bin": 1, ".parquet": 1}
    assert told in preflight.run(folder=str(tmp_path)).coverage


def test_what_lies_beside_settings_that_name_data_elsewhere_is_not_the_jobs(tmp_path: Path) -> None:
    put(tmp_path, "away/0.tar", content=tarred(samples(2)))
    put(tmp_path, "job/train.bin", content=bytes(range(256)) * 9)
    settings = tmp_path / "job/preflight.toml"
    settings.write_text('[[data]]\nshards = "../away/{0..0}.tar"\n', encoding="utf-8")

    assert preflight.run(folder=str(tmp_path / "job")).coverage[0].unread == {}


@pytest.mark.parametrize("settings", [True, False], ids=["as it is", "without its settings"])
@pytest.mark.parametrize("mended", [True, False], ids=["mended", "broken"])
@pytest.mark.parametrize("name", FIXTURES)
def test_of_every_case_nothing_is_left_out(
    tmp_path: Path, name: str, *, mended: bool, settings: bool
) -> None:
    runpy.run_path(str(ROOT / "fixtures" / name / "make.py"))["make"](tmp_path, mended=mended)
    file = tmp_path / "preflight.toml"
    if not settings:
        file.unlink(missing_ok=True)
    try:
        before = found_in(tmp_path)
    except ValueError:
        with pytest.raises(SettingsError, match="nothing to name"):
            write(str(tmp_path), force=True)
        return

    write(str(tmp_path), force=True)

    assert looked_at(before) <= looked_at(found_in(tmp_path))


# The smallest PNG there is: one grey pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b5500"
    "00000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
)


def shards(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        put(folder, name, content=tarred(samples(2, start=10 * number)))


def caches(folder: Path, *names: str) -> None:
    for name in names:
        put(folder, f"{name}.safetensors", content=WHOLE)


def tree(*names: str) -> Callable[[Path], None]:
    return lambda folder: put(folder, *names)


PIC = ("pets/a.jpg", "pets/b.jpg")

TREES: dict[str, Callable[[Path], None]] = {
    "tar and tgz": lambda folder: shards(folder, "data/a.tar", "data/b.tgz", "data/c.tar.gz"),
    "upper case": lambda folder: shards(folder, "data/a.TAR", "data/b.tar", "data/c.Tgz"),
    "a folder with signs of a pattern": lambda folder: shards(
        folder, "da[1]ta/{x}/a.tar", "x/b.tar"
    ),
    "two colons": lambda folder: shards(folder, "da::ta/0.tar", "da::ta/1.tar"),
    "shards at the top": lambda folder: shards(folder, "0.tar", "1.tar"),
    "hidden": lambda folder: shards(folder, "data/.a.tar", "data/b.tar"),
    "a shard among images": tree(*PIC, "pets/0.tar", "pets/more/1.tar"),
    "images at the top, and below": tree("a.jpg", "b.png", *PIC, "train/0.tar", "val/0.tar"),
    "two caches of one size": lambda folder: caches(
        folder, "cache/pets-512/a", "cache/pets-512/b", "cache/pets-1024/a", "cache/pets-1024/b"
    ),
    "caches two folders down": lambda folder: caches(folder, "c/vae/512/a", "c/vae/1024/a"),
    "something beside caches": lambda folder: caches(
        folder, "cache/index", "cache/a/x", "cache/b/x"
    ),
    "a left-over beside caches": tree("c/a/x.pt", "c/b/x.pt", "c/y.pt.tmp.1234"),
    "checkpoints": tree("out/checkpoint-5/a.pt", "out/checkpoint-10/a.pt", "train.py"),
    "checkpoints of runs": tree("out/r1/checkpoint-5/a.pt", "out/r2/checkpoint-5/a.pt", *PIC),
    "a checkpoint in parts": tree("ckpt/step_5/__0_0.distcp", "ckpt/step_5/.metadata"),
    "checkpoints at the top": tree("last.ckpt", "best.pth.tar", "0.tar"),
    "sources alone": tree("train.py", "lib/data.py"),
    "sources below": tree("lib/data.py", *PIC),
    "latents beside images": tree("img/10_cat/a.jpg", "img/10_cat/a.npz", "img/10_dog/a.npz"),
    "latents of two sizes beside images": tree(
        "data/pets/a.jpg", "data/pets-512/a.npz", "data/pets-1024/a.npz"
    ),
    "shards of several suffixes in two folders": lambda folder: shards(
        folder, "data/a/0.tar", "data/a/1.tar", "data/b/x.tar.gz", "data/b/y.tgz", "data/b/Z.TAR"
    ),
    "latents among checkpoints": tree(
        "checkpoints/latents/0001.pt", "checkpoints/last.pt", "checkpoints/step-5/model.pt", *PIC
    ),
    "packages of one repository": tree(
        "pyproject.toml",
        "packages/a/src/a/train.py",
        "packages/a/data/train-0.tar",
        "packages/b/src/b/train.py",
        "packages/b/data/a.jpg",
        "packages/b/cache/x.pt",
    ),
    "names with spaces, and of other letters": tree(
        "m\u00e4 data/\u732b/10 sks cat/a b.jpg",
        "m\u00e4 data/\u732b/10 sks cat/a b.npz",
        "sh ards/\u00fc 1.tar",
        "sh ards/\u00fc 2.tar",
        "my job/train.py",
    ),
    "splits of classes beside shards": tree(
        "data/train/cat/1.jpg", "data/train/dog/1.jpg", "data/val/dog/1.jpg", "data/more/0.tar"
    ),
    "lists, rows and images": tree(
        "photos/1.jpg", "photos/metadata.jsonl", "lists/train.txt", "tables/train-0.parquet"
    ),
    "a folder with a line's end in its name": tree("a\nb\x7f/a.jpg", 'say "x"/a.pt', "b\\c/0.tar"),
}


@pytest.mark.parametrize("make", TREES.values(), ids=TREES)
def test_of_every_tree_nothing_is_left_out(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)

    never_less(tmp_path)


def test_data_that_links_lead_to_is_not_left_out(tmp_path: Path) -> None:
    put(tmp_path, "far/d/0.tar", "far/d/1.tar", "far/p/a.jpg", "far/c/x.pt")
    put(tmp_path, "job/train.py")
    job = tmp_path / "job"
    try:
        for name in "dpc":
            (job / f"link-{name}").symlink_to(tmp_path / "far" / name, target_is_directory=True)
        (job / "loop").symlink_to(job, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")

    never_less(job)


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
def test_names_that_toml_cannot_say_are_looked_at_too(tmp_path: Path) -> None:
    for name in (b"\xe9.tar", b"d\xe9/0.tar", b"p\xe9/a.jpg", b"c\xe9/a.pt"):
        path = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb"):
            pass

    before, after = compared(tmp_path)

    assert ("Folder", str(tmp_path)) in looked_at(after)  # with all that lies below it
    assert {one for one in looked_at(before) if one[0] != "Folder"} <= looked_at(after)


# --- verdicts -------------------------------------------------------------------------------------

BETTER = ("no-go", "cannot-judge", "go")

TOLD_BY_FILES = (
    "cache_checkpoint", "cache_crash", "cache_damaged", "cache_unsafe", "image_damaged",
    "sample_unpaired", "shard_damaged", "shard_duplicate", "shard_foreign", "target_missing",
)  # fmt: skip


def run(folder: Path) -> Report:
    return preflight.run(folder=str(folder), elsewhere=True, no_ledger=True)


def never_better(folder: Path) -> Report:
    """Run before and after `init`, and give what the second run said."""
    before = run(folder)
    write(str(folder), force=True)
    after = run(folder)

    assert BETTER.index(after.verdict) <= BETTER.index(before.verdict)
    told = {(one.check, one.at.file) for one in after.findings}
    assert {(one.check, one.at.file) for one in before.findings} <= told
    return after


@pytest.mark.parametrize("name", TOLD_BY_FILES)
def test_no_verdict_of_a_case_gets_better(tmp_path: Path, name: str) -> None:
    runpy.run_path(str(ROOT / "fixtures" / name / "make.py"))["make"](tmp_path, mended=False)

    assert never_better(tmp_path).verdict == "no-go"


def test_a_damaged_shard_under_another_suffix_is_not_lost(tmp_path: Path) -> None:
    shards(tmp_path, "data/a.tar", "data/b.tar")
    put(tmp_path, "data/c.tgz", content=b"Rar!" + bytes(600))

    assert never_better(tmp_path).verdict == "no-go"


def test_a_class_that_a_split_lacks_is_told_after_it_too(tmp_path: Path) -> None:
    names = ("train/cat", "train/dog", "train/emu", "val/cat", "val/emu")
    put(tmp_path, *(f"data/{one}/1.png" for one in names), content=PNG)

    after = never_better(tmp_path)

    assert [one.at.file for one in after.findings] == ["data/val"]


def test_sources_that_were_read_are_read_again(tmp_path: Path) -> None:
    """The settings would otherwise name the data alone, and the read of a variable go by."""
    shards(tmp_path, "data/0.tar", "data/1.tar")
    (tmp_path / "train.py").write_text("import os\nrank = int(os.environ['SLURM_LOCALID'])\n")

    before = preflight.run(folder=str(tmp_path), select=["env-launch"])
    write(str(tmp_path), force=False)
    after = preflight.run(folder=str(tmp_path), select=["env-launch"])

    assert [one.id for one in before.checks if one.found] == ["env-launch"]
    assert [one.id for one in after.checks if one.found] == ["env-launch"]


def test_half_of_one_of_two_caches_is_missed(tmp_path: Path) -> None:
    """Of both as one, every sample would have had an entry."""
    stems = [f"dog-{number:02}" for number in range(12)]
    put(tmp_path, *(f"pets/{stem}.png" for stem in stems), content=PNG)
    caches(tmp_path, *(f"cache/pets-512/{stem}" for stem in stems[:6]))
    caches(tmp_path, *(f"cache/pets-1024/{stem}" for stem in stems))

    after = never_better(tmp_path)

    lacking = [one.at.file for one in after.findings if one.check == "cache-incomplete"]
    assert lacking == ["cache/pets-512"]


STEMS = [f"dog-{number:02}" for number in range(6)]

# What lies beside six images, and whether its names lead back to them.
BESIDE = {
    "named after nothing known": ([f"cache/{n * 7919 + 4:064x}" for n in range(6)], False),
    "batches of several samples": (["latents/batch_0", "latents/batch_1"], False),
    "numbers of the whole set": (["stats/mean", "stats/std"], False),
    "one file": (["embeddings"], False),
    "named as its images": ([f"cache/{stem}" for stem in STEMS], True),
    "of several sizes": (
        [f"cache/{n}/{s}" for s in STEMS for n in ("pets-256", "pets-1024")],
        True,
    ),
    "half as many": ([f"cache/{stem}" for stem in STEMS[:3]], True),
}


@pytest.mark.parametrize(("names", "leads"), BESIDE.values(), ids=BESIDE)
def test_no_comparison_is_written_that_nobody_asked_for_and_that_cannot_be_made(
    tmp_path: Path, names: list[str], *, leads: bool
) -> None:
    """A GO would otherwise become CANNOT JUDGE by a guess of `init`."""
    put(tmp_path, *(f"pets/{stem}.png" for stem in STEMS), content=PNG)
    caches(tmp_path, *names)
    assert run(tmp_path).verdict == "go"

    write(str(tmp_path), force=False)

    assert (run(tmp_path).verdict, run(tmp_path).reasons) == ("go", ())
    job = make_job(folder=str(tmp_path), environ={})
    assert {one.of for one in job.cache} == {("pets",) if leads else ()}
    lines = (tmp_path / "preflight.toml").read_text().splitlines()
    assert leads or '# of = ["pets"]' in lines


def test_what_stands_there_already_is_compared_as_it_says(tmp_path: Path) -> None:
    """A data set that was named by hand leads to a cache that `init` adds."""
    put(tmp_path, *(f"pets/{stem}.png" for stem in STEMS), content=PNG)
    put(tmp_path, "preflight.toml", content=b'[[data]]\nname = "all"\npath = "pets"\n')
    caches(tmp_path, *(f"cache/{stem}" for stem in STEMS))

    write(str(tmp_path), force=True)

    assert [one.of for one in make_job(folder=str(tmp_path), environ={}).cache] == [("pets",)]
    assert run(tmp_path).verdict == "go"


def test_no_code_is_run_by_a_run_after_init(tmp_path: Path) -> None:
    """A model of seven billion parameters would be built in its full size."""
    shards(tmp_path, "data/0.tar")
    (tmp_path / "model.py").write_text(MAKERS)

    never_better(tmp_path)

    assert not (tmp_path / "imported").exists()


MAKERS = """
open("imported", "w").close()
from torch import nn
from torch.utils.data import DataLoader


class DiT(nn.Module):
    pass


def DiT_XL(**more):
    return DiT(**more)


def DiT_7B():
    model = DiT()
    return model


def loader() -> DataLoader:
    made = DataLoader([])
    return made
"""


def test_makers_stand_commented_out_with_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MAKERS)

    write(str(tmp_path), force=False)

    lines = (tmp_path / "preflight.toml").read_text().splitlines()
    assert [line for line in lines if "call = " in line] == [
        '# call = "model:loader"  # makes a DataLoader, model.py:20',
        '# call = "model:DiT_XL"  # makes a DiT, model.py:11',
        '# call = "model:DiT_7B"  # makes a DiT, model.py:15',
    ]
    job = make_job(folder=str(tmp_path), environ={})
    assert (job.loader, job.model, [one.path for one in job.source]) == ((), (), ["."])
    opened = [line.removeprefix("# ") for line in lines if line.startswith(("# [[", "# call"))]
    (tmp_path / "preflight.toml").write_text("\n".join(opened))
    assert len(make_job(folder=str(tmp_path), environ={}).model) == 2


# --- what is there already ------------------------------------------------------------------------


def test_in_an_empty_folder_nothing_is_written(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "notes.txt")

    with pytest.raises(SettingsError, match="there is nothing to name"):
        write(str(tmp_path), force=False)

    assert not (tmp_path / "preflight.toml").exists()


def test_what_somebody_has_said_stays_under_force(tmp_path: Path) -> None:
    """A file that was written over would have lost the GPUs, the ignores and the key."""
    shards(tmp_path, "data/0.tar", "data/1.tar", "more/a.tar")
    caches(tmp_path, "cache/x", "other/y")
    text = (
        '# by hand\n[launch]\ngpus = 8\n\n[[data]]\nshards = "data/{0..1}.tar"\n\n'
        '[[cache]]\npath = "cache"\nof = ["data/{0..1}.tar"]\nkey = "md5(caption)"\n'
    )
    (tmp_path / "preflight.toml").write_text(text)

    said = write(str(tmp_path), force=True)

    job = make_job(folder=str(tmp_path), environ={})
    assert (tmp_path / "preflight.toml").read_text().startswith(text)
    assert [one.shards for one in job.data] == ["data/{0..1}.tar", "more/*.tar"]
    assert [(one.path, one.key) for one in job.cache] == [
        ("cache", "md5(caption)"),
        ("other", None),
    ]
    assert said.startswith("Added 2 things to preflight.toml.")
    assert write(str(tmp_path), force=True) == "preflight.toml names all that lies around already."


def test_settings_that_no_run_takes_are_written_over(tmp_path: Path) -> None:
    shards(tmp_path, "0.tar")
    (tmp_path / "preflight.toml").write_text("[launch\n")

    write(str(tmp_path), force=True)

    assert make_job(folder=str(tmp_path), environ={}).data


@pytest.mark.parametrize("force", [True, False])
def test_a_table_in_pyproject_is_not_put_out_of_force(tmp_path: Path, *, force: bool) -> None:
    shards(tmp_path, "0.tar")
    (tmp_path / "pyproject.toml").write_text("[tool.preflight.launch]\ngpus = 8\n")

    with pytest.raises(SettingsError, match=r"pyproject\.toml has"):
        write(str(tmp_path), force=force)

    assert not (tmp_path / "preflight.toml").exists()


def test_settings_of_a_folder_above_hold_until_somebody_says_otherwise(tmp_path: Path) -> None:
    put(tmp_path, "preflight.toml", content=b"[launch]\ngpus = 8\n")
    (tmp_path / ".git").mkdir()
    shards(tmp_path, "below/0.tar")

    with pytest.raises(SettingsError, match=r"preflight\.toml holds in this folder too"):
        write(str(tmp_path / "below"), force=False)
    write(str(tmp_path / "below"), force=True)

    assert (tmp_path / "below" / "preflight.toml").exists()
