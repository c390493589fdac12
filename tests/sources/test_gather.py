"""A folder of sources is read in parts, remembered, and tells how far the look is."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.session.progress import Progress
from preflight.sources import gather
from preflight.sources.one_source import look_into
from tests.conftest import said_by
from tests.files import put, stamp, write

pytestmark = pytest.mark.usefixtures("at_hand")

READS = b'import os\nos.environ["HF_TOKEN"]\n'
BEHIND = b'import os\ndef f(args):\n    if args.itp:\n        os.environ["SLURM_PROCID"]\n'
OPTION = b'p.add_argument("--itp", action="store_true")\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Ninety files in three folders; two of them hold something."""
    names = [f"pack{index % 3}/module{index}.py" for index in range(90)]
    put(tmp_path, *names, content=b"x = 1\n")
    put(tmp_path, "pack0/reads.py", content=READS)
    put(tmp_path, "train.py", content=BEHIND + OPTION)
    for path in tmp_path.rglob("*.py"):
        stamp(path, 3_600)
    return tmp_path


def run(tree: Path, *words: str, **options: Any) -> preflight.Report:
    """Look at the sources of a job."""
    return preflight.run(*(words or ("source=.",)), folder=str(tree), **options)


def told(report: preflight.Report) -> list[tuple[str | None, str]]:
    """Give what is found in sources."""
    found = [one for one in report.findings if one.check == "env-launch"]
    return [(one.at.file, one.severity.name) for one in found]


FOUND = [("pack0/reads.py", "WARNING"), ("train.py", "NOTE")]


def test_the_parts_come_to_what_one_look_comes_to(tree: Path) -> None:
    report = run(tree)

    assert sorted(told(report)) == FOUND
    assert not any(one.broken for one in report.checks)


def test_a_second_run_reads_nothing_and_says_the_same(tree: Path) -> None:
    first, second = run(tree), run(tree)

    assert not first.remembered
    assert [(one.count, one.of) for one in second.remembered] == [(92, 92)]
    assert told(second) == told(first)


def test_what_has_changed_is_read_again(tree: Path) -> None:
    run(tree)
    put(tree, "pack1/module1.py", content=READS)
    (tree / "pack0" / "reads.py").unlink()

    report = run(tree)

    assert [(one.count, one.of) for one in report.remembered] == [(90, 91)]
    assert sorted(told(report)) == [("pack1/module1.py", "WARNING"), ("train.py", "NOTE")]


def test_an_option_that_is_added_in_another_file_counts_at_once(tree: Path) -> None:
    """What was remembered of the file that asks for it has not changed."""
    run(tree)
    put(tree, "pack1/module1.py", content=b"args.itp = True\n")

    assert sorted(told(run(tree)))[1] == ("train.py", "ERROR")


def test_the_same_files_of_another_job_are_named_as_that_one_has_them(tree: Path) -> None:
    run(tree)

    report = run(tree / "pack0", state=str(tree / ".preflight"))

    assert told(report) == [("reads.py", "WARNING")]


def test_it_says_how_far_it_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(gather, "_TOGETHER", 10)

    def watch(step: Progress | Finding) -> None:
        if isinstance(step, Progress):
            seen.append((step.done, step.total))

    run(tree, watch=watch)

    done = [one for one, total in seen if total == 93]  # this machine is looked at, too
    assert done == sorted(done)
    assert len(set(done)) > 9
    assert done[-1] >= 92


def test_a_second_run_looks_for_no_names_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in another process, where sets of names have another order."""
    wide = BEHIND.replace(b"args.itp", b"args.itp and args.b and args.c and args.d and args.e")
    write(tree / "train.py", wide + OPTION)
    said_by("import preflight; preflight.run('source=.')", folder=tree)
    asked: list[object] = []
    monkeypatch.setattr(gather.Sources, "_found", lambda *told: asked.append(told))

    report = run(tree)

    assert (asked, sorted(told(report))) == ([], FOUND)


def test_names_are_looked_for_again_where_a_file_has_changed(tree: Path) -> None:
    run(tree)
    write(tree / "pack1" / "module1.py", b"args.itp = True\n", age=1_800)

    assert sorted(told(run(tree)))[1] == ("train.py", "ERROR")


def test_what_another_file_hands_over_is_heard_from_a_process_and_remembered(tree: Path) -> None:
    lib = b"import os\ndef rank(a, itp=False):\n    if itp:\n        os.environ['SLURM_PROCID']\n"
    write(tree / "pack0" / "lib.py", lib)
    assert ("pack0/lib.py", "NOTE") in told(run(tree))

    write(tree / "pack1" / "call.py", b"from pack0.lib import rank\nrank(1, True)\n")

    assert ("pack0/lib.py", "ERROR") in told(run(tree))
    assert ("pack0/lib.py", "ERROR") in told(run(tree))


# --- sources that overlap -------------------------------------------------------------------------

CASES = Path(__file__).parents[2] / "fixtures"


LOADER = b"""
from torch.utils.data import DataLoader

def make():
    return DataLoader([{"image": 1.0}] * 4, batch_size=2)
"""
LOOP = b"""
from data import make

def train():
    loader = make()
    for image, label in loader:
        pass
"""


def test_loops_over_batches_are_looked_for_where_a_loader_is_looked_at(tmp_path: Path) -> None:
    """A file is not parsed for their sake alone, and is read again once a loader is named."""
    put(tmp_path, "data.py", content=LOADER)
    put(tmp_path, "loop.py", content=LOOP)
    for path in tmp_path.rglob("*.py"):
        stamp(path, 3_600)
    file = str(tmp_path / "loop.py")
    without, also = look_into(file, "loop.py", loops=False), look_into(file, "loop.py")

    assert without is None
    assert also is not None
    assert [one.takes for one in also.loops] == ["image, label"]
    reports = [run(tmp_path, *words) for words in (("source=.",), ("source=.", "data:make"))]
    places = [{one.check: one.at.file for one in report.findings} for report in reports]
    assert [each.get("loader-contract") for each in places] == [None, "loop.py"]


@pytest.mark.parametrize(
    "case",
    [
        *("source_busy_wait", "source_loop_over_tuple", "source_return_in_finally"),
        *("source_unbound_name", "source_unstable_order", "loader_unguarded_main", "env_launch"),
    ],
)
def test_a_script_that_is_named_beside_its_folder_is_told_once(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As severely as the one of both says it that says it most severely."""
    monkeypatch.delenv("SLURM_LOCALID", raising=False)
    runpy.run_path(str(CASES / case / "make.py"))["make"](tmp_path, mended=False)
    script = next(tmp_path.glob("*.py")).name
    select = (case.replace("_", "-"),)
    words = ("source=.", f"source={script}")
    one, other, both = (run(tmp_path, *each, select=select) for each in (*zip(words), words))

    assert _places(one) + _places(other)
    assert len(both.findings) == len({(each.at, each.message) for each in both.findings})
    assert _places(both).keys() == _places(one).keys() | _places(other).keys()
    for place, severity in _places(both).items():
        assert severity == max(each.get(place, 0) for each in (_places(one), _places(other)))


def _places(report: preflight.Report) -> Counter[tuple[str, str]]:
    return Counter({(str(one.at), one.message): int(one.severity) for one in report.findings})
