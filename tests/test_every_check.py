"""What every check owes, so that a new one is held to it without a line being written."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import preflight
from preflight import registry
from preflight.check import Check
from preflight.finding import Finding
from preflight.report import Report

ROOT = Path(__file__).parents[1]
CHECKS = registry.built_in()
SECTIONS = ("What it finds", "Why it matters", "What to do")

each_check = pytest.mark.parametrize("check_id", CHECKS)


def make_case(check_id: str, folder: Path, *, mended: bool) -> list[str]:
    """Build the case of a check in a folder, and give the words for `preflight run`."""
    path = ROOT / "fixtures" / check_id.replace("-", "_") / "make.py"
    spec = importlib.util.spec_from_file_location(f"case_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: list[str] = module.make(folder, mended=mended)
    return made


def findings_of(check_id: str, folder: Path, words: list[str]) -> tuple[Report, list[Finding]]:
    """Look at a case through session, processes and all."""
    report = preflight.run(*words, folder=str(folder), select=[check_id])
    return report, [finding for finding in report.findings if finding.check == check_id]


@pytest.fixture(scope="module")
def broken_case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Finding]]:
    """Give what a check finds in its case, which is looked at once for all tests."""

    @functools.cache
    def found(check_id: str) -> list[Finding]:
        folder = tmp_path_factory.mktemp(check_id)
        return findings_of(check_id, folder, make_case(check_id, folder, mended=False))[1]

    return found


@each_check
def test_its_case_is_found(check_id: str, broken_case: Callable[[str], list[Finding]]) -> None:
    """The defect that the check was written for, at the severity that it declares."""
    found = broken_case(check_id)

    assert found
    assert max(finding.severity for finding in found) == CHECKS[check_id].severity


@each_check
def test_the_mended_case_is_left_alone(check_id: str, tmp_path: Path) -> None:
    """The same files; the difference is the fix and nothing else."""
    words = make_case(check_id, tmp_path, mended=True)

    report, found = findings_of(check_id, tmp_path, words)

    assert found == []
    outcome = next(one for one in report.checks if one.id == check_id)
    assert outcome.broken == ()
    assert report.verdict in {"go", "cannot-judge"}


@each_check
def test_an_emptied_check_would_be_missed(
    check_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever finds the case is the check itself, and not something beside it."""

    def says_nothing(_facts: object, _job: object) -> Iterator[Finding]:
        yield from ()

    checks, bad = registry.load()
    emptied: dict[str, Check] = dict(checks)
    emptied[check_id] = dataclasses.replace(checks[check_id], ask=says_nothing)
    monkeypatch.setattr(registry, "load", lambda: (emptied, bad))
    words = make_case(check_id, tmp_path, mended=False)

    _, found = findings_of(check_id, tmp_path, words)

    assert found == []


@each_check
def test_the_explanation_answers_three_questions(check_id: str) -> None:
    """`preflight explain` and the reports print it."""
    lines = CHECKS[check_id].explanation.splitlines()

    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert lines[0].endswith(".")


@each_check
def test_its_messages_read_as_sentences(
    check_id: str, broken_case: Callable[[str], list[Finding]]
) -> None:
    """`{at}: {message}` is one; a fix is one thing to do."""
    for finding in broken_case(check_id):
        assert str(finding.at), finding
        assert not finding.message.endswith("."), finding
        assert "\n" not in finding.message, finding
        assert finding.fix, finding
        assert "please" not in (finding.message + (finding.fix or "")).lower(), finding
        assert finding.fingerprint, finding


@each_check
def test_no_two_findings_share_a_fingerprint(
    check_id: str, broken_case: Callable[[str], list[Finding]]
) -> None:
    """A baseline would take one for the other."""
    prints = [finding.fingerprint for finding in broken_case(check_id)]

    assert len(set(prints)) == len(prints)


@each_check
def test_it_has_a_test_of_its_own(check_id: str) -> None:
    """Beside the fixtures: the words, the places and the edges."""
    assert (ROOT / "tests" / "checks" / f"test_{check_id.replace('-', '_')}.py").is_file()
