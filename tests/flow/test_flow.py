"""Pipelines are run as jobs write them: what is told of the errors that they swallow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.report import Report
from preflight.flow.counting import StageCounts
from tests.asking import by_loader, of
from tests.warming import copies

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PIPELINES = Path(__file__).with_name("pipelines.py")
CHECKS = ["loader-starved", "dataset-survival", "loader-stuck", "loader-end"]
ENTERED = 400

# What is said of each, and at which severity; the first word is how many samples come out.
BAD: Mapping[str, tuple[str, str]] = {
    "few": ("12 of 400 samples come out; 388 are dropped by ignore_and_continue at .map(", "error"),
    "few_by_place": ("12 of 400 samples come out; 388 are dropped by ignore_and_", "error"),
    "few_with_warning": ("12 of 400 samples come out; 388 are dropped by warn_and_", "error"),
    "few_printed": ("12 of 400 samples come out; 388 are dropped by print_only at", "error"),
    "few_in_batches": ("12 of 400 samples come out; 388 are dropped by ignore_and_", "error"),
    "few_of_pipeline": ("12 of 400 samples come out; 388 are dropped by ignore_and_", "error"),
    "tenth": ("360 of 400 samples come out; 40 are dropped by ignore_and_continue", "warning"),
    "twentieth": ("380 of 400 samples come out; 20 are dropped by ignore_and_cont", "warning"),
    "in_tuple": ("0 of 400 samples come out; 400 are dropped by ignore_and_contin", "error"),
    "in_dict": ("360 of 400 samples come out; 40 are dropped by ignore_and_continu", "warning"),
    "own_stage": (
        "12 of 400 samples come out; 388 are dropped by an except clause of len",
        "error",
    ),
    "own_stage_in_workers": ("12 of 400 samples come out; 388 are dropped by an except", "error"),
    "own_object": ("12 of 400 samples come out; 388 are dropped by warn_and_continue", "error"),
    "none_in_map": ("12 of 400 samples come out; 388 are dropped by an except clause of", "error"),
    "swallowing_filter": ("12 of 400 samples come out; 388 are dropped by an except cl", "error"),
    "around": ("12 of 400 samples come out; 388 are dropped by an except clause of", "error"),
    "around_in_workers": ("360 of 400 samples come out; 40 are dropped by an except", "warning"),
    "nothing": ("0 of 400 samples come out; 400 are dropped by ignore_and_continue at", "error"),
    "half": ("196 of 400 samples come out; 200 are dropped by ignore_and_continue", "warning"),
    "stops": ("50 of 51 samples come out, and then its stream ends: ignore_and_stop ends", "error"),
    "batches": ("160 of 400 samples come out; 240 are dropped by ignore_and_continue", "error"),
    "web_loader": ("12 of 400 samples come out; 388 are dropped by ignore_and_continue", "error"),
    "late_tenth": ("360 of 400 samples come out; 40 are dropped by ignore_and_conti", "warning"),
    "late_few_in_workers": ("12 of 400 samples come out; 388 are dropped by ignore_and", "error"),
    "late_nothing": ("0 of 400 samples come out; 400 are dropped by ignore_and_continue", "error"),
    "late_nested": ("360 of 400 samples come out; 40 are dropped by ignore_and_cont", "warning"),
    "late_mixed": ("206 of 400 samples come out; 194 are dropped by ignore_and_cont", "warning"),
    "late_own_stage": ("12 of 400 samples come out; 388 are dropped by an except clause", "error"),
    "late_lenient": ("360 of 400 samples come out; 40 are dropped by an except clause", "warning"),
    "late_by_shard": ("12 of 400 samples come out; 388 are dropped by ignore_and_con", "error"),
}

# Counts what comes out of each, as any script may.
PLAIN = """
import itertools, json, pipelines

def size(given):
    if isinstance(given, (list, tuple)) and given and hasattr(given[0], "shape"):
        return len(given[0])  # a list in webdataset 0.2
    return len(given) if isinstance(given, list) else 1

def main():
    every = {**pipelines.SOUND, **pipelines.BAD}
    for name in ("few_with_warning", "own_object"):  # which wait half a second for each error
        del every[name]
    print(json.dumps({name: sum(map(size, make())) for name, make in every.items()}))

if __name__ == "__main__":
    main()
"""


def look(folder: Path, name: str, **flags: Any) -> Report:
    given = {"select": CHECKS, "timeout": 60.0, **flags}
    return preflight.run(f"pipelines:{name}", folder=str(folder), **given)


def in_python(folder: Path, code: str) -> str:
    """Run code in the job's folder; give what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, "."])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a job with its shards; processes start as copies of one that has imported torch."""
    made = tmp_path_factory.mktemp("job")
    for one in ("pipelines.py", "made_later.py"):
        shutil.copy(PIPELINES.with_name(one), made)
    (made / "plain.py").write_text(PLAIN, encoding="utf-8")
    writing = [sys.executable, "-c", "import pipelines; pipelines.write_shards()"]
    with copies():
        subprocess.run(writing, cwd=made, check=True, timeout=120)
        yield made


@pytest.fixture(scope="module")
def seen(folder: Path) -> Callable[[str], Report]:
    """Look at a dict of loaders, once for all tests."""
    flags: Mapping[str, Any] = {
        "bad": {"budget": 700.0},  # on a busy machine
        "resampled": {"budget": 5.0},
    }
    return cache(lambda name: look(folder, name, **flags.get(name, {})))


@pytest.mark.parametrize("name", ["sound", "resampled"])
def test_pipelines_that_lose_nothing_by_errors_are_left_alone(
    name: str,
    seen: Callable[[str], Report],
) -> None:
    """One of them has no end, and is run for a part of the time that there is."""
    report = seen(name)
    outcome = of(report, "loader-starved")

    assert by_loader(report) == {}
    assert outcome.broken == ()
    assert all(one.reason.startswith("too little was seen") for one in outcome.skipped)


@pytest.mark.parametrize("name", BAD)
def test_what_is_lost_by_errors_is_told_once(name: str, seen: Callable[[str], Report]) -> None:
    message, severity = BAD[name]
    (finding,) = by_loader(seen("bad"))[name]

    assert finding.check == "loader-starved"
    assert finding.message.startswith(message)
    assert finding.severity.word == severity


def test_shards_that_the_files_show_to_be_no_archives_are_told_by_them(
    seen: Callable[[str], Report],
) -> None:
    (finding,) = by_loader(seen("bad"))["shards_of_pipeline"]

    assert finding.check == "dataset-survival"


def test_shards_that_are_not_there_are_told_by_their_names(seen: Callable[[str], Report]) -> None:
    (finding,) = by_loader(seen("bad"))["shards"]

    assert finding.check == "shard-missing"
    assert "opens 8 shards, of which 4 are not there" in finding.message


def test_the_line_that_raised_is_named_and_that_of_the_stage(
    seen: Callable[[str], Report],
) -> None:
    lines = PIPELINES.read_text(encoding="utf-8").splitlines()
    (finding,) = by_loader(seen("bad"))["tenth"]

    assert finding.at.file == "pipelines.py"
    assert finding.at.line is not None
    assert lines[finding.at.line - 1] == '    return json.loads(sample["json"])["caption"]'
    assert finding.message.endswith("KeyError: 'caption'")


def test_the_numbers_are_those_of_a_plain_script(
    folder: Path, seen: Callable[[str], Report]
) -> None:
    done = subprocess.run(
        [sys.executable, "plain.py"],
        cwd=folder,
        stdin=subprocess.PIPE,  # as what starts copies expects it
        capture_output=True,
        timeout=300,
        check=True,
    )
    plain: Mapping[str, int] = json.loads(done.stdout.splitlines()[-1])
    told = {name: those[0] for name, those in by_loader(seen("bad")).items()}

    for name, number in plain.items():
        if name in told and told[name].check == "loader-starved":
            assert told[name].evidence["came_out"] == number, name
            assert name == "stops" or told[name].evidence["entered"] == ENTERED, name
        elif name in BAD:
            pytest.fail(f"{name} was not told")
    assert len(plain.keys() & told.keys()) >= 15


def test_an_endless_stream_of_which_nothing_comes_is_told_once_with_the_reason(
    folder: Path,
) -> None:
    report = look(folder, "starving", timeout=2.0)
    (finding,) = report.findings

    assert finding.check == "loader-starved"
    assert finding.severity.word == "error"
    assert "are dropped by warn_and_continue at .map(want_title): KeyError: 'title'" in (
        finding.message
    )
    assert "training stands at step 0" in finding.why


def test_what_is_lost_while_a_loader_is_made_is_told_too(folder: Path) -> None:
    """And what a generator loses that gives batches of a pipeline that it makes itself."""
    words = ("pipelines:at_once", "pipelines:batches")
    report = preflight.run(*words, folder=str(folder), select=CHECKS, timeout=60.0)

    assert {one.at.name for one in report.findings} == {*words}
    for one in report.findings:
        assert one.check == "loader-starved"
        assert one.message.startswith("360 of 400 samples come out; 40 are dropped by ignore_and_")


def test_nothing_is_counted_where_nobody_asks(folder: Path) -> None:
    report = look(folder, "one_sound", select=["loader-end"])

    assert report.findings == ()
    assert not [one for one in report.checks if one.id == "loader-starved"]


def test_a_loader_gives_the_same_whether_it_counts_or_not(folder: Path, tmp_path: Path) -> None:
    for one in ("pipelines.py", "made_later.py"):
        shutil.copy(PIPELINES.with_name(one), tmp_path)
    code = (
        "import pipelines, pickle\n"
        "pipelines.write_shards(each=25, step=4)\n"
        "from preflight.flow.fitted import fit\n"
        "from preflight.objects.facts import Definition\n"
        "def given(loader): return [str(one) for one in loader]\n"
        "for name, make in {**pipelines.SOUND, **pipelines.BAD}.items():\n"
        "    if name.endswith(('spawned', 'warning', 'object')): continue\n"
        "    if 'shuffle' in name or name in ('twentieth', 'whole_web_loader'): continue\n"
        "    loader = make(); before = given(loader)\n"
        "    fitted = fit(loader, Definition(), '.')\n"
        "    assert fitted is not None, name\n"
        "    assert given(loader) == before or name == 'sliver', name\n"
        "    fitted.undo()\n"
        "    assert given(loader) == before or name == 'sliver', name\n"
    )
    in_python(tmp_path, code)


# What a process counts that is not forked, and goes over what is pickled here: `there` says how.
AFAR = """
import json, pickle, subprocess, sys, pipelines
from preflight.flow.fitted import fit
from preflight.objects.facts import Definition

loader = pipelines.one_sent({name!r})
fitted = fit(loader, Definition(), ".")
with open("sent.pickle", "wb") as file:
    pickle.dump([loader.dataset, loader.worker_init_fn], file)
if "torch_template" in sys.modules:  # it starts a copy, too
    import torch_template as copying
    subprocess.Popen._execute_child = copying.starting_by(lambda: copying.Template.ours)
there = "import sys; {there}; sys.path.insert(0, '.'); import pickle; "
there += "dataset, begins = pickle.load(open('sent.pickle', 'rb')); begins and begins(0); "
there += "print(len(list(dataset)))"
subprocess.run([sys.executable, "-c", there], check=True, stdin=subprocess.PIPE)
counts = fitted.counts()
counts = (*counts["later"], counts)[0]
print(json.dumps([counts["gave"][-3:], counts["swallowed"][-3:]]))
"""


def test_a_worker_that_has_no_preflight_counts(folder: Path) -> None:
    """As one that is spawned: what it is sent names no module of ours."""
    code = AFAR.format(name="sent", there="sys.modules['preflight'] = None")
    *_, came, counted = in_python(folder, code).splitlines()

    assert came == "0"
    assert json.loads(counted) == [[400, 12, 0], [0, 388, 12]]


def test_a_worker_that_is_not_forked_counts_in_pipelines_that_it_makes(folder: Path) -> None:
    code = AFAR.format(name="late_in_workers", there="pass")
    *_, came, counted = in_python(folder, code).splitlines()

    assert came == "12"
    assert json.loads(counted) == [[4, 400, 12], [0, 0, 388]]


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="of POSIX")
def test_what_counts_has_its_room_from_the_start(tmp_path: Path) -> None:
    """A hole in a file that is mapped kills who writes into it, where the disk is full by then."""
    assert StageCounts(str(tmp_path), 3, ()).page() is not None

    (page,) = tmp_path.glob("*.counts")
    assert page.stat().st_blocks * 512 >= page.stat().st_size > 0
