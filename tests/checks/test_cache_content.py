"""cache-content says which cached files a run cannot use; of healthy ones, however odd, nothing."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as version_of
from pathlib import Path

import pytest
from packaging.version import Version

import preflight
from preflight.findings.finding import Aside, Finding, Location, Severity
from preflight.settings.job import Job
from preflight.tensors.facts import CacheContents, OddContent
from preflight.tensors.neighbours import contents_of
from preflight.tensors.read import read_content
from preflight.testing import ask
from tests.contents import case
from tests.questions import outcome_of

pytestmark = pytest.mark.usefixtures("at_hand")


def findings(folder: Path) -> list[Finding]:
    def contents() -> Iterator[object]:
        for path in sorted(folder.rglob("*.pt")):
            yield read_content(str(path), str(folder.parent), {}, lambda _: None)

    return ask("cache-content", contents_of(folder.name, contents()))  # type: ignore[arg-type]


def one(**values: object) -> Finding:
    odd = OddContent(**{"file": "cache/a.pt", **values})  # type: ignore[arg-type]
    (found,) = ask("cache-content", CacheContents(folder="cache", files=9, odd=(odd,)))
    return found


def test_a_cache_in_which_nothing_stands_out_is_left_alone() -> None:
    contents = CacheContents(folder="cache", files=9, tensors=9, skipped={"it is damaged": 3})

    assert ask("cache-content", contents) == []


def test_a_cache_of_which_nothing_was_loaded_was_not_looked_at() -> None:
    """A skip is no pass; the reason of most is given."""
    skipped = {"it is damaged; see cache-damaged": 2, "it is TorchScript": 1}
    facts = CacheContents(folder="cache", skipped=skipped)
    outcome = outcome_of("cache-content", facts, Job())

    assert outcome.outcome == "skipped"
    assert [one.reason for one in outcome.skipped] == [
        "no cached file was loaded: it is damaged; see cache-damaged"
    ]


LOADS = pytest.mark.skipif(
    Version(version_of("torch")) < Version("2.6"),
    reason="of this torch, weights_only runs code (CVE-2025-32434)",
)


@LOADS
def test_the_mended_case_is_left_alone(tmp_path: Path) -> None:
    """Latents of many sizes, and embeddings of one."""
    case("cache-content").make(tmp_path, mended=True)

    assert findings(tmp_path / "cache") == []


@LOADS
def test_each_file_of_the_case_is_found_once(tmp_path: Path) -> None:
    case("cache-content").make(tmp_path, mended=False)

    found = {str(one.at): (one.severity.word, one.message) for one in findings(tmp_path / "cache")}

    assert found == {
        "cache/text/0008.pt, ['pooled']": (
            "error",
            "is not in this file, where 8 files beside it have it",
        ),
        "cache/text/0009.pt, ['prompt_embeds']": (
            "error",
            "has 2 dimensions (77 x 768), where 8 files beside it have 3",
        ),
        "cache/vae/0008.pt": (
            "error",
            "holds 3 NaN among 16,384 numbers (16 x 32 x 32, float16)",
        ),
        "cache/vae/0009.pt": ("warning", "holds nothing but zeros (16 x 32 x 32)"),
        "cache/vae/0010.pt": (
            "warning",
            "is 4 x 32 x 32, where 11 files beside it have 16 in place of 4",
        ),
        "cache/vae/0011.pt": (
            "warning",
            "takes 2.1 MB on disk for a view of 32.8 kB (16 x 32 x 32, float16)",
        ),
    }
    assert len(findings(tmp_path / "cache")) == len(found)


def test_a_finding_says_it_all() -> None:
    found = one(kind="nan", path="['a']", count=3, of=99, more=1, seen="99, float16")

    assert found == Finding(
        check="cache-content",
        severity=Severity.ERROR,
        message="holds 3 NaN among 99 numbers (99, float16) and in 1 more tensor of the file",
        at=Location(file="cache/a.pt", name="['a']"),
        why="The step that meets it turns every weight into NaN; the loss does not say which file.",
        fix="Move it aside and have it made again, in bfloat16 or float32 where float16 overflows.",
        aside=(Aside(file="cache/a.pt"),),
        evidence={"kind": "nan", "count": 3, "of": 99, "seen": "99, float16"},
        fingerprint=found.fingerprint,
    )


@pytest.mark.parametrize(
    ("seen", "usual", "severity"),
    [
        ("float32", "bfloat16", Severity.WARNING),
        ("float16", "float32", Severity.WARNING),
        ("int64", "float32", Severity.ERROR),
        ("float8_e4m3fn", "bfloat16", Severity.ERROR),
    ],
)
def test_another_type_is_as_grave_as_torch_takes_it(
    seen: str, usual: str, severity: Severity
) -> None:
    """And torch itself is asked: a worker stacks a batch into memory of the first sample's type."""
    import torch

    samples = [torch.ones(2).to(getattr(torch, name)) for name in (seen, usual)]
    fails = False
    for first in samples:
        try:
            torch.stack(samples, out=torch.empty((2, 2), dtype=first.dtype))
        except (RuntimeError, TypeError):
            fails = True

    assert one(kind="dtype", path="['a']", seen=seen, usual=usual, count=9).severity is severity
    assert fails == (severity is Severity.ERROR)


KINDS = (
    *("nan", "infinite", "zero", "all-zero", "storage", "missing-key", "extra-key", "kind"),
    *("rank", "dtype", "mixed-dtype", "shape"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_oddity_has_its_words(kind: str) -> None:
    """Each a sentence about its place, with a consequence and one thing to do."""
    found = one(kind=kind, path="['a']", seen="3 things", usual="4", count=9, of=99)

    assert not found.message.endswith(".")
    assert (found.why or "").endswith(".")
    assert (found.fix or "").endswith(".")


def test_a_file_is_told_once_for_the_gravest() -> None:
    """Errors first; and a folder for all that is true of it."""
    told = [
        OddContent(file="a.pt", kind=kind, path="['x']", count=3, of=9)
        for kind in ("shape", "zero", "nan", "storage", "missing-key")
    ]
    folder = [OddContent(file=".", kind=kind, count=9) for kind in ("all-zero", "mixed-dtype")]
    contents = CacheContents(folder=".", files=9, odd=(*folder, *told))

    found = ask("cache-content", contents)

    assert [one.evidence["kind"] for one in found] == ["all-zero", "mixed-dtype", "nan"]
    assert found[-1].evidence["others"] == "missing-key, shape, storage, zero"


def test_two_oddities_of_one_tensor_have_two_fingerprints() -> None:
    """And each keeps its own when its numbers change."""
    prints = {one(kind=kind, path="['a']").fingerprint for kind in KINDS}

    assert len(prints) == len(KINDS)
    assert one(kind="nan", count=1).fingerprint == one(kind="nan", count=2).fingerprint


@pytest.mark.parametrize("kind", ["nan", "infinite"])
def test_a_checkpoint_is_not_to_be_made_again(kind: str) -> None:
    found = one(kind=kind, file="out/checkpoint-500/model.safetensors", count=3, of=9)

    assert found.fix == "Go on from a checkpoint that was written before the loss became NaN."


def test_weights_of_a_checkpoint_may_begin_as_zeros(tmp_path: Path) -> None:
    """As the second half of a LoRA does; in a cache the same file is told."""
    import torch

    for place in ("out/checkpoint-100", "out/checkpoint-200", "cache"):
        (tmp_path / place).mkdir(parents=True)
        lora = {"A": torch.ones(8, 64), "B": torch.zeros(64, 8)}
        torch.save(lora, tmp_path / place / "adapter_model.pt")

    assert graves(tmp_path, "out") == {}
    assert graves(tmp_path, "cache=cache") == {"cache/adapter_model.pt": "warning"}


def numbers(folder: Path, name: str, *values: float) -> None:
    import torch

    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    torch.save({"w": torch.tensor([*range(1, 99), *values])}, folder / name)


def graves(folder: Path, word: str) -> dict[str, str]:
    """How grave it is what a run says of the numbers of each file."""
    report = preflight.run(
        word,
        folder=str(folder),
        elsewhere=True,
        deep=True,
        trust_caches=True,
        select=["cache-content"],
    )
    assert report.verdict_by["job"] == (
        "no-go" if any(one.severity is Severity.ERROR for one in report.findings) else "go"
    )
    return {str(one.at.file): one.severity.word for one in report.findings}


STATES = [
    ["checkpoint-1/m.pt", "checkpoint-2/m.pt", "checkpoint-10/m.pt"],
    ["epoch_1.pt", "epoch_2.pt", "epoch_10.pt"],
]


@pytest.mark.parametrize("states", STATES, ids=["folders", "files"])
def test_checkpoints_of_ordinary_numbers_are_left_alone(tmp_path: Path, states: list[str]) -> None:
    for state in states:
        numbers(tmp_path / "out", state)

    assert graves(tmp_path, "checkpoint=out") == {}


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("states", STATES, ids=["folders", "files"])
def test_what_no_job_goes_on_from_is_a_warning(
    tmp_path: Path, states: list[str], wrong: float
) -> None:
    """As damage is: the newest alone stops a job that goes on."""
    first, middle, last = states
    numbers(tmp_path / "out", first, wrong)
    numbers(tmp_path / "out", middle)
    numbers(tmp_path / "out", last)
    assert graves(tmp_path, "checkpoint=out") == {f"out/{first}": "warning"}

    numbers(tmp_path / "out", last, wrong)
    assert graves(tmp_path, "checkpoint=out") == {f"out/{first}": "warning", f"out/{last}": "error"}


def test_a_state_that_is_named_itself_is_no_older_one(tmp_path: Path) -> None:
    """It may be what the job goes on from; nor is there any older one in a cache."""
    for state in STATES[1]:
        numbers(tmp_path / "out", state, float("nan"))

    assert graves(tmp_path, "checkpoint=out/epoch_1.pt") == {"out/epoch_1.pt": "error"}
    assert set(graves(tmp_path, "cache=out").values()) == {"error"}


@pytest.mark.parametrize("name", ["epoch_1.pt", "last.ckpt"])
def test_a_state_under_any_name_is_not_to_be_made_again(tmp_path: Path, name: str) -> None:
    numbers(tmp_path / "out", name, float("nan"))
    for word in ("checkpoint=out", f"checkpoint=out/{name}"):
        report = preflight.run(
            word,
            folder=str(tmp_path),
            elsewhere=True,
            deep=True,
            trust_caches=True,
            select=["cache-content"],
        )

        assert [one.fix for one in report.findings] == [
            "Go on from a checkpoint that was written before the loss became NaN."
        ]
