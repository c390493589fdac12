"""The user's own function makes the keys of a cache, and is to blame for what it does."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys
from preflight.keys.kind import KEYS
from preflight.processes.results import Answer, Fault
from preflight.targets.targets import CacheOf, KeyedData
from preflight.values.wire import from_wire, to_wire
from tests.questions import ask as asking
from tests.questions import questions

pytestmark = pytest.mark.usefixtures("at_hand")


def ask(tmp_path: Path, source: str, *, timeout: float = 60) -> Answer | Fault:
    """Ask a process of ours, as a run does."""
    (tmp_path / "keys.py").write_text(source, encoding="utf-8")
    for folder in ("photos", "cache"):
        (tmp_path / folder).mkdir()
    for stem in ("dog", "cat"):
        (tmp_path / "photos" / f"{stem}.jpg").touch()
        (tmp_path / "photos" / f"{stem}.txt").write_text(f"a {stem}", encoding="utf-8")
        path = f"photos/{stem}.jpg".encode()
        key = hashlib.md5(path, usedforsecurity=False).hexdigest()
        (tmp_path / "cache" / f"{key}.pt").touch()
    data = KeyedData(name="photos", folder=f"{tmp_path}/photos", spelled="photos")
    owed = CacheOf(path=f"{tmp_path}/cache", of=(data,), key="keys:key", entry=0)
    batch = questions(KEYS, [to_wire(owed)], tmp_path, folder=str(tmp_path))
    (result,) = asking(batch, tmp_path, timeout=timeout)
    assert isinstance(result, (Answer, Fault))
    return result


HASHED = "import hashlib\ndef key(path):\n    return hashlib.md5(path.encode()).hexdigest() + '.pt'"


def facts_of(answer: Answer | Fault) -> CacheKeys:
    assert isinstance(answer, Answer), answer
    (plain,) = answer.told
    return from_wire(CacheKeys, {key: plain[key] for key in plain if key != "type"})


@pytest.mark.parametrize(
    "source",
    [
        HASHED,
        HASHED.replace("key(path):", "key(path, size=512):\n    assert size == 512"),
        HASHED.replace("key(path)", "key(path, caption)"),
        f"import sys\nprint('hello'); sys.stdout.flush()\n{HASHED}",
        f"{HASHED}\nimport pathlib\nold = key\ndef key(path):\n    return pathlib.Path(old(path))",
    ],
    ids=["of the path", "with an option", "of path and caption", "that prints", "of a Path"],
)
def test_a_function_is_called_in_a_process_of_its_own(tmp_path: Path, source: str) -> None:
    """With the path as the settings spell it."""
    facts = facts_of(ask(tmp_path, source))

    assert (facts.matched, facts.missing, facts.rule) == (2, 0, "keys:key")
    assert facts.of == ("photos",)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def key(path):\n    return {}[path]", "keys:key raises KeyError: 'photos/"),
        ("def key(path):\n    return {}[path]", "in keys.py:2, for photos/"),
        ("def key(path):\n    raise SystemExit(0)", "keys:key raises SystemExit: 0 in keys.py:2"),
        ("def key(path):\n    return 7", "keys:key gives int for photos/"),
        ("def key(path):\n    return None", "keys:key gives NoneType for photos/"),
        (
            "def key(a, b, c):\n    return a",
            "keys:key wants more than a path and a caption: a, b, c",
        ),
        ("key = 7", "key of keys is no function"),
        ("1 / 0\ndef key(path): ...", "importing keys raises ZeroDivisionError"),
        ("import os\ndef key(path):\n    os._exit(3)", "the process that looked at it"),
        ("def other(path): ...", "keys has no key"),
        ("def main(): ...\ndef key(path): return path\nmain()\n", "would start the training"),
    ],
)
def test_what_goes_wrong_in_a_function_is_put_down_to_it(
    tmp_path: Path, source: str, said: str
) -> None:
    result = ask(tmp_path, source)

    assert isinstance(result, Fault)
    assert said in result.error


def test_a_function_that_hangs_is_ended(tmp_path: Path) -> None:
    result = ask(tmp_path, "import time\ndef key(path):\n    time.sleep(60)", timeout=2)

    assert isinstance(result, Fault)
    assert "said nothing for 2 s" in result.error
