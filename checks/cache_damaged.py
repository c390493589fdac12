"""A cached file that is not what was written.

What it finds
    A cached tensor file (.pt, .pth, .npz, .npy, .safetensors, and .bin or .ckpt of torch) that is
    empty, cut short, something else than its name says (also a pointer that Git LFS has not
    fetched), put together from two, or closed in the middle of an array; one without an array, a
    tensor or a key of its dict that nearly all files beside it hold, where these are five or more
    (a warning of masks and the like); and every record whose bytes no longer agree with their
    checksum. Files that carry no checksums are judged by their structure, .safetensors and .npy
    also by whole pages of zeros in the midst of a row, and at their end where those beside them end
    in numbers (zeros that may be padding are left alone). Parts of torch.distributed.checkpoint
    (.distcp) are looked at item by item; that one is not there, ends too early, or is of another
    save, is told of .metadata. With --depth index the structure is all that is looked at, and the
    pickles of torch. In a folder of checkpoints, those that have a newer one beside them are
    warnings: no job that goes on takes them. So are `training_args.bin`, which transformers reads
    nowhere, and arrays that are packed with gigabytes behind their end.

Why it matters
    A job that is killed while it writes, or several ranks that write one file, leave it under its
    final name, and the next start trusts it. torch.load then stops hours later, with a message that
    speaks of a zip archive and not of the cache. A wrong byte inside a tensor is worse: torch.load
    compares no checksums, so the job trains on it and never says so.

What to do
    Move the file aside and have it made again. Write each file under another name first, one that
    no other rank uses, and rename it at the end: then a file under its final name is always whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import CacheFacts, Damage
from preflight.finding import Aside, Finding, Location, Scalar, Severity
from preflight.formats.bytes import causes
from preflight.job import Job
from preflight.values.names import lfs_pull

from ._aside import PART
from ._for_the_record import RECORD

AGAIN = "Move it aside and have it made again; write to another name first and rename at the end."
DOWNLOAD = "Download the file itself: this is what Git LFS keeps in its place."
EARLIER = "Go on from a checkpoint that is whole, or begin anew, and move this one aside."
RESAVE = "Save it again without _use_new_zipfile_serialization=False."
REPLACE = "Move it aside, and make or download it again."

_LACKS = "The code that reads it stops with a KeyError when it comes to this file."
_NO_DIRECTORY = "PytorchStreamReader failed reading zip archive: failed finding central directory."

# What the reader of a format says to a kind of damage; the format is the file's, or its name's.
_SAID = {
    ("torch", "empty"): "torch.load stops at it with an EOFError that says nothing.",
    ("torch", "zeros"): "torch.load stops at it, and speaks of a legacy .tar format.",
    ("torch", "foreign"): "torch.load stops at it, and blames weights_only or a zip archive.",
    ("torch zip", "checksum"): "torch.load compares no checksums: it reads it without a word.",
    ("torch zip", "cut"): f"torch.load stops at it: {_NO_DIRECTORY}",
    ("torch zip", "trailing"): f"torch.load stops at it: {_NO_DIRECTORY}",
    ("torch zip", "structure"): "torch.load stops at it, or loads what nobody wrote.",
    (
        "torch zip",
        "storage",
    ): "torch.load stops at it, or with mmap=True loads what nobody wrote.",
    (
        "torch zip",
        "unfinished",
    ): "torch.load stops at it: PytorchStreamReader failed locating file.",
    (
        "torch legacy",
        "untyped",
    ): "torch.load stops at it: UntypedStorage has no attribute 'dtype'.",
    ("torch zip", "lacking"): _LACKS,
    ("torch legacy", "cut"): "torch.load stops at it: unexpected EOF, or an empty EOFError.",
    ("pickle", "cut"): "pickle.load stops at it: pickle data was truncated.",
    ("pickle", "absent"): "torch.distributed.checkpoint stops at it: No such file or directory.",
    ("pickle", "short"): "torch.distributed.checkpoint stops at it, with an EOFError.",
    ("pickle", "mixed"): "torch.distributed.checkpoint stops at it, or loads other tensors.",
    ("numpy", "empty"): "numpy.load stops at it: No data left in file.",
    ("npz", "checksum"): "numpy.load stops at it: Bad CRC-32, or an error of zlib.",
    ("npz", "cut"): "numpy.load stops at it: File is not a zip file.",
    ("npz", "unfinished"): "numpy.load opens it, and stops at this array: EOF: reading array data.",
    (
        "npz",
        "bomb",
    ): "numpy.load reads the array alone; what unpacks the file whole makes all of it.",
    ("npz", "foreign"): "numpy.load gives an archive, where an array is asked for.",
    ("npz", "lacking"): _LACKS,
    ("npz", "trailing"): "numpy.load stops at it: File is not a zip file.",
    ("npy", "cut"): "numpy.load stops at it: it is no whole array.",
    (
        "npy",
        "trailing",
    ): "numpy.load ends with its array, and says nothing: other numbers, where bytes came between.",
    ("npy", "pages"): "numpy.load compares no checksums: it reads it without a word.",
    ("safetensors", "lacking"): _LACKS,
    ("safetensors", "pages"): "safetensors has no checksums: it is loaded without a word.",
    ("gzip", "cut"): "Unpacking it stops: Compressed file ended before the end-of-stream marker.",
}
# A state of a run, which nothing makes again.
_STATE = r"(?:^|/)(?:checkpoint-|global_step)\d+/|\.(?:distcp|metadata)$"
# What is downloaded as it is, and written by no cache.
_WEIGHTS = (
    r"(?:(?:diffusion_|open_clip_)?(?:pytorch_)?model|adapter_model|consolidated)\b.*"
    r"\.(?:safetensors|bin|pth?)$|.*-\d{5}-of-\d{5}\."
)
# Arrays that only some samples have, with readers that ask for them.
_OPTIONAL = re.compile(r"mask|flip|alpha|option|extra", re.IGNORECASE)
# Kinds of damage that a reader may also pass over.
_MAY_PASS = frozenset({"checksum", "storage", "structure"})
_OPENED_BY = {"torch": "torch.load", "numpy": "numpy.load", "safetensors": "safetensors"}
_FAMILY = {
    **dict.fromkeys(("pt", "pth", "bin", "ckpt"), "torch"),
    **dict.fromkeys(("npy", "npz"), "numpy"),
    "safetensors": "safetensors",
}


@check(
    over=CacheFacts,
    title="cached file that is not what was written",
    many="cached files are not what was written",
    severity=Severity.ERROR,
)
def cache_damaged(facts: CacheFacts, _: Job) -> Iterator[Finding]:
    """Say what is wrong with one cached file, once."""
    damage = facts.damage
    if damage is None:
        return
    may_lack = damage.kind == "lacking" and _OPTIONAL.search(damage.member or "")
    is_milder = facts.is_older or damage.kind == "bomb" or may_lack or RECORD.search(facts.file)
    yield cache_damaged.found(
        damage.text,
        at=Location(file=facts.file),
        severity=Severity.WARNING if is_milder else Severity.ERROR,
        why=_why(facts, damage),
        fix=_fix(facts, damage),
        aside=_aside(facts, damage),
        evidence=_evidence(facts, damage),
    )


def _why(facts: CacheFacts, damage: Damage) -> str:
    if RECORD.search(facts.file):
        return "transformers goes on without it; who reads the arguments of the run stops there."
    no_end = facts.format == "torch zip" and damage.kind in ("cut", "trailing")
    if no_end and 4096 < facts.size < 69_585 and not facts.file.endswith(".distcp"):
        # torch looks for the directory in steps of 4,093 bytes, and steps in front of the file.
        return "torch.load stops at it: [Errno 22] Invalid argument, without the file or the cause."
    family = _FAMILY.get(facts.file.rpartition(".")[2].lower(), "")
    kind = "foreign" if damage.kind == "not-fetched" else damage.kind
    said = _SAID.get((facts.format, kind)) or _SAID.get((family, kind))
    opener = _OPENED_BY.get(family, "The job")
    unclear = ", or reads what nobody wrote" if damage.kind in _MAY_PASS else ""
    return said or f"{opener} stops at it{unclear}."


def _fix(facts: CacheFacts, damage: Damage) -> str:
    if damage.fetch is not None:
        return f"Fetch it:  {lfs_pull(damage.fetch)}"
    if "Git LFS pointer" in damage.text:
        return DOWNLOAD
    if re.search(_STATE, facts.file):
        return EARLIER
    if damage.kind == "untyped":
        return RESAVE
    if causes.SEVERAL in damage.text:
        return AGAIN
    may_be_downloaded = damage.kind in ("bomb", "foreign", "checksum", "pages")
    is_weights = re.match(_WEIGHTS, facts.file.rpartition("/")[2])
    return REPLACE if may_be_downloaded or is_weights else AGAIN


def _aside(facts: CacheFacts, damage: Damage) -> tuple[Aside, ...]:
    if damage.kind in ("bomb", "not-fetched") or "Git LFS pointer" in damage.text:
        return ()
    is_part = facts.is_older or re.search(_STATE, facts.file)
    return (Aside(file=facts.file, bytes=facts.size, stays=PART if is_part else None),)


def _evidence(facts: CacheFacts, damage: Damage) -> dict[str, Scalar]:
    evidence: dict[str, Scalar | None] = {
        "kind": damage.kind,
        "format": facts.format,
        "bytes": facts.size,
        "offset": damage.offset,
        "record": damage.member,
    }
    return {name: value for name, value in evidence.items() if value is not None}
