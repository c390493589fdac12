"""A variable of the environment that is read by a name is one that the name surely is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from preflight.targets.targets import Source
from tests.read_sources import read_source

NAMES = 'NAMES = ("AAA", "BBB")\n'

NEEDED = {
    "a constant": 'KEY = "AAA"\nos.environ[KEY]\n',
    "a constant, in a function": 'KEY = "AAA"\ndef f():\n    return os.environ[KEY]\nf()\n',
    "a loop": f"{NAMES}for key in NAMES:\n    os.environ[key]\n",
    "a loop over what is written out": 'for key in ["AAA", "BBB"]:\n    os.environ[key]\n',
    "a comprehension": f"{NAMES}all_of = {{key: os.environ[key] for key in NAMES}}\n",
    "by another name of the environment": 'env = os.environ\nKEY = "AAA"\nenv[KEY]\n',
}

GUARDED = {
    "a test of the name": f"{NAMES}for key in NAMES:\n    if key in os.environ:\n"
    "        os.environ[key]\n",
    "a test before": f"{NAMES}for key in NAMES:\n    if key not in os.environ:\n        continue\n"
    "    os.environ[key]\n",
    "a comprehension with a test": (
        f"{NAMES}x = [os.environ[k] for k in NAMES if k in os.environ]\n"
    ),
    "a handler": f"{NAMES}for key in NAMES:\n    try:\n        os.environ[key]\n"
    "    except KeyError:\n        pass\n",
    "a default before": f"{NAMES}for key in NAMES:\n    os.environ.setdefault(key, '1')\n"
    "    os.environ[key]\n",
    "what there is": "for key in os.environ:\n    os.environ[key]\n",
    "a name of two values": 'KEY = "AAA"\nKEY = "PATH"\nos.environ[KEY]\n',
    "a name that is chosen": 'KEY = "AAA" if 0 else "PATH"\nos.environ[KEY]\n',
    "a parameter": 'KEY = "AAA"\ndef f(KEY):\n    return os.environ[KEY]\nf("PATH")\n',
    "more than is written out": 'for key in [*{}, *("PATH",)]:\n    os.environ[key]\n',
}


def stops(text: str, folder: Path) -> bool:
    """Whether the plain script ends with a KeyError."""
    done = subprocess.run(
        [sys.executable, "-c", f"import os\n{text}"],
        cwd=folder,
        env={"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "KeyError" in done.stderr


def needed(text: str, folder: Path) -> list[str]:
    (folder / "train.py").write_text(f"import os\n{text}", "utf-8")
    reads = read_source(Source(path="train.py"), str(folder), {}).reads
    return [one.variable for one in reads if not one.guarded]


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_a_name_that_can_only_be_one_is_that(tmp_path: Path, text: str) -> None:
    assert stops(text, tmp_path)
    assert needed(text, tmp_path)[0] == "AAA"


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_what_may_be_another_or_is_looked_for_is_left_alone(tmp_path: Path, text: str) -> None:
    assert not stops(text, tmp_path)
    assert needed(text, tmp_path) == []
