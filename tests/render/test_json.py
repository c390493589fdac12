"""The JSON report, and the schema that it keeps to."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace

import jsonschema
import pytest

from preflight.findings.report import Report
from preflight.render import FORMATS, format_of, renderer, schema
from preflight.render import json as json_format
from tests.render.jobs import healthy

PLAIN = json.loads(json_format.render(healthy()))


@functools.cache
def validator() -> jsonschema.Draft202012Validator:
    made = schema.schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_the_json_is_as_it_was(sample: Report, snapshot: Callable[[str, str], None]) -> None:
    snapshot("everything.json", json_format.render(sample))


def test_the_schema_is_as_it_was(snapshot: Callable[[str, str], None]) -> None:
    """Its change is a change of what other programs read."""
    snapshot("schema.json", json.dumps(schema.schema(), indent=2) + "\n")


def test_every_report_keeps_to_the_schema(report: Report) -> None:
    validator().validate(json.loads(json_format.render(report)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "maybe"},
        {"schema": 2},
        {"findings": [{"check": "shard-damaged"}]},
        {"checks": [{"id": "shard-damaged", "outcome": "green"}]},
        {"complete": "yes"},
        {"seconds": [1]},
        {"more": {"shard-damaged": {"a.tar": "many and more"[0:0] or None}}},
        {"machine": "mine"},
        {"accepted": {}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_report_with_a_wrong_field_is_refused(wrong: dict[str, object]) -> None:
    assert not validator().is_valid(PLAIN | wrong)


@pytest.mark.parametrize("name", ["schema", "tool", "verdict", "findings", "checks", "job"])
def test_a_report_without_a_field_is_refused(name: str) -> None:
    assert not validator().is_valid({key: PLAIN[key] for key in PLAIN if key != name})


def test_a_field_of_a_later_version_is_left_alone() -> None:
    assert validator().is_valid(PLAIN)
    assert validator().is_valid(PLAIN | {"weather": "fine"})


def test_the_fields_come_in_their_documented_order(report: Report) -> None:
    plain = json.loads(json_format.render(report))
    first = (
        "schema tool verdict verdict_by complete not_judged coverage started seconds job machine"
    )

    assert list(plain)[:14] == [*first.split(), "checks", "findings", "more"]


def test_what_is_read_back_is_the_same_report() -> None:
    assert Report.from_json(json_format.render(healthy())) == healthy()


def test_lost_bytes_are_readable_and_no_lone_surrogates(sample: Report) -> None:
    """Strict readers refuse a whole file for one of them."""
    text = json_format.render(sample)

    assert text.isascii()
    assert r"caf\\xe9.jpg" in text
    assert r"\udce9" not in text
    json.loads(text)["findings"][0]["message"].encode()


def test_numbers_that_json_cannot_hold_are_strings() -> None:
    plain = json.loads(json_format.render(replace(healthy(), seconds=float("inf"))))

    assert plain["seconds"] == "inf"
    assert validator().is_valid(plain)


def test_descriptions_are_the_types_own() -> None:
    """The sentence under a field is its description; it is written once."""
    finding = schema.schema()["$defs"]["Finding"]

    assert finding["properties"]["why"]["description"] == "The consequence in this job."
    assert finding["required"] == ["check", "severity", "message", "at"]


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_gives_text_that_ends_its_last_line(name: str, report: Report) -> None:
    text = renderer(name)(report)

    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/report.json", "json"), ("REPORT.MD", "markdown"), ("report.txt", None), ("report", None)],
)
def test_a_files_suffix_tells_its_format(path: str, name: str | None) -> None:
    assert format_of(path) == name
