"""Attributes are what git itself says they are: held against `git check-attr` where git is here."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from preflight.formats.gitattributes import (
    MOST_BRACKETS,
    MOST_WILD,
    TooManyError,
    Value,
    parse,
    value_of,
)
from preflight.formats.path_patterns import matcher

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PATHS = (
    *("a", "b", "ab", "aab", "abc", "a.bin", "b.bin", "A", "a b", "a]", "a-b", "é", "#a", "!a"),
    *("a/b", "a/a", "a/b/c", "a/b/c.bin", "ab/c", "ab/a.bin", "a/ab/b", "b/a/b/a", "a/a/a/a/b"),
    *("B/a", "a/B", "[attr]a", '"a', "a\\b", "a/.bin", ".a/b"),
)


def ours(
    files: Mapping[str, bytes], info: bytes, path: str, *, folded: bool, attribute: str = "filter"
) -> Value:
    """Work out a value from files by their folders (`a/b/`), as the reader does."""
    above = sorted((one for one in files if path.startswith(one)), key=len, reverse=True)
    stack = [(b"", parse(info, macros=True, folded=folded))]
    stack += ((one.encode(), parse(files[one], macros=one == "", folded=folded)) for one in above)
    return value_of(attribute.encode(), os.fsencode(path), stack, folded=folded)


def gits(top: Path, paths: Sequence[str], *, folded: bool, attribute: str) -> dict[str, Value]:
    """Ask git for the same."""
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    case = f"core.ignorecase={str(folded).lower()}"
    command = ["git", "-c", case, "check-attr", "-z", "--stdin", attribute]
    done = subprocess.run(
        command, cwd=top, input=asked, capture_output=True, check=True, env=lonely()
    )
    fields = done.stdout.split(b"\0")
    said: dict[bytes, Value] = {b"set": True, b"unset": False, b"unspecified": None}
    return {
        os.fsdecode(path): said.get(value, value)
        for path, value in zip(fields[0::3], fields[2::3], strict=False)
    }


def lonely() -> dict[str, str]:
    """Keep the user's and the machine's own git settings out."""
    nothing = os.devnull
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**kept, "GIT_CONFIG_GLOBAL": nothing, "GIT_CONFIG_SYSTEM": nothing} | {
        "GIT_ATTR_NOSYSTEM": "1",
        "XDG_CONFIG_HOME": "/nowhere",
    }


def work_tree(top: Path, files: Mapping[str, bytes], info: bytes) -> None:
    subprocess.run(["git", "init", "-q"], cwd=top, check=True, env=lonely())
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "attributes").write_bytes(info)
    for folder, content in files.items():
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / ".gitattributes").write_bytes(content)


RULES: dict[str, bytes] = {
    "a suffix": b"*.bin filter=lfs diff=lfs merge=lfs -text\n",
    "a name": b"a filter=lfs\n",
    "a path from the top": b"/a filter=lfs\n",
    "a path": b"a/b filter=lfs\n",
    "everything below": b"a/** filter=lfs\n",
    "anywhere": b"**/b filter=lfs\n",
    "in between": b"a/**/b filter=lfs\n",
    "a star for one folder": b"a/*/c filter=lfs\n",
    "stars inside of a name": b"a**b filter=lfs\n",
    "stars behind a name": b"a**/b filter=lfs\n",
    "a folder": b"a/ filter=lfs\n",
    "the last wins": b"* filter=lfs\n*.bin -filter\na.bin filter=lfs\nb !filter\n",
    "nothing set": b"* filter\nb filter=\n",
    "a macro": b"[attr]lfs filter=lfs diff=lfs merge=lfs -text\n*.bin lfs\nb -lfs\na lfs=x\n",
    "a macro that unsets": b"* filter=lfs\n[attr]plain !filter\n*.bin plain\n",
    "a macro of macros": b"[attr]x y\n[attr]y x filter=lfs\na x\nb y -filter\nab -filter y\n",
    "a macro defined twice": b"[attr]x filter=one\n* x\n[attr]x filter=two\n",
    "a macro without a name": b"[attr] filter=lfs\n[attr]- filter=lfs\n[attr]a.b filter=x\n* a.b\n",
    "negative": b"* filter=lfs\n!a filter=no\n\\!a filter=x\n",
    "quotes": b'"a b" filter=lfs\n"\\141" filter=x\n"a\\\\b" filter=y\n"\\303\\251" filter=z\n',
    "quotes that do not end": b'"a filter=lfs\n"a\\q" filter=x\n"a"filter=y\n',
    "quotes around a macro": b'"[attr]x y" filter=lfs\n* x\n',
    "escaped": b"\\a filter=lfs\n\\[attr]a filter=x\n\\#a filter=y\na\\\\b filter=z\n",
    "a backslash at the end": b"* filter=lfs\nb\\ filter=w\n",
    "comments and blanks": b"# a filter=lfs\n   a\t filter=lfs  \r\n\n \t\nb filter=lfs #no\n",
    "a name that is none": b"a filter=lfs x@y\nb -filter=lfs\nab -=x\n",
    "a mark at the beginning": b"\xef\xbb\xbfa filter=lfs\n",
    "no UTF-8": b"\xff\xfea\0 filter=lfs\n* filter=\xff\n\xe9 filter=lfs\n",
    "a zero byte": b"a filter=l\0fs x\nb\0 filter=lfs\n",
    "a long line": b"a " + b"x" * 2050 + b" filter=lfs\nb " + b"x" * 2020 + b" filter=lfs\n",
    "a range": b"[a-c] filter=lfs\n[!a]b filter=x\n[]a]* filter=y\n[a-]-b filter=z\n",
    "a class": b"[[:alpha:]] filter=lfs\n[[:upper:]] filter=x\n[[:no:]]* filter=y\n[[:a]* filter\n",
    "brackets that do not end": b"[ab filter=lfs\n*[ filter=x\n",
    "a question mark": b"a? filter=lfs\na?b filter=x\n/?/b filter=y\n",
    "capitals": b"A filter=lfs\n/B/* filter=x\n[A-B].BIN filter=y\n\\A filter=z\n[A] filter=w\n",
    "slashes": b"//a filter=lfs\na//b filter=x\n/ filter=y\n/**/b filter=z\n./a filter=w\n",
}


@needs_git
@pytest.mark.parametrize("folded", [False, True], ids=["", "folded"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_each_rule_means_what_it_means_to_git(tmp_path: Path, rule: bytes, *, folded: bool) -> None:
    files = {"": rule}
    work_tree(tmp_path, files, b"")

    said = gits(tmp_path, PATHS, folded=folded, attribute="filter")

    assert {path: ours(files, b"", path, folded=folded) for path in PATHS} == said


@needs_git
def test_deeper_files_win_and_those_of_no_commit_win_over_all(tmp_path: Path) -> None:
    files = {
        "": b"* filter=top\n[attr]x filter=macro\n/a/b/c filter=none\n",
        "a/": b"/b filter=deep\n[attr]y filter=forbidden\nab/b y\n",
        "a/b/": b"c x\n*.bin !filter\n",
    }
    info = b"ab filter=info\n[attr]x filter=strong\n"
    work_tree(tmp_path, files, info)

    said = gits(tmp_path, PATHS, folded=False, attribute="filter")

    assert {path: ours(files, info, path, folded=False) for path in PATHS} == said
    assert said["a/b/c"] == b"strong"


ATOMS = (
    b"a",
    b"b",
    b"*",
    b"**",
    b"/",
    b"?",
    b"[ab]",
    b"[!a]",
    b"**/",
    b"/**",
    b"*.bin",
    b"\\",
    b"c",
)
SETS = (b"filter=lfs", b"-filter", b"!filter", b"filter", b"lfs", b"-lfs", b"filter=x lfs")


@needs_git
@pytest.mark.parametrize("seed", range(12))
def test_patterns_that_nobody_would_write_mean_what_they_mean_to_git(
    tmp_path: Path, seed: int
) -> None:
    """Each seed is two hundred files of a few lines, told apart by an attribute of their own."""
    draw = random.Random(seed)
    folded = bool(seed % 2)
    attributes = [f"t{number}" for number in range(200)]
    lines = {"": b"", "a/": b""}
    for name in attributes:
        for _ in range(draw.randint(1, 4)):
            pattern = b"".join(draw.choices(ATOMS, k=draw.randint(1, 6)))
            value = draw.choice((b"%s=x", b"%s=y", b"-%s", b"!%s")) % name.encode()
            lines[draw.choice(("", "", "a/"))] += pattern + b" " + value + b"\n"
    work_tree(tmp_path, lines, b"")

    stack = {
        folder: parse(content, macros=folder == "", folded=folded)
        for folder, content in lines.items()
    }
    asked = gits_all(tmp_path, attributes, folded=folded)
    for path in PATHS:
        above = [(b"a/", stack["a/"])] if path.startswith("a/") else []
        files = [*above, (b"", stack[""])]
        for name in attributes:
            found = value_of(name.encode(), os.fsencode(path), files, folded=folded)
            assert found == asked[path, name], (path, name)


def gits_all(top: Path, attributes: list[str], *, folded: bool) -> dict[tuple[str, str], Value]:
    """Ask git for many attributes of all paths at once."""
    case = f"core.ignorecase={str(folded).lower()}"
    command = ["git", "-c", case, "check-attr", "-z", "--stdin", *attributes]
    done = subprocess.run(
        command,
        cwd=top,
        input=b"".join(os.fsencode(path) + b"\0" for path in PATHS),
        capture_output=True,
        check=True,
        env=lonely(),
    )
    fields = [os.fsdecode(one) for one in done.stdout.split(b"\0")]
    said: dict[str, Value] = {"set": True, "unset": False, "unspecified": None}
    return {
        (path, name): said.get(value, value.encode())
        for path, name, value in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
    }


@needs_git
@pytest.mark.parametrize("seed", range(4))
def test_macros_that_nobody_would_write_mean_what_they_mean_to_git(
    tmp_path: Path, seed: int
) -> None:
    """Macros of macros, in the work tree and beside it."""
    draw = random.Random(100 + seed)
    names = [b"lfs", b"m1", b"m2", b"m3"]

    def sets() -> bytes:
        return b" ".join(
            draw.choice((*SETS, *names, *(b"-" + one for one in names)))
            for _ in range(draw.randint(1, 4))
        )

    def lines() -> bytes:
        some = [b"[attr]" + draw.choice(names) + b" " + sets() for _ in range(4)]
        some += [
            draw.choice((b"*", b"a*", b"*b", b"*.bin", b"b")) + b" " + sets() for _ in range(4)
        ]
        draw.shuffle(some)
        return b"\n".join(some) + b"\n"

    for number in range(25):
        top = tmp_path / str(number)
        top.mkdir()
        files, info = {"": lines(), "a/": lines()}, lines()
        work_tree(top, files, info)

        said = gits(top, PATHS, folded=False, attribute="filter")

        assert {path: ours(files, info, path, folded=False) for path in PATHS} == said, number


def test_a_pattern_made_to_hurt_takes_no_longer_than_another() -> None:
    """Trying every way in which its stars might share the text would take longer than there is."""
    hurts = matcher(b"*a" * 700 + b"**/b" * 100, folded=False)
    begun = time.process_time()

    assert not hurts(b"a" * 4000)

    assert time.process_time() - begun < 5


def test_more_wildcards_than_anybody_writes_are_refused() -> None:
    with pytest.raises(TooManyError):
        parse(b"a* filter=lfs\n" * (MOST_WILD + 1), macros=True, folded=False)
    with pytest.raises(TooManyError):
        parse(b"[" * (MOST_BRACKETS + 1), macros=True, folded=False)


def test_a_chain_of_macros_is_followed_however_long_it_is() -> None:
    chain = b"".join(b"[attr]m%d m%d\n" % (one, one + 1) for one in range(5000))
    attributes = parse(chain + b"[attr]m5000 filter=lfs\na m0\n", macros=True, folded=False)

    assert value_of(b"filter", b"a", [(b"", attributes)], folded=False) == b"lfs"
