"""What a keyword, or an attribute, of a secret's name held is taken out of what is raised of it."""

from __future__ import annotations

import traceback
import types
import warnings
from pathlib import Path

import pytest

from preflight.secrets.exception_text import hidden_of
from preflight.secrets.hiding import REDACTED
from preflight.users_code.frames import hidden_lines, said_by, user_frames

SECRET = "frameCanary1" + "44aa09"


class _Client:
    def __init__(self, host: str, password: str) -> None:
        self.host, self.password = host, password

    def _connect(self) -> None:
        raise ConnectionError(f"{self.host} refuses {self.password}")


def by_keyword(token: str = SECRET) -> None:
    raise ValueError(f"refused: {token}!")


def by_keywords(**options: str) -> None:
    raise ValueError(f"refused: {[*options.values()]}")


def by_attribute() -> None:
    _Client("host-1", SECRET)._connect()


def held_by_another() -> None:
    pool = {"first": _Client("host-1", SECRET)}
    raise ValueError(f"refused: {pool['first'].password}")


def while_another() -> None:
    try:
        by_attribute()
    except ConnectionError as error:
        raise RuntimeError(f"gave up: {error}") from error


def by_rows(passwords: list[str]) -> None:
    raise ValueError(f"refused: {' or '.join(passwords)}")


def by_bytes(secret: bytes) -> None:
    raise ValueError(f"refused: {secret!r}")


def of_an_object(credentials: object) -> None:
    raise ValueError(f"refused: {credentials.value}")  # type: ignore[attr-defined]


CALLS = {
    "a list": lambda: by_rows(["another-one", SECRET]),
    "bytes": lambda: by_bytes(SECRET.encode()),
    "an object of that name": lambda: of_an_object(types.SimpleNamespace(value=SECRET, row=3)),
    "a keyword": by_keyword,
    "keywords": lambda: by_keywords(db_password=SECRET),
    "an attribute": by_attribute,
    "an attribute of another": held_by_another,
    "a cause": while_another,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_stands_under_a_name_on_the_way_is_not_told(call: object) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011  of several kinds
        call()  # type: ignore[operator]

    text = said_by(caught.value)

    assert SECRET in str(caught.value)
    assert SECRET not in text
    assert REDACTED in text


def test_what_a_text_says_in_lines_of_its_own_is_gone_before_they_are_one() -> None:
    told = said_by(ValueError("config:\n  password: topsecret\n  region: eu-west"))

    assert told == f"ValueError: config: password: {REDACTED} region: eu-west"


def by_words(token: str, key: str, password: str, name: str) -> None:
    raise KeyError(f"{token} {key} {password} {name}")


def test_words_stay_words_whatever_they_are_called() -> None:
    """A token is a word of a text, too, and a key is a column's."""
    with pytest.raises(KeyError) as caught:
        by_words("<|endoftext|>", "caption_en", "none", SECRET)

    assert said_by(caught.value) == f"KeyError: '<|endoftext|> caption_en none {SECRET}'"


def by_objects(tokenizer: object, tokens: list[str], auth: dict[str, str]) -> None:
    raise KeyError(f"{tokenizer.name} {tokens} {auth['user']}")  # type: ignore[attr-defined]


def test_what_an_object_says_of_itself_stays() -> None:
    with pytest.raises(KeyError) as caught:
        by_objects(types.SimpleNamespace(name="gpt2-xl-1024"), ["dog-12345"], {"user": "someone"})

    assert said_by(caught.value) == "KeyError: \"gpt2-xl-1024 ['dog-12345'] someone\""


def test_what_runs_for_ever_or_answers_for_everything_is_not_asked() -> None:
    class Odd:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(name)

    def fail(odd: object, rows: list[object]) -> None:
        rows.append(rows)
        raise ValueError("of rows")

    with pytest.raises(ValueError, match="of rows") as caught:
        fail(Odd(), [])

    assert hidden_of("of rows", caught.value) == "of rows"


def test_a_line_that_has_the_secret_written_in_it_is_told_without(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text("password = 'frameCanary144aa09'\nraise OSError('no frameCanary144aa09')\n")
    with pytest.raises(OSError, match="frameCanary") as raised:
        exec(compile(path.read_text(), str(path), "exec"), {})

    frames = user_frames(traceback.extract_tb(raised.value.__traceback__), str(tmp_path))

    line = hidden_lines(frames, raised.value)[-1]
    assert line.text == f"raise OSError('no {REDACTED}')"


SOURCES = {
    "a keyword": "open_store(host='h', api_secret='frameCanary144aa09')",
    "an attribute": "store.password = 'frameCanary144aa09'",
    "a key": "store = {'host': 'h', 'password': 'frameCanary144aa09'}",
    "a row": "store['db_password'] = 'frameCanary144aa09'",
    "a default": "def connect(host, password='frameCanary144aa09'): ...",
    "a key beside an odd escape": r"store = {'password': 'frameCanary144aa09', 'host': '\d'}",
    "a default by name": "def connect(host, *, token='frameCanary144aa09'): ...",
}


def raised_in(folder: Path, source: str) -> str:
    """Give what is told of an exception that a source raises of what it has let go of again."""
    path = folder / "job.py"
    source = f"def prepare():\n    {source}\ndef main(said):\n    raise OSError(f'no {{said}}')\n"
    path.write_text(source)
    space: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a source that is not ours
        exec(compile(source, str(path), "exec"), space)
    with pytest.raises(OSError, match="no ") as raised:
        space["main"](SECRET)  # type: ignore[operator]
    return said_by(raised.value)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_what_the_source_gives_under_a_name_is_not_told_after_the_call(
    tmp_path: Path, source: str
) -> None:
    assert raised_in(tmp_path, source) == f"OSError: no {REDACTED}"


HARMLESS = {
    "another name": "open_store(host='frameCanary144aa09')",
    "of a column": "rows(key='frameCanary144aa09')",
    "of a model": "tokenize(pad_token='frameCanary144aa09')",
    "no text": "open_store(password=frameCanary144aa09)",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_what_the_source_gives_under_another_name_stays(tmp_path: Path, source: str) -> None:
    assert raised_in(tmp_path, source) == f"OSError: no {SECRET}"
