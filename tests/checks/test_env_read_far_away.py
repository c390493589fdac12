"""A variable that a function two imports away needs is told, and no error where a run goes well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Severity
from preflight.targets.targets import Source
from preflight.testing import ask
from tests.read_sources import read_source

DEEP = 'import os\ndef root():\n    return os.environ["MY_DATA"]\n'
NEAR = "import deep\ndef data():\n    return deep.root()\n"
START = "import near\nif __name__ == '__main__':\n    "

HEALTHY = {
    "behind a flag": {
        "train.py": "import argparse, near\nif __name__ == '__main__':\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--real', action='store_true')\n"
        "    if parser.parse_args().real:\n        near.data()\n"
    },
    "behind a flag, two imports away": {
        "near.py": "import deep\ndef data(real=False):\n    if real:\n        deep.root()\n"
    },
    "after a return": {
        "near.py": "import deep\ndef data(real=False):\n    if not real:\n        return None\n"
        "    return deep.root()\n"
    },
    "after the end": {"train.py": START + "raise SystemExit(0)\n    near.data()\n"},
    "in a test": {"near.py": "import deep\ndef data(): pass\ndef test_it(): deep.root()\n"},
    "in a handler": {
        "near.py": "import deep\ndef data():\n    try:\n        return 1\n"
        "    except OSError:\n        return deep.root()\n"
    },
    "under a try": {
        "near.py": "import deep\ndef data():\n    try:\n        return deep.root()\n"
        "    except KeyError:\n        return 'here'\n"
    },
    "under a try of who calls": {
        "train.py": START + "try:\n        near.data()\n    except KeyError:\n        pass\n"
    },
    "suppressed": {
        "train.py": "import contextlib\n"
        + START
        + "with contextlib.suppress(KeyError):\n        near.data()\n"
    },
    "in a loop over nothing": {"train.py": START + "for _ in []:\n        near.data()\n"},
    "a method of a class that nobody makes": {
        "deep.py": 'import os\nclass Data:\n    def root(self): return os.environ["MY_DATA"]\n',
        "near.py": "import deep\nclass Other:\n    def root(self): return 1\n"
        "def data(): return Other().root()\n",
    },
    "a function of another module that is called so": {
        "near.py": "import deep, other\ndef data(): return other.root()\n",
        "other.py": "def root(): return 1\n",
    },
    "named and not called": {"near.py": "import deep\ndef data(): return [deep.root]\n"},
    "a parameter that is called so": {
        "near.py": "from deep import root\ndef data(root=int): return root()\n"
    },
    "one that takes its place": {
        "near.py": "from deep import root\ndef root(): return 1\ndef data(): return root()\n"
    },
    "a generator that nobody draws from": {
        "deep.py": 'import os\ndef root():\n    yield os.environ["MY_DATA"]\n'
    },
    "one for which a decorator stands in": {
        "deep.py": "import os\ndef never(function): return lambda: 1\n@never\n"
        'def root():\n    return os.environ["MY_DATA"]\n'
    },
    "set by the script": {
        "train.py": "import os\n"
        + START
        + "os.environ.setdefault('MY_DATA', '.')\n    near.data()\n"
    },
    "set by what a config gives": {
        "train.py": "import os\n"
        + START
        + "for name in dict(MY_DATA='.'): os.environ[name] = '.'\n    near.data()\n"
    },
    "set by who is handed the environment": {
        "train.py": "import os\n"
        "def fill(there): there['MY_DATA'] = '.'\n" + START + "fill(os.environ)\n    near.data()\n"
    },
    "set by dotenv": {
        "train.py": "from dotenv import load_dotenv\n" + START + "load_dotenv()\n    near.data()\n",
        "dotenv.py": "import os\ndef load_dotenv(): os.environ['MY_DATA'] = '.'\n",
    },
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Write a job whose script calls a function two imports away, but for these files."""
    whole = {"train.py": START + "near.data()\n", "near.py": NEAR, "deep.py": DEEP} | files
    for name, text in whole.items():
        (folder / name).write_text(text, encoding="utf-8")


def ended(folder: Path) -> str:
    """Run the script by itself, and give its last words; none of a run that goes well."""
    there = {name: value for name, value in os.environ.items() if name != "MY_DATA"}
    command = [sys.executable, "train.py"]
    done = subprocess.run(
        command, cwd=folder, env=there, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else last[-1]


def told(folder: Path, path: str) -> list[Finding]:
    """Give what is said of variables when this is named."""
    return ask("env-launch", read_source(Source(path=path), str(folder), {}))


@pytest.mark.parametrize("files", HEALTHY.values(), ids=HEALTHY)
def test_where_a_run_goes_well_nothing_is_worse_than_a_note(
    tmp_path: Path, files: dict[str, str]
) -> None:
    write(tmp_path, files)

    assert ended(tmp_path) == ""
    for path in ("train.py", "."):
        assert [one for one in told(tmp_path, path) if one.severity > Severity.NOTE] == []


def test_where_a_run_stops_the_place_is_told(tmp_path: Path) -> None:
    write(tmp_path, {})

    assert ended(tmp_path) == "KeyError: 'MY_DATA'"
    for path in ("train.py", "."):
        (one,) = told(tmp_path, path)
        assert (one.at.file, one.at.line) == ("deep.py", 3)


AT_IMPORT = {"deep.py": 'import os\nROOT = os.environ["MY_DATA"]\n', "near.py": "import deep\n"}
GUARDED = "if __name__ == '__main__':\n    print(1)\n"

IMPORTS = {
    "at its top": ("import near\nprint(1)\n", Severity.ERROR),
    "under its guard": ("if __name__ == '__main__':\n    import near\n", Severity.ERROR),
    "in a function": (
        "def main():\n    import near\nif __name__ == '__main__':\n    main()\n",
        Severity.WARNING,
    ),
    "in a function that nobody calls": (
        "def other():\n    import near\nif __name__ == '__main__':\n    print(1)\n",
        Severity.WARNING,
    ),
    "under a test": (
        "import sys\nif sys.platform == 'none':\n    import near\n" + GUARDED,
        Severity.WARNING,
    ),
    "under a try": (
        "try:\n    import near\nexcept Exception:\n    near = None\n" + GUARDED,
        Severity.WARNING,
    ),
    "where types are not checked": (
        "import typing\nif typing.TYPE_CHECKING:\n    import other\nelse:\n    import near\n"
        + GUARDED,
        Severity.ERROR,
    ),
    "of a file with a guard of its own": ("import tool\n" + GUARDED, Severity.ERROR),
    "of a script beside it": (GUARDED, Severity.NOTE),
}


@pytest.mark.parametrize(("script", "most"), IMPORTS.values(), ids=IMPORTS)
def test_what_an_import_reads_is_judged_alike_by_the_script_and_by_its_folder(
    tmp_path: Path, script: str, most: Severity
) -> None:
    files = AT_IMPORT | {"train.py": script}
    files["tool.py"] = 'import os\nROOT = os.environ["MY_DATA"]\n' + GUARDED
    if "near" not in script:
        files["plot.py"] = "import near\n" + GUARDED
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    by_script, by_folder = (
        max((one.severity for one in told(tmp_path, path)), default=Severity.NOTE)
        for path in ("train.py", ".")
    )

    assert by_script == by_folder
    assert by_folder <= most
    assert (by_folder is Severity.ERROR) <= (ended(tmp_path) != "")
