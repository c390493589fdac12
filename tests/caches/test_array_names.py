"""Cached files are held against those beside them, by the names of their arrays or keys."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

import preflight
from preflight.finding import Severity
from preflight.formats.bytes.blocks import HeldBytes
from preflight.formats.torch.pickle_machine import Machine, MadeObject
from preflight.formats.torch.pickles import walk

pytestmark = pytest.mark.usefixtures("at_hand")


def archive(*names: str) -> bytes:
    held = io.BytesIO()
    np.savez(held, **{one: np.arange(6.0) for one in names})
    return held.getvalue()


BOTH = archive("embeds", "pooled")
ALIKE = {f"{number:03}.npz": BOTH for number in range(9)}


def told(
    folder: Path, files: Mapping[str, bytes], **flags: bool | str
) -> list[tuple[str, str, str, Severity]]:
    for name, content in files.items():
        (folder / "cache" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cache" / name).write_bytes(content)
    select = ["cache-damaged", "cache-content"]
    report = preflight.run("cache=cache", folder=str(folder), select=select, **flags)
    assert not any(one.broken for one in report.checks)
    return [
        (one.check, str(one.at.file).removeprefix("cache/"), one.message, one.severity)
        for one in report.findings
    ]


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_an_array_that_one_archive_lacks_is_told_at_any_depth_and_again(
    tmp_path: Path, depth: str
) -> None:
    files = {**ALIKE, "009.npz": archive("embeds")}

    found = told(tmp_path, files, depth=depth)

    message = "holds no array pooled, which each of 9 files beside it holds"
    assert found == [("cache-damaged", "009.npz", message, Severity.ERROR)]
    assert told(tmp_path, {}, depth=depth) == found  # by what is remembered of all
    again = told(tmp_path, {"010.npz": archive("pooled")}, depth=depth)  # and of some
    assert [one[1] for one in again] == ["009.npz", "010.npz"]


def test_with_torch_it_is_told_once(tmp_path: Path) -> None:
    found = told(tmp_path, {**ALIKE, "009.npz": archive("embeds")}, deep=True)

    assert [one[:2] for one in found] == [("cache-content", "009.npz")]


def test_what_some_samples_may_lack_is_a_warning(tmp_path: Path) -> None:
    masked = {name: archive("latents", "alpha_mask") for name in ALIKE}

    (finding,) = told(tmp_path, {**masked, "009.npz": archive("latents")})

    assert finding[1:] == (
        "009.npz",
        "holds no array alpha_mask, which each of 9 files beside it holds",
        Severity.WARNING,
    )


HEALTHY = {
    "all alike": {},
    "more than the others": {"009.npz": archive("embeds", "pooled", "size")},
    "of another name": {"stats.npz": archive("mean", "std")},
    "in another folder": {"val/1.npz": archive("embeds")},
    "two kinds": {f"{number:03}.npz": archive("embeds") for number in range(9, 16)},
    "a list of arrays": {"list.npz": archive(*map(str, range(80)))},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_archives_that_may_differ_are_left_alone(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, {**ALIKE, **HEALTHY[name]}) == []


@pytest.mark.parametrize("deep", [False, True])
def test_sizes_in_names_differ_from_file_to_file(tmp_path: Path, deep: bool) -> None:  # noqa: FBT001
    sizes = ["64x64"] * 9 + ["96x64", "64x96"]
    files = {f"{n}.npz": archive(f"latents_{one}", f"crop_{one}") for n, one in enumerate(sizes)}

    assert told(tmp_path, files, deep=deep) == []


def test_few_archives_say_nothing_of_each_other(tmp_path: Path) -> None:
    assert told(tmp_path, {"1.npz": BOTH, "2.npz": BOTH, "3.npz": archive("embeds")}) == []


# --- what others write


def tensors(*names: str) -> dict[str, torch.Tensor]:
    return {one: torch.arange(6.0) for one in names}


def saved(held: Any, **how: Any) -> bytes:
    file = io.BytesIO()
    torch.save(held, file, **how)
    return file.getvalue()


WRITERS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "safetensors": ("tensor", lambda *names: save(tensors(*names))),
    "safetensors with notes": ("tensor", lambda *names: save(tensors(*names), {"made": "by x"})),
    "pt": ("key", lambda *names: saved(tensors(*names))),
    "pth of protocol 4": ("key", lambda *names: saved(tensors(*names), pickle_protocol=4)),
    "pt beside other things": ("key", lambda *names: saved({"n": 1, 5: [{}], **tensors(*names)})),
    "pt of one pair": ("key", lambda *names: saved({"embeds": 1, **dict.fromkeys(names, 2)})),
}


@pytest.mark.parametrize("depth", ["index", "bytes"])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_file_of_another_format_lacks_is_told_at_any_depth_and_again(
    tmp_path: Path, writer: str, depth: str
) -> None:
    noun, make = WRITERS[writer]
    suffix = writer.split(" ", maxsplit=1)[0]
    files = {f"{number:03}.{suffix}": make("embeds", "pooled") for number in range(9)}

    found = told(tmp_path, {**files, f"009.{suffix}": make("embeds")}, depth=depth)

    message = f"holds no {noun} pooled, which each of 9 files beside it holds"
    assert found == [("cache-damaged", f"009.{suffix}", message, Severity.ERROR)]
    assert told(tmp_path, {}, depth=depth) == found


OTHERWISE: dict[str, Any] = {
    "more": tensors("embeds", "pooled", "size"),
    "a tensor": torch.arange(6.0),
    "a list": [tensors("embeds")],
    "a pair": (tensors("embeds"), 5),
    "in order": OrderedDict(tensors("embeds")),
    "no texts": {1: torch.arange(6.0)},
    "many": tensors(*map(str, range(100))),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_no_dict_that_lacks_something_is_left_alone(tmp_path: Path, name: str) -> None:
    files = {f"{number:03}.pt": saved(tensors("embeds", "pooled")) for number in range(9)}

    assert told(tmp_path, {**files, "009.pt": saved(OTHERWISE[name])}) == []


def test_the_last_of_a_training_may_hold_less(tmp_path: Path) -> None:
    """What goes on from is not needed in what is given away, which is named otherwise."""
    files = {f"epoch_{number}.pt": saved(tensors("model", "optimizer")) for number in range(9)}

    assert told(tmp_path, {**files, "final.pt": saved(tensors("model"))}) == []


def test_long_dicts_are_not_compared(tmp_path: Path) -> None:
    names = [*map(str, range(100))]
    files = {f"{number:03}.pt": saved(dict.fromkeys(names, 1)) for number in range(9)}

    assert told(tmp_path, {**files, "009.pt": saved(dict.fromkeys(names[1:], 1))}) == []


def test_a_dict_without_end_takes_no_memory() -> None:
    """A hostile pickle gives it one key after another."""
    keys = (
        b"X" + len(key).to_bytes(4, "little") + key + b"Ns"
        for key in map(b"%d".__mod__, range(9_999))
    )
    pickle = b"\x80\x02}" + b"".join(keys) + b"."
    machine = Machine()

    assert walk(HeldBytes(pickle, print), 0, len(pickle), machine=machine).keys == ()
    (root,) = machine.stack
    assert isinstance(root, MadeObject)
    assert len(root.given) == 64
