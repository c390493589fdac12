"""The bug report: what it tells, and what never leaves the machine."""

from __future__ import annotations

import collections.abc
import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt

from preflight.findings.finding import Location, Severity
from preflight.findings.parts import Covered
from preflight.findings.report import Broken, Report, Setting, Skip
from preflight.render import bug_report
from preflight.render.redaction import Redaction
from tests.render.jobs import REPORTS, demo, healthy
from tests.render.sample import finding, outcome

# Made up, in the shapes that their issuers document; put together here so that no scanner of
# repositories takes them for lost ones.
TOKENS = {
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
    "openai": "sk-" + "proj-AbCdEfGhIjKlMnOpQrStUv0123",
    "anthropic": "sk-" + "ant-api03-AbCdEf_GhIj-KlMnOp0123",
    "github": "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "github oauth": "gho_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "github fine": "github_pat_" + "11ABCDEFG0_abcdefghijklmnopqrstuvwxyz",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "gitlab": "glpat-" + "AbCd_EfGh-IjKlMnOp12",
    "slack": "xoxb-" + "123456789012-AbCdEfGhIjKl",
    "google": "AIza" + "SyA-1234567890_abcdefghijklmnopqrst",
    "google oauth": "ya29." + "a0AbCdEfGh-IjKl",
    "slack app": "xapp-" + "1-A0123456789-AbCd",
    "stripe": "sk_live_" + "AbCdEfGhIjKlMnOp",
    "npm": "npm_" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJAbCd",
    "nvidia": "nvapi-" + "AbCdEfGh-IjKlMnOp",
    "header": "Authorization: " + "Token s3cr3t-canary with spaces",
    "bearer": "Bearer " + "canary.canary-canary",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl",
    "key block": "-----BEGIN EC PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END EC PRIVATE KEY-----",
    "half a key block": "-----BEGIN RSA PRIVATE KEY----- MIIEpAIBAAKCAQEA",
    "address": "https://ada:" + "s3cr3tcanary@git.example/acme/repo.git",
    "setting": "WANDB_API_KEY=" + "0123456789abcdef0123456789abcdef01234567",
    "password": "password: " + "canary-canary",
    "signed": "https://bucket.example/x.tar?X-Amz-Signature=" + "abcdef0123456789",
}

# What of each must not be there.
SECRET = {
    name: text.split("\n")[1] if "\n" in text else text.split(" ")[-1].split("=")[-1]
    for name, text in TOKENS.items()
} | {"header": "s3cr3t-canary", "address": "s3cr3tcanary"}

HOMES = {
    "linux": "/home/adalove/projects/dogs/secretproject/x.pt",
    "mac": "/Users/adalove/projects/dogs/secretproject/x.pt",
    "windows": "C:\\Users\\adalove\\projects\\secretproject\\x.pt",
    "windows with slashes": "C:/Users/adalove/projects/secretproject/x.pt",
    "elsewhere": "/scratch/secretproject/runs/x.pt",
    "share": "\\\\fileserver\\secretproject\\x.pt",
    "tilde": "~adalove/secretproject/x.pt",
    "bucket": "s3://secretproject/latents/x.pt",
}


def filled(kind: Any, canary: str) -> Any:
    """Make a value of a type with this text in every field that holds text."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        return kind(**{one.name: filled(hints[one.name], canary) for one in fields})  # type: ignore[operator]
    if origin in (typing.Union, types.UnionType):
        return filled(of[0], canary)
    if origin is tuple:
        return (filled(of[0], canary),)
    if origin is collections.abc.Mapping:
        return {canary: filled(of[1], canary), "text": filled(of[1], canary)}
    if kind is Severity:
        return Severity.ERROR
    return True if kind is bool else kind(1) if kind in (int, float) else canary


def full(canary: str) -> Report:
    """Give a report with this text in every field that holds text."""
    report: Report = filled(Report, canary)
    held = dict.fromkeys(("state", "driver", "detail", "visible"), canary)
    one = {"index": 0, "name": canary, "uuid": canary, "processes": [{"pid": 1, "name": canary}]}
    names = ("RANK", "CUDA_VISIBLE_DEVICES", "HF_TOKEN", canary)
    settings = ("launch.start_method", f"plugins.{canary}", canary)
    (accepted,) = report.accepted
    return replace(
        report,
        job={
            "root": Setting(value="/data/job", origin=canary),
            **{name: Setting(value=canary, origin=canary) for name in settings},
            "launch.gpus": Setting(value={canary: [canary]}, origin=canary),
        },
        machine={
            **dict.fromkeys(("system", "python", "cpus", "memory", canary), canary),
            "gpus": {**held, "gpus": [one]},
            "environment": dict.fromkeys(names, canary),
        },
        accepted=(replace(accepted, fingerprint=canary + "x"),),
        tool={"name": canary, "version": canary, canary: canary},
    )


def test_the_canaries_reach_every_field_of_text() -> None:
    bare = {"complete", "interrupted", "seconds", "schema"}
    report = full("canary")
    for field in dataclasses.fields(Report):
        assert field.name in bare or "canary" in repr(getattr(report, field.name)), field.name


@pytest.mark.parametrize("kind", list(TOKENS))
def test_no_token_leaves_from_any_field(kind: str) -> None:
    for text in (TOKENS[kind], f"it says {TOKENS[kind]} there", f"'{TOKENS[kind]}'"):
        assert SECRET[kind] not in bug_report.render(full(text))


@pytest.mark.parametrize("kind", list(HOMES))
def test_no_path_outside_the_job_is_told_from_any_field(kind: str) -> None:
    """Its last part stays, since without it nothing can be understood."""
    for text in (HOMES[kind], f"cannot read '{HOMES[kind]}': denied", f"({HOMES[kind]}:12)"):
        told = bug_report.render(full(text))

        assert "adalove" not in told
        assert "secretproject" not in told
        assert "x.pt" in told


@pytest.mark.parametrize("word", ["adalove", "node-17.cluster.example", "node-17", "10.1.2.3"])
def test_names_of_people_and_machines_are_taken_out_wherever_they_stand(word: str) -> None:
    """The home folder and the launcher's variables tell them; they are left out everywhere."""
    report = replace(
        full(f"made by {word}, on a {word}."),
        job={"root": Setting(value="/home/adalove/dogs", origin="default")},
        machine={"environment": {"MASTER_ADDR": "node-17.cluster.example", "RANK": "0"}},
    )

    assert word not in bug_report.render(report)


def test_a_home_with_a_space_in_it_is_a_home() -> None:
    report = replace(
        full("/home/ada love/dogs/x.pt is cut; so says ada love"),
        job={"root": Setting(value="/home/ada love/dogs", origin="default")},
    )

    assert "love" not in bug_report.render(report)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/home/ada", "<...>"),
        ("/home/ada/dogs/x.pt", "<...>/x.pt"),
        ("/scratch/ada/x.pt", "<...>/x.pt"),
        ("https://host.example/ada/x.pt?key=1", "https://<...>/x.pt"),
        ("mail to ada@host.example", "mail to <redacted>"),
        ("at 10.1.2.3:29500", "at <redacted>:29500"),
    ],
)
def test_shapes_are_known_without_names(text: str, told: str) -> None:
    """Not every report knows whose home it is."""
    assert Redaction(root=None, names=()).text(text) == told


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/home/ada", "<...>"),
        ("/home/ada/my dogs/x y.pt", "<...>/x y.pt"),
        ("C:\\Users\\ada\\x.pt", "<...>/x.pt"),
        ("data/x y.pt", "data/x y.pt"),
        ("/data/job/sub/x.pt", "sub/x.pt"),
    ],
)
def test_a_place_is_named_whole(path: str, told: str) -> None:
    """A path with spaces in it cannot be seen in a sentence, but in its own field it can."""
    assert Redaction(root="/data/job", names=()).path(path) == told


def test_the_caller_can_name_more_that_is_private() -> None:
    told = bug_report.render(full("seen by lovelace on box7"), private=("lovelace", "box7"))

    assert "lovelace" not in told
    assert "box7" not in told


def test_files_of_the_job_are_named_below_its_folder() -> None:
    bad = finding("shard-damaged", "is cut, as /home/ada/dogs/data/a.tar is", file="data/b.tar")
    report = healthy(
        findings=(bad,), job={"root": Setting(value="/home/ada/dogs", origin="default")}
    )
    told = bug_report.render(report)

    assert "shard-damaged at data/b.tar: is cut, as data/a.tar is" in told


@pytest.mark.parametrize("field", ["why", "fix", "workaround"])
def test_advice_is_not_told(field: str) -> None:
    """It says nothing that the check's id does not, and may quote the user's code."""
    values: dict[str, Any] = {field: "quoted canary"}
    report = healthy(findings=(finding("env-launch", "is unset", **values),))

    assert "canary" not in bug_report.render(report)


def test_only_settings_of_the_launch_are_told() -> None:
    job = {
        "launch.gpus": Setting(value=8, origin="canary.toml:3"),
        "launch.start_method": Setting(value="spawn", origin="--start-method"),
        "launch.elsewhere": Setting(value="a canary", origin="default"),
        "data": Setting(value="canary", origin="default"),
        "plugins.canary": Setting(value="canary", origin="default"),
        "launch.canary": Setting(value="canary", origin="default"),
    }
    told = bug_report.render(healthy(job=job))

    assert "gpus = 8\nstart_method = spawn\nelsewhere is set\n" in told
    assert "canary" not in told


def test_only_counting_variables_are_told() -> None:
    environment = {
        "RANK": "3",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "SLURM_NTASKS": "canary",
        "SLURM_JOB_NODELIST": "canary[01-04]",
        "HF_TOKEN": "canary",
        "MASTER_ADDR": "canary",
    }
    told = bug_report.render(healthy(machine={"environment": environment}))

    assert "RANK=3" in told
    assert "CUDA_VISIBLE_DEVICES=0,1" in told
    assert "SLURM_NTASKS is set" in told
    assert "canary" not in told


def test_the_finished_text_is_looked_through_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes together only when pieces are joined is found then."""
    token = TOKENS["hugging face"]
    report = healthy(checks=(outcome("env-launch", "x"),), tool={"version": "1"}, seconds=1.0)
    monkeypatch.setattr(bug_report, "_machine", lambda *_: [token])

    assert token not in bug_report.render(report)


@pytest.mark.parametrize("name", ["everything", "demo"])
def test_the_bug_report_is_as_it_was(name: str, snapshot: Callable[[str, str], None]) -> None:
    snapshot(f"{name}-bug-report.md", bug_report.render(REPORTS[name]()))


def test_no_name_becomes_markup(sample: Report) -> None:
    evil = ("```", "````\n# heading", "~~~", "<img src=x>", "[a](https://evil.example)", "@octocat")
    found = tuple(finding("image-damaged", name, file=name, name=name) for name in evil)
    blocks = ("heading", "paragraph", "bullet_list", "list_item")
    allowed = {"inline", "text", "fence", "softbreak", "code_inline"}
    allowed |= {f"{name}_{end}" for name in blocks for end in ("open", "close")}
    text = bug_report.render(replace(sample, findings=found, reasons=evil))
    tokens = MarkdownIt("commonmark", {"html": True}).parse(text)

    assert {one.type for token in tokens for one in (token, *(token.children or ()))} <= allowed
    assert len([token for token in tokens if token.type == "fence"]) == 5


def test_a_fence_is_longer_than_any_within() -> None:
    assert list(bug_report._fenced(["```"])) == ["````text", "```", "````"]


def test_a_report_of_many_findings_fits_into_an_issue() -> None:
    """GitHub refuses an issue above 65,536 characters."""
    many = tuple(
        finding(f"image-{number:03}", "is odd " * 500, file="a.jpg", evidence={"x": "y" * 9_000})
        for number in range(300)
    )

    assert len(bug_report.render(healthy(verdict="no-go", findings=many))) < 65_536


def test_a_redacted_text_stays_as_it_is_when_it_is_redacted_again(sample: Report) -> None:
    hide = Redaction.of(sample)
    for text in (*TOKENS.values(), *HOMES.values()):
        once = hide.text(text)
        assert hide.text(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "has 3.1 GB free of 80 GB, driver 535.129.03",
        "needs 2 GB of /dev/shm",
        "and/or 3/4 of data/shard-001.tar",
        "torch 2.13.0: nn/modules/module.py:12",
        "int(os.environ['SLURM_LOCALID']) is read; 312 tokens: too many",
        "http status 403",
        "task-runner sk-learn hf_hub localhost 127.0.0.1",
        "loader.dataset.pipeline[7].args[0]",
    ],
)
def test_ordinary_sentences_are_left_alone(text: str) -> None:
    """A report in which everything is blacked out helps nobody."""
    assert Redaction(root="/home/ada/dogs", names=("ada",)).text(text) == text


def test_how_far_each_part_was_looked_at_is_told_without_the_commands() -> None:
    parts = (
        Covered(
            part="data",
            state="part",
            looked_at=3,
            of=4,
            seen="3 of 4 shards (9 samples)",
            unread={".jsonl": 12, ".bin": 1},
            unread_bytes=1_200_000,
        ),
        Covered(part="loader", state="not-named", hint="preflight run train:make_loader"),
    )

    text = bug_report.render(replace(healthy(), coverage=parts))

    assert (
        "data: part (3 of 4 looked at; 3 of 4 shards (9 samples); "
        "not read: 12 .jsonl, 1 .bin (1.2 MB))\nloader: not-named\n" in text
    )
    assert "make_loader" not in text


def test_what_keeps_several_checks_from_looking_is_said_once() -> None:
    """A maintainer reads the reason, and not ten times the same."""
    broken = Broken(at=Location(name="train:make"), error="killed by SIGSEGV", fix=None)
    outcomes = [outcome(one, "it", broken=(broken,)) for one in ("loader-fork", "loader-heavy")]

    text = bug_report.render(replace(demo(), checks=tuple(outcomes), findings=()))

    assert text.count("killed by SIGSEGV") == 1
    assert "  broken at train:make: as loader-fork\n" in text


def test_checks_that_had_nothing_to_look_at_are_named_in_one_line() -> None:
    reason = "no cache was looked at"
    idle = outcome("cache-damaged", "it", targets=0, skipped=(Skip(reason=reason, count=0),))
    asked = outcome("gpu-count", "it", skipped=(Skip(reason=reason, count=1),))

    text = bug_report.render(replace(demo(), checks=(idle, asked), findings=()))

    assert "skipped 0" not in text
    assert "had nothing to look at: cache-damaged\n" in text
    assert "  skipped 1: no cache was looked at\n" in text
