"""The items of a part are found from its end, and where that leads no further, by their ends."""

from __future__ import annotations

import zipfile
from itertools import pairwise

import pytest

from preflight.formats.bytes.blocks import BLOCK
from preflight.formats.suffixes.dcp import PART_NAME
from preflight.formats.torch.distcp import Item, gaps, whole_items
from tests import contents


def archive(size: int = 9, method: int = zipfile.ZIP_STORED) -> bytes:
    return contents.archive(("archive/data.pkl", b"x" * size), method=method)


def items(content: bytes) -> list[Item]:
    return whole_items(lambda offset, size: content[offset : offset + size], len(content))


def places(*lengths: int) -> list[Item]:
    ends = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    return [Item(begin, end) for begin, end in pairwise(ends)]


def test_items_lie_one_behind_another() -> None:
    """Those of Python's zipfile have no records of zip64, and are found all the same."""
    parts = [archive(9), archive(99, zipfile.ZIP_DEFLATED), archive(999)]

    assert items(b"".join(parts)) == places(*map(len, parts))
    assert list(gaps(items(b"".join(parts)), sum(map(len, parts)))) == []


@pytest.mark.parametrize("behind", [b"x", b"\0" * 4096, b"PK\5\6", b"PK\5\6" + bytes(18)])
def test_what_stands_behind_them_hides_none(behind: bytes) -> None:
    parts = [archive(9), archive(99)]
    content = b"".join(parts) + behind

    assert items(content) == places(*map(len, parts))
    assert list(gaps(items(content), len(content))) == [
        Item(len(content) - len(behind), len(content))
    ]


def test_what_stands_between_them_is_a_gap() -> None:
    first, second = archive(9), archive(99)
    content = first + b"between" + second

    found = items(content)

    assert [one.end - one.begin for one in found] == [len(first), len(second)]
    assert list(gaps(found, len(content))) == [Item(len(first), len(first) + 7)]


@pytest.mark.parametrize("shift", range(-24, 3, 5))
def test_an_end_that_lies_across_two_blocks_is_found(shift: int) -> None:
    fill = archive(BLOCK + shift - len(archive(0)))

    assert items(fill + archive(9) + b"behind")[0] == Item(0, len(fill))


def test_an_archive_within_an_archive_is_no_item() -> None:
    inner = ("archive/data.pkl", archive(9) + archive(99))
    outer = contents.archive(inner, method=zipfile.ZIP_STORED)

    assert items(outer) == [Item(0, len(outer))]
    assert items(outer + b"behind") == [Item(0, len(outer))]
    assert items(archive(7) + outer + b"behind")[1:] == [
        Item(len(archive(7)), len(archive(7)) + len(outer))
    ]


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\3\4", b"raw bytes", b"PK\5\6" + bytes(18)])
def test_what_is_no_archive_has_no_items(content: bytes) -> None:
    assert items(content) == []
    assert [one.end for one in gaps([], len(content))] == ([len(content)] if content else [])


def test_every_cut_keeps_the_items_before_it() -> None:
    parts = [archive(9), archive(0), archive(99)]
    content = b"".join(parts)
    for length in range(len(content)):
        found = items(content[:length])
        assert found == [one for one in places(*map(len, parts)) if one.end <= length]


@pytest.mark.parametrize("name", ["__0_0.distcp", "__127_31.distcp"])
def test_torchs_own_names_tell_the_rank(name: str) -> None:
    match = PART_NAME.fullmatch(name)
    assert match and match[1] == name[2:].partition("_")[0]
    assert PART_NAME.fullmatch(f"a{name}") is None
