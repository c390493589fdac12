"""A failure of our own around a function of the user's is no failure of that function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.findings import our_failures
from preflight.kinds.asked import CannotLookError
from preflight.ranks.named_splits import RankWorker
from preflight.ranks.real_splits import of_user
from preflight.storage.crew import Crew
from preflight.storage.trial import _ours
from preflight.users_code.named_function import imported, said_of
from preflight.values.code_name import parse_spec

SOURCE = """
def none(names, rank, ranks): return None
def two(names, rank): return names
def fails(names, rank, ranks): raise ValueError("no such rank")
def text(names, rank, ranks): return 3
"""


def test_what_a_line_of_ours_raises_is_not_put_down_to_the_users_function(tmp_path: Path) -> None:
    with pytest.raises(AttributeError) as ours:
        our_failures.in_words(None)  # type: ignore[arg-type]

    with pytest.raises(AttributeError):
        said_of(ours.value, str(tmp_path))


@pytest.mark.parametrize("name", ["none", "two", "fails", "text"])
def test_whatever_the_users_function_does_is_put_down_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also where nothing of it is in the traceback: it takes fewer arguments, or gives no list."""
    (tmp_path / f"split_{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = parse_spec(f"split_{name}:{name}")
    assert spec is not None
    divide: Callable[..., object] = of_user(
        name, imported(spec, str(tmp_path), ""), ["a", "b"], str(tmp_path)
    )

    with pytest.raises(CannotLookError, match=f"{name} raises (Type|Value)Error"):
        divide(range(2), RankWorker(0, 2))


def test_a_failure_of_ours_in_a_writers_process_is_told_with_its_traceback(tmp_path: Path) -> None:
    """It was a process that ended with 1 while the writer was called."""
    told = {"reads": False, "number": 0, "root": str(tmp_path), "writer": "a:b", "ranks": 1}
    with Crew("preflight.storage.trial_process", [told], lambda: None) as crew:
        crew.order("alone", how=["no way to call it"], path="x", size=1)
        (said,) = crew.answers(60.0)

    with pytest.raises(our_failures.ElsewhereError, match="a bug of preflight: TypeError") as ours:
        _ours(said or {})
    assert "preflight/storage/trial_process.py" in ours.value.trace.replace("\\", "/")
