"""loader-heavy compares what workers are sent, and what they take, with the memory there is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.loaders.facts import Loaded, Trip
from preflight.objects.facts import Definition, Part, Weight
from preflight.settings.job import Job, Launch
from preflight.testing import ask

GB = 10**9
MB = 10**6

TRIP = Trip(
    method="spawn", outcome="loaded", seconds_to_start=4.0, seconds_to_load=1.0, memory=300 * MB
)
FORKSERVER = TRIP._replace(method="forkserver", memory=200 * MB)
LIGHT = Loaded(
    name="train:make_loader",
    defined=Definition(file="train.py", line=20, qualname="make_loader"),
    num_workers=8,
    start_method="spawn",
    start_method_from="launch.start_method",
    trips=(TRIP, FORKSERVER),
    weight=Weight(bytes=12_000),
    memory_limit=64 * GB,
    memory_limited_by="machine",
    memory_available=40 * GB,
)
IMAGES = Part(path="dataset.images", bytes=2_100 * MB)
HEAVY = replace(
    LIGHT,
    weight=Weight(bytes=2_200 * MB, parts=(IMAGES, Part(path="dataset.index", bytes=100 * MB))),
    trips=(TRIP._replace(memory=2_600 * MB),),
)


def job(**launch: object) -> Job:
    """Make a job with this launch."""
    return Job(launch=Launch(**launch), origins={"launch.start_method": "preflight.toml:2"})  # type: ignore[arg-type]


def only(facts: Loaded, one: Job | None = None) -> Finding:
    """Give the one finding that there is."""
    (found,) = ask("loader-heavy", facts, one or job())
    return found


# --- silence --------------------------------------------------------------------------------------

QUIET: dict[str, Loaded] = {
    "a light data set": LIGHT,
    "100 MB a worker": replace(LIGHT, weight=Weight(bytes=100 * MB)),
    "tensors, which are shared": replace(LIGHT, weight=Weight(bytes=9000, shared_bytes=20 * GB)),
    "no workers": replace(HEAVY, num_workers=0),
    "nothing known": replace(HEAVY, weight=None),
    "less than a GiB, forked": replace(
        HEAVY, start_method="fork", weight=Weight(bytes=1000 * MB, parts=(IMAGES,))
    ),
    "more than there is, forked": replace(LIGHT, start_method="fork", memory_limit=MB),
    "no limits known": replace(LIGHT, memory_limit=None, memory_available=None),
    "no trip": replace(LIGHT, trips=()),
    "a trip that died": replace(LIGHT, trips=(Trip(method="spawn", outcome="died"),)),
    "another way of starting takes more": replace(
        LIGHT, trips=(TRIP, FORKSERVER._replace(memory=100 * GB))
    ),
    "exactly what there is": replace(LIGHT, memory_limit=2_400 * MB, memory_available=2_400 * MB),
}


@pytest.mark.parametrize("facts", QUIET.values(), ids=QUIET.keys())
def test_what_fits_is_left_alone(facts: Loaded) -> None:
    assert ask("loader-heavy", facts, job()) == []


def test_what_is_free_here_says_nothing_of_another_machine() -> None:
    """The job will not run beside what runs here."""
    busy = replace(LIGHT, memory_available=GB)

    assert ask("loader-heavy", busy, job(elsewhere=True)) == []


# --- too much memory ------------------------------------------------------------------------------


def test_more_than_the_machine_has_is_an_error() -> None:
    facts = replace(HEAVY, memory_limit=16 * GB)

    assert only(facts) == Finding(
        check="loader-heavy",
        severity=Severity.ERROR,
        message="sends 2.2 GB to each of its 8 workers by pickle: `dataset.images` is 2.1 GB of "
        "it, `dataset.index` 100.0 MB; 8 workers take 20.8 GB of memory, and this machine has "
        "16.0 GB",
        at=Location(file="train.py", line=20, name="train:make_loader"),
        why="The workers of this job are spawned (preflight.toml:2): each gets a copy of its own. "
        "Here one took 5.0 s to start and to load it, and they start one after the other: 40 s or "
        "more before the first batch, and again in each epoch unless persistent_workers=True. "
        "Where memory runs out, processes are killed: often a worker, hours into the run.",
        fix="Keep `dataset.images` in a file, and its path in the data set, and read an item in "
        'the worker, when it is asked for (numpy.load(path, mmap_mode="r"), a database).',
        workaround="num_workers=6 leaves room for 6 workers for each rank.",
        evidence={
            "loader": "train:make_loader",
            "bytes": 2_200 * MB,
            "shared_bytes": 0,
            "workers": 8,
            "ranks": 1,
            "worker_bytes": 2_600 * MB,
            "needed": 20_800 * MB,
            "heaviest": "dataset.images",
            "memory_limit": 16 * GB,
            "memory_available": 40 * GB,
            "heaviest_bytes": 2_100 * MB,
        },
        fingerprint=only(facts).fingerprint,
    )


def test_elsewhere_it_is_a_warning() -> None:
    found = only(replace(HEAVY, memory_limit=16 * GB), job(elsewhere=True))

    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("launch", "ranks"),
    [
        ({}, 1),
        ({"gpus": 4}, 4),
        ({"gpus": 4, "nodes": 8}, 4),
        ({"world_size": 16, "nodes": 2, "gpus": 4}, 8),
        ({"world_size": 9, "nodes": 2}, 5),
    ],
    ids=["one", "a rank each GPU", "of each node", "ranks are said", "an odd number"],
)
def test_the_ranks_of_one_node_count(launch: dict[str, object], ranks: int) -> None:
    """Each of them starts workers of its own; other nodes have memory of their own."""
    found = only(replace(HEAVY, memory_limit=GB), job(**launch))

    assert found.evidence["ranks"] == ranks
    assert found.evidence["needed"] == ranks * 8 * 2_600 * MB
    assert (f"({8} for each of {ranks} ranks)" in found.message) == (ranks > 1)


def test_light_workers_of_many_ranks_take_memory_too() -> None:
    """What each has imported is enough; nothing is said of what it is sent."""
    found = only(replace(LIGHT, memory_limit=16 * GB, memory_limited_by="cgroup"), job(gpus=8))

    assert found.severity == Severity.ERROR
    assert found.message == (
        "64 workers (8 for each of 8 ranks) take 19.2 GB of memory, and the control group allows "
        "16.0 GB"
    )
    assert found.fix == "Use fewer workers, or import less in the modules that the workers load."
    assert found.workaround == "num_workers=6 leaves room for 6 workers for each rank."
    assert "start one after the other" not in (found.why or "")


def test_the_tensors_of_each_rank_count_once() -> None:
    facts = replace(LIGHT, weight=Weight(bytes=9000, shared_bytes=10 * GB))
    found = only(facts, job(gpus=8))

    assert found.evidence["needed"] == 8 * (8 * 300 * MB + 10 * GB)
    assert "with 10.0 GB of tensors a rank" in found.message


def test_more_than_is_free_now_is_a_warning() -> None:
    found = only(replace(LIGHT, memory_available=2 * GB))

    assert found.severity == Severity.WARNING
    assert found.message == "8 workers take 2.4 GB of memory, and 2.0 GB is free now"


def test_a_worker_of_which_only_the_weight_is_known_takes_that() -> None:
    found = only(replace(HEAVY, trips=(), memory_limit=16 * GB))

    assert found.evidence["worker_bytes"] == 2_200 * MB
    assert "Here one took" not in (found.why or "")


def test_the_trip_of_the_jobs_own_way_counts() -> None:
    """A forkserver's workers share what it has imported."""
    facts = replace(LIGHT, start_method="forkserver", memory_limit=GB)

    assert only(facts).evidence["worker_bytes"] == 200 * MB
    assert "started by a forkserver" in (only(facts).why or "")


def test_where_not_one_fits_none_is_advised() -> None:
    assert "num_workers=0" in (only(replace(HEAVY, memory_limit=GB)).workaround or "")


def test_two_numbers_that_would_read_alike_are_said_in_bytes() -> None:
    """`20.8 GB, and there is 20.8 GB` would be no reason."""
    found = only(replace(HEAVY, memory_limit=20_799 * MB))

    assert (
        "take 20,800,000,000 bytes of memory, and this machine has 20,799,000,000" in found.message
    )


# --- much -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "severity"),
    [((256 << 20), Severity.NOTE), ((1 << 30) - 1, Severity.NOTE), (1 << 30, Severity.WARNING)],
    ids=["256 MiB", "nearly a GiB", "a GiB"],
)
def test_what_fits_and_is_much_is_said(size: int, severity: Severity) -> None:
    found = only(replace(LIGHT, weight=Weight(bytes=size)))

    assert found.severity == severity
    assert "memory" not in found.message
    assert "saves" in (found.workaround or "")
    assert "in the worker" in (found.fix or "")


def test_where_workers_are_forked_it_is_a_note() -> None:
    forked = replace(HEAVY, start_method="fork", start_method_from="the default of Python 3.11")
    found = only(replace(forked, memory_limit=GB, memory_available=GB))

    assert found.severity == Severity.NOTE
    assert found.message.startswith(
        "would send 2.2 GB to each of its 8 workers where they are spawned: `dataset.images` is"
    )
    assert "Here workers are forked (the default of Python 3.11)" in (found.why or "")


@pytest.mark.parametrize(
    ("part", "message", "fix"),
    [
        (
            IMAGES._replace(mapped=True),
            "is 2.1 GB of it (a numpy.memmap is pickled whole)",
            "open the numpy.memmap in the worker",
        ),
        (
            IMAGES._replace(dragged_by="Trainer.decode"),
            "(the bound method Trainer.decode drags its self along)",
            "a function of the module in place of Trainer.decode",
        ),
    ],
    ids=["a memory map", "a bound method"],
)
def test_what_nobody_sees_being_sent_is_named(part: Part, message: str, fix: str) -> None:
    found = only(replace(HEAVY, weight=Weight(bytes=2_200 * MB, parts=(part,))))

    assert message in found.message
    assert fix in (found.fix or "")


def test_no_more_than_three_parts_are_named() -> None:
    parts = tuple(IMAGES._replace(path=f"dataset.part{number}") for number in range(5))
    message = only(replace(HEAVY, weight=Weight(bytes=11 * GB, parts=parts))).message

    assert "part2" in message and "part3" not in message


def test_one_worker_waits_for_no_other() -> None:
    why = only(replace(HEAVY, num_workers=1)).why or ""

    assert "to start and to load it." in why and "one after the other" not in why


def test_a_name_from_the_data_is_not_obeyed_by_a_console() -> None:
    """Keys of dicts, and classes, may be called anything; braces are no placeholders."""
    part = Part(path="dataset['\x1b[2J{}']", bytes=2 * GB, dragged_by="A\u202e.f{0}")
    found = only(replace(HEAVY, weight=Weight(bytes=2_200 * MB, parts=(part,))))

    assert "`dataset['\\x1b[2J{}']`" in found.message
    assert "\u202e" not in found.message + (found.fix or "")


def test_two_loaders_are_two_findings() -> None:
    assert only(HEAVY).fingerprint != only(replace(HEAVY, name="train:val")).fingerprint
