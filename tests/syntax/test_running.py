"""What runs when a file is imported is told from what waits for a test to pass."""

from __future__ import annotations

import ast

import pytest

from preflight.syntax.running import expressions, running, truth

TRUTHS = {
    '__name__ == "__main__"': False,
    '"__main__" == __name__': False,
    '__name__ != "__main__"': True,
    '__name__ is "__main__"': False,
    '__name__ in ("__main__", "__mp_main__")': False,
    '__name__ not in ["__main__"]': True,
    '__name__ == "__mp_main__"': False,
    '__name__ > "__main__"': None,
    '__name__ == "train"': None,
    'name == "__main__"': None,
    '__name__.endswith("__main__")': False,
    '__name__.endswith("train")': None,
    'name.endswith("__main__")': None,
    "not TYPE_CHECKING": True,
    "typing.TYPE_CHECKING": False,
    "anything": None,
    "not anything": None,
    "1": True,
    "''": False,
    '__name__ == "__main__" and anything': False,
    'anything and __name__ == "__main__"': False,
    '__name__ == "__main__" or anything': None,
    '__name__ != "__main__" or anything': True,
    "True and True": True,
    "False or False": False,
    'os.environ.get("RUN")': False,
    'os.environ.get("RUN") is None': True,
    'os.environ.get("RUN") is not None': False,
    'os.environ.get("RUN") == "1"': False,
    'os.environ.get("RUN") != "1"': True,
    'os.environ.get("RUN") > "1"': None,
    'os.environ.get("RUN") == other': None,
    'os.environ.get("RUN", "1")': None,
    "os.environ.get(name)": None,
    'os.getenv("RUN")': False,
    'bool(os.getenv("RUN"))': False,
    'int(os.environ.get("RUN"))': False,
    "bool(anything)": None,
    'self.bool(os.getenv("RUN"))': None,
    'settings.get("RUN")': None,
    'other("RUN")': None,
    '"RUN" in os.environ': False,
    '"RUN" not in os.environ': True,
    '"RUN" in settings': None,
    'os.environ.get("RANK")': None,
    'os.environ.get("LOCAL_RANK")': None,
    '"WORLD_SIZE" in os.environ': None,
    '"RANK" not in os.environ': None,
    "sys.argv[1:]": False,
    "sys.argv[1]": None,
    "names[1:]": None,
    "len(sys.argv) > 1": False,
    "len(sys.argv) > 0": True,
    "len(sys.argv) >= 2": False,
    "len(sys.argv) >= 1": True,
    "len(sys.argv) == 1": True,
    "len(sys.argv) == 2": False,
    "len(sys.argv) != 1": False,
    "len(sys.argv) != 2": True,
    "len(sys.argv) < 2": True,
    "len(sys.argv) < 1": False,
    "len(sys.argv) <= 1": True,
    "len(sys.argv) <= 0": False,
    "len(sys.argv) > '1'": None,
    "len(sys.argv) > number": None,
    "len(names) > 1": None,
    "count(sys.argv) > 1": None,
    "1 < 2 < 3": None,
}


@pytest.mark.parametrize(("test", "outcome"), TRUTHS.items(), ids=TRUTHS)
def test_the_outcome_of_a_test_is_told_where_it_can_be(
    test: str,
    outcome: bool | None,  # noqa: FBT001  a parametrized value
) -> None:
    assert truth(ast.parse(test, mode="eval").body) is outcome


def names(text: str) -> list[str]:
    """Give the names that are read when this code runs, in order."""
    return [
        node.id
        for ran in running(ast.parse(text).body)
        for node in expressions(ran.node)
        if isinstance(node, ast.Name)
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a\nb\n", "a b"),
        ("if True:\n    a\nelse:\n    b\n", "a"),
        ("if False:\n    a\nelif c:\n    b\n", "c b"),
        ("while True:\n    a\nelse:\n    b\n", "a b"),
        ("while False:\n    a\nelse:\n    b\n", "b"),
        ("for i in a:\n    b\nelse:\n    c\n", "i a b c"),
        ("try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d\n", "a b c d"),
        ("match a:\n    case 1:\n        b\n    case _:\n        c\n", "a b c"),
        ("with a as b:\n    c\n", "a b c"),
        ("def f(x=a, *, y=b, z):\n    c\n", "a b"),
        ("@a\ndef f():\n    b\n", "a"),
        ("class A(a, metaclass=b):\n    c\n    def f(self):\n        d\n", "a b c"),
        ("lambda: a\n", ""),
        ("(lambda: a)()\n", "a"),
        ("a if True else b\n", "a"),
        ("a if False else b\n", "b"),
        ("a if c else b\n", "c a b"),
        ("False and a\n", ""),
        ("True and a\n", "a"),
        ("b or True or a\n", "b"),
        ("x = (a for a in b)\n", ""),
        ("x = [c for c in b]\n", "x c c b"),
        ("f(a for a in b)\n", "f a a b"),
    ],
)
def test_what_runs_is_given_and_nothing_else(text: str, read: str) -> None:
    assert names(text) == read.split()
