"""A run judges shards of every founding fault as the pipeline that reads them behaves."""

from __future__ import annotations

import io
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from tests.archives import photo, tarred
from tests.pipelines.shards_to_lose import KINDS, good
from tests.pipelines.test_survival import cascade, given

pytestmark = pytest.mark.usefixtures("at_hand")

# StableCascade's own, of train/base.py, and two of jobs that read the same shards otherwise.
SOURCE = """
import webdataset as wds
from torch.utils.data import DataLoader

GO_ON = wds.warn_and_continue


def as_it_is(value):
    return value


def drawn(folder):
    return DataLoader(wds.DataPipeline(
        wds.ResampledShards(f"file:{folder}/0.tar"),
        wds.tarfile_to_samples(handler=GO_ON),
        wds.shuffle(10),
        wds.decode("pilrgb", handler=GO_ON),
        wds.to_tuple("jpg;png;webp", "txt", handler=GO_ON),
        wds.map_tuple(as_it_is, as_it_is, handler=GO_ON),
    ), batch_size=2, drop_last=True, collate_fn=as_it_is)


def both_suffixes(folder):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False, handler=GO_ON)
    decoded = read.decode("pil", handler=GO_ON)
    return DataLoader(decoded.to_tuple("jpg;png", "txt;caption", handler=GO_ON), batch_size=None)


def images(folder, **given):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False, handler=GO_ON)
    decoded = read.decode("pil", handler=GO_ON, **given)
    return DataLoader(decoded.to_tuple("jpg", handler=GO_ON), batch_size=None)


def images_alone(folder):
    return images(folder, only=["jpg"])


def texts(folder, **given):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False, handler=GO_ON)
    return DataLoader(read.decode(handler=GO_ON, **given).to_tuple("txt"), batch_size=None)


def texts_of_decoded(folder):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False, handler=GO_ON)
    return DataLoader(read.decode("pil", handler=GO_ON).to_tuple("txt"), batch_size=None)


def own_way(key, content):
    return str(content) if key.endswith("json") else None


def stopping(folder):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False)
    return DataLoader(read.decode("pil").to_tuple("jpg", "txt"), batch_size=None)


def in_its_own_way(folder):
    read = wds.WebDataset(f"{folder}/0.tar", shardshuffle=False, handler=GO_ON)
    decoded = read.decode(own_way, "pil", handler=GO_ON)
    return DataLoader(decoded.to_tuple("jpg", "json", handler=GO_ON), batch_size=None)
"""

WHOLE = {"good", "upper case", "png", "macOS at the top", "cut near the end", "no end", "gzip"}
"""Kinds of which the pipeline gives all that was meant."""

UNKNOWN = {"cut in the middle"}
"""Those of which nobody can tell: it ends between two members, as some tools leave it."""

GOES_ON = {"caption suffixes mixed"}
"""Whole samples of which the pipeline takes most."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers of webdataset wait half a second after each warning."""
    monkeypatch.setattr("webdataset.handlers.time", types.SimpleNamespace(sleep=lambda _: None))


def judged(folder: Path, shards: Mapping[str, tuple[str, bytes]]) -> dict[str, list[Finding]]:
    """Look at shards, each through a loader of its own, in one run; give what is said of each."""
    makers = [SOURCE]
    for place, (maker, content) in enumerate(shards.values()):
        (folder / f"k{place}").mkdir()
        (folder / f"k{place}" / "0.tar").write_bytes(content)
        makers.append(f'def make_k{place}():\n    return {maker}("k{place}")\n')
    (folder / "train.py").write_text("\n\n".join(makers))
    words = [f"train:make_k{place}" for place in range(len(shards))]
    report = preflight.run(
        *words,
        folder=str(folder),
        elsewhere=True,
        depth="decode",
        select=["shard", "sample", "image", "caption", "dataset"],
    )
    return {
        kind: [one for one in report.findings if _is_of(one, f"k{place}")]
        for place, kind in enumerate(shards)
    }


def _is_of(found: Finding, folder: str) -> bool:
    in_shard = (found.at.file or "").startswith(f"{folder}/")
    return in_shard or found.at.name == f"train:make_{folder}"


def worst(found: list[Finding]) -> str:
    said = {one.severity for one in found}
    return next((one.name.lower() for one in (Severity.ERROR, Severity.WARNING) if one in said), "")


def test_each_kind_of_shard_is_judged_as_stablecascades_pipeline_behaves(tmp_path: Path) -> None:
    found = judged(tmp_path, {kind: ("drawn", make()) for kind, make in KINDS.items()})

    said, seen = {}, {}
    for place, (kind, one) in enumerate(found.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            through = sum(1 for _ in given(cascade([str(tmp_path / f"k{place}" / "0.tar")])))
        told = [f.evidence["through"] for f in one if f.check == "dataset-survival"]
        said[kind] = (told[0] if told else through, worst(one))
        stands = any("stands at step 0" in (f.why or "") for f in one)
        assert stands == (through == 0), kind
        severity = "" if kind in WHOLE | UNKNOWN else "warning" if kind in GOES_ON else "error"
        seen[kind] = (through, severity)
    assert said == seen
    assert {kind: seen[kind][0] for kind in WHOLE} == dict.fromkeys(WHOLE, len(good()) // 2)


def _beside(field: str, *contents: bytes) -> bytes:
    """Give good samples with one more field, whose contents are these in turns."""
    keys = [name.removesuffix(".jpg") for name in good() if name.endswith(".jpg")]
    more = [(f"{key}.{field}", contents[at % len(contents)]) for at, key in enumerate(keys)]
    return tarred(sorted([*good().items(), *more]))


def _half_cut() -> bytes:
    """Give good samples of which every other image stops in the middle."""
    return _with_every_other_image(lambda image: image[: len(image) // 2])


def _half_zeros() -> bytes:
    """Give good samples of which every other image decodes to another picture without an error."""
    image = photo(width=96, height=96)
    page = slice(len(image) * 3 // 4, len(image) - 2)
    spoiled = image[: page.start] + bytes(page.stop - page.start) + image[page.stop :]
    return _with_every_other_image(lambda _: spoiled)


def _with_every_other_image(spoiled: Callable[[bytes], bytes]) -> bytes:
    files = good()
    for name in sorted(one for one in files if one.endswith(".jpg"))[::2]:
        files[name] = spoiled(files[name])
    return tarred(files)


def _array(rows: int = 2) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.zeros((rows, 3)))
    return stream.getvalue()


RECORDS = {
    "JSON": ("json", b'{"a": [1, NaN]}', b'{"a": '),
    "JSON in another encoding": ("jsn", '"x"'.encode("utf-16"), '"ä"'.encode("latin-1")),
    "a class": ("cls", b" 7\n", b"dog"),
    "a number": ("id", b"1_000", b"1.5"),
    "an array": ("npy", _array(), _array()[:-8]),
    "an array of more than 1 MiB": ("npy", _array(50_000), _array(50_000)[:-8]),
    "no array": ("npy", _array(), b"PK\3\4"),
}


def test_what_decode_reads_beside_images_and_texts_is_counted_too(tmp_path: Path) -> None:
    kinds = {
        f"{kind}, {state}": _beside(field, *contents)
        for kind, (field, whole, bad) in RECORDS.items()
        for state, contents in (("whole", (whole,)), ("a third is not", (whole, whole, bad)))
    }
    bad = _beside("json", b"{")
    found = judged(
        tmp_path,
        {kind: ("drawn", content) for kind, content in kinds.items()}
        | {"left": ("images_alone", bad), "its own way": ("in_its_own_way", bad)},
    )

    counted = {}
    for place, kind in enumerate(kinds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counted[kind] = sum(1 for _ in given(cascade([str(tmp_path / f"k{place}" / "0.tar")])))
    said = {kind: [one.evidence["through"] for one in each] for kind, each in found.items()}
    lost = {kind: number for kind, number in counted.items() if kind.endswith("not")}
    assert set(lost.values()) == {8}
    assert said == {
        kind: [counted[kind]] if kind in lost else [] for kind in (*kinds, "left", "its own way")
    }


def test_what_the_loader_does_not_take_is_no_fault_of_the_data(tmp_path: Path) -> None:
    left = {f"__MACOSX/._{name}": b"\0\5\x16\7\0\2\0\0Mac OS X" + bytes(100) for name in good()}
    found = judged(
        tmp_path,
        {
            "both suffixes": ("both_suffixes", KINDS["caption suffixes mixed"]()),
            "one suffix": ("drawn", KINDS["caption suffixes mixed"]()),
            "no suffix": ("images", KINDS["caption suffixes mixed"]()),
            "no text": ("images", KINDS["empty captions"]()),
            "no encoding": ("images_alone", KINDS["latin-1"]()),
            "decoded all the same": ("images", KINDS["latin-1"]()),
            "no folder": ("images_alone", KINDS["two folders"]()),
            "left behind at the end": ("both_suffixes", tarred({**good(), **left})),
            "images left, some cut": ("texts", _half_cut()),
            "images decoded, some cut": ("texts_of_decoded", _half_cut()),
            "images decoded, some of zeros": ("texts_of_decoded", _half_zeros()),
            "images taken, some of zeros": ("images", _half_zeros()),
        },
    )

    assert {kind: worst(one) for kind, one in found.items()} == {
        "both suffixes": "",
        "one suffix": "warning",
        "no suffix": "",
        "no text": "",
        "no encoding": "",
        "decoded all the same": "error",
        "no folder": "warning",
        "left behind at the end": "warning",
        "images left, some cut": "",
        "images decoded, some cut": "error",
        "images decoded, some of zeros": "",
        "images taken, some of zeros": "error",
    }


def test_a_sample_that_a_handler_drops_stops_nothing_where_hardly_any_is_dropped(
    tmp_path: Path,
) -> None:
    """Of 150 samples: one that does not decode, or two."""
    cut, latin = photo()[:-99], "Caf\u00e9 am See".encode("latin-1")
    found = judged(
        tmp_path,
        {
            "a photo": ("both_suffixes", _with_odd("jpg", cut)),
            "a text": ("both_suffixes", _with_odd("txt", latin)),
            "a photo in every round": ("drawn", _with_odd("jpg", cut)),
            "two photos": ("both_suffixes", _with_odd("jpg", cut, cut)),
            "two texts": ("both_suffixes", _with_odd("txt", latin, latin)),
            "a photo, and nothing drops it": ("stopping", _with_odd("jpg", cut)),
            "a text, and nothing drops it": ("stopping", _with_odd("txt", latin)),
        },
    )

    assert {kind: worst(one) for kind, one in found.items()} == {
        "a photo": "warning",
        "a text": "warning",
        "a photo in every round": "warning",
        "two photos": "error",
        "two texts": "error",
        "a photo, and nothing drops it": "error",
        "a text, and nothing drops it": "error",
    }
    (why,) = (one.why for one in found["a photo"] if one.check == "image-damaged")
    assert why is not None
    assert "drops its sample" in why


def _with_odd(field: str, *odd: bytes) -> bytes:
    """Give 150 samples, of which the last have such a field."""
    files = good(150)
    last = [name for name in files if name.endswith(f".{field}")][-len(odd) :]
    return tarred({**files, **dict(zip(last, odd, strict=True))})


@pytest.mark.parametrize(
    ("field", "content", "read_by", "told"),
    [
        ("npz", b"PK", "drawn", "12 .npz fields were"),
        ("json", b'"' + bytes(1 << 20) + b'"', "drawn", "12 .json fields were"),
        ("json", b"{}", "drawn", ""),
        ("npz", b"PK", "images_alone", ""),
        ("pkl", b"\x80\4N.", "images", ""),
    ],
    ids=["arrays", "large", "read here", "not decoded", "run to its end"],
)
def test_what_decode_loads_and_nobody_has_read_is_said_not_to_be_looked_at(
    tmp_path: Path, field: str, content: bytes, read_by: str, told: str
) -> None:
    (tmp_path / "0.tar").write_bytes(_beside(field, content))
    factory = f"def make():\n    return {read_by}({str(tmp_path)!r})\n"
    (tmp_path / "train.py").write_text(f"{SOURCE}\n\n{factory}", encoding="utf-8")

    report = preflight.run("train:make", folder=str(tmp_path), budget=12)

    said = [one for one in report.reasons if "only the job itself loads" in one]
    assert [one[: len(told)] for one in said] == ([told] if told else [])
    assert report.complete is not bool(told)
