"""A table is read line by line, whatever is in it, and says which images it captions.

What raises was tried with datasets 5.2.0: `load_dataset("imagefolder", data_dir=…)`.
"""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

import preflight
from preflight.file_access.place import HERE
from preflight.findings.finding import Severity
from preflight.images.kind import TABLE
from preflight.kinds.asked import CannotLookError
from preflight.pairing import table_rows
from preflight.pairing import tables as captions
from preflight.pairing.facts import Captioned, CaptionLengths, Length
from preflight.pairing.tables import read_table
from preflight.processes.results import Answer, Fault
from preflight.values.wire import from_wire, to_wire
from tests.archives import photo
from tests.files import put
from tests.questions import ask, questions

A = '{"file_name": "a.jpg", "text": "a dog"}\n'
B = '{"file_name": "cats/b.jpg", "text": "a cat"}\n'


def table(folder: Path, content: str | bytes, *, place: str = "data") -> Captioned:
    """Write a metadata.jsonl, and read it."""
    content = content if isinstance(content, bytes) else content.encode()
    put(folder / place, "metadata.jsonl", content=content)
    return read_table(str(folder / place / "metadata.jsonl"), str(folder), str)


def test_captions_of_a_table_are_measured_by_the_file_of_their_row(tmp_path: Path) -> None:
    """Those that are texts; a blank one counts as empty, and a row without one not at all."""
    blank = '{"file_name": "c.jpg", "text": "  "}\n{"file_name": "d.jpg"}\n'

    found = table(tmp_path, A + B + blank).lengths

    assert (found.captions, found.bytes, found.empty) == (3, 10, 1)
    assert found.longest == Length(5, 2, ("data/a.jpg", "data/cats/b.jpg"))
    assert found.shortest == Length(0, 1, ("data/c.jpg",))


def names(joined: str) -> list[str]:
    return joined.split("\0") if joined else []


def test_each_file_is_named_as_reports_name_it(tmp_path: Path) -> None:
    found = table(tmp_path, A + B)

    assert replace(found, lengths=CaptionLengths()) == Captioned(
        file="data/metadata.jsonl", rows=2, captioned="data/a.jpg\0data/cats/b.jpg"
    )


def test_it_goes_to_json_and_back(tmp_path: Path) -> None:
    found = table(tmp_path, A + B + '{"file_name": "\\u72d7.jpg", "text": ""}\n{"file')

    assert from_wire(Captioned, json.loads(json.dumps(to_wire(found)))) == found
    assert found.damage


@pytest.mark.parametrize(
    "content",
    [
        (A + B).replace("\n", "\r\n"),
        (A + B).rstrip(),
        b"\xef\xbb\xbf" + (A + B).encode(),
        "\n" + A + "\n  \n" + B + "\n\n",
        A.rstrip() + " " + B,
        A + '{"file_name": "cats\\\\b.jpg", "text": "a cat", "score": NaN, "n": 1e999}\n',
        A + '{"file_name": "./cats//b.jpg", "text": "a cat", "objects": {"bbox": [[1, 2]]}}\n',
        A + '{"text": "a cat", "file_name": "cats/x/../b.jpg", "n": ' + "9" * 5000 + "}\n",
    ],
    ids=[
        *("CRLF", "no last line end", "a byte order mark", "blank lines", "two in a line"),
        *("backslashes", "a path that is not the shortest", "a number of 5,000 digits"),
    ],
)
def test_odd_but_legal_tables_are_read(tmp_path: Path, content: str | bytes) -> None:
    found = table(tmp_path, content)

    assert names(found.captioned) == ["data/a.jpg", "data/cats/b.jpg"]
    assert (found.rows, found.damage) == (2, ())


@pytest.mark.parametrize("place", [".", "data/train"])
def test_a_table_lies_anywhere_in_the_tree(tmp_path: Path, place: str) -> None:
    found = table(tmp_path, A, place=place)

    assert found.captioned == ("a.jpg" if place == "." else "data/train/a.jpg")


@pytest.mark.parametrize(
    "row",
    [
        {"caption": "a dog"},
        {"prompt": "a dog"},
        {"text": ["a dog", "an animal"]},
        {"text": None, "caption": "a dog"},
        {"label": 3, "text": "a dog"},
    ],
    ids=["caption", "prompt", "several", "one of two keys", "beside a label"],
)
def test_captions_have_several_names(tmp_path: Path, row: dict[str, object]) -> None:
    found = table(tmp_path, json.dumps({"file_name": "a.jpg", **row}))

    assert (names(found.captioned), found.empty) == (["data/a.jpg"], "")


def test_conditions_and_lists_of_files_are_named_too(tmp_path: Path) -> None:
    row = {"file_name": "a.jpg", "cond_file_name": "cond/a.png", "text": "a dog"}
    several = {"file_names": ["b.jpg", "c.jpg"], "text": "two dogs"}

    found = table(tmp_path, json.dumps(row) + "\n" + json.dumps(several))

    expected = ["data/a.jpg", "data/cond/a.png", "data/b.jpg", "data/c.jpg"]
    assert names(found.captioned) == expected


@pytest.mark.parametrize(
    "caption", [{"text": ""}, {"text": " \n"}, {"text": None}, {"text": []}, {}]
)
def test_captions_that_are_empty_are_told_apart(tmp_path: Path, caption: dict[str, object]) -> None:
    found = table(tmp_path, json.dumps({"file_name": "b.jpg", **caption}) + "\n" + B)

    if caption == {"text": []}:
        assert found.damage[0].kind == "type"
    else:
        assert (names(found.captioned), names(found.empty)) == (
            ["data/cats/b.jpg"],
            ["data/b.jpg"],
        )


@pytest.mark.parametrize(
    ("line", "empty"),
    [
        ('{"file_name": "a.jpg", "label": "dog"}\n', ["data/a.jpg"]),
        ('{"image_path": "a.jpg", "caption": "a dog"}\n', []),
    ],
    ids=["of labels", "of another program, which names files under keys of its own"],
)
def test_a_table_of_something_else_captions_nothing(
    tmp_path: Path, line: str, empty: list[str]
) -> None:
    found = table(tmp_path, line)

    assert (found.rows, found.captioned, names(found.empty), found.damage) == (1, "", empty, ())


@pytest.mark.parametrize(
    ("content", "kind", "line", "words"),
    [
        (A + '{"file_name": "b.jpg", "text":\n', "json", 2, "is no JSON: Expecting value in"),
        (A + '{"file_name": "b.jpg", "text": "x",}\n', "json", 2, "is no JSON"),
        (A + '{"file_name": "b.jpg", "text": "x\ty"}\n', "json", 2, "Invalid control character"),
        (A + "\0" * 100, "json", 2, "is no JSON"),
        (A + '["b.jpg", "a cat"]\n', "json", 2, "is a list, and not an object with a file_name"),
        (A + "5\n", "json", 2, "is a number"),
        (A + "null\n", "json", 2, "is null"),
        ("[" + A.rstrip() + "]\n", "json", 1, "is a list"),
        (A + '{"n": ' + "[" * 100_000, "json", 2, "too deep to be read"),
        (A.encode() + b'{"text": "caf\xe9"}\n', "encoding", 2, "no UTF-8, from its byte 14 on"),
        (A.encode("utf-16"), "form", 1, "is UTF-16"),
        (A + '{"file_name": 5, "text": "x"}\n', "file_name", 2, "a file_name that is a number"),
        (A + '{"file_name": "a\\u0000b"}\n', "file_name", 2, "that no file can have"),
        (A + '{"file_name": "\\ud800"}\n', "file_name", 2, "that no file can have"),
        (A + '{"file_name": "../x.jpg"}\n', "outside", 2, "names ../x.jpg, which lies outside"),
        (A + '{"file_name": "b/../../x.jpg"}\n', "outside", 2, "which lies outside its folder"),
        (A + '{"file_name": "/etc/passwd"}\n', "outside", 2, "which is no relative path"),
        (A + '{"file_name": "C:\\\\x.jpg"}\n', "outside", 2, "which is no relative path"),
        (A + '{"file_name": "b.jpg", "text": 5}\n', "type", 2, "a text that is a number, and a"),
        (A + '{"text": "a cat"}\n', "unnamed", 2, "line 2 names no file"),
        (A + '{"file_name": null, "text": "x"}\n', "unnamed", 2, "names no file"),
        ("", "empty", None, "it is empty"),
        ("\n \n", "empty", None, "it is empty"),
    ],
    ids=[
        *("cut", "a comma too many", "a tab in a text", "zeros", "a list", "a number", "null"),
        *("one list", "deep", "Latin-1", "UTF-16", "a number for a name", "a null character"),
        *("half a pair", "above", "above by a detour", "absolute", "a drive", "mixed types"),
        *("no name", "null for a name", "empty", "blank"),
    ],
)
def test_what_a_reader_stops_at_is_told_with_its_line(
    tmp_path: Path, content: str | bytes, kind: str, line: int | None, words: str
) -> None:
    found = table(tmp_path, content)

    (damage,) = found.damage
    assert (damage.kind, damage.line, found.damaged) == (kind, line, 1)
    assert words in damage.text


def test_many_damaged_lines_are_counted_and_a_few_told(tmp_path: Path) -> None:
    found = table(tmp_path, A + "no JSON\n" * 1000 + B)

    assert (len(found.damage), found.damaged) == (5, 1000)
    assert names(found.captioned) == ["data/a.jpg", "data/cats/b.jpg"]


def test_a_line_without_end_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "metadata.jsonl"
    with path.open("wb") as file:
        file.write(b'{"file_name": "')
        file.truncate(10 * 2**30)
    tracemalloc.start()
    try:
        with pytest.raises(CannotLookError, match=r"line 1 has more than 4,194,304 bytes"):
            read_table(str(path), str(tmp_path), str)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


def test_a_table_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (captions, table_rows):
        monkeypatch.setattr(module, "MOST", 10)

    with pytest.raises(CannotLookError, match="more than 10 lines"):
        table(tmp_path, A * 11)
    with pytest.raises(CannotLookError, match="more than 10 files"):
        table(tmp_path, json.dumps({"file_names": ["a.jpg"] * 11}))


def test_many_lines_take_little_memory_and_are_told_of(tmp_path: Path) -> None:
    """At most 150 bytes a line; a name of it is kept once."""
    lines = 20_000
    content = "".join(f'{{"file_name": "{n:08}.jpg", "text": "dog {n}"}}\n' for n in range(lines))
    (tmp_path / "metadata.jsonl").write_text(content, encoding="utf-8")
    told: list[str] = []
    tracemalloc.start()
    try:
        found = read_table(str(tmp_path / "metadata.jsonl"), str(tmp_path), told.append)
        assert tracemalloc.get_traced_memory()[1] < 150 * lines
    finally:
        tracemalloc.stop()

    assert found.rows == lines
    assert HERE.size == len(content)
    assert HERE.size * 0.9 < HERE.at <= HERE.size
    assert set(told) == {"metadata.jsonl"}
    assert len(told) > 10


def test_a_table_that_is_gone_is_an_error_and_no_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "metadata.jsonl"), str(tmp_path), str)


# --- through processes


def test_a_process_is_asked_about_a_table(tmp_path: Path) -> None:
    """The bytes are the user's: no other process reads them."""
    table(tmp_path, A + B)
    plains = [
        {"path": str(tmp_path / name)} for name in ("data/metadata.jsonl", "gone/metadata.jsonl")
    ]

    answer, fault = ask(questions(TABLE, plains, tmp_path), tmp_path)

    assert isinstance(answer, Answer) and isinstance(fault, Fault)
    (plain,) = answer.told
    assert {**plain}.pop("type") == "Captioned"
    assert plain["captioned"] == "data/a.jpg\0data/cats/b.jpg"
    assert fault.error.startswith("No such file")


def run(folder: Path, *lines: str) -> list[tuple[str, str, Severity]]:
    """Look at a folder of three images whose captions stand in a table, as the command does."""
    put(folder / "data", "a.jpg", "b.jpg", "c.jpg", content=photo())
    put(folder / "data", "metadata.jsonl", content="".join(lines).encode())
    report = preflight.run("data", folder=str(folder), select=["sample-unpaired"])
    return [(str(one.at), one.message, one.severity) for one in report.findings]


def row(name: str, text: str = "a dog") -> str:
    return json.dumps({"file_name": name, "text": text}) + "\n"


C = row("c.jpg")
ERROR, WARNING = Severity.ERROR, Severity.WARNING


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([C], []),
        ([], [("data/c.jpg", "has no caption: metadata.jsonl does not name it", WARNING)]),
        (
            [C, row("d.jpg")],
            [("data/metadata.jsonl, data/d.jpg", "is named by the table, and is not there", ERROR)],
        ),
        (
            [row("c.jpg", " ")],
            [("data/metadata.jsonl", "gives 1 image no caption, or an empty one: c.jpg", WARNING)],
        ),
        (
            ['{"file_name": \n'],
            [
                (
                    "data/metadata.jsonl:3",
                    "cannot be read as a table: line 3 is no JSON: Expecting value in column 14",
                    ERROR,
                )
            ],
        ),
    ],
    ids=[
        *("nothing", "an image without a line", "a line without its image", "an empty caption"),
        "a cut line",
    ],
)
def test_a_whole_run_tells_what_is_wrong_with_a_table(
    tmp_path: Path, lines: list[str], expected: list[tuple[str, str, Severity]]
) -> None:
    assert run(tmp_path, row("a.jpg"), row("b.jpg"), *lines) == expected


# --- metadata.csv


def csv_table(folder: Path, content: str | bytes) -> Captioned:
    """Write a metadata.csv, and read it."""
    content = content if isinstance(content, bytes) else content.encode()
    put(folder / "data", "metadata.csv", content=content)
    return read_table(str(folder / "data" / "metadata.csv"), str(folder), str)


NAMES = "file_name,text\n"


@pytest.mark.parametrize(
    "content",
    [
        NAMES + 'a.jpg,"a dog, a cat"\nb.jpg,x\n',
        NAMES + 'a.jpg,"a dog\n\non two lines, ""so"""\nb.jpg,x\n',
        "\ufeff" + NAMES + "a.jpg,a dog\nb.jpg,x\n",
        (NAMES + "a.jpg,a dog\nb.jpg,x\n").replace("\n", "\r\n"),
        NAMES + "\na.jpg,a dog\n\nb.jpg,x",
        "w,text,file_name\n1,a dog,a.jpg\n2,x,b.jpg\n",
        ",image_file_name,text\n0,a.jpg,a dog\n1,b.jpg,x\n",
        NAMES + "a.jpg,1\nb.jpg,2\n",
    ],
    ids=[
        *("a comma in quotes", "several lines", "a byte-order mark", "line ends of Windows"),
        *("blank lines", "names in another order", "more names", "numbers"),
    ],
)
def test_a_csv_is_read_as_pandas_reads_it(tmp_path: Path, content: str) -> None:
    found = csv_table(tmp_path, content)

    assert names(found.captioned) == ["data/a.jpg", "data/b.jpg"]
    assert (found.rows, found.empty, found.damage) == (2, "", ())


def test_a_value_of_a_csv_that_is_empty_is_none(tmp_path: Path) -> None:
    found = csv_table(tmp_path, NAMES + "a.jpg,\nb.jpg\n,x\nc.jpg,y\n")

    assert names(found.captioned) == ["data/c.jpg"]
    assert names(found.empty) == ["data/a.jpg", "data/b.jpg"]
    assert [one.text for one in found.damage] == ["line 4 names no file"]


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (NAMES + "a.jpg,x\nb.jpg,a dog, a cat\n", "fields", "line 3 has 3 values, and line 1 2"),
        (NAMES + 'a.jpg,"a dog\nb.jpg,x\n', "quote", "line 3 is the last, and a quote before"),
        ("file_name;text\na.jpg;x\n", "commas", "line 1 parts its names by something else"),
        ((NAMES + "a.jpg,café\n").encode("latin-1"), "encoding", "line 2 is no UTF-8, from its"),
        ((NAMES + "a.jpg,x\n").encode("utf-16"), "form", "line 1 is UTF-16, and no text in UTF-8"),
        (NAMES + "../a.jpg,x\n", "outside", "line 2 names ../a.jpg, which lies outside"),
        (NAMES, "empty", "it is empty"),
        ("", "empty", "it is empty"),
    ],
    ids=[
        *("a comma too many", "an open quote", "semicolons", "latin-1", "UTF-16", "outside"),
        *("no row", "nothing"),
    ],
)
def test_where_pandas_or_imagefolder_stop_in_a_csv_is_told(
    tmp_path: Path, content: str | bytes, kind: str, text: str
) -> None:
    (found,) = csv_table(tmp_path, content).damage

    assert found.kind == kind
    assert found.text.startswith(text)


def test_a_value_of_a_csv_without_end_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="field larger than field limit"):
        csv_table(tmp_path, NAMES + f"a.jpg,{'x' * 200_000}\n")


def test_a_csv_that_names_no_file_is_said_to_tell_of_no_caption(tmp_path: Path) -> None:
    put(tmp_path / "data", "a.jpg", "b.jpg", content=photo())
    put(tmp_path / "data", "metadata.csv", content=b"filename,text\na.jpg,a dog\nb.jpg,x\n")

    report = preflight.run("data", folder=str(tmp_path))

    (outcome,) = (one for one in report.checks if one.id == "sample-unpaired")
    assert [one.reason for one in outcome.skipped] == [
        "data/metadata.csv has no file_name, and so names no image"
    ]


def test_a_csv_above_its_images_is_read_and_nothing_is_said_to_be_unread(tmp_path: Path) -> None:
    put(tmp_path / "data" / "images", "a.jpg", "b.jpg", "c.jpg", content=photo())
    rows = "".join(f"images/{name}.jpg,a dog\n" for name in "abd")
    put(tmp_path / "data", "metadata.csv", content=(NAMES + rows).encode())

    report = preflight.run("data", folder=str(tmp_path))

    told = {(str(one.at), one.message) for one in report.findings}
    assert told == {
        ("data/images/c.jpg", "has no caption: metadata.csv does not name it"),
        ("data/metadata.csv, data/images/d.jpg", "is named by the table, and is not there"),
    }
    assert [one.unread for one in report.coverage if one.unread] == []
