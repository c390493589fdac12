"""A script is read with what it imports, and answers as its folder does."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Severity
from preflight.sources import search
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Source
from preflight.testing import ask
from tests.read_sources import read_source

READS = 'import os\nrank = int(os.environ.get("SLURM_PROCID"))\n'
IN_A_FUNCTION = 'import os\ndef setup():\n    return int(os.environ.get("SLURM_PROCID"))\n'


def read(
    folder: Path, files: dict[str, str], path: str = "train.py", **environment: str
) -> SourceFacts:
    """Write these files, and read one of them, or the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return read_source(Source(path=path), str(folder), environment)


def judged(
    folder: Path, files: dict[str, str], path: str = "train.py", **environment: str
) -> list[tuple[str, Severity]]:
    """Give the files and severities of what env-launch finds."""
    found = ask("env-launch", read(folder, files, path, **environment))
    return [(one.at.file or "", one.severity) for one in found]


# --- imports --------------------------------------------------------------------------------------

NOT_FOLLOWED = {
    "a module that nobody imports": {"train.py": "import os\n", "other.py": READS},
    "an installed package": {
        "train.py": "import lib\n",
        "venv/lib/python3.11/site-packages/lib.py": READS,
    },
    "for type checkers": {
        "train.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lib\n",
        "lib.py": READS,
    },
    "what a file that is not the script imports as one": {
        "train.py": "import lib\n",
        "lib.py": 'if __name__ == "__main__":\n    import tool\n',
        "tool.py": READS,
    },
    "put on the path and elsewhere": {
        "train.py": 'import sys\nsys.path.insert(0, folder)\nsys.path.append("none")\nimport lib\n'
        'path = ["code"]\nself.path += ["code"]\nsys.path.remove("code")\n'
        'import other as s\ns.path.append("code")\nfor one in ("code",): one.path.append(one)\n',
        "code/lib.py": READS,
    },
    "run by its path, under the guard of a script": {
        "train.py": 'import runpy\nrunpy.run_path("one.py")\nrunpy.run_path(sys.argv[1])\n',
        "one.py": 'if __name__ == "__main__":\n    import lib\n',
        "lib.py": READS,
    },
    "not to be parsed": {"train.py": "import lib\n", "lib.py": "os.environ["},
    "itself": {"train.py": "import train\n"},
    "in a circle": {"train.py": "import a\n", "a.py": "import b\n", "b.py": "import a\n"},
}


@pytest.mark.parametrize("files", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED)
def test_what_is_not_on_the_way_is_not_read(tmp_path: Path, files: dict[str, str]) -> None:
    assert judged(tmp_path, files) == []


FOLLOWED = {
    "a module": {"train.py": "import lib\n", "lib.py": READS},
    "a name": {"train.py": "from lib import rank\n", "lib.py": READS},
    "a package": {"train.py": "from lib import x\n", "lib/__init__.py": READS},
    "a package around a module": {
        "train.py": "from lib.x import y\n",
        "lib/__init__.py": READS,
        "lib/x.py": "",
    },
    "by way of another": {"train.py": "import a\n", "a.py": "import b.c\n", "b/c.py": READS},
    "from its own package": {
        "train.py": "import a.b\n",
        "a/__init__.py": "",
        "a/b.py": "from .c import d\nfrom . import c\n",
        "a/c.py": READS,
    },
    "from the package above": {
        "train.py": "import a.b.c\n",
        "a/__init__.py": "",
        "a/b/__init__.py": "",
        "a/b/c.py": "from ..d import e\n",
        "a/d.py": READS,
    },
    "below its own packages": {
        "train.py": "import pack.a\n",
        "src/pack/__init__.py": "",
        "src/pack/a.py": "from pack.b import x\n",
        "src/pack/b.py": READS,
    },
    "by its name as a text": {"train.py": 'm = importlib.import_module("lib")\n', "lib.py": READS},
    "by a dotted name as a text": {
        "train.py": 'from importlib import import_module\nm = import_module("a.b")\n',
        "a/b.py": READS,
    },
    "by a text from its own package": {
        "train.py": "import a\n",
        "a/__init__.py": 'importlib.import_module(".b", __package__)\n',
        "a/b.py": READS,
    },
    "by __import__": {"train.py": 'lib = __import__("lib")\n', "lib.py": READS},
    "all of a module": {"train.py": "from lib import *\n", "lib.py": READS},
    "from a folder put on the path": {
        "train.py": 'import sys\nsys.path.insert(0, "code")\nimport lib\n',
        "code/lib.py": READS,
    },
    "from a folder beside it put on the path": {
        "train.py": "import os, sys\n"
        'sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "a", "b"))\n'
        "from lib import x\n",
        "a/b/lib.py": READS,
    },
    "from a folder that has a name": {
        "train.py": "import sys\nfrom pathlib import Path\n"
        'ROOT = Path(__file__).resolve().parent\nsys.path += []\nsys.path.append(str(ROOT / "a"))\n'
        "import lib\n",
        "a/lib.py": READS,
    },
    "from a folder that is written into a text": {
        "train.py": "import os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
        'sys.path.append(f"{HERE}/a")\nsys.path.append(HERE + "/none")\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder that is joined by a sign": {
        "train.py": 'import os, sys\nsys.path.insert(0, os.getcwd() + "/a")\nimport lib\n',
        "a/lib.py": READS,
    },
    "from folders that extend the path": {
        "train.py": 'import sys\nsys.path.extend(["none", "a"])\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder that is added to the path": {
        "train.py": 'import sys\nsys.path += ["a"]\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder that is put before the path": {
        "train.py": 'import sys\nsys.path = ["a", *sys.path]\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder in the path's first place": {
        "train.py": 'import sys\nsys.path[:0] = ["a"]\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder on the path by another name of sys": {
        "train.py": 'import sys as s\ns.path.insert(0, "a")\ns.path += ["none"]\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder on a path that was imported": {
        "train.py": 'from sys import path as where\nwhere.append("a")\nimport lib\n',
        "a/lib.py": READS,
    },
    "from one of the folders of a loop": {
        "train.py": 'import os, sys\nfor one in ("none", "a"):\n'
        "    sys.path.append(os.path.join(os.getcwd(), one))\nimport lib\n",
        "a/lib.py": READS,
    },
    "from one of the folders of a list": {
        "train.py": 'import sys\nPLACES = ["none", "a"]\n'
        'sys.path.extend(f"./{one}" for one in PLACES)\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder of site": {
        "train.py": 'import site\nsite.addsitedir("a")\nimport lib\n',
        "a/lib.py": READS,
    },
    "from a folder that an import puts on the path": {
        "train.py": "import setup_paths\nimport lib\n",
        "setup_paths.py": 'import sys\nsys.path.insert(1, "code")\n',
        "code/lib.py": READS,
    },
    "run by its path": {
        "train.py": 'import runpy\nrunpy.run_path("jobs/one.py")\n',
        "jobs/one.py": READS,
    },
    "run by its path as the script": {
        "train.py": 'import runpy\nrunpy.run_path("one.py", run_name="__main__")\n',
        "one.py": 'if __name__ == "__main__":\n    import os\n    os.environ["SLURM_PROCID"]\n',
    },
    "run as a module": {"train.py": 'import runpy\nrunpy.run_module("a.b")\n', "a/b.py": READS},
    "under a test": {"train.py": "if fast:\n    import lib\n", "lib.py": READS},
    "in a function": {"train.py": "def main():\n    import lib\n", "lib.py": READS},
    "in the main guard": {
        "train.py": 'if __name__ == "__main__":\n    import lib\n',
        "lib.py": READS,
    },
}


@pytest.mark.parametrize("files", FOLLOWED.values(), ids=FOLLOWED)
def test_imports_are_followed_to_what_they_read(tmp_path: Path, files: dict[str, str]) -> None:
    (reads,) = [name for name, text in files.items() if "SLURM_PROCID" in text]

    assert judged(tmp_path, files) == [(reads, Severity.ERROR)]


@pytest.mark.parametrize("words", ["from core import Core", "from .base import Base"])
def test_a_script_in_a_folder_finds_modules_below_the_jobs(tmp_path: Path, words: str) -> None:
    files = {
        "train/__init__.py": "",
        "train/train_c.py": f"{words}\nsetup()\n",
        "train/base.py": "from core import Core\n",
        "core/__init__.py": IN_A_FUNCTION,
    }

    assert judged(tmp_path, files, "train/train_c.py") == [("core/__init__.py", Severity.ERROR)]


def test_the_next_read_is_found_once_the_first_variable_is_set(tmp_path: Path) -> None:
    """As in StableCascade: the script reads one of Slurm's variables, its core all others."""
    files = {
        "train/train_c.py": """\
import os
from core import WarpCore
from train.base import TrainingCore


class Trainer(TrainingCore):
    pass


if __name__ == "__main__":
    Trainer(device=int(os.environ.get("SLURM_LOCALID")))()
""",
        "train/base.py": "from core import WarpCore\nclass TrainingCore(WarpCore):\n    pass\n",
        "core/__init__.py": """\
import os


class WarpCore:
    def setup_ddp(self, single_gpu=False):
        if not single_gpu:
            local_rank = int(os.environ.get("SLURM_LOCALID"))
            process_id = int(os.environ.get("SLURM_PROCID"))

    def __call__(self, single_gpu=False):
        self.setup_ddp(single_gpu=single_gpu)
""",
    }

    every = read(tmp_path, files, "train/train_c.py")
    assert every.files == 3
    assert {one.at.file for one in ask("env-launch", every)} == {
        "train/train_c.py",
        "core/__init__.py",
    }
    for path in ("train/train_c.py", "."):
        facts = read(tmp_path, files, path, SLURM_LOCALID="0")
        (found,) = ask("env-launch", facts)
        assert (found.at.file, found.at.line) == ("core/__init__.py", 8)
        assert found.severity is Severity.ERROR


def test_a_secret_of_a_module_that_is_imported_later_does_not_gate(tmp_path: Path) -> None:
    secret = 'import os\nkey = os.environ["HF_TOKEN"]\n'
    at_once = {"train.py": "import lib\n", "lib.py": secret}
    later = {"train.py": "def push():\n    import lib\n"}

    assert judged(tmp_path, at_once) == [("lib.py", Severity.ERROR)]
    assert judged(tmp_path, later) == [("lib.py", Severity.WARNING)]


def test_where_the_sources_on_the_way_draw_shards_again_is_said(tmp_path: Path) -> None:
    files = {"train.py": "import data\n", "data.py": "web = WebDataset(urls, resampled=True)\n"}

    assert read(tmp_path, files).resampled == "data.py:1"


# --- what the job does not come to ----------------------------------------------------------------

BEHIND = """\
import os
def init(args):
    if {test}:
        args.rank = int(os.environ["SLURM_PROCID"])
"""
OPTION = "import argparse\nfrom lib import init\np = argparse.ArgumentParser()\n"

OFF = {
    "store_true": (OPTION + 'p.add_argument("--on_itp", action="store_true")\n', "args.on_itp"),
    "dashes": (OPTION + 'p.add_argument("--on-itp", action="store_true")\n', "args.on_itp"),
    "default False": (OPTION + 'p.add_argument("--itp", default=False, type=bool)\n', "args.itp"),
    "no default": (OPTION + 'p.add_argument("--itp", type=str)\n', "args.itp"),
    "default None": (OPTION + 'p.add_argument("--itp", default=None)\n', "args.itp is not None"),
    "by another name": (OPTION + 'p.add_argument("--x", dest="itp", default=0)\n', "args.itp > 0"),
    "a word": (OPTION + 'p.add_argument("--how", default="none")\n', "args.how == 'cluster'"),
    "among words": (OPTION + 'p.add_argument("--how", default="x")\n', "args.how in ('a', 'b')"),
    "turned off": (OPTION + 'p.add_argument("--one", action="store_false")\n', "not args.one"),
    "and": (OPTION + 'p.add_argument("--itp", action="store_true")\n', "args.itp and other()"),
    "a field of a dataclass": (
        "from lib import init\n@dataclass\nclass C:\n    itp: bool = False\n",
        "config.itp",
    ),
    "a field with help": (
        "from lib import init\nclass C:\n    itp: bool = field(\n        default=False,\n    )",
        "config.itp",
    ),
    "a key": ('from lib import init\nDEFAULTS = {"itp": False}\n', 'config["itp"]'),
    "getattr": ("from lib import init\n", 'getattr(args, "itp", False)'),
    "an option of click": (
        'from lib import init\n@click.option("--itp/--no-itp")\ndef main(itp): init(itp)\n',
        "args.itp",
    ),
    "absl": ('from lib import init\nflags.DEFINE_bool("itp", False, "x")\n', "FLAGS.itp"),
    "an option of typer": (
        'from lib import init\ndef main(itp: bool = typer.Option(False, "--itp")): init(itp)\n',
        "args.itp",
    ),
    "in small letters": ("from lib import init\n", 'os.getenv("ITP", "").lower() in ("1", "yes")'),
    "handed on": (
        OPTION + 'p.add_argument("--itp", default=False)\ndef f(itp): init(itp)\nf(args.itp)\n',
        "itp",
    ),
    "a variable that is not set": ("from lib import init\n", 'os.environ.get("ON_ITP")'),
    "a variable among those": ("from lib import init\n", '"ON_ITP" in os.environ'),
}


@pytest.mark.parametrize(("script", "test"), OFF.values(), ids=OFF)
def test_what_stands_behind_a_flag_that_is_off_by_default_is_a_note(
    tmp_path: Path, script: str, test: str
) -> None:
    files = {"train.py": script, "lib.py": BEHIND.format(test=test)}

    for path in ("train.py", "."):
        (found,) = ask("env-launch", read(tmp_path, files, path))
        assert found.severity is Severity.NOTE
        assert "off by default" in (found.why or "")


ON = {
    "on": (OPTION + 'p.add_argument("--itp", default=True)\n', "args.itp"),
    "off, and asked the other way": (
        OPTION + 'p.add_argument("--one", action="store_true")\n',
        "not args.one",
    ),
    "of several defaults": (
        OPTION + 'p.add_argument("--itp", default=False)\np.set_defaults(itp=True)\n',
        "args.itp",
    ),
    "set later": (
        OPTION + 'p.add_argument("--itp", default=False)\nargs.itp = is_on()\n',
        "args.itp",
    ),
    "set with others": (
        OPTION + 'p.add_argument("--itp", default=False)\nargs.itp, x = both()\n',
        "args.itp",
    ),
    "demanded": (OPTION + 'p.add_argument("--itp", required=True)\n', "args.itp"),
    "said by nobody": ("from lib import init\n", "args.itp"),
    "one of two": (OPTION + 'p.add_argument("--itp", default=False)\n', "args.itp or other()"),
    "an option of typer": (
        'from lib import init\ndef main(itp: bool = typer.Option(True, "--itp")): init(itp)\n',
        "args.itp",
    ),
    "a variable that the script sets": (
        'import os\nfrom lib import init\nos.environ["ON_ITP"] = "1"\n',
        'os.environ.get("ON_ITP")',
    ),
    "a variable of a file": ("from lib import init\nload_dotenv()\n", '"ON_ITP" in os.environ'),
    "handed over": (
        "from lib import init\ndef f(itp=False): init(itp)\nf(True)\n",
        "itp",
    ),
}


@pytest.mark.parametrize(("script", "test"), ON.values(), ids=ON)
def test_what_may_be_on_is_still_an_error(tmp_path: Path, script: str, test: str) -> None:
    files = {"train.py": script, "lib.py": BEHIND.format(test=test)}

    for path in ("train.py", "."):
        assert judged(tmp_path, files, path) == [("lib.py", Severity.ERROR)]


HANDED = {
    "to a function": ("def rank(itp=False):\n    if itp:\n        {0}\n", "rank(True)"),
    "to one of several": ("def rank(a, itp=False):\n    if itp:\n        {0}\n", "rank(1, True)"),
    "among others": ("def rank(a, itp=False):\n    if itp:\n        {0}\n", "rank(*both)"),
    "to a class": (
        (
            "class rank:\n    def __init__(self, itp=False):\n        self.itp = itp\n"
            "    def f(self):\n        if self.itp:\n            {0}\n"
        ),
        "rank(True).f()",
    ),
}


@pytest.mark.parametrize(("code", "call"), HANDED.values(), ids=HANDED)
def test_what_another_file_hands_over_without_a_name_counts(
    tmp_path: Path, code: str, call: str
) -> None:
    lib = "import os\n" + code.format('os.environ["SLURM_PROCID"]')
    files = {"lib.py": lib, "train.py": f"from lib import rank\n{call}\n"}
    silent = {"lib.py": lib, "train.py": "from lib import rank\n"}

    for path in ("train.py", "."):
        assert judged(tmp_path, files, path) == [("lib.py", Severity.ERROR)]
    for path in ("train.py", "."):
        assert judged(tmp_path, silent, path) == [("lib.py", Severity.NOTE)]


def test_what_is_not_looked_for_any_more_may_be_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = 'import os\ndef f(args):\n    if getattr(args, "itp", False):\n        {0}\n'
    reads = lib.format('os.environ["SLURM_PROCID"]')
    files = {"train.py": "import lib\nlib.f(args)\n", "lib.py": reads}
    assert judged(tmp_path, files) == [("lib.py", Severity.NOTE)]

    monkeypatch.setattr(search, "_MOST_FILES", 0)
    for path in ("train.py", "."):
        assert judged(tmp_path, files, path) == [("lib.py", Severity.ERROR)]


def test_what_follows_a_test_that_leaves_stands_behind_it(tmp_path: Path) -> None:
    body = '    if not a.itp:\n        return\n    os.environ["SLURM_PROCID"]\n'
    lib = f"import os\ndef init(a):\n{body}"
    files = {"train.py": OPTION + 'p.add_argument("--itp", action="store_true")\n', "lib.py": lib}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("lib.py", Severity.NOTE)]


def test_a_function_that_is_called_behind_such_a_flag_alone_is_a_note(tmp_path: Path) -> None:
    option = OPTION.replace("init", "setup") + 'p.add_argument("--itp", action="store_true")\n'
    files = {"train.py": option + "if args.itp:\n    setup()\n", "lib.py": IN_A_FUNCTION}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("lib.py", Severity.NOTE)]

    files = {"train.py": option + "if args.itp:\n    setup()\nsetup()\n"}
    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("lib.py", Severity.ERROR)]


REHEARSED = {
    "patch.dict": 'with patch.dict(os.environ, {"A": "1"}):\n    os.environ["SLURM_PROCID"]\n',
    "mock.patch.dict": (
        'with mock.patch.dict("os.environ", A="1"), x:\n    os.environ["SLURM_PROCID"]\n'
    ),
    "decorated": (
        '@patch.dict(os.environ, {"A": "1"})\ndef f():\n    return os.environ["SLURM_PROCID"]\n'
    ),
    "a test": 'def test_it():\n    assert os.environ["SLURM_PROCID"]\n',
    "a class of tests": (
        'class It(unittest.TestCase):\n    def setUp(self):\n        os.environ["SLURM_PROCID"]\n'
    ),
}


@pytest.mark.parametrize("text", REHEARSED.values(), ids=REHEARSED)
def test_what_only_a_test_does_is_a_note(tmp_path: Path, text: str) -> None:
    files = {"train.py": f"import os\n{text}"}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("train.py", Severity.NOTE)]


@pytest.mark.parametrize("file", ["tests/run.py", "pack/test/run.py", "test_run.py", "run_test.py"])
def test_what_stands_in_a_file_of_tests_is_a_note(tmp_path: Path, file: str) -> None:
    assert judged(tmp_path, {file: READS}, ".") == [(file, Severity.NOTE)]


def test_a_script_that_tests_a_model_is_no_test(tmp_path: Path) -> None:
    assert judged(tmp_path, {"test.py": READS}, "test.py") == [("test.py", Severity.ERROR)]


def test_what_a_test_sets_is_not_set_for_the_job(tmp_path: Path) -> None:
    sets = 'import os\nos.environ["SLURM_PROCID"] = "0"\n'

    for path in ("train.py", "."):
        files = {"train.py": READS, "tests/test_train.py": sets}
        assert judged(tmp_path, files, path) == [("train.py", Severity.ERROR)]


AS_MAIN = 'import os\nif __name__ == "__main__":\n    rank = int(os.environ["SLURM_PROCID"])\n'


def test_the_main_guard_of_what_is_not_started_is_a_note(tmp_path: Path) -> None:
    files = {"train.py": "import lib\n", "lib.py": AS_MAIN}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("lib.py", Severity.NOTE)]


def test_what_the_main_guard_of_another_file_calls_is_a_note(tmp_path: Path) -> None:
    guard = '    int(os.environ["SLURM_PROCID"])\nif __name__ == "__main__":\n    main()\n'
    files = {"train.py": "import lib\n", "lib.py": f"import os\ndef main():\n{guard}"}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("lib.py", Severity.NOTE)]


def test_the_main_guard_of_the_script_itself_is_an_error(tmp_path: Path) -> None:
    files = {"train.py": AS_MAIN, "eval.py": "import train\n"}

    assert judged(tmp_path, files) == judged(tmp_path, {}, ".") == [("train.py", Severity.ERROR)]


def test_a_note_says_why_it_is_one(tmp_path: Path) -> None:
    script = OPTION + 'p.add_argument("--itp", action="store_true")\n'
    files = {"train.py": script, "lib.py": BEHIND.format(test="args.itp")}

    found: list[Finding] = ask("env-launch", read(tmp_path, files))

    (why,) = [one.why for one in found]
    assert why == (
        "Started as its defaults have it, the job does not come here: it stands behind "
        "`args.itp`, which is off by default."
    )


def test_a_script_in_a_package_finds_it_where_the_package_lies(tmp_path: Path) -> None:
    files = {
        "code/pack/__init__.py": "",
        "code/pack/train.py": "from pack.lib import rank\n",
        "code/pack/lib.py": READS,
    }

    assert judged(tmp_path, files, "code/pack/train.py") == [("code/pack/lib.py", Severity.ERROR)]


ASKS = {
    "a variable that a cloud sets": "def in_cloud():\n    return 'CLOUD_JOB' in os.environ\n",
    "with a word on it": (
        'def in_cloud():\n    """Whether it is the cloud."""\n'
        "    return os.environ.get('CLOUD_JOB') is not None\n"
    ),
    "through another": (
        "def has(): return 'CLOUD_JOB' in os.environ\ndef in_cloud(): return has() and True\n"
    ),
}
CALLS_IN_CLOUD = (
    "import lib\nif __name__ == '__main__':\n    if lib.in_cloud() and not lib.at_home():\n"
    "        lib.setup()\n"
)


@pytest.mark.parametrize("function", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("path", ["train.py", "."], ids=["file", "folder"])
def test_what_a_function_says_no_to_is_not_come_to(
    tmp_path: Path, function: str, path: str
) -> None:
    files = {"train.py": CALLS_IN_CLOUD, "lib.py": IN_A_FUNCTION + function}

    assert judged(tmp_path, files, path) == [("lib.py", Severity.NOTE)]
    assert judged(tmp_path, files, path, CLOUD_JOB="7") == [("lib.py", Severity.ERROR)]


UNKNOWN = {
    "more than one thing": (
        "def in_cloud():\n    if look():\n        return True\n    return False\n"
    ),
    "by what it is told": "def in_cloud(name='x'):\n    return name in os.environ\n",
    "what some say and others do not": (
        "class A:\n    def in_cloud(self):\n        return False\n"
        "class B:\n    def in_cloud(self):\n        return True\n"
    ),
    "of another package": "",
}


@pytest.mark.parametrize("function", UNKNOWN.values(), ids=UNKNOWN)
def test_what_a_function_says_that_is_not_known_counts_for_nothing(
    tmp_path: Path, function: str
) -> None:
    files = {"train.py": CALLS_IN_CLOUD, "lib.py": IN_A_FUNCTION + function}

    assert judged(tmp_path, files) == [("lib.py", Severity.ERROR)]


# --- variables of the job's own, in a function of another file ------------------------------------

OWN = 'import os\ndef data():\n    return os.environ["DATA_ROOT"]\n'
OF_A_CLASS = (
    'import os\nclass Data:\n    def push(self):\n        self.x = os.environ["DATA_ROOT"]\n'
)
MAIN = 'if __name__ == "__main__":\n    main()\n'
NOTE, WARNING = Severity.NOTE, Severity.WARNING

CALLED = {
    "by its name": ("from lib.own import data\ndef main():\n    data()\n", OWN, WARNING),
    "as it stands": ("from lib import own\ndef main():\n    own.data()\n", OWN, WARNING),
    "by its whole name": ("import lib.own\ndef main():\n    lib.own.data()\n", OWN, WARNING),
    "a class": (
        "from lib.own import Data\ndef main():\n    Data()\n",
        OF_A_CLASS,
        NOTE,
    ),
    "under a test": (
        "from lib.own import data\ndef main():\n    if ARGS.fetch:\n        data()\n",
        OWN,
        NOTE,
    ),
    "another one of that name": (
        "import torch\nfrom lib import own\ndef main():\n    torch.data()\n",
        OWN,
        NOTE,
    ),
    "by nobody": ("from lib import own\ndef main():\n    pass\n", OWN, NOTE),
}


@pytest.mark.parametrize("path", ["train.py", "."])
@pytest.mark.parametrize(("script", "own", "severity"), CALLED.values(), ids=CALLED)
def test_a_variable_of_the_job_is_a_warning_where_the_script_calls_what_reads_it(
    tmp_path: Path, script: str, own: str, severity: Severity, path: str
) -> None:
    files = {"train.py": script + MAIN, "lib/__init__.py": "", "lib/own.py": own}

    assert judged(tmp_path, files, path) == [("lib/own.py", severity)]
    assert judged(tmp_path, files, path, DATA_ROOT="/data") == []
