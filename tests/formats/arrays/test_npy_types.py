"""The bytes of an element are worked out as numpy does it, and never refused where it does not."""

from __future__ import annotations

import itertools
import string
import warnings

import numpy as np
import pytest

from preflight.formats.arrays.npy_types import NoTypeError, bytes_of

UNITS = ("", "[ns]", "[25us]", "[D]", "[generic]", "[3/4s]", "[x]", "[]")
SIZES = ("", *map(str, range(13)), "16", "20", "24", "32", "64")


def of_numpy(text: str) -> int | None:
    """Give what numpy says of a type; None: it refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.dtype(text).itemsize
        except (TypeError, ValueError):
            return None


def test_no_type_that_numpy_knows_is_refused_and_none_has_another_size() -> None:
    """Each letter, with each size and unit; what is not judged is said to be unknown."""
    judged = 0
    for parts in itertools.product("<>|=", "?" + string.ascii_letters, SIZES, UNITS):
        text = "".join(parts)
        size = of_numpy(text)
        try:
            found = bytes_of(text)
        except NoTypeError:
            assert size is None, text
        else:
            judged += found is not None
            assert found is None or size in (found, None), text

    assert judged > 400


@pytest.mark.parametrize(
    "kind",
    [
        np.dtype([("a", "<f4"), ("b", "<i8", (2, 3)), ("c", "S5")]),
        np.dtype([("a", "i1"), ("b", "f8")], align=True),
        np.dtype([("x", [("y", "f4"), ("z", "U3", 2)], (2,))]),
        np.dtype([(("a title", "name"), "f4")]),
        np.dtype([("ü", "f4"), ("日本", "M8[ns]")]),
        np.dtype({"names": ["a"], "formats": ["f4"], "offsets": [8], "itemsize": 20}),
        np.dtype([]),
    ],
    ids=["fields", "aligned", "nested", "with a title", "odd names", "with gaps", "of no fields"],
)
def test_a_record_takes_the_bytes_of_its_fields(kind: np.dtype) -> None:  # type: ignore[type-arg]
    """As numpy writes them into a header."""
    assert bytes_of(np.lib.format.dtype_to_descr(kind)) == kind.itemsize


@pytest.mark.parametrize(
    "descr",
    ["<f9", "|Q1", "<f\xb8", "<m8[25=s]", "<M,[ns]", [("a", "|_"), ("b", "<f4")], [("a",)], 7,
     [("a", "<f4"), ("a", "<f4")], [(3, "<f4")], [("a", "<f4", "x")]],
    ids=str,
)  # fmt: skip
def test_what_numpy_refuses_is_refused(descr: object) -> None:
    """A wrong byte in a header mostly makes such a thing."""
    with pytest.raises(NoTypeError):
        bytes_of(descr)
    with pytest.raises((ValueError, TypeError, IndexError)):
        np.lib.format.descr_to_dtype(descr)  # type: ignore[arg-type]


@pytest.mark.parametrize("descr", ["<f", "float32", "|T16", "|O", [("a", "|O"), ("b", "<f4")]])
def test_of_other_types_nothing_is_said(descr: object) -> None:
    """Their size differs between machines, or is not what is in the file."""
    assert bytes_of(descr) is None


def test_fields_in_fields_without_end_are_not_followed() -> None:
    """A header of some kilobytes may nest them as deep as Python reads it."""
    descr: object = "<f4"
    for _ in range(80):
        descr = [("a", descr)]

    assert bytes_of(descr) is None
