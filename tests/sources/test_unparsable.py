"""A source that cannot be parsed is no source that was looked at, wherever it lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.gate import exit_code
from preflight.findings.report import Report
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

BROKEN = b"def f(:\n    pass\n"
GUARD = b'if __name__ == "__main__":\n    print(1)\n'

# What train.py says, and whether the plain script ends with a SyntaxError.
IMPORTS = {
    "at once": (b"import lib.model\n", True),
    "through another": (b"import lib.leads\n", True),
    "from its package": (b"from lib import model\n", True),
    "as a package does": (b"import opens\n", True),
    "by importlib": (b"import importlib\nimportlib.import_module('lib.model')\n", True),
    "under a handler of it": (
        b"try:\n    import lib.model\nexcept (ImportError, SyntaxError):\n    pass\n",
        False,
    ),
    "in a function": (b"def g():\n    import lib.model\n", False),
    "under a try": (b"try:\n    import lib.model\nexcept Exception:\n    pass\n", False),
    "behind a version": (b"import sys\nif sys.version_info > (9,):\n    import lib.model\n", False),
    "a name of its package": (b"from lib.named import model\n", False),
    "not at all": (b"import lib\n", False),
}


def run(folder: Path, word: str) -> Report:
    return preflight.run(word, folder=str(folder), no_ledger=True)


def tree(folder: Path, imports: bytes) -> None:
    put(folder, "lib/__init__.py", "lib/named/__init__.py", content=b"model = 1\n")
    put(folder, "lib/model.py", "lib/named/model.py", content=BROKEN)
    put(folder, "lib/__init__.py", content=b"")
    put(folder, "lib/leads.py", content=b"from . import model\n")
    put(folder, "opens/__init__.py", content=b"from . import broken\n")
    put(folder, "opens/broken.py", content=BROKEN)
    put(folder, "train.py", content=imports + GUARD)


@pytest.mark.parametrize(("imports", "ends"), IMPORTS.values(), ids=IMPORTS)
def test_an_import_that_cannot_be_parsed_is_no_go_where_the_plain_script_ends(
    tmp_path: Path, imports: bytes, *, ends: bool
) -> None:
    tree(tmp_path, imports)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ("SyntaxError" in done.stderr) is ends
    for word in ("source=train.py", "source=."):
        report = run(tmp_path, word)
        assert exit_code(report) == (3 if ends else 0), word
        places = {one.at for outcome in report.checks for one in outcome.broken}
        assert [one.line for one in places] == [1] * ends


def test_of_a_folder_it_is_said_how_many_were_looked_at(tmp_path: Path) -> None:
    put(tmp_path, "a.py", content=b"x = 1\n")
    put(tmp_path, "b.py", content=b"import os\nos.environ[\n")

    report = run(tmp_path, "source=.")

    (sources,) = (one for one in report.coverage if one.part == "source")
    assert (sources.state, sources.seen) == ("part", "1 of 2 source files")
    assert "(b.py:2)" in " ".join(str(report).split())
    assert not report.complete


def test_a_corner_of_a_small_tree_is_counted_too(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import good\nprint(good)\n")
    put(tmp_path, "good.py", content=b"x = 1\n")
    put(tmp_path, "templates/model.py", content=b"class {{ name }}:\n    pass\n")
    put(tmp_path, "tools/old.py", content=b'print "old"\n')

    report = run(tmp_path, "source=.")

    assert exit_code(report) == 0
    assert "2 of 4 source files" in " ".join(str(report).split())


def test_a_script_that_does_little_but_import_is_what_is_started(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import helper\n")
    put(tmp_path, "helper.py", content=b"x = 1\0\n")

    assert exit_code(run(tmp_path, "source=.")) == 3


def test_the_only_script_of_a_folder_has_to_be_such_as_can_be_parsed(tmp_path: Path) -> None:
    put(tmp_path, "lib.py", content=b"x = 1\n")
    put(tmp_path, "train.py", content=GUARD + BROKEN)

    assert exit_code(run(tmp_path, "source=.")) == 3


def test_what_one_of_several_scripts_needs_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "lib.py", content=BROKEN)
    put(tmp_path, "train.py", content=b"import lib\n" + GUARD)
    put(tmp_path, "train_other.py", content=GUARD)

    report = run(tmp_path, "source=.")

    assert exit_code(report) == 0
    assert "2 of 3 source files" in " ".join(str(report).split())


def test_other_files_are_looked_at_all_the_same(tmp_path: Path) -> None:
    put(tmp_path, "lib.py", content=BROKEN)
    put(tmp_path, "train.py", content=b'import os, lib\nos.environ["HF_TOKEN"]\n' + GUARD)

    for word in ("source=train.py", "source=."):
        report = run(tmp_path, word)
        assert [one.check for one in report.findings] == ["env-launch"]
        assert any(one.broken for one in report.checks)
