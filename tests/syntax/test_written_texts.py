"""Texts that expressions come to, as far as a source writes them out."""

from __future__ import annotations

import ast
import os

import pytest

from preflight.syntax.running import key_of
from preflight.syntax.written_texts import WrittenText, WrittenTexts

VALUES = {
    "root": ['"/data"'],
    "split": ['"train"', '"val"'],
    "grown": ['"a"', 'grown + "/b"'],
    "handed": ["args.handed", '"a"'],
    "one": ["other"],
    "other": ["one"],
    "shards": ['["a.tar", "b.tar"]'],
    "several": ["shards"],
}

# What begins with `…` is the end of a text.
TEXTS = {
    '"a/b"': ["a/b"],
    "root": ["/data"],
    "args.root": ["/data"],
    'cfg["root"]': ["/data"],
    'os.path.join(root, "a", "b")': ["/data/a/b"],
    'Path(root) / "a"': ["/data/a"],
    'Path(root, "a").joinpath("b")': ["/data/a/b"],
    'root + "/a"': ["/data/a"],
    'f"{root}/a"': ["/data/a"],
    'f"{root!s}/a"': ["/data/a"],
    'f"{root!r}/a"': ["…a"],
    'f"{root:>20}/a"': ["…a"],
    'f""': [""],
    "root % 2": ["…"],
    'os.path.join(args.path, "a", "b")': ["…a/b"],
    'os.path.join(args.path, "/a")': ["/a"],
    'os.path.join("a", "/b")': ["/b"],
    'args.path + "_v2/a"': ["…a"],
    'args.path + "_v2"': ["…"],
    'root + args.path + "/a"': ["…a"],
    "root + args.path": ["…"],
    "split": ["train", "val"],
    'os.path.join(root, split, "x")': ["/data/train/x", "/data/val/x"],
    '"a" if args.small else "b"': ["a", "b"],
    "grown": ["a", "a/b"],
    "handed": ["a"],
    "one": ["…"],
    "shards": ["…"],
    'Path("a/b/c").parent.parent': ["a"],
    'os.path.dirname(os.path.join(args.path, "a/b"))': ["…a"],
    "Path(__file__).resolve().parents[1]": ["/job"],
    'os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "x")': ["/job/src/../x"],
    'os.path.join(os.getcwd(), "x")': ["/here/x"],
    'str(Path.cwd() / "x")': ["/here/x"],
    'os.path.expanduser("~/x")': ["~/x"],
    "sorted(root)": ["…"],
    "Path()": ["…"],
}


def texts() -> WrittenTexts:
    values = {name: [*map(parsed, given)] for name, given in VALUES.items()}
    return WrittenTexts(values, key=key_of, file="/job/src/train.py", cwd="/here")


def parsed(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


@pytest.mark.skipif(os.name == "nt", reason="the paths are those of POSIX")
@pytest.mark.parametrize("code", TEXTS)
def test_an_expression_comes_to_what_it_is_made_of(code: str) -> None:
    found = texts().of(parsed(code))

    assert [one.text if one.whole else f"…{one.text}" for one in found] == TEXTS[code]


def test_only_what_is_all_written_out_is_a_text() -> None:
    assert texts().only(parsed('root + "/a"')) == "/data/a"
    assert texts().only(parsed("split")) is None
    assert texts().only(parsed('args.path + "/a"')) is None


def test_only_names_are_looked_up_where_nothing_else_is_said() -> None:
    """Of `args.root`, the `root` of the file says nothing."""
    plain = WrittenTexts({"root": [parsed('"a"')]})

    assert plain.only(parsed("root")) == "a"
    assert plain.of(parsed("args.root")) == (WrittenText(),)
    assert plain.of(parsed("__file__")) == (WrittenText(),)


def test_names_are_followed_to_what_they_are_given() -> None:
    assert ast.unparse(texts().meant(parsed("several"))) == "['a.tar', 'b.tar']"
    assert ast.unparse(texts().meant(parsed("split"))) == "split"
    assert isinstance(texts().meant(parsed("one")), ast.Name)


def test_no_text_is_followed_without_end() -> None:
    deep = parsed("+".join(['"a"'] * 40))
    many = WrittenTexts({"x": [parsed(f'"{one}"') for one in range(50)]})

    assert texts().of(deep) == (WrittenText(),)
    assert len(many.of(parsed("x + x + x"))) == 8
