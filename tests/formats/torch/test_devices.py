"""A file of torch.save that names a device which torch does not know: torch.load stops at it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import torch

from preflight.cached_files.read import read_cache
from preflight.findings.finding import Severity
from preflight.testing import ask

_CPU = b"X\x03\x00\x00\x00cpu"

# Of torch itself, and of packages that add a device: a tensor that was saved there says so.
KNOWN = ("cpu", "cuda:0", "cuda", "mps", "meta", "xpu:1", "hpu:0", "privateuseone:0", "npu:3")
UNKNOWN = ("xyz:0", "cpv", "cpu:0", "CPU", "cuda:x", "cuda:-1", "cuda0", "", "cudb:0")


def saved(tag: str, *, zipped: bool) -> bytes:
    file = io.BytesIO()
    torch.save(torch.arange(8.0), file, _use_new_zipfile_serialization=zipped)
    name = b"X" + len(tag).to_bytes(4, "little") + tag.encode()
    if not zipped:
        return file.getvalue().replace(_CPU, name)
    made = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for one in old.namelist():
            content = old.read(one)
            new.writestr(one, content.replace(_CPU, name) if one[-4:] == ".pkl" else content)
    return made.getvalue()


def severities(tmp_path: Path, tag: str, *, zipped: bool) -> dict[str, Severity]:
    path = tmp_path / "a.pt"
    path.write_bytes(saved(tag, zipped=zipped))
    read = read_cache(str(path), str(tmp_path), lambda _: None)
    told = {check: ask(check, read) for check in ("cache-damaged", "cache-unsafe")}
    return {check: one.severity for check, found in told.items() for one in found}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("tag", KNOWN)
def test_the_devices_that_torch_and_its_extensions_have_are_left_alone(
    tmp_path: Path, tag: str, *, zipped: bool
) -> None:
    assert severities(tmp_path, tag, zipped=zipped) == {}


@pytest.mark.parametrize("tag", UNKNOWN)
def test_any_other_is_damage_where_there_is_no_checksum(tmp_path: Path, tag: str) -> None:
    with pytest.raises(RuntimeError, match=r"restore data location|Invalid device"):
        torch.load(io.BytesIO(saved(tag, zipped=False)))

    assert severities(tmp_path, tag, zipped=False) == {"cache-damaged": Severity.ERROR}


@pytest.mark.parametrize("tag", UNKNOWN)
def test_a_device_that_a_checksum_covers_is_read_by_map_location(tmp_path: Path, tag: str) -> None:
    content = saved(tag, zipped=True)
    with pytest.raises(RuntimeError, match=r"restore data location|Invalid device"):
        torch.load(io.BytesIO(content))
    assert torch.load(io.BytesIO(content), map_location="cpu").tolist() == list(range(8))

    assert severities(tmp_path, tag, zipped=True) == {"cache-unsafe": Severity.WARNING}
