"""dataset-survival says how many samples come through a live loader, and what takes the others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.render import renderer
from preflight.settings.job import Job
from preflight.targets.words.discover import discover
from tests.archives import tarred
from tests.pipelines.shards_to_lose import good, half, latin_1, without_captions

pytestmark = pytest.mark.usefixtures("at_hand")

HEAD = """
import webdataset as wds
from torch.utils.data import DataLoader


def kept(exn):
    print(exn)
    return True


def make():
    return DataLoader({}, batch_size=None, num_workers={})
"""


def job(
    folder: Path, shards: Mapping[str, bytes] | list[bytes], pipeline: str, workers: int = 0
) -> None:
    listed = shards if isinstance(shards, list) else list(shards.values())
    for number, content in enumerate(listed):
        (folder / f"{number:03}.tar").write_bytes(content)
    (folder / "train.py").write_text(HEAD.format(pipeline, workers))


def run(folder: Path, *words: str, **flags: Any) -> Any:
    options = {"select": ["dataset", "sample"], "elsewhere": True, **flags}
    return preflight.run(*(words or ("train:make",)), folder=str(folder), **options)


def survival(report: Any) -> list[Finding]:
    return [one for one in report.findings if one.check == "dataset-survival"]


def piped(shards: str, *stages: str) -> str:
    return f"wds.DataPipeline({shards}, {', '.join(stages)})"


TAR = "wds.tarfile_to_samples(handler=wds.warn_and_continue)"
DECODE = "wds.decode(handler=wds.warn_and_continue)"
PAIRS = 'wds.to_tuple("jpg;png", "txt", handler=wds.warn_and_continue)'
TWO = 'wds.SimpleShardList("file:{000..001}.tar")'
DRAWN = 'wds.ResampledShards("file:{000..001}.tar")'


@pytest.mark.parametrize(
    ("shards", "pipeline"),
    [
        ([tarred(good()), tarred(good(3, 50))], piped(DRAWN, TAR, DECODE, PAIRS)),
        ([tarred(without_captions())] * 2, piped(DRAWN, TAR, 'wds.to_tuple("jpg")')),
        ([latin_1(), latin_1()], piped(TWO, TAR, 'wds.to_tuple("jpg", "txt")')),
        ([latin_1(), latin_1()], piped(TWO, TAR, 'wds.decode(only=["jpg"])', PAIRS)),
        (
            [tarred(dict([*good().items()][:-1]))] * 2,
            piped(TWO, TAR, 'wds.to_tuple("jpg", "txt", missing_is_error=False)'),
        ),
    ],
)
def test_a_loader_that_gives_all_of_its_samples_is_left_alone(
    tmp_path: Path, shards: list[bytes], pipeline: str
) -> None:
    job(tmp_path, shards, pipeline)

    assert run(tmp_path).findings == ()


def test_where_nothing_comes_through_a_loader_without_end_it_says_that_it_will_stand(
    tmp_path: Path,
) -> None:
    stages = piped(f"\n        {DRAWN}", TAR, DECODE, f"\n        {PAIRS}")
    job(tmp_path, [tarred(without_captions()), tarred(without_captions())], stages)

    (found,) = survival(run(tmp_path))

    assert found.severity is Severity.ERROR
    assert found.at.line == 13
    assert found.message == "0 of 24 samples come through"
    assert [(row.count, row.text, str(row.at)) for row in found.rows] == [
        (24, 'have no .txt, which to_tuple("jpg;png", "txt") asks for', "train.py:14")
    ]
    assert "stands at step 0, and says nothing" in (found.why or "")
    assert "train.py:13" in (found.why or "")


@pytest.mark.parametrize(
    ("stage", "severity", "says"),
    [
        (PAIRS, Severity.WARNING, "with no more than a warning"),
        (PAIRS.replace("wds.warn_and_continue", "kept"), Severity.WARNING, "kept drops them"),
        ('wds.to_tuple("jpg", "txt")', Severity.ERROR, "raises at the first"),
        (PAIRS.replace("warn_and_continue", "ignore_and_stop"), Severity.ERROR, "ends the stream"),
        ('wds.rename(a="jpg", b="txt", handler=kept)', Severity.WARNING, "kept drops"),
        ('wds.extract_keys("*.jpg", "*.txt")', Severity.ERROR, "raises at the first"),
    ],
)
def test_what_becomes_of_the_lost_is_what_the_handler_does(
    tmp_path: Path, stage: str, severity: Severity, says: str
) -> None:
    job(tmp_path, [tarred(good()), tarred(half())], piped(TWO, TAR, stage))

    (found,) = survival(run(tmp_path))

    assert found.severity is severity
    assert says in (found.why or "")
    assert found.evidence["samples"] == 24
    assert ("if the epoch did not end" in found.message) == (severity is Severity.ERROR)


def test_what_functions_of_the_user_may_drop_is_not_counted_as_known(tmp_path: Path) -> None:
    stages = piped(TWO, TAR, "wds.select(kept)", 'wds.to_tuple("jpg", "txt")')
    job(tmp_path, [tarred(good()), tarred(half())], stages)

    (found,) = survival(run(tmp_path))

    assert found.message.startswith("at most")
    assert "Nobody knows before it runs" in (found.why or "")


CHOOSE = """
def late(sample):
    return sample["__key__"] > "dog-0006"
"""


@pytest.mark.parametrize(("divide", "workers"), [("", 0), (", wds.split_by_worker", 2)])
def test_what_a_select_takes_out_besides_is_counted_where_an_epoch_was_run(
    tmp_path: Path, divide: str, workers: int
) -> None:
    stages = piped(TWO + divide, TAR, PAIRS)
    job(tmp_path, [tarred(good()), tarred(half())], stages, workers)
    (before,) = survival(run(tmp_path, select=()))
    stages = piped(TWO + divide, TAR, "wds.select(late)", PAIRS)
    job(tmp_path, [tarred(good()), tarred(half())], stages, workers)
    source = tmp_path / "train.py"
    source.write_text(source.read_text() + CHOOSE)

    (after,) = survival(run(tmp_path, select=()))

    out = _really_come_out(tmp_path)
    assert before.message == "18 of 24 samples come through"
    assert after.message == f"{out} of 24 samples come through"
    assert [row.count for row in after.rows] == [6, 18 - out]
    assert after.rows[-1].text == "are taken out by .select(late)"
    assert f"on {out / 24:.1%} of what its shards hold" in (after.why or "")


def _really_come_out(folder: Path) -> int:
    code = "import train; print(sum(1 for sample in train.make()))"
    return int(subprocess.check_output([sys.executable, "-c", code], cwd=folder, text=True))


def test_the_fluid_interface_and_its_decoder_are_read_too(tmp_path: Path) -> None:
    job(
        tmp_path,
        [latin_1(), tarred(good(3, 40))],
        'wds.WebDataset("file:{000..001}.tar", resampled=True, handler=kept)'
        ".decode(handler=kept)"
        '.to_tuple("jpg", "txt", handler=kept).batched(2)',
    )

    (found,) = survival(run(tmp_path))

    assert found.evidence["through"] == 9
    assert (6, "have a .txt that is not UTF-8") in [
        (row.count, row.text[:29]) for row in found.rows
    ]


def test_a_batch_that_never_fills_is_told(tmp_path: Path) -> None:
    stages = piped(TWO, TAR, 'wds.to_tuple("jpg", "txt")', "wds.batched(64, partial=False)")
    job(tmp_path, [tarred(good()), tarred(good(3, 50))], stages)

    (found,) = survival(run(tmp_path))

    assert found.severity is Severity.ERROR
    assert str(found.evidence["lost_1"]).startswith("15 make no batch of 64")


def test_shards_that_no_word_names_are_looked_at_with_all_checks(tmp_path: Path) -> None:
    job(tmp_path, [tarred(good()), b"Rar!\x1a\x07\x01\x00" + bytes(5_000)], piped(TWO, TAR, PAIRS))

    report = run(tmp_path, select=())

    assert {"shard-damaged", "dataset-survival"} <= {one.check for one in report.findings}
    assert "data" not in report.not_judged


def test_shards_of_a_loader_that_are_not_here_are_said_to_be_unread(tmp_path: Path) -> None:
    job(tmp_path, [tarred(good())], piped('wds.SimpleShardList("http://x/{0..3}.tar")', TAR, PAIRS))

    report = run(tmp_path)

    reasons = [skip.reason for one in report.checks for skip in one.skipped]
    assert any("train:make reads it, and it was not read here" in one for one in reasons)


@pytest.mark.parametrize("named", [("train:make",), ("train:make", "000.tar", "001.tar")])
def test_captions_that_no_loader_takes_are_not_missed(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    shards = [tarred(good()), tarred({**good(8), **without_captions(12)})]
    job(tmp_path, shards, piped(TWO, TAR, 'wds.to_tuple("jpg")'))

    assert run(tmp_path, *named).findings == ()


def test_a_field_that_the_loader_takes_is_missed_whatever_else_is_there(tmp_path: Path) -> None:
    job(tmp_path, [tarred(good())] * 2, piped(TWO, TAR, 'wds.to_tuple("jpg", "json")'))

    found = [one for one in run(tmp_path).findings if one.check == "sample-unpaired"]

    assert [one.message[:34] for one in found] == ["12 of 12 samples have no .json: do"] * 2
    assert {one.severity for one in found} == {Severity.ERROR}


def test_where_a_stage_takes_whatever_it_likes_half_of_the_captions_is_no_quiet_go(
    tmp_path: Path,
) -> None:
    job(tmp_path, [tarred(half()), tarred(half())], piped(TWO, TAR, "kept"))

    report = run(tmp_path)

    assert survival(report) == []
    assert {one.check for one in report.findings} == {"sample-unpaired"}


def test_half_a_shard_without_captions_is_held_against_the_whole_data_set(tmp_path: Path) -> None:
    for number, files in enumerate((good(), good(12, 20), half_of_them())):
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(files))

    report = run(tmp_path, "{000..002}.tar")

    assert report.verdict == "no-go"
    assert {one.at.file for one in report.findings} == {"002.tar"}
    assert sum(one.evidence.get("lacks") == "caption" for one in report.findings) == 6


def with_notes(files: dict[str, bytes]) -> dict[str, bytes]:
    """As tools of download leave them: JSON beside each image, whether or not it has a caption."""
    stems = dict.fromkeys(name.partition(".")[0] for name in files)
    parts = {stem: {n: one for n, one in files.items() if n.startswith(stem)} for stem in stems}
    each = (own | {f"{stem}.json": b'{"url": "x"}'} for stem, own in parts.items())
    return {name: one for own in each for name, one in own.items()}


def test_notes_beside_images_are_no_captions_where_most_of_the_data_set_has_texts(
    tmp_path: Path,
) -> None:
    whole = [tarred(with_notes(good(12, 20 * number))) for number in range(3)]
    job(tmp_path, whole, "None")
    assert run(tmp_path, "{000..002}.tar").findings == ()

    (tmp_path / "002.tar").write_bytes(tarred(with_notes(no_captions())))
    (found,) = run(tmp_path, "{000..002}.tar").findings
    assert (found.at.file, found.check) == ("002.tar", "sample-unpaired")
    assert found.message.startswith("12 of 12 images have no .txt")

    job(tmp_path, [tarred(with_notes(no_captions()))] * 3, "None")
    assert {one.check for one in run(tmp_path, "{000..002}.tar").findings} <= {"shard-duplicate"}


def half_of_them() -> dict[str, bytes]:
    files = good(12, 60)
    return {name: one for name, one in files.items() if "txt" not in name or int(name[4:8]) % 2}


def no_captions() -> dict[str, bytes]:
    return {name: one for name, one in good(12, 80).items() if "txt" not in name}


@pytest.mark.parametrize("last", [half_of_them, no_captions])
@pytest.mark.parametrize("loader", [(), ("train:make",)])
def test_shards_that_a_word_each_names_are_one_data_set(
    tmp_path: Path, last: Callable[[], dict[str, bytes]], loader: tuple[str, ...]
) -> None:
    shards = [tarred(good()), tarred(good(12, 20)), tarred(last())]
    three = 'wds.SimpleShardList("{000..002}.tar")'
    job(tmp_path, shards, piped(three, TAR, 'wds.to_tuple("jpg", "txt")' if loader else "kept"))
    words = ["000.tar", "001.tar", "002.tar"]

    report = run(tmp_path, *words, *loader, select=())

    found = [one for one in report.findings if one.check in ("sample-unpaired", "dataset-survival")]
    assert "002.tar" in {one.at.file for one in found}
    assert "000.tar" not in {one.at.file for one in found}


@pytest.mark.parametrize("names", [("train.tar", "val.tar"), ("a/0.tar", "b/0.tar")])
def test_shards_of_another_split_or_folder_are_another_data_set(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    for name, files in zip(names, (good(), {**no_captions(), **good(2)}), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(tarred(files))

    assert not [one for one in run(tmp_path, *names).findings if one.check == "shard-duplicate"]
    assert len(discover(names, Job(root=str(tmp_path)), str(tmp_path)).datasets) == 2


@pytest.mark.parametrize("good_shards", [0, 1])
def test_where_most_have_no_caption_none_is_missed(tmp_path: Path, good_shards: int) -> None:
    for number in range(3):
        files = good(12) if number < good_shards else without_captions(12)
        named = {f"{number}-{name}": one for name, one in files.items()}
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(named))

    assert run(tmp_path, "{000..002}.tar").findings == ()


def test_a_live_loader_overrules_what_a_source_seems_to_say(tmp_path: Path) -> None:
    """The source speaks of `resampled`, and the loader that it makes has it off."""
    job(
        tmp_path,
        [tarred(good()), tarred(good(12, 40))],
        'wds.WebDataset("{000..001}.tar", resampled=bool(0), shardshuffle=False)',
    )

    report = run(tmp_path, "{000..001}.tar", "train:make", num_workers=4)

    assert [one.check for one in report.findings] == ["dataset-small"]


def test_the_table_is_kept_in_the_report(tmp_path: Path) -> None:
    job(tmp_path, [latin_1(), tarred(without_captions())], piped(TWO, TAR, DECODE, PAIRS))

    report = run(tmp_path)
    (found,) = survival(report)

    (again,) = survival(preflight.Report.from_json(report.to_json()))
    assert again.rows == found.rows
    assert json.dumps(dict(found.evidence))
    assert found.evidence["through"] == 6
    assert str(found.evidence["lost_1"]).startswith("12 have no .txt")
    assert str(found.evidence["lost_2"]).startswith("6 have a .txt that is not UTF-8")


def test_a_page_gives_each_reason_a_line(tmp_path: Path) -> None:
    job(tmp_path, [latin_1(), tarred(without_captions())], piped(TWO, TAR, DECODE, PAIRS))
    report = run(tmp_path)

    page = [line.split() for line in renderer("terminal")(report).splitlines()]
    assert any(one[:3] == ["12", "have", "no"] for one in page)
    assert any(one[:3] == ["6", "have", "a"] for one in page)
    items = renderer("markdown")(report).splitlines()
    assert sum(line.startswith(("  - 12 have no", "  - 6 have a")) for line in items) == 2


NODES = "wds.split_by_node"
WORKERS = "wds.split_by_worker"
FOUR = 'wds.SimpleShardList("{000..003}.tar")'


def halves() -> list[bytes]:
    """Make shards of which every second one has no captions."""
    return [tarred(without_captions() if n % 2 else good(12, 20 * n)) for n in range(4)]


def test_a_rank_to_which_nothing_comes_through_is_told(tmp_path: Path) -> None:
    job(tmp_path, halves(), piped(FOUR, NODES, WORKERS, TAR, DECODE, PAIRS))

    (found,) = survival(run(tmp_path, world_size=2))

    assert found.severity is Severity.ERROR
    assert found.message == "24 of 48 samples come through, 0 to 24 on each of 2 ranks"
    assert [row.text[:27] for row in found.rows][1:] == ["come through on rank 1: all"]
    assert "rank 1" in (found.why or "")


@pytest.mark.parametrize("split", [[], [WORKERS], ["wds.shuffle(9)", NODES]])
def test_where_ranks_do_not_divide_shards_in_their_order_none_is_singled_out(
    tmp_path: Path, split: list[str]
) -> None:
    job(tmp_path, halves(), piped(FOUR, *split, TAR, DECODE, PAIRS))

    found, *more = survival(run(tmp_path, world_size=2))

    assert [one.message.startswith("gives each sample 2 times") for one in more] == (
        [] if NODES in split else [True]
    )
    assert found.message == "24 of 48 samples come through"
    assert found.severity is Severity.WARNING


def test_batches_are_filled_by_each_worker_for_itself(tmp_path: Path) -> None:
    full = [tarred(good(12, 20 * number)) for number in range(4)]
    stages = [TAR, 'wds.to_tuple("jpg", "txt")', "wds.batched(16, partial=False)"]
    job(tmp_path, full, piped(FOUR, NODES, WORKERS, *stages), workers=2)

    assert survival(run(tmp_path)) == []
    (found,) = survival(run(tmp_path, world_size=2))
    assert str(found.evidence["lost_1"]).startswith("12 make no batch of 16 in any one worker")


SOURCE = """
import webdataset as wds


def loader(config):
    return wds.DataPipeline(
        wds.ResampledShards({shards}),
        wds.split_by_worker,
        wds.tarfile_to_samples(handler=wds.warn_and_continue),
        wds.decode("pilrgb", handler=wds.warn_and_continue),
        wds.to_tuple("jpg;png", "txt", handler=wds.warn_and_continue),
    )
"""


@pytest.mark.parametrize("shards", ['"file:{000..001}.tar"', "config.path"])
def test_where_no_loader_is_made_a_source_says_what_is_read_and_that_it_is_a_guess(
    tmp_path: Path, shards: str
) -> None:
    job(tmp_path, [tarred(without_captions()), tarred(without_captions())], "None")
    (tmp_path / "base.py").write_text(SOURCE.replace("{shards}", shards))

    (found,) = survival(run(tmp_path, "source=base.py", "{000..001}.tar"))

    assert found.severity is Severity.ERROR
    assert found.message.startswith("0 of 24 samples come through, as the source is written (a gue")
    assert str(found.rows[0].at) == "base.py:11"
    assert "base.py:7" in (found.why or "")


@pytest.mark.parametrize(("main", "found"), [("loader(None)", 1), ("print()", 0)])
def test_shards_that_a_script_names_and_that_have_none_of_its_fields_are_told_where_it_reads_them(
    tmp_path: Path, main: str, found: int
) -> None:
    """Dotted names: webdataset takes `a.v1.jpg` for a field `v1.jpg`, and nothing comes through."""
    dotted = {name.replace(".", ".v1."): data for name, data in good().items()}
    job(tmp_path, [tarred(dotted), tarred(dotted)], "None")
    source = SOURCE.replace("{shards}", '"file:{000..001}.tar"')
    (tmp_path / "base.py").write_text(f"{source}\n\nif __name__ == '__main__':\n    {main}\n")

    told = survival(run(tmp_path, "source=base.py", "{000..001}.tar"))

    assert [one.message.startswith("0 of 24 samples come through") for one in told] == [
        True
    ] * found


OTHERS = """
import argparse
import webdataset as wds

parser = argparse.ArgumentParser()
parser.add_argument("--key", default="caption")
args = parser.parse_args()
train = wds.WebDataset(f"{args.root}/{{000..001}}.tar").decode(only=args.only)
"""


@pytest.mark.parametrize(
    "source",
    [
        OTHERS,
        OTHERS + 'x = wds.WebDataset(args.data).decode("pil").to_tuple("jpg", args.key)\n',
        "import webdataset as wds\n\nx = wds.WebDataset(a).to_tuple(args.image, args.key)\n",
        'import webdataset as wds\n\nx = wds.WebDataset(a).rename(image=KEYS, text="txt")\n',
        'import webdataset as wds\n\nx = wds.WebDataset(a).to_tuple("npy", "latent")\n',
        'import webdataset as wds\n\nx = wds.WebDataset(a).to_tuple("json", missing_is_error=b)\n',
        'import webdataset as wds\n\nx = wds.WebDataset("val.tar").to_tuple("json")\n',
        SOURCE.replace("{shards}", "args.train")
        + """

def val(config):
    return wds.WebDataset(config.val).decode("pil").to_tuple("png", "json")
""",
        SOURCE.replace("{shards}", "config.path").replace("pilrgb", "pil"),
        'import webdataset as wds\n\nx = wds.WebDataset(a).decode().to_tuple("jpg", "txt")\n',
        "import webdataset as wds\n\nx = wds.WebDataset(a).to_tuple(*fields)\n",
        "import webdataset as wds\n\nx = wds.WebDataset(a).map(pick)\n",
    ],
)
def test_a_source_whose_pipeline_fits_the_data_is_left_alone(tmp_path: Path, source: str) -> None:
    job(tmp_path, [tarred(good()), tarred(good(12, 40))], "None")
    (tmp_path / "base.py").write_text(source)

    assert survival(run(tmp_path, "source=base.py", "{000..001}.tar")) == []


def listing(folder: Path) -> None:
    (folder / "photos").mkdir()
    for number in range(6):
        (folder / "photos" / f"{number}.jpg").write_bytes(good()["dog-0000.jpg"])
        (folder / "photos" / f"{number}.txt").write_text("a dog")
    (folder / "train.py").write_text(LISTED)


def test_files_that_a_data_set_lists_are_looked_at_though_no_word_names_them(
    tmp_path: Path,
) -> None:
    listing(tmp_path)

    report = run(tmp_path, select=())

    assert report.verdict == "go"
    assert report.findings == ()
    assert "data" not in report.not_judged
    (data,) = (one for one in report.coverage if one.part == "data")
    assert (data.state, data.seen) == ("whole", "6 images (6 captions)")
    assert any("lists 12 files (6 .jpg, 6 .txt)" in one.text for one in report.targets)


def test_what_is_wrong_with_files_that_a_data_set_lists_is_told_as_of_a_folder(
    tmp_path: Path,
) -> None:
    listing(tmp_path)
    photos = tmp_path / "photos"
    (photos / "1.jpg").write_bytes(good()["dog-0000.jpg"][:300])
    (photos / "2.txt").write_bytes("Hündchen".encode("latin-1"))
    (photos / "4.jpg").unlink()
    (photos / "5.txt").unlink()

    report = run(tmp_path, select=())

    found = {(one.check, one.at.file): one for one in report.findings}
    assert ("image-damaged", "photos/1.jpg") in found
    assert ("caption-damaged", "photos/2.txt") in found
    assert {one.message.partition(":")[0] for one in survival(report)} == {
        "1 of 6 images that its data set lists is not there",
        "1 of 6 texts that its data set lists is not there",
    }
    assert {one.severity for one in survival(report)} == {Severity.ERROR}
    assert "photos/4.jpg" in survival(report)[0].message


def test_files_in_a_folder_that_is_named_too_are_told_once(tmp_path: Path) -> None:
    listing(tmp_path)
    (tmp_path / "photos" / "1.jpg").write_bytes(good()["dog-0000.jpg"][:300])

    report = run(tmp_path, "train:make", "photos", select=())

    assert [one.check for one in report.findings] == ["image-damaged"]


def test_what_no_reader_reads_of_a_list_is_counted_as_unread(tmp_path: Path) -> None:
    listing(tmp_path)
    for path in (tmp_path / "photos").glob("*.jpg"):
        path.rename(path.with_suffix(".wav"))
        path.with_suffix(".txt").unlink()
    source = LISTED.replace(".jpg", ".wav").replace('path[:-3] + "txt"', "0")
    (tmp_path / "train.py").write_text(source)

    report = run(tmp_path, select=())

    assert "data" in report.not_judged
    assert not report.complete
    assert any("6 files were not looked at: train:make lists it" in one for one in report.reasons)


def test_cached_files_of_a_list_are_read_whether_their_folder_is_named_or_not(
    tmp_path: Path,
) -> None:
    listing(tmp_path)
    for path in (tmp_path / "photos").glob("*.jpg"):
        numpy.save(path.with_suffix(".npy"), numpy.ones(4))
        path.with_suffix(".txt").unlink()
        path.unlink()
    source = LISTED.replace(".jpg", ".npy").replace('path[:-3] + "txt"', "0")
    (tmp_path / "train.py").write_text(source)

    report = run(tmp_path, "train:make", "cache=photos", select=())
    alone = run(tmp_path, "train:make", select=())

    assert (report.verdict, report.complete) == ("go", True)
    seen = {one.part: one.seen for one in report.coverage}
    assert (seen["loader"].partition(" (")[0], seen["cache"]) == ("1 loader", "1 cache")
    assert not any("not looked at" in one for one in report.reasons)
    assert (alone.verdict, alone.complete) == ("go", True)
    assert {one.part: one.seen for one in alone.coverage}["data"] == "6 cached files"


def test_a_list_of_another_machine_is_no_error_where_the_job_runs_elsewhere(
    tmp_path: Path,
) -> None:
    listing(tmp_path)
    absent = LISTED.replace("photos/{number}", "/lustre/{number}").replace("(6)", "(9)")
    (tmp_path / "train.py").write_text(absent)

    assert survival(run(tmp_path)) == []
    (found,) = survival(run(tmp_path, elsewhere=False, select=["dataset"]))
    assert "9 of 9 images" in found.message


LISTED = """
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self):
        self.names = ["a dog", "a cat"]
        names = [f"photos/{number}.jpg" for number in range(6)]
        self.samples = [(path, path[:-3] + "txt") for path in names]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, place):
        return place


def make():
    return DataLoader(Photos())
"""


def _said(folder: Path, pipeline: str, workers: int, code: str) -> tuple[Any, int]:
    """Run a loader with functions of its own; give the report and what really comes out."""
    job(folder, [tarred(good()), tarred(good(12, 50))], pipeline, workers)
    source = folder / "train.py"
    source.write_text(f"{source.read_text()}\n{code}")
    count = "import train; print(sum(len(one[0]) for one in train.make()))"
    out = subprocess.check_output([sys.executable, "-c", count], cwd=folder, text=True)
    return run(folder, select=(), budget=240.0), int(out)  # a busy machine has time, too


# Their names are not of one length: Python takes what it has compiled of a file for the next one of
# the same size and second, and two runs take less than one.
NAMES = """
def name(sample):
    return (sample["__key__"],)


def a_part(sample):
    return name(sample) if sample["__key__"] > "dog-0006" else None
"""


def test_what_a_last_batch_leaves_out_is_counted_where_an_epoch_was_run(tmp_path: Path) -> None:
    batched = "wds.map(name), wds.batched({}, partial=False)"
    divided = f"{TWO}, wds.split_by_worker"
    for size, left in ((12, 0), (8, 8), (11, 0)):
        stages = piped(divided, TAR, batched.format(size))

        report, out = _said(tmp_path, stages, 2, NAMES)

        told = survival(report)
        assert [one.message for one in told] == [f"{out} of 24 samples come through"] * bool(left)
        assert [row.count for one in told for row in one.rows] == [left] * bool(left)
        assert all(one.severity is Severity.WARNING for one in told)


def test_samples_for_which_map_gives_none_are_told_as_such(tmp_path: Path) -> None:
    stages = piped(TWO, TAR, "wds.map(FUNCTION)", "wds.batched(5)")
    nothing, out = _said(tmp_path, stages.replace("FUNCTION", "name"), 0, NAMES)
    assert (survival(nothing), out) == ([], 24)

    report, out = _said(tmp_path, stages.replace("FUNCTION", "a_part"), 0, NAMES)

    assert survival(report), report
    (found,) = survival(report)
    assert 0 < out < 24
    assert found.message == f"{out} of 24 samples come through"
    assert [row.text for row in found.rows] == ["are taken out by .map(a_part)"]
    assert found.severity is Severity.NOTE
    assert "gives None for" in (found.why or "")


def test_a_handler_that_warns_is_not_said_to_be_silent(tmp_path: Path) -> None:
    for handler, words in (("warn", "with no more than a warning"), ("ignore", "without a word")):
        stage = PAIRS.replace("warn", handler)
        job(tmp_path, [tarred(good()), tarred(half())], piped(TWO, TAR, stage))

        report = run(tmp_path)

        (found,) = survival(report)
        assert f"drops them {words}" in (found.why or "")
        unpaired = [one.why for one in report.findings if one.check == "sample-unpaired"]
        assert unpaired
        assert all(f"drops them {words}" in (one or "") for one in unpaired)
