"""The verdict on each of more than 60 loaders is what becomes of it in a plain script.

What is told of those whose epochs end as they should not is read here, too, word by word.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.finding import Finding
from preflight.findings.report import Report
from preflight.session.progress import Watch
from tests.asking import by_loader, of
from tests.warming import copies

pytestmark = pytest.mark.waits

HERE = Path(__file__).parent
FILES = ("cases.py", "epochs.py", "libraries.py", "streams.py", "plain.py")
CHECKS = ["dataset-survival", "loader-contract", "loader-end", "loader-stuck"]
OF_EPOCHS = ["loader-end", "loader-random", "loader-stuck"]

# Of these, each has a run of its own, so that they wait side by side while all others share one.
HANGING = [
    *("cases:hangs_in_getitem", "cases:hangs_in_collate", "cases:hangs_in_worker_init"),
    *("cases:waits_for_lock_held_at_fork", "cases:cannot_send_batches", "cases:loses_its_feeder"),
    *("cases:loses_a_thread_beside", "libraries:hangs_by_state"),
]
SINGLE = (
    *("worker_leaves", "worker_exits", "worker_is_killed", "process_leaves", "raises_in_worker"),
    *("raises_here", "has_no_iterator", "is_empty", "drops_all", "train_and_val"),
    *("sound", "without_workers", "persistent", "ends_after_one", "only_samples"),
)
EPOCHS = ("epochs:bad", "epochs:sound")
OTHERS = [
    *(f"{module}:bad" for module in ("libraries", "streams")),
    *("libraries:few", "streams:sound"),
    *(f"cases:{name}" for name in SINGLE),
]
ENDLESS = "epochs:endless"

# What is said of each fate that is no good one, by any of its words.
SAYS = {
    "hangs": ("no batch for",),
    "died": ("ended by itself", "was killed by"),
    "empty": ("ends without a batch", "has 0 batches", "and none in its second"),
}

# Batches after which the script leaves an epoch.
MOST = 60

# Seconds of silence, for those that hang and for the others.
HANGS, PATIENCE = 12.0, 120.0

# Of which a quarter is for each pass: what ends by itself does so however busy the machine is.
BUDGET = 2_400.0

# Until a script is given up that says itself what hangs.
SCRIPT = 900.0


# What is said of each of `epochs:bad`, and at which severity.
BAD: Mapping[str, tuple[str, str]] = {
    "spent": ("gives 10 batches in its first epoch, and none in its second", "error"),
    "spent_by_persistent": ("gives 10 batches in its first epoch, and none in its", "error"),
    "grows": ("gives 5 batches in its first epoch, and 10 in its second", "warning"),
    "raises_again": ("raises at the begin of the second epoch: RuntimeError: the", "error"),
    "raises_late": ("raises in a worker after 8 batches: ValueError: sample 33 is", "error"),
    "all_from_each": ("gives each sample 2 times in an epoch, once from each", "warning"),
    "all_from_each_of_three": ("gives each sample 3 times in an epoch, once from", "warning"),
    "all_captions_from_each": ("gives each sample 2 times in an epoch", "warning"),
    "all_augmented_from_each": ("gives each sample 2 times in an epoch, once from", "warning"),
    "too_long": ("len() is 20, and 10 batches come", "warning"),
    "too_short": ("len() is 5, and 10 batches come", "warning"),
    "batch_sampler": ("len() is 20, and 10 batches come", "warning"),
    "leaves_out": ("leaves out 4 of 40 samples", "warning"),
    "lacks_some_in_each": ("leaves out 10 of 40 samples, which are in no part of the", "warning"),
    "packs_some": ("leaves out 4 of 40 samples, which are in no part of the batch", "warning"),
    "never_takes_some": ("never takes 20 of 40 samples, and takes others more than", "warning"),
    "goes_on": ("len() is 4, and at least 16 batches come", "note"),
}


class Fate(NamedTuple):
    """What became of a loader."""

    how: str
    epochs: list[int]


class Met(NamedTuple):
    """What became of all of them, and what is told."""

    fates: Mapping[str, Fate]
    reports: Sequence[Report]
    of_epochs: Mapping[str, Report]
    """Those of two dicts of loaders, each in a run of its own."""


def lay(folder: Path) -> Path:
    """Lay all that is looked at into a folder."""
    for name in FILES:
        shutil.copy(HERE / name, folder)
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for number in range(10):
                for end, data in (("txt", b"a caption"), ("cls", b"%d" % number)):
                    member = tarfile.TarInfo(f"{shard}{number:04}.{end}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return folder


def _nobody(_step: object) -> None:
    """Watch nothing."""


def plainly(folder: Path, fates: dict[str, Fate]) -> None:
    """Note what becomes of each in a script that knows nothing of preflight."""
    done = subprocess.run(
        [sys.executable, "plain.py", *HANGING, *EPOCHS, *OTHERS, ENDLESS],
        cwd=folder,
        stdin=subprocess.PIPE,  # as what starts copies expects it
        capture_output=True,
        timeout=SCRIPT,
        check=False,
    )
    for line in done.stdout.splitlines():
        said = json.loads(line)
        fates[said["key"]] = Fate(said["how"], said["epochs"])


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Met:
    """Have all of them run by a script, and looked at by us, at the same time."""
    fates: dict[str, Fate] = {}
    reports: list[Report] = []
    starting = threading.Semaphore(2)

    def look(
        words: Sequence[str],
        timeout: float,
        watch: Watch = _nobody,
        budget: float | None = None,
        checks: Iterable[str] = CHECKS,
    ) -> Report:
        given = {"select": checks, "timeout": timeout, "watch": watch, "budget": budget}
        return preflight.run(*words, folder=str(lay(tmp_path_factory.mktemp("ours"))), **given)

    def wait_beside(word: str) -> None:
        """Let the next one start as soon as this one does nothing but wait."""
        begun: list[object] = []

        def watch(step: object) -> None:
            if not begun and getattr(step, "doing", "").startswith("draws"):
                begun.append(step)
                starting.release()

        starting.acquire()
        try:
            report = look([word], HANGS, watch)
            # A busy machine may take as long for its imports, and then nothing was drawn.
            reports.append(report if report.findings else look([word], PATIENCE))
        finally:
            if not begun:
                starting.release()

    with copies():
        script = lay(tmp_path_factory.mktemp("script"))
        threads = [threading.Thread(target=wait_beside, args=(word,)) for word in HANGING]
        threads.append(threading.Thread(target=plainly, args=(script, fates)))
        for thread in threads:
            thread.start()
        checks = dict.fromkeys([*CHECKS, *OF_EPOCHS])
        of_epochs = {word: look([word], PATIENCE, budget=BUDGET, checks=checks) for word in EPOCHS}
        reports.append(look(OTHERS, PATIENCE, budget=BUDGET))
        reports.append(look([ENDLESS], PATIENCE))
        for thread in threads:
            thread.join()
    return Met(fates, [*reports, *of_epochs.values()], of_epochs)


def told_of(key: str, reports: Iterable[Report]) -> list[Finding]:
    """Give the errors about a loader, or about one that it holds."""
    return [
        one
        for report in reports
        for one in report.findings
        if one.severity.word == "error"
        and str(one.evidence.get("loader", one.at.name)).startswith(key)
    ]


def agrees(fate: Fate, said: list[Finding]) -> bool:
    """Whether what is said of a loader is what became of it."""
    how, _, error = fate.how.partition(" ")
    if how == "ends" or len(said) != 1:
        return how == "ends" and not said
    words = [error, "gives a batch"] if how == "raised" else SAYS[how]
    if said[0].check == "shard-missing":
        return error == "FileNotFoundError"
    of_files = said[0].check == "dataset-survival"
    return of_files or any(one in said[0].message for one in words)


def test_more_than_sixty_loaders_are_held_against_a_script(
    met: Met,
) -> None:
    fates, reports, _ = met
    hows = {one.how.partition(" ")[0] for one in fates.values()}
    broken = [one for report in reports for check in report.checks for one in check.broken]

    assert len(fates) > 80
    assert hows == {"ends", "raised", "hangs", "died", "empty"}
    assert broken == []


def test_a_verdict_is_what_becomes_of_the_loader(
    met: Met,
) -> None:
    fates, reports, _ = met
    told = {key: told_of(key, reports) for key in fates}
    wrong = {
        key: (fate.how, [one.message for one in told[key]])
        for key, fate in fates.items()
        if not agrees(fate, told[key])
    }

    assert wrong == {}


def test_as_many_batches_are_told_as_came(met: Met) -> None:
    """Of each epoch that ends, and of no other loader do epochs differ but of those that may."""
    fates, reports, _ = met
    told = {
        str(one.evidence["loader"]): str(one.evidence["epochs"])
        for report in reports
        for one in report.findings
        if "epochs" in one.evidence
    }

    for key, (how, (first, *second)) in fates.items():
        if key not in told:
            alike = how != "ends" or first == second[0]
            assert alike or key in ("epochs:sound['by_length']", "libraries:few['resumed']"), key
        elif second and first < MOST:
            counts = [part.partition(" ")[0] for part in told[key].split(", ")]
            assert counts == [str(first), *map(str, second)][: len(counts)], key


def of_epochs(report: Report) -> dict[str, list[Finding]]:
    found = tuple(one for one in report.findings if one.check in OF_EPOCHS)
    return by_loader(replace(report, findings=found))


@pytest.mark.parametrize("name", BAD)
def test_an_epoch_that_does_not_end_as_it_should_is_told_once(name: str, met: Met) -> None:
    message, severity = BAD[name]
    (finding,) = of_epochs(met.of_epochs["epochs:bad"])[name]

    assert finding.check == "loader-end"
    assert finding.message.startswith(message)
    assert finding.severity.word == severity


def test_loaders_that_end_well_are_left_alone(met: Met) -> None:
    report = met.of_epochs["epochs:sound"]
    outcome = of(report, "loader-end")

    assert by_loader(report) == {}
    assert outcome.broken == ()
    assert {one.reason for one in outcome.skipped} <= {
        "its epoch has no length that is known before"
    }
    assert "past the end" in report.targets[0].text
