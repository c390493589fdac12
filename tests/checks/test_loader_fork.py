"""loader-fork tells what forked workers share, as severe as it was measured to be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.loaders.facts import Held, Inherited, Sent
from preflight.objects.facts import Definition
from preflight.settings.job import Job
from preflight.testing import ask

ZIP = Held(
    kind="zip",
    type="zipfile.ZipFile",
    paths=("dataset.archive",),
    file="pictures.zip",
    defined=Definition(file="data.py", line=7, line_text="self.archive = ZipFile(path)"),
)
SENT = Sent(
    name="train:make_loader",
    defined=Definition(file="train.py", line=20, qualname="make_loader"),
    num_workers=2,
    start_method="fork",
    start_method_from="launch.start_method",
    inherited=Inherited(),
)
JOB = Job(origins={"launch.start_method": "preflight.toml:6"})
KINDS = ("cuda-tensor", "file", "h5py", "lmdb", "sqlite", "zip")


def asked(*held: Held, num_workers: int = 2, method: str = "fork", **rest: Any) -> list[Finding]:
    facts = Inherited(held=held, **rest)
    sent = replace(SENT, num_workers=num_workers, start_method=method, inherited=facts)
    return ask("loader-fork", sent, JOB)


def of_kind(kind: str, **rest: Any) -> Held:
    return ZIP._replace(kind=kind, type=f"a.{kind}", file=None, **rest)


def test_a_loader_that_holds_nothing_open_is_left_alone() -> None:
    for method in ("fork", "spawn", "forkserver"):
        assert asked(method=method) == []


def test_without_workers_nothing_is_forked_and_nothing_said() -> None:
    assert asked(ZIP, num_workers=0, threads=("a",), cuda=True) == []
    assert ask("loader-fork", replace(SENT, inherited=None)) == []


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_where_workers_are_not_forked_nothing_is_shared(method: str) -> None:
    held = [of_kind(kind) for kind in KINDS if kind != "cuda-tensor"]

    assert asked(*held, method=method, threads=("a",), cuda=True) == []


@pytest.mark.parametrize("kind", ["file", "h5py", "zip"])
def test_one_worker_has_the_position_of_a_file_for_itself(kind: str) -> None:
    """As was measured: not one wrong read of 1,200."""
    assert asked(of_kind(kind), num_workers=1) == []


def test_a_shared_archive_is_told_with_its_place_and_its_paths() -> None:
    held = ZIP._replace(paths=("dataset.archive", "collate_fn.args[0]"))
    (one,) = asked(held)

    assert one.severity is Severity.ERROR
    assert one.at == Location(file="data.py", line=7, name="dataset.archive")
    assert one.also == (Location(file="data.py", line=7, name="collate_fn.args[0]"),)
    assert one.message == (
        "is an open zip archive (pictures.zip), opened before the workers start, under 2 paths"
    )
    assert one.why == (
        "The 2 workers of train:make_loader are forked (preflight.toml:6), and all have the same "
        "one: they all read through one position, and a worker stops with BadZipFile as soon as "
        "two read at once."
    )
    assert "when it is first used" in (one.fix or "")


# A method of a trainer holds the trainer, and with it a model that no worker touches.
BY_METHOD = {"paths": ("dataset.pipeline[3].args[0].__self__.model",)}
BY_CLOSURE = {"paths": ("collate_fn.<closure model>",)}
BY_BOTH = {"paths": ("collate_fn.<closure model>", "dataset.model")}

SEVERE: dict[str, tuple[str, dict[str, Any], Severity, str]] = {
    "memory of a GPU": ("cuda-tensor", {}, Severity.ERROR, "Cannot re-initialize CUDA"),
    "memory of a GPU, by a method": ("cuda-tensor", BY_METHOD, Severity.WARNING, "never use it"),
    "memory of a GPU, by a closure": ("cuda-tensor", BY_CLOSURE, Severity.WARNING, "never use it"),
    "memory of a GPU, also in the data": ("cuda-tensor", BY_BOTH, Severity.ERROR, "CUDA"),
    "a file": ("file", {}, Severity.WARNING, "one position"),
    "HDF5": ("h5py", {}, Severity.ERROR, "one position"),
    "HDF5, read at positions": ("h5py", {"by_position": True}, Severity.NOTE, "they read right"),
    "LMDB": ("lmdb", {}, Severity.ERROR, "lock table"),
    "SQLite": ("sqlite", {}, Severity.WARNING, "across a fork"),
    "an archive": ("zip", {}, Severity.ERROR, "BadZipFile"),
}


@pytest.mark.parametrize(("kind", "how", "severity", "why"), SEVERE.values(), ids=SEVERE.keys())
def test_each_kind_is_as_severe_as_what_it_does(
    kind: str, how: dict[str, Any], severity: Severity, why: str
) -> None:
    """Each with a reason and a fix of its own."""
    (one,) = asked(of_kind(kind, **how))

    assert one.severity is severity
    assert one.fix and why in (one.why or "")
    assert one.evidence["kind"] == kind


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_gpu_memory_that_is_sent_to_workers_is_a_note(method: str) -> None:
    """It works, and costs each of them a context."""
    (one,) = asked(of_kind("cuda-tensor"), method=method)

    assert one.severity is Severity.NOTE
    assert "each of the 2 workers starts CUDA for itself" in (one.why or "")
    assert one.workaround is None


def test_what_no_line_of_the_user_keeps_stands_where_the_loader_is_made() -> None:
    (one,) = asked(ZIP._replace(defined=Definition()))

    assert one.at == Location(file="train.py", line=20, name="dataset.archive")


def test_cuda_that_was_started_is_a_note() -> None:
    """Nearly every job moves its model to the GPU before it loops, and is fine."""
    (one,) = asked(cuda=True)

    assert one.severity is Severity.NOTE
    assert one.at == Location(file="train.py", line=20, name="train:make_loader")
    assert "as long as none of them touches the GPU" in (one.why or "")


def test_threads_are_a_note_with_their_names() -> None:
    (one,) = asked(threads=("reader", "b\x1b", "c", "d", "e", "f"), num_workers=1)
    (single,) = asked(threads=("reader",))

    assert one.severity is Severity.NOTE
    assert one.message == (
        "6 threads run beside the one that forks its workers: reader, b\\x1b, c, d, e, …"
    )
    assert (one.why or "").startswith("The 1 worker of train:make_loader is forked")
    assert single.message.startswith("1 thread runs beside")


def test_behind_the_last_it_is_said_that_there_may_be_more() -> None:
    """Where the look was cut short; without a finding, there is nothing to stand behind."""
    cut = ("dataset.rows: 2,000 of 5,001 items looked at",)
    first, last = asked(of_kind("lmdb"), ZIP, cut=cut)

    assert "more" not in first.message
    assert last.message.endswith(
        "; the look stopped short (dataset.rows: 2,000 of 5,001 items looked at), so there may be "
        "more"
    )
    assert asked(cut=cut) == []


def test_no_two_findings_share_a_fingerprint() -> None:
    found = asked(ZIP, cuda=True, threads=("a",))

    assert len({one.fingerprint for one in found}) == 3


def test_a_name_from_the_data_is_not_obeyed_by_a_console() -> None:
    (one,) = asked(ZIP._replace(paths=("dataset['\x1b[2J']",), file="a\u202e.zip"))

    assert one.at.name == "dataset['\\x1b[2J']"
    assert "a\\u202e.zip" in one.message
