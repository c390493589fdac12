"""Loaders are really made by ranks; what is told of them is what real processes of a group have."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import preflight
from preflight.built import by_rank
from preflight.built.making.job_code import named, unsaid
from preflight.built.ranks_to_make import Making, plan_of
from preflight.built.rounds import Rounds
from preflight.facts import RankBatches, RankOrder
from preflight.finding import Finding
from preflight.findings import registry
from preflight.findings.report import Report
from preflight.job import Job, Launch
from preflight.kinds.asked import Asked
from preflight.render import terminal
from preflight.settings.to_child import told_of
from preflight.targets.targets import Loader
from preflight.values.wire import to_exact, to_wire
from tests.archives import tarred
from tests.warming import TRAINERS, start_copies

pytestmark = pytest.mark.slow

SHORT = {"strided", "nothing", "stream", "shards"}
"""Those of which the first of two ranks has more batches."""

WORLDS = (2, 3, 4)
"""Of so many ranks there are real ones, too."""

OF_LIBRARIES = {"uneven", "table"}
"""More of those, where accelerate and datasets are installed."""

LOADERS = Path(__file__).with_name("loaders_by_rank.py")

needs_accelerate = pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="needs accelerate"
)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job with shards and a folder."""
    folder = tmp_path_factory.mktemp("by_rank")
    shutil.copy(LOADERS, folder / "train.py")
    (folder / "listed").mkdir()
    for number in range(45):
        (folder / "listed" / f"cat_{number:03}.png").touch()
    for number in range(5):
        shard = tarred({f"{number}-{one}.txt": b"text" for one in range(3)})
        (folder / f"train-{number}.tar").write_bytes(shard)
    return folder


class Seen:
    """What a run has come to, and the facts that its checks were asked about."""

    def __init__(self, report: Report, facts: list[Any]) -> None:
        self.report = report
        self.steps = {_part(one.name): one for one in facts if isinstance(one, RankBatches)}
        self.orders = {_part(one.name): one for one in facts if isinstance(one, RankOrder)}

    def found(self, check: str) -> dict[str, Finding]:
        """Give the findings of a check, by the part of what the factory gave."""
        return {_part(one.at.name): one for one in self.report.findings if one.check == check}

    def unjudged(self, check: str) -> str:
        """Say why a check could not judge it; empty: it could, or it is skipped."""
        (outcome,) = (one for one in self.report.checks if one.id == check)
        return "; ".join(one.error for one in outcome.broken)


def _part(name: str | None) -> str:
    return (name or "").partition("['")[2].removesuffix("']") or name or ""


@pytest.fixture(scope="module")
def look(job: Path) -> Callable[..., Seen]:
    """Run the job with one of its factories, by so many ranks."""
    known: dict[tuple[Any, ...], Seen] = {}

    def once(
        part: str,
        ranks: int,
        select: tuple[str, ...] = ("world",),
        timeout: float = 120,
        *,
        seeded: bool = False,
    ) -> Seen:
        """Where all processes have one hash seed, none is started anew that has another."""
        if (part, ranks, select) in known:
            return known[part, ranks, select]
        checks, bad = registry.load()
        met: list[Any] = []
        listening = dict(checks)
        for name in ("world-steps", "world-order"):
            listening[name] = _listening(checks[name], met)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "load", lambda: (listening, bad))
            patch.delenv("PYTHONHASHSEED", raising=False)
            if seeded:
                patch.setenv("PYTHONHASHSEED", "2")  # that of the copies
            if ranks == 1:
                patch.setenv("RANK", "0")
                patch.setenv("WORLD_SIZE", "1")
            start_copies(patch, also=TRAINERS)
            report = preflight.run(
                f"loader=train.py:{part}",
                folder=str(job),
                select=[*select],
                world_size=ranks,
                timeout=timeout,
            )
        known[part, ranks, select] = Seen(report, met)
        return known[part, ranks, select]

    return once


def _listening(check: Any, met: list[Any]) -> Any:
    def skip(facts: Any, settings: Any) -> Any:
        met.append(facts)
        return check.skip(facts, settings)

    return dataclasses.replace(check, skip=skip)


@pytest.fixture(scope="module")
def real(job: Path) -> dict[int, list[dict[str, Any]]]:
    """Steps of loaders on each rank of two, three and four, until one stops; samples of others."""
    if sys.platform != "linux":
        pytest.skip("ranks are forked of a process that has torch")
    with pytest.MonkeyPatch.context() as patch:
        start_copies(patch, also=TRAINERS)
        patch.setenv("RANK", "0")
        patch.setenv("WORLD_SIZE", "1")
        done = subprocess.run(
            [sys.executable, str(job / "train.py"), str(job), *map(str, WORLDS)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    return {
        world: [json.loads((job / f"{world}-{rank}.json").read_text()) for rank in range(world)]
        for world in WORLDS
    }


# --- healthy --------------------------------------------------------------------------------------


def test_loaders_that_ranks_divide_alike_are_left_alone(look: Callable[..., Seen]) -> None:
    """Of names, of tensors, of folders, streams, and whatever every rank has as a whole."""
    seen = look("divided", 2)

    assert seen.found("world-order") == {}
    assert seen.found("world-steps").keys() <= SHORT | OF_LIBRARIES
    assert {one.reason for one in seen.steps.values()} == {""}
    assert {one.reason for one in seen.orders.values()} == {""}
    assert seen.orders["padded"].splits
    assert not seen.orders["all at random"].splits


@needs_accelerate
def test_what_accelerate_has_prepared_is_even_where_it_is_told_so(
    look: Callable[..., Seen],
) -> None:
    """And its shuffle, which has no seed here, is the same on all ranks of a job."""
    seen = look("divided", 2)

    assert not seen.orders["even"].found
    assert [one.batches for one in seen.steps["even"].counts] == [12, 12]
    assert [one.batches for one in seen.steps["uneven"].counts] == [12, 11]
    assert "even_batches=True" in (seen.found("world-steps")["uneven"].fix or "")


def test_what_ranks_tell_each_other_is_not_judged(look: Callable[..., Seen]) -> None:
    seen = look("agreed", 2)

    assert not seen.found("world-order")
    assert "broadcast_object_list" in seen.orders["train.py:agreed"].reason
    assert "broadcast_object_list" in seen.steps["train.py:agreed"].reason


# --- steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS)
def test_ranks_stop_where_real_ranks_do(
    world: int, look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """Each goes on with the others, step by step, until one of them has no batch left."""
    seen = look("divided", world, ("world-steps",)).steps

    assert seen.keys() == real[world][0]["steps"].keys()
    for name, facts in seen.items():
        fewest = min(one.batches for one in facts.counts)
        for one in facts.counts:
            steps = real[world][one.rank]["steps"][name]
            assert steps == (fewest if one.batches == fewest else fewest + 1), (name, one)


def test_who_stops_first_is_told_with_what_evens_it_out(look: Callable[..., Seen]) -> None:
    found = look("divided", 2).found("world-steps")

    assert found.keys() - OF_LIBRARIES == SHORT
    assert found["strided"].message == "gives rank 1 2 batches and rank 0 3"
    assert found["strided"].fix == "Set drop_last=True, which evens it out here."
    assert "after step 2" in (found["strided"].why or "")
    assert found["nothing"].message == "gives rank 1 0 batches and rank 0 1"
    assert "with_epoch(6)" in (found["shards"].fix or "")
    assert found["shards"].at.file == "train.py"


def test_of_a_stream_without_an_end_one_batch_is_drawn(
    look: Callable[..., Seen], job: Path
) -> None:
    """And no rank makes it again elsewhere, where nobody could tell all of its items.

    Unless all draw the same, as rank 0 and the last do not.
    """
    seen = look("drawn", 2)

    assert [one.batches for one in seen.steps["by all"].counts] == [1, 1]
    assert "does not end" in seen.orders["by all"].reason
    (found,) = seen.found("world-steps").values()
    assert found.at.name == "train.py:drawn['by rank 0']"
    assert found.message == "gives rank 1 6 batches and rank 0 batches without end"
    made = Counter((job / "drawn.txt").read_text().split())
    assert made["1"] == 1
    assert made["0"] == 2  # of which one is looked at itself


# --- order ----------------------------------------------------------------------------------------


def test_lists_that_differ_from_process_to_process_are_found(look: Callable[..., Seen]) -> None:
    found = look("unlike", 2).found("world-order")
    causes = {
        name: (one.evidence["cause"], one.severity.name.lower()) for name, one in found.items()
    }

    assert causes == {
        **dict.fromkeys(
            ("set", "set of tensors", "hash", "stream of a set", "part of a set"),
            ("hash", "error"),
        ),
        **dict.fromkeys(
            ("shuffled", "random split", "seeds of samplers", "shuffled stream"),
            ("random", "error"),
        ),
        **dict.fromkeys(
            ("shuffled by the rank", "tensors by the rank", "divided twice"), ("rank", "error")
        ),
        "folder": ("folder", "warning"),
        "order of a set": ("hash", "note"),
    }
    assert ".png in place of dog_" in found["set"].message


@needs_accelerate
@pytest.mark.skipif(importlib.util.find_spec("datasets") is None, reason="needs datasets")
def test_what_is_of_no_rank_is_what_real_ranks_do_not_have(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """Parts that are divided once more; those that are divided once are left alone."""
    checks = ("world-order", "world-steps")
    found = look("parts_of_parts", 4, checks, seeded=True).found("world-order")

    assert {name for name in real[4][0]["samples"] if not name.endswith("once")} == {*found}
    for name, one in found.items():
        have = sum(each["samples"][name] for each in real[4])
        assert one.severity.word == "error", name
        assert one.evidence["compared"] - one.evidence["others"] == have, name


def test_a_number_of_ranks_or_a_rank_that_is_not_the_jobs_is_told(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """What real ranks have together is not the whole; where it is, nothing is said."""
    found = look("written_down", 4, ("world",), seeded=True).found("world-order")
    parts = {name: [one["names"][name] for one in real[4]] for name in real[4][0]["names"]}
    have = {name: len(set().union(*map(set, each))) for name, each in parts.items()}

    assert {name for name in parts if not name.endswith("once")} == {*found}
    assert {name for name, one in found.items() if one.severity.word == "error"} == {
        "one seed each"
    }
    assert "seed 0 on rank 0 and 3 on rank 3" in found["one seed each"].message
    assert have["one seed each"] < 45
    twice = Counter(one for part in parts["slices that overlap"] for one in part)
    assert found["slices that overlap"].evidence["others"] == sum(n > 1 for n in twice.values())
    for name in {*found} - {"one seed each", "every eighth", "slices that overlap"}:
        told = found[name].evidence
        assert told["compared"] == (45 if name != "shards, floored" else 31 * 6), name
        assert told["others"] == told["compared"] - have[name], name
    assert "or more of" in found["every eighth"].message
    assert found["shards, floored"].severity.word == "note"


def test_ranks_that_are_counted_from_1_are_told_also_of_one_sample(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """It is the one that no real rank has; a list that begins at the second is none of these."""
    found = look("counted_from", 4, ("world",), seeded=True).found("world-order")
    parts = {name: [one["counted"][name] for one in real[4]] for name in real[4][0]["counted"]}

    assert found.keys() == {name for name in parts if name.startswith("one")}
    for name, one in found.items():
        lost = {each for part in parts["zero"] for each in part} - {
            each for part in parts[name] for each in part
        }
        assert (one.severity.word, one.evidence["others"], len(lost)) == ("warning", 1, 1), name
        assert name == "one, by places" or lost.pop() in one.message


@pytest.mark.parametrize("ranks", [2, 4])
def test_steps_too_small_for_so_many_ranks_and_workers_are_told(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]], ranks: int
) -> None:
    """As many samples are of several ranks as several real ones have; of the rest nothing is said.

    Also where one rank alone would have each sample of each of its workers.
    """
    found = look("stepped", ranks, seeded=True).found("world-order")
    parts = {name: [one["paths"][name] for one in real[ranks]] for name in real[ranks][0]["paths"]}

    assert found.keys() == {name for name in parts if not name.endswith("once")}
    for name, one in found.items():
        ranks_of = Counter(path for part in parts[name] for path in {*part})
        several = sum(number > 1 for number in ranks_of.values())
        assert (one.severity.word, one.evidence["others"]) == ("warning", several), name
        assert several > 30, name


def test_samples_without_names_that_are_of_no_rank_are_counted_by_their_bytes(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """As many as real ranks have had; what a rank makes of them by its own seed is no other one."""
    found = look("nameless", 2, seeded=True).found("world-order")
    parts = [each["keys"] for each in real[2]]
    have = Counter(one for part in parts for one in {*part["a seed of each"]})
    both = Counter(one for part in parts for one in part["slices that overlap"])
    several = found.pop("slices that overlap").evidence
    at_random = "a seed of each, changed at random"

    assert found.keys() == {"a seed of each", at_random, "a stream with a seed of each"}
    for one in found.values():
        assert one.evidence["others"] == 45 - len(have) > 8
    assert several["others"] == sum(number > 1 for number in both.values()) == 8


def test_streams_that_every_rank_reads_as_a_whole_are_told(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """As real ranks read them: one as good as the other, unless each in an order of its own."""
    seen = look("shared", 2, seeded=True)
    found = {name: one.severity.word for name, one in seen.found("world-order").items()}
    first, last = (each["keys"] for each in real[2])
    by_rule = {*seen.orders} - {"drawn"}
    alike = {name for name in by_rule if first[name] == last[name]}
    as_a_whole = {name for name in by_rule if {*first[name]} == {*last[name]}}

    assert alike == {"all", "by a function", "validation"}
    assert {name for name, word in found.items() if word == "warning"} == alike - {"validation"}
    assert {name for name, word in found.items() if word == "note"} == {"validation", "shuffled"}
    assert as_a_whole == alike | {"shuffled"}
    assert {name for name, word in found.items() if word == "error"} == {"twice"}
    assert "with replacement" in seen.orders["drawn"].reason


def test_streams_of_which_all_ranks_draw_the_same_are_told(
    look: Callable[..., Seen], real: dict[int, list[dict[str, Any]]]
) -> None:
    """As real ranks draw them; nobody knows with what random numbers these begin in the job."""
    seen = look("drawn_alike", 2)
    found = {name: one.severity.word for name, one in seen.found("world-order").items()}
    first, last = (each["keys"] for each in real[2])
    alike = {name for name in seen.orders if first[name] == last[name]}

    assert alike - {"by random numbers"} == {"alike", "one shard", "validation alike"}
    assert found == {
        **dict.fromkeys(("alike", "one shard"), "warning"),
        **dict.fromkeys(("alike, shuffled", "validation alike"), "note"),
    }
    assert "does not end" in seen.orders["by random numbers"].reason


def test_a_hash_seed_that_is_set_is_that_of_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They inherit it, and order their sets alike."""
    for said, causes in (("3", set()), ("random", {"hash"})):
        monkeypatch.setenv("PYTHONHASHSEED", said)
        plan = plan_of(2, batches=True, order=True)

        assert {one.cause for one in plan} == {"", "random", "folder"} | causes


# --- where processes cannot be copied -------------------------------------------------------------


@pytest.mark.parametrize(("part", "wanted"), [("divided", RankBatches), ("unlike", RankOrder)])
def test_fresh_processes_tell_what_copies_tell(
    part: str,
    wanted: type,
    job: Path,
    look: Callable[..., Seen],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on Windows and macOS, where none of them is a copy of another."""
    seen = look(part, 2)
    monkeypatch.setattr(by_rank, "CAN_COPY", False)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    start_copies(
        monkeypatch, also=TRAINERS
    )  # of a process that has imported torch, and none of ours
    settings = Job(root=str(job), launch=Launch(world_size=2))
    options = {**told_of(settings), "wants": [wanted.__name__]}
    plain = to_wire(Loader(spec=f"train.py:{part}"))
    asked = Asked(
        wire={"kind": "loader", **plain, "args": to_exact(()), "kwargs": to_exact({})},
        options=options,
        alive=lambda: None,
        step=unsaid,
        opening=lambda _: None,
        some=lambda *_: None,
        memory=0,
    )
    ranks = by_rank.ByRank(asked, named(asked.wire, options), str(job))
    names = [one.name for one in seen.steps.values()]

    ranks.begin()
    try:
        found = [*ranks.facts(names, have_ends=True)]
    finally:
        ranks.close()

    told: dict[str, Any] = {_part(one.name): one for one in found}
    if wanted is RankBatches:
        assert told == seen.steps
        return
    assert told.keys() == seen.orders.keys()
    for name, one in told.items():
        assert _causes(one) == _causes(seen.orders[name]), name


def _causes(facts: RankOrder) -> tuple[Any, ...]:
    """What makes ranks differ; how much is that of hash seeds, which differ from run to run."""
    found = {(one.cause, bool(one.others)) for one in facts.found}
    return facts.reason, facts.splits, facts.tried, found


# --- ranks that raise ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("unmade", "raises when it is called on rank 1 of 2: IndexError: list index out of range"),
        (
            "stops",
            "raises when it is gone through on rank 1 of 2: ValueError: no part of this rank",
        ),
    ],
)
def test_what_stops_one_rank_alone_is_found_at_its_line(
    part: str, message: str, look: Callable[..., Seen]
) -> None:
    seen = look(part, 2, ("target", "world-steps")).report

    (found,) = (one for one in seen.findings if one.check == "target-unbuildable")
    assert found.message.endswith(message)
    assert (found.at.file, bool(found.at.line)) == ("train.py", True)
    assert "Rank 1 of the job" in (found.why or "")
    assert seen.verdict == "no-go"


def test_a_place_that_lies_behind_the_end_is_asked_for(look: Callable[..., Seen]) -> None:
    """By one rank alone, as the loop of that rank will; a data set may know what to give there."""
    broken = look("past_the_end", 3, ("target", "world"), seeded=True).report
    sound = look("counts_round", 3, ("target", "world"), seeded=True).report

    (found,) = (one for one in broken.findings if one.check == "target-unbuildable")
    assert "gone through on rank 2 of 3: IndexError" in found.message
    assert found.at.line
    assert [one.check for one in broken.findings] == ["target-unbuildable"]
    assert sound.findings == ()


def test_what_a_rank_raises_for_want_of_others_is_not_judged(look: Callable[..., Seen]) -> None:
    seen = look("waits", 2, ("target", "world-steps"))

    assert seen.report.findings == ()
    assert "rank 1 could not make it" in seen.steps["train.py:waits"].reason


def test_what_a_rank_raises_for_want_of_what_is_not_here_cannot_be_judged(
    look: Callable[..., Seen],
) -> None:
    seen = look("lacks", 2, ("target", "world-steps"))

    assert seen.report.findings == ()
    assert seen.report.verdict == "cannot-judge"
    assert "rank 1 could not make it" in seen.unjudged("world-steps")


# --- ranks that give no answer --------------------------------------------------------------------


def test_a_rank_that_leaves_by_itself_is_found_at_its_line(look: Callable[..., Seen]) -> None:
    """As `sys.exit` in a script: rank 1 ends, and the others wait for it."""
    seen = look("leaves", 2, ("target", "world"), seeded=True).report

    (found,) = (one for one in seen.findings if one.check == "target-unbuildable")
    assert "on rank 1 of 2: SystemExit" in found.message
    assert seen.verdict == "no-go"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        pytest.param(
            "killed",
            "the process of rank 1 was killed by SIGKILL",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL"),
        ),
        ("ends_itself", "the process of rank 1 ended by itself with exit status 0"),
        ("sleeps", "said nothing for"),
        ("too_large", "rank 1 could not make it, or go through it: MemoryError"),
        ("one_worker", "DataLoader worker"),
    ],
)
def test_a_rank_that_gives_no_answer_cannot_be_judged(
    part: str, said: str, look: Callable[..., Seen]
) -> None:
    """Whoever ended it: nobody knows what the job does then."""
    timeout = 20 if part == "sleeps" else 120
    seen = look(part, 2, ("target", "world"), timeout, seeded=part != "killed")

    assert seen.report.verdict == "cannot-judge"
    assert seen.report.findings == ()
    assert said in seen.unjudged("world-steps")
    assert said in seen.unjudged("world-order")
    assert (seen.steps, seen.orders) == ({}, {})


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_what_others_have_is_compared_where_one_between_them_is_lost(
    look: Callable[..., Seen],
) -> None:
    seen = look("killed", 4, ("target", "world"), seeded=True)

    assert "rank 1 was killed" in seen.unjudged("world-steps")
    assert seen.unjudged("world-order") == ""
    assert [one.rank for one in seen.steps["train.py:killed"].counts] == [0, 2, 3]


def test_a_rank_that_ends_for_want_of_what_others_say_is_not_judged(
    look: Callable[..., Seen],
) -> None:
    seen = look("asks_and_ends", 2, ("target", "world"), seeded=True)

    assert seen.report.findings == ()
    assert seen.unjudged("world-steps") == ""
    assert "broadcast_object_list" in seen.steps["train.py:asks_and_ends"].reason


# --- processes that give no answer ----------------------------------------------------------------


class Silent:
    """A process that says nothing, and ends with a status, or not at all."""

    lines = ()

    def __init__(self, status: int | None) -> None:
        self.status = status

    def go(self, order: object) -> None:
        """Hear the order."""

    hear = drain = lambda _self: None

    def poll(self) -> int | None:
        """Give its exit status."""
        return self.status


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (None, "rank 1 said nothing for 0.05 s"),
        (7, "the process of rank 1 ended by itself with exit status 7"),
    ],
)
def test_a_rank_that_hangs_or_ends_is_the_reason(status: int | None, reason: str) -> None:
    its: Any = SimpleNamespace(options={"timeout": 0.05})
    making = Making(1, compared=True)
    started: Any = {making: Silent(status)}

    (found,) = Rounds(its, ["it"], started, lambda: None).run([making])

    assert found.of("it")["reason"].startswith(reason)


# --- cost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "select", "least", "most"),
    [
        (1, ("world",), 1, 1),
        (4, ("loader-heavy",), 1, 1),
        (4, ("world-steps",), 3, 5),
        (64, ("world",), 6, 13),
    ],
)
def test_the_factory_is_called_only_as_often_as_is_needed(
    ranks: int,
    select: tuple[str, ...],
    least: int,
    most: int,
    job: Path,
    look: Callable[..., Seen],
) -> None:
    """Once to look at the loader, for each rank that is tried, and for each other process."""
    file = job / "made.txt"
    file.unlink(missing_ok=True)
    look("once", ranks, select)
    made = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []

    assert least <= len(made) <= most  # on a slow machine, fewer ranks are tried


def test_ranks_that_slow_ones_leave_no_time_for_are_no_part_of_a_go(
    look: Callable[..., Seen],
) -> None:
    seen = look("slow", 8, ("world-steps",))
    report = seen.report
    made = len(seen.steps["train.py:slow"].counts)
    (outcome,) = (one for one in report.checks if one.id == "world-steps")

    assert (report.verdict, outcome.outcome) == ("go", "passed")
    assert 2 <= made < 8
    assert [one.count for one in outcome.skipped] == [8 - made]
    assert f"{8 - made} ranks" in terminal.render(report)
    assert any(f"making it on {made} others took more than 10 s" in one for one in report.reasons)


def test_of_many_ranks_those_are_made_that_lie_far_apart() -> None:
    plan = plan_of(64, batches=True, order=False)

    assert [one.rank for one in plan] == [0, 63, 1, 10, 21, 31, 42, 52]
    assert sorted(one.rank for one in plan_of(8, batches=True, order=False)) == [*range(8)]
    assert len({*plan_of(9, batches=True, order=True)}) == 3 + 2 + 5
    assert [one.rank for one in plan_of(2, batches=True, order=False)] == [0, 1]
    assert [one.rank for one in plan_of(4, batches=False, order=True) if not one.cause] == [0, 3]


KEEPS_ITS_RANK = """
import os


class State:
    shared = {}

    def __init__(self):
        own = (int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
        self.rank, self.world = self.shared.setdefault("own", own)
"""
USES_IT = """
from torch.utils.data import DataLoader, DistributedSampler

from state import State

NAMES = [f"{number}.png" for number in range(40)]


def make(size=4):
    own = State()
    part = NAMES[own.rank :: own.world]
    return DataLoader(part, size, sampler=DistributedSampler(part, own.world, own.rank))


def make_more():
    return make(5)
"""


def test_what_a_process_keeps_of_its_rank_is_that_of_each_also_behind_another_word(
    tmp_path: Path, copies: None
) -> None:
    (tmp_path / "state.py").write_text(KEEPS_ITS_RANK, encoding="utf-8")
    (tmp_path / "train.py").write_text(USES_IT, encoding="utf-8")
    report = preflight.run(
        *("train:make", "train:make_more"), folder=str(tmp_path), select=["world"], world_size=2
    )

    assert {one.at.name for one in report.findings} == {"train:make", "train:make_more"}


STREAM = """
import torch
from torch.nn.parallel import DistributedDataParallel  # it is trained by ranks
from torch.utils.data import DataLoader, IterableDataset


class Whole(IterableDataset):
    def numbers(self):
        return range(48)

    def __iter__(self):
        return ({"__key__": f"{number:03}"} for number in self.numbers())


class Divided(Whole):
    def numbers(self):
        ranks = torch.distributed.get_world_size()
        own = range(48)[torch.distributed.get_rank() :: ranks]
        worker = torch.utils.data.get_worker_info()
        return own[worker.id :: worker.num_workers] if worker else own


def make():
    return {"whole": DataLoader(Whole(), 4), "divided": DataLoader(Divided(), 4, num_workers=2)}
"""


def test_a_stream_of_ones_own_that_asks_for_no_rank_is_told_and_not_once_it_does_as_is_said(
    tmp_path: Path, copies: None
) -> None:
    (tmp_path / "train.py").write_text(STREAM, encoding="utf-8")
    report = preflight.run("train:make", folder=str(tmp_path), select=["world"], world_size=2)

    (finding,) = report.findings
    assert (finding.check, _part(finding.at.name)) == ("world-order", "whole")
    assert "torch.distributed.get_rank()" in (finding.fix or "")
    assert "torch.utils.data.get_worker_info()" in (finding.fix or "")
