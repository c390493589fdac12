"""What every check owes, so that a new one is held to it without a line being written."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import preflight
from preflight.cached_files.facts import LETTERS, CacheFacts
from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.findings.report import Report
from preflight.settings.job import Job
from tests.conftest import START
from tests.warming import start_copies

ROOT = Path(__file__).parents[1]
CHECKS = registry.built_in()
BY_NAME = {"shard-missing", "target-missing"}
"""Those that look for names, and at nothing that lies there, which alone makes no GO."""

SECTIONS = ("What it finds", "Why it matters", "What to do")

each_check = pytest.mark.parametrize("check_id", CHECKS)


def make_case(check_id: str, folder: Path, *, mended: bool) -> list[str]:
    path = ROOT / "fixtures" / check_id.replace("-", "_") / "make.py"
    made: list[str] = runpy.run_path(str(path))["make"](folder, mended=mended)
    return made


@dataclass(frozen=True)
class Case:
    """A case that was looked at through session, processes and all."""

    folder: Path
    report: Report
    found: list[Finding]
    """What it came to, of the check that the case is for."""

    said: list[Finding]
    """What the check itself said, before anything was made of it."""


def look(check_id: str, folder: Path, *, mended: bool) -> Case:
    words = make_case(check_id, folder, mended=mended)
    checks, bad = registry.load()
    said: list[Finding] = []

    def ask(facts: object, job: Job) -> Iterator[Finding]:
        for finding in checks[check_id].ask(facts, job):
            said.append(finding)
            yield finding

    listening = {**checks, check_id: dataclasses.replace(checks[check_id], ask=ask)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", lambda: (listening, bad))
        start_copies(patch)
        report = preflight.run(*words, folder=str(folder), select=[check_id])
    found = [finding for finding in report.findings if finding.check == check_id]
    return Case(folder=folder, report=report, found=found, said=said)


@pytest.fixture(scope="module")
def broken_case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Give what a check finds in its case, which is looked at once for all tests."""

    @functools.cache
    def seen(check_id: str) -> Case:
        return look(check_id, tmp_path_factory.mktemp(check_id), mended=False)

    return seen


@each_check
def test_its_case_is_found(check_id: str, broken_case: Callable[[str], Case]) -> None:
    """The defect that the check was written for, at the severity that it declares."""
    found = broken_case(check_id).found

    assert found
    assert max(finding.severity for finding in found) == CHECKS[check_id].severity


@each_check
def test_the_mended_case_is_left_alone(check_id: str, tmp_path: Path) -> None:
    """The same files; the difference is the fix and nothing else."""
    case = look(check_id, tmp_path, mended=True)

    assert case.found == []
    outcome = next(one for one in case.report.checks if one.id == check_id)
    assert outcome.broken == ()
    assert case.report.verdict == ("cannot-judge" if check_id in BY_NAME else "go")


@each_check
def test_what_finds_the_case_is_the_check_itself(
    check_id: str, broken_case: Callable[[str], Case]
) -> None:
    """And not something beside it: an emptied check would be missed."""
    case = broken_case(check_id)

    assert {one.fingerprint for one in case.found} <= {one.fingerprint for one in case.said}


@each_check
def test_the_explanation_answers_three_questions(check_id: str) -> None:
    """`preflight explain` and the reports print it."""
    lines = CHECKS[check_id].explanation.splitlines()

    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert lines[0].endswith(".")


@each_check
def test_its_messages_read_as_sentences(check_id: str, broken_case: Callable[[str], Case]) -> None:
    """`{at}: {message}` is one; a fix is one thing to do."""
    for finding in broken_case(check_id).found:
        assert str(finding.at), finding
        assert not finding.message.endswith("."), finding
        assert "\n" not in finding.message, finding
        assert finding.fix, finding
        assert "please" not in (finding.message + (finding.fix or "")).lower(), finding
        assert finding.fingerprint, finding


@each_check
def test_no_two_findings_share_a_fingerprint(
    check_id: str, broken_case: Callable[[str], Case]
) -> None:
    """A baseline would take one for the other."""
    prints = [finding.fingerprint for finding in broken_case(check_id).found]

    assert len(set(prints)) == len(prints)


# As they stand in a message: behind two spaces, up to the end.
_COMMAND = re.compile(r"preflight (run\b.*)")
_CODE = re.compile(r"  (\S*copy\.deepcopy\(.*|second = .*)")

_BUILT = """\
import copy, importlib, sys
from preflight.users_code.importing import join_world

join_world(2)
module = importlib.import_module(sys.argv[1])
names = vars(module) | {"copy": copy}
names["model"] = model = getattr(module, sys.argv[2])()
*before, last = sys.argv[3].split("; ")
exec("; ".join(before), names)
exec(f"second = {last}" if last.startswith("copy.") else last, names)
second = names["second"]
own = {id(one) for one in model.parameters()}
sys.exit(not list(second.parameters()) or any(id(one) in own for one in second.parameters()))
"""


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code with words of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", *words]
    return subprocess.run(command, check=False, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.usefixtures("at_hand")
@each_check
def test_every_fix_that_is_code_works(check_id: str, broken_case: Callable[[str], Case]) -> None:
    """A command is understood, and code makes a copy with parameters of its own."""
    case = broken_case(check_id)
    said = {text for one in case.found for text in (one.fix, one.workaround) if text}
    said |= {one.fix for each in case.report.checks for one in each.broken if one.fix}
    commands = {match[1] for text in said if (match := _COMMAND.search(text))}
    assert check_id != "model-uncopyable" or any(map(_CODE.search, said))
    for command in sorted(commands):
        done = started(case.folder, START, *shlex.split(command.rstrip(".")))
        alone = check_id.startswith("gpu-") and "nothing to look at was named" in done.stderr
        assert done.returncode != 2 or alone, (command, done.stderr)
    for code in {match[1] for text in said if (match := _CODE.search(text))}:
        done = started(case.folder, _BUILT, "train", "make_model", code)
        assert done.returncode == 0, (code, done.stderr)


@each_check
def test_it_has_a_test_of_its_own(check_id: str) -> None:
    """Beside the fixtures: the words, the places and the edges."""
    assert (ROOT / "tests" / "checks" / f"test_{check_id.replace('-', '_')}.py").is_file()


@pytest.mark.parametrize("check_id", [one.id for one in CHECKS.values() if CacheFacts in one.over])
def test_a_check_of_cached_files_says_nothing_of_whole_ones(check_id: str) -> None:
    """Of whichever format, whether its checksums were compared or it has none."""
    for name, verified in LETTERS:
        whole = CacheFacts(file="cache/a.pt", size=9, format=name, verified=verified)
        assert list(CHECKS[check_id].ask(whole, Job())) == []
