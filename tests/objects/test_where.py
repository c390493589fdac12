"""Where things were defined is said as the user would look for it."""

# ruff: noqa: D101  the classes stand for a user's

from __future__ import annotations

import collections
import functools
import importlib
import importlib.metadata
import json
import linecache
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from preflight.objects.facts import Definition
from preflight.objects.where import SourcePlace, defined, kept, kept_by_user, parsed
from tests.files import put

SOURCE = """\
import functools
import threading


def noted(name):
    return lambda function: function


@noted(
    "x"
)
def decorated():
    pass


def make():
    def inner():
        pass

    class Local:
        pass

    return inner, (lambda: 0), Local


class Base:
    def open(self):
        self.file = None


class Child(Base):
    def __init__(self):
        self.lock = threading.Lock()
        self.fine = 1


class Twice:
    pass


class Twice:
    again = True


def wrapping(function):
    @functools.wraps(function)
    def around():
        pass

    return around


around = wrapping(make)
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the source above as a module of the user's."""
    put(tmp_path / "lib", "where_code.py", content=SOURCE.encode())
    monkeypatch.syspath_prepend(tmp_path / "lib")
    yield importlib.import_module("where_code")
    del sys.modules["where_code"]


def line_of(text: str) -> int:
    return SOURCE.splitlines().index(text) + 1


def test_a_function_stands_at_its_def_and_not_at_its_decorator(code: Any, tmp_path: Path) -> None:
    assert defined(code.decorated, str(tmp_path)) == SourcePlace(
        Definition(
            file="lib/where_code.py",
            line=line_of("def decorated():"),
            line_text="def decorated():",
            qualname="decorated",
        ),
        own=True,
    )


def test_what_is_made_inside_a_function_is_found_there(code: Any, tmp_path: Path) -> None:
    places = [defined(one, str(tmp_path)) for one in code.make()]

    assert [(place.at.line, place.at.qualname) for place in places] == [
        (line_of("    def inner():"), "make.<locals>.inner"),
        (line_of("    return inner, (lambda: 0), Local"), "make.<locals>.<lambda>"),
        (line_of("    class Local:"), "make.<locals>.Local"),
    ]


def test_an_instance_stands_where_its_class_does(code: Any, tmp_path: Path) -> None:
    """Of two classes of one name the later one is meant."""
    assert defined(code.Child(), str(tmp_path)).at.line == line_of("class Child(Base):")
    assert defined(code.Twice(), str(tmp_path)).at.line == line_of("    again = True") - 1


def test_a_partial_and_a_method_stand_where_their_function_does(code: Any, tmp_path: Path) -> None:
    partial = functools.partial(functools.partial(code.Base().open))

    assert defined(partial, str(tmp_path)).at.qualname == "Base.open"


def test_wraps_does_not_mislead(code: Any, tmp_path: Path) -> None:
    assert defined(code.around, str(tmp_path)).at.line == line_of("    def around():")


def test_the_line_that_keeps_an_attribute_is_found_in_a_base_too(code: Any, tmp_path: Path) -> None:
    child = code.Child()
    lines = [kept(child, name, str(tmp_path)).at.line for name in ("lock", "file", "elsewhere")]

    assert lines == [
        line_of("        self.lock = threading.Lock()"),
        line_of("        self.file = None"),
        line_of("class Child(Base):"),
    ]


def test_no_source_of_a_library_is_parsed_to_say_that_nothing_there_is_the_users(
    code: Any, tmp_path: Path
) -> None:
    """But a class of the user's that shows itself under a library's name is found."""

    class Shown:
        def keep(self) -> None:
            self.kept = 1

    Shown.__module__ = "json"
    parsed.cache_clear()

    assert kept_by_user([(json.JSONDecoder(), "strict")], str(tmp_path)) is None
    assert parsed.cache_info().misses == 0
    assert kept(Shown(), "kept", str(tmp_path)).own


def test_installed_packages_are_named_with_their_version(tmp_path: Path) -> None:
    """The path in a site-packages folder says nothing to anybody else."""
    import torch
    from PIL import Image

    torch_file = defined(torch.nn.Linear, str(tmp_path)).at.file
    # The version that it was installed by, which may lack what a build adds to it: `+cu130`.
    installed = importlib.metadata.version("torch")
    assert torch_file == f"torch {installed}: torch/nn/modules/linear.py"
    image = defined(Image.open, str(tmp_path))
    assert (image.at.file or "").lower().startswith("pillow ")
    assert not image.own


def test_the_standard_library_is_named_as_python(tmp_path: Path) -> None:
    python = f"python {sys.version_info[0]}.{sys.version_info[1]}"

    assert defined(collections.OrderedDict.fromkeys, str(tmp_path)).at.line is None
    assert defined(functools.wraps, str(tmp_path)).at.file == f"{python}: functools.py"


def test_what_is_written_in_c_has_no_place(tmp_path: Path) -> None:
    assert defined(len, str(tmp_path)).at.file is None
    assert defined(threading.Lock(), str(tmp_path)).at.file is None


def test_code_without_a_file_is_named_as_python_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line is not that of `python -c`, which has the same name from Python 3.13 on."""
    other = (1, None, ["import this\n"], "<string>")
    monkeypatch.setitem(linecache.cache, "<string>", other)
    place = defined(eval("lambda: 0", {}), str(tmp_path))

    assert (place.at.file, place.at.line, place.at.line_text) == ("<string>", 1, None)


class Trap(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)


class Trapped(metaclass=Trap):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


def test_the_users_own_attributes_are_not_asked(tmp_path: Path) -> None:
    """A property may take a minute, or change something."""
    place = defined(object.__new__(Trapped), str(Path(__file__).parent))

    assert (place.at.file, place.at.qualname) == ("test_where.py", "Trapped")
