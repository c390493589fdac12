"""How a script is started is told as it is typed."""

from __future__ import annotations

import pytest

from preflight.scripts.read import _name


@pytest.mark.parametrize(
    ("wire", "typed"),
    [
        (
            {"module": "src.train", "path": None, "args": ["trainer=cpu"]},
            "-m src.train trainer=cpu",
        ),
        ({"module": None, "path": "a b.py", "args": ["--lr", "1"]}, "'a b.py' --lr 1"),
    ],
)
def test_a_script_is_named_by_words_that_can_be_typed_again(
    wire: dict[str, object], typed: str
) -> None:
    assert _name({"name": None, **wire}) == typed
