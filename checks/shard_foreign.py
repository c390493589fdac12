"""Files in a shard that were not meant for the training, or that lie where they pair with nothing.

What it finds
    What macOS and Windows leave behind (`._dog.jpg`, `.DS_Store`, `__MACOSX/`, `Thumbs.db`),
    images and their texts in two folders (`images/1.jpg` and `captions/1.txt`), and sparse members.

Why it matters
    webdataset's key is the path up to the first dot of the base name. In a folder, `a/._dog.jpg`
    has the key `a/`: it becomes a sample of its own, and cuts the sample that it stands in. Of
    `images/1.jpg` and `captions/1.txt` it makes two samples, and neither is whole. tarfile fills
    the holes of sparse members; readers that go by offset and size get other bytes.

What to do
    Pack the shard again without what was left behind (on macOS: COPYFILE_DISABLE=1), with the files
    of a sample side by side in one folder, and without `--sparse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.check import check
from preflight.facts import Oddity, ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of


@check(
    over=ShardFacts,
    title="shard with files that belong to no sample",
    many="kinds of files that belong to no sample",
    severity=Severity.ERROR,
)
def shard_foreign(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell each kind once, with its number and the first few names."""
    told = {one.kind: one for one in facts.oddities}
    for kind, say in _SAY.items():
        if kind not in told:
            continue
        one = told[kind]
        if kind == "folders" and facts.texts == "left":
            continue  # each image is a sample for a loader that takes no texts
        message, severity, why, fix = say(one, told.get("parted"))
        if kind == "left-behind" and one.of_samples and _are_dropped(facts, told):
            severity = Severity.WARNING
            why = f"webdataset makes samples of them, which {facts.taken_by} drops without a word."
        yield shard_foreign.found(
            f"{message}: {first_of(one.names, one.count)}",
            at=Location(file=facts.file),
            severity=severity,
            why=why,
            fix=fix,
            evidence={"kind": kind, "members": one.count, "of_samples": one.of_samples},
            about=kind,
        )


def _are_dropped(facts: ShardFacts, told: Mapping[str, Oddity]) -> bool:
    """Whether a live loader goes on at such samples, and all others are whole."""
    goes_on = facts.lacking and all(one.how == "goes-on" for one in facts.lacking)
    return bool(goes_on) and "parted" not in told


_Said = tuple[str, Severity, str, str]


def _left_behind(one: Oddity, parted: Oddity | None) -> _Said:
    message = f"holds {counted(one.count, 'file')} that macOS or Windows left behind"
    fix = "Pack it again without them (on macOS: COPYFILE_DISABLE=1 tar …)."
    if not one.of_samples:
        return message, Severity.NOTE, "webdataset passes over them.", fix
    why = "webdataset makes samples of them, which have no image: to_tuple raises there."
    if parted is not None:
        message += f", and that cut {counted(parted.count, 'sample')} in two"
        why = "webdataset makes samples of them, and two of each sample that they stand in."
    return message, Severity.ERROR, why, fix


def _folders(one: Oddity, _: Oddity | None) -> _Said:
    return (
        f"keeps {counted(one.count, 'image')} and their texts in two folders",
        Severity.ERROR,
        (
            "webdataset's key holds the folder: each image is a sample without a text, and each "
            "text one without an image."
        ),
        "Pack it again with the files of a sample side by side, in one folder.",
    )


def _sparse(one: Oddity, _: Oddity | None) -> _Said:
    return (
        f"holds {counted(one.count, 'sparse member')}",
        Severity.NOTE,
        "tarfile and webdataset fill the holes; readers that go by offset and size do not.",
        "Pack it again without --sparse.",
    )


_SAY = {"left-behind": _left_behind, "folders": _folders, "sparse": _sparse}
