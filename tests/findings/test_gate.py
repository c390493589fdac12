"""The verdict follows from what was found, what broke, and what was asked for."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from preflight.cached_files.facts import CacheFacts
from preflight.findings import gate, registry
from preflight.findings import judge as runner
from preflight.findings.check import Check
from preflight.findings.finding import Finding, Location, Scope, Severity, fingerprint
from preflight.findings.looks import Failed, Left, Looked
from preflight.findings.looks import Look as ALook
from preflight.findings.report import Broken, Outcome, Report, Skip
from preflight.host.facts import HostFacts
from preflight.session.summary import is_of_job, words
from preflight.settings.how_to_look import Gate, Ignore, Look
from preflight.settings.job import Job
from preflight.shards.facts import ShardFacts
from preflight.targets.facts import Absent
from preflight.users_code.facts import Unbuilt
from preflight.values.sampling import OUTSIDE
from preflight.values.wire import from_wire, to_wire
from tests.render.jobs import healthy

TODAY = datetime.date(2026, 6, 1)
SHARD = ShardFacts(file="a.tar", size=1, damage=(), members=1, samples=1)
LOOKED = Looked(facts=SHARD)


def finding(check: str = "a", severity: Severity = Severity.ERROR, **more: object) -> Finding:
    at = Location(file="data/a.tar")
    one = Finding(check=check, severity=severity, message="is bad", at=at, fingerprint="f1")
    return replace(one, **more)  # type: ignore[arg-type]


def check(name: str, *, over: type = ShardFacts, **more: Any) -> Check:
    values = {"severity": Severity.ERROR, "scope": Scope.JOB, "ask": lambda *_: iter(())} | more
    return Check(id=name, title=name, many=name, over=(over,), explanation="", **values)


def outcome(name: str, word: str = "passed", **more: Any) -> Outcome:
    values = {"scope": "job", "targets": 1, "looked_at": 1} | more
    return Outcome(id=name, outcome=word, title=name, **values)


CHECKS = {"a": check("a"), "m": check("m", over=HostFacts, scope=Scope.MACHINE)}
BROKEN = (Broken(at=Location(file="x"), error="died"),)


def judge(*findings: Finding, **more: object) -> gate.Judgement:
    """Judge a run of the checks `a` (job) and `m` (machine)."""
    outcomes = more.pop("outcomes", [outcome("a"), outcome("m", scope="machine")])
    judged = runner.Judged(
        outcomes=tuple(outcomes),  # type: ignore[call-overload]
        findings=findings,
        more={},
        looked=frozenset(),
        foreign=more.pop("foreign", frozenset()),  # type: ignore[arg-type]
    )
    given = {"job": Job(), "is_of_job": True, "today": TODAY} | more
    return gate.judge(CHECKS, judged, **given)  # type: ignore[arg-type]


def test_nothing_found_is_go() -> None:
    assert judge().verdict == "go"
    assert judge().verdict_by == {"job": "go", "machine": "go"}


def test_only_the_host_looked_at_is_no_go_ahead() -> None:
    assert is_of_job(CHECKS, {ShardFacts, HostFacts})
    for looked in ({HostFacts}, {Absent}, {Unbuilt}, set[type]()):
        assert not is_of_job(CHECKS, looked)
    assert is_of_job({"m": CHECKS["m"]}, {HostFacts})
    assert judge(is_of_job=False).verdict == "cannot-judge"


@pytest.mark.parametrize(
    ("severity", "fail_on"),
    list(itertools.product(Severity, ["error", "warning", "note", "never"])),
)
def test_the_bar_is_where_it_is_set(severity: Severity, fail_on: str) -> None:
    verdict = judge(finding(severity=severity), job=Job(gate=Gate(fail_on=fail_on))).verdict  # type: ignore[arg-type]

    over = fail_on != "never" and severity >= Severity[fail_on.upper()]
    assert verdict == ("no-go" if over else "go")


def test_a_finding_is_no_go_whatever_else_broke() -> None:
    result = judge(finding(), outcomes=[outcome("a", "broken", broken=BROKEN)])

    assert result.verdict == "no-go"
    assert result.reasons == ("a could not look at 1 target.",)


def test_what_several_checks_could_not_look_at_is_said_once() -> None:
    both = [outcome(one, "broken", broken=BROKEN) for one in ("a", "m")]

    assert judge(outcomes=both).reasons == ("a and m could not look at 1 target.",)


def test_anything_broken_cannot_be_judged_unless_it_may_be_skipped() -> None:
    outcomes = [outcome("a", "broken", broken=BROKEN)]

    assert judge(outcomes=outcomes).verdict == "cannot-judge"
    assert judge(outcomes=outcomes, job=Job(gate=Gate(may_skip=("a",)))).verdict == "go"


def test_the_verdict_is_also_given_by_scope() -> None:
    """A sick machine does not make a sick job."""
    result = judge(finding("m"))

    assert result.verdict == "no-go"
    assert result.verdict_by == {"job": "go", "machine": "no-go"}


def test_what_somebody_accepted_does_not_gate() -> None:
    ignore = Ignore(check="a", at="data/*", reason="known", until="2026-06-01")

    assert judge(finding(), job=Job(ignore=(ignore,))).verdict == "go"
    assert (
        judge(finding(), job=Job(ignore=(replace(ignore, until="2026-05-31"),))).verdict == "no-go"
    )
    assert judge(finding(), job=Job(ignore=(replace(ignore, at="other/*"),))).verdict == "no-go"
    assert judge(finding(), baseline=frozenset({"f1"})).verdict == "go"
    assert judge(finding(), baseline=frozenset({"f2"})).verdict == "no-go"


def test_a_required_check_must_have_looked() -> None:
    skipped = [outcome("a", "skipped", looked_at=0), outcome("m", scope="machine")]

    assert judge(outcomes=skipped).verdict == "go"
    assert judge(outcomes=skipped, job=Job(gate=Gate(require=("a",)))).verdict == "cannot-judge"


REQUIRED = Job(gate=Gate(require=("a",)))


def test_a_required_check_must_have_looked_at_all_that_was_named() -> None:
    """Half of it is no look at the other half."""
    half = [outcome("a", targets=4, looked_at=2, skipped=(Skip(reason="no decoder", count=2),))]

    assert judge(outcomes=half).verdict == "go"
    asked = judge(outcomes=half, job=REQUIRED)
    assert asked.verdict == "cannot-judge"
    assert asked.reasons == ("a is required, and was skipped for 2 of 4: no decoder.",)


@pytest.mark.parametrize(
    "skip",
    [Skip(reason="no shard was looked at", count=0), Skip(reason=f"{OUTSIDE} (1)", count=3)],
    ids=["nothing", "a sample"],
)
def test_what_nobody_wanted_looked_at_is_not_held_against_a_required_check(skip: Skip) -> None:
    looked = [outcome("a", targets=4, skipped=(skip,))]

    assert judge(outcomes=looked, job=REQUIRED).verdict == "go"


def test_what_a_check_is_not_about_is_held_against_it_where_there_was_nothing_else() -> None:
    skips = (Skip(reason="no image", count=2),)
    some = [outcome("a", targets=4, looked_at=2, skipped=skips)]
    none = [outcome("a", "skipped", targets=2, looked_at=0, skipped=skips)]
    foreign = frozenset({"no image"})

    assert judge(outcomes=some, job=REQUIRED, foreign=foreign).verdict == "go"
    assert judge(outcomes=none, job=REQUIRED, foreign=foreign).verdict == "cannot-judge"
    assert judge(outcomes=some, job=REQUIRED).verdict == "cannot-judge"


def report(**more: Any) -> Report:
    checks = (outcome("a"), outcome("m", scope="machine"))
    return healthy(**{"verdict": "no-go", "checks": checks, **more})


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (report(verdict="go"), 0),
        (report(findings=(finding(),)), 1),
        (report(verdict="cannot-judge"), 3),
        (report(findings=(finding("m"),)), 4),
        (report(findings=(finding("m"), finding("a"))), 1),
        (report(findings=(finding("m"), finding("a", Severity.WARNING))), 4),
        (report(findings=(finding("m"),), complete=False, interrupted=True), 130),
        (report(verdict="go", complete=False), 0),
    ],
    ids=[
        "go",
        "no-go",
        "cannot judge",
        "machine",
        "both",
        "a warning beside it",
        "interrupted",
        "sampled",
    ],
)
def test_the_verdict_is_the_exit_code(made: Report, code: int) -> None:
    """4 in place of 1 when all that gates is of the machine."""
    assert gate.exit_code(made) == code


# --- the runner -----------------------------------------------------------------------------------


def ask_all(*checks: Check, looks: list[ALook], job: Job | None = None) -> runner.Judged:
    by_id = {one.id: one for one in checks}
    return runner.ask_checks(by_id, job or Job(), looks, tell=lambda _: None, words=words)


def finds(number: int) -> Check:
    def ask(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
        for index in range(number):
            yield finding("a", at=Location(file=facts.file, name=str(index)))

    return check("a", ask=ask)


def test_a_check_that_crashes_is_broken_and_keeps_what_it_found() -> None:
    def ask(_facts: object, _job: Job) -> Iterator[Finding]:
        yield finding("a")
        raise ZeroDivisionError("in the check")

    other = replace(finds(1), id="b")
    judged = ask_all(check("a", ask=ask), other, looks=[LOOKED])

    crashed, sound = judged.outcomes
    assert (crashed.outcome, crashed.found) == ("broken", 1)
    assert "in the check" in crashed.broken[0].error
    assert (sound.outcome, sound.found) == ("found", 1)


def test_one_failure_is_told_of_every_check_that_would_have_looked() -> None:
    failed = Failed(at=Location(file="a.tar"), error="died", kinds=(ShardFacts,))

    judged = ask_all(check("a"), check("c", over=CacheFacts), looks=[failed])

    assert [one.outcome for one in judged.outcomes] == ["broken", "skipped"]


def test_what_is_left_out_is_a_skip_with_its_reason() -> None:
    judged = ask_all(check("a"), looks=[Left(reason="elsewhere", kinds=(ShardFacts,))])

    assert judged.outcomes[0].outcome == "skipped"
    assert judged.outcomes[0].skipped[0].reason == "elsewhere"
    assert judged.looked == frozenset()


def test_beyond_the_limit_findings_are_counted_by_file() -> None:
    judged = ask_all(finds(10), looks=[LOOKED], job=Job(look=Look(max_findings=3)))

    assert len(judged.findings) == 3
    assert judged.more == {"a": {"a.tar": 7}}
    assert judged.outcomes[0].found == 10


def test_beyond_the_limit_the_gravest_are_kept() -> None:
    """Ten thousand warnings, and one error behind them, are no GO."""
    several = [Severity.NOTE, *[Severity.WARNING] * 5, Severity.ERROR, Severity.WARNING]
    found = [finding("a", severity, message=str(n)) for n, severity in enumerate(several)]
    told: list[Finding] = []
    one = check("a", ask=lambda _facts, _job: iter(found))

    job = Job(look=Look(max_findings=3))
    judged = runner.ask_checks({"a": one}, job, [LOOKED], tell=told.append, words=words)

    assert [one.message for one in judged.findings] == ["6", "1", "2"]
    assert judged.more == {"a": {"data/a.tar": 5}}
    assert judged.outcomes[0].found == 8
    assert [one.message for one in told] == ["0", "1", "2", "3", "6"]


@pytest.mark.parametrize(
    ("severity", "found", "verdict"),
    [
        (Severity.ERROR, 4, "cannot-judge"),
        (Severity.ERROR, 1, "go"),
        (Severity.WARNING, 4, "go"),
    ],
    ids=["more errors", "nothing more", "more warnings"],
)
def test_what_was_only_counted_is_not_taken_for_accepted(
    severity: Severity, found: int, verdict: str
) -> None:
    """Nobody has held it against the list of what somebody accepted."""
    job = Job(ignore=(Ignore(check="a", reason="known"),))
    outcomes = [outcome("a", "found", found=found)]

    judgement = judge(finding("a", severity), job=job, outcomes=outcomes)

    assert judgement.verdict == verdict
    if verdict == "cannot-judge":
        (reason,) = judgement.reasons
        assert reason.endswith("3 more were only counted; --max-findings 4 keeps them.")


def test_what_facts_only_count_is_counted() -> None:
    """Of half a million damaged images, nobody reads the last."""
    one = check("a", ask=lambda _facts, _job: iter([finding()]), more=lambda _facts: 7)

    judged = ask_all(one, looks=[LOOKED])

    assert judged.outcomes[0].found == 8
    assert judged.more == {"a": {"a.tar": 7}}


def test_an_interrupt_keeps_what_was_found() -> None:
    def looks() -> Iterator[ALook]:
        yield LOOKED
        raise KeyboardInterrupt

    judged = runner.ask_checks({"a": finds(1)}, Job(), looks(), tell=lambda _: None, words=words)

    assert len(judged.findings) == 1
    assert judged.interrupted


def test_a_check_may_not_find_more_than_it_declares() -> None:
    """`preflight checks` would be wrong about it."""
    mild = check("a", severity=Severity.WARNING)

    with pytest.raises(ValueError, match="declares warning"):
        mild.found("is bad", at=Location(file="x"), severity=Severity.ERROR)


# --- fingerprints, ids, plain values --------------------------------------------------------------


def test_a_fingerprint_outlives_edits_above_its_line() -> None:
    """A name, or the text of the line; never its number."""

    def mark(line: int, text: str | None = None, name: str | None = None) -> str:
        at = Location(file="train.py", line=line, name=name)
        return fingerprint("env-launch", at, about=None, line_text=text)

    assert mark(3, "  x = 1") == mark(9, "x = 1  ")
    assert mark(3, "x = 1") != mark(3, "x = 2")
    assert mark(3, "x = 1", "loader") == mark(4, "y", "loader")
    assert fingerprint("a", Location(file="\udce9"), about="exif", line_text=None)


@pytest.mark.parametrize(
    ("word", "check_id", "yes"),
    [
        ("shard", "shard-damaged", True),
        ("shard-", "shard-damaged", True),
        ("shard-damaged", "shard-damaged", True),
        ("sha", "shard-damaged", False),
        ("shard-dam", "shard-damaged", False),
        ("acme", "acme/shard-heavy", True),
        ("shard", "acme/shard-heavy", False),
    ],
)
def test_a_prefix_ends_where_a_word_ends(word: str, check_id: str, yes: bool) -> None:  # noqa: FBT001
    assert registry.fits(word, check_id) is yes


def test_facts_go_to_json_and_back() -> None:
    assert from_wire(ShardFacts, to_wire(SHARD)) == SHARD
    told = [str(2**60), "nan", "note", "job"]
    assert to_wire((2**60, float("nan"), Severity.NOTE, Scope.JOB)) == told
    with pytest.raises(TypeError, match="no plain value"):
        to_wire(object())


def test_a_report_comes_back_from_json() -> None:
    made = report(findings=(finding(),))

    assert Report.from_json(made.to_json()) == made
    for text in ("{}", "[]", '{"schema": 2}', '{"schema": 1, "verdict": "go"}', "no json"):
        with pytest.raises(ValueError, match=r".+"):
            Report.from_json(text)
