"""A writer is called as the names of its parameters say, or it is told how it would have been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.storage.calling import FIX, call, ways
from preflight.users_code.named_function import imported
from preflight.values.code_name import parse_spec


def save_of(parameters: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"def save{parameters}:\n    return seen.append(dict(locals()))", names)
    names["seen"] = names["save"].seen = []
    return names["save"]


@pytest.mark.parametrize(
    ("parameters", "called_as"),
    [
        ("(path, value)", "save(path, value)"),
        ("(latents, out_file, /)", "save(value, path)"),
        ("(path, value, overwrite=True)", "save(path, value)"),
        ("(*, path, value)", "save(path=path, value=value)"),
        ("(value, *, filename=None)", "save(value, filename=path)"),
        ("(value, fmt='pt', path=None)", "save(value, path=path)"),
        ("(path, /, *, latents)", "save(path, latents=value)"),
    ],
)
def test_names_of_parameters_say_how_it_is_called(parameters: str, called_as: str) -> None:
    save = save_of(parameters)
    every = list(ways(save, "storing:save", ".npy"))
    call(save, every[0], "one.npy", 7)

    assert {one.said("save").removesuffix(" with a pathlib.Path") for one in every} == {called_as}
    (seen,) = save.seen
    path = next(name for name in seen if name in {"path", "out_file", "filename"})
    assert (seen[path], 7 in seen.values()) == ("one.npy", True)


@pytest.mark.parametrize("parameters", ["(a, b)", "(*args)"])
def test_both_orders_are_tried_where_names_say_nothing(parameters: str) -> None:
    every = ways(save_of(parameters), "storing:save", ".npy")

    assert {one.order.path_first for one in every} == {True, False}


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("(value)", "storing:save takes no path and value, but (value)"),
        ("(**words)", "storing:save takes no path and value, but ()"),
        ("(self, path, value)", "storing:save wants more than a path and a value: self, path"),
        ("(*, key, value)", "storing:save does not say which is the path: key, value"),
    ],
)
def test_what_is_called_otherwise_is_told_before_it_is_called(parameters: str, said: str) -> None:
    with pytest.raises(CannotLookError) as caught:
        list(ways(save_of(parameters), "storing:save", ".npy"))

    assert str(caught.value).startswith(said)
    assert caught.value.fix == FIX


def test_a_method_is_that_of_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a call of the thing itself."""
    text = "class Store:\n    def save(self, path, value): return path\nstore = Store()\n"
    (tmp_path / "methods.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    whole, lacking = (parse_spec(f"methods:store.{name}") for name in ("save", "load"))
    assert whole is not None
    assert lacking is not None

    assert imported(whole, str(tmp_path), FIX)("one.npy", 7) == "one.npy"
    with pytest.raises(MistypedError, match=r"methods has no store\.load"):
        imported(lacking, str(tmp_path), FIX)
