"""Files held in memory, as their writers write them, and what readers of formats say of them."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import runpy
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from preflight.formats.bytes.blocks import Block, Read
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.stored import StoredFile, look

T = TypeVar("T")

HARM = f"{os.system.__module__}.system"


class Harm:
    """What says that it is made by a call of a shell, which leaves a trace if it is made."""

    def __init__(self, trace: Path | None = None) -> None:
        self.command = f'echo > "{trace}"' if trace else "true"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def of_torch(path: str) -> Any:
    """Give what this torch has (`serialization.set_crc32_options`), or skip the test."""
    import pytest
    import torch

    module, _, name = f"torch.{path}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        pytest.skip(f"torch {torch.__version__} has no {path}")


def saved(thing: object, **options: Any) -> bytes:
    """Write something as torch does."""
    import torch

    out = io.BytesIO()
    torch.save(thing, out, **options)
    return out.getvalue()


def unchecked(thing: object) -> bytes:
    """Write something as torch does when it is told to leave checksums out."""
    import torch

    if not hasattr(torch.serialization, "set_crc32_options"):  # as newer ones write it
        return without_checksums(saved(thing))
    torch.serialization.set_crc32_options(False)
    try:
        return saved(thing)
    finally:
        torch.serialization.set_crc32_options(True)


def without_checksums(archive: bytes) -> bytes:
    """Clear the checksums behind each record and in the directory."""
    content = re.sub(rb"(?s)(PK\x07\x08)....", _cleared, archive)
    return re.sub(rb"(?s)(PK\x01\x02.{12})....", _cleared, content)


def _cleared(match: re.Match[bytes]) -> bytes:
    return match[1] + bytes(4)


def written(write: Callable[..., Any], *arrays: Any, **named: Any) -> bytes:
    """Write arrays as this function of numpy's does."""
    out = io.BytesIO()
    write(out, *arrays, **named)
    return out.getvalue()


def archive(*records: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Write an archive as Python does."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in records:
            file.writestr(name, content)
    return out.getvalue()


def array(descr: str, content: bytes, *, pad: int = 0, version: int = 1) -> bytes:
    """Write what numpy.save writes of one element, whatever its type and its bytes."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}".encode()
    header += b" " * pad + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def safetensors(**tensors: tuple[str, Sequence[int], bytes]) -> bytes:
    """Write tensors as safetensors does: of each its type, its shape and its bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, (kind, shape, content) in tensors.items():
        offsets = [len(body), len(body) + len(content)]
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": offsets}
        body += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def reader(content: bytes) -> Read:
    def read(offset: int, size: int) -> Block:
        return memoryview(content)[offset : offset + size]

    return read


def held_in(content: bytes, suffix: str) -> StoredFile:
    return look(reader(content), len(content), suffix)


def flaw_in(content: bytes, suffix: str) -> Flaw:
    flaw = held_in(content, suffix).flaw
    assert flaw is not None
    return flaw


def kind_in(content: bytes, suffix: str) -> str:
    """Give the kind of damage that is found; `none` where there is none."""
    flaw = held_in(content, suffix).flaw
    return "none" if flaw is None else flaw.kind


def damage_by(check: Callable[[Read, int], object], content: bytes) -> tuple[str, str]:
    """Give the kind and the text of the damage that is found; `none` where there is none."""
    try:
        check(reader(content), len(content))
    except DamagedError as error:
        return error.flaw.kind, error.flaw.text
    return "none", ""


def loaded(content: bytes, *things: Mapping[str, object]) -> str:
    """Tell what torch.load makes of it: `whole` if it is one of these, `changed` or `refused`."""
    import torch

    try:
        found = torch.load(io.BytesIO(content), weights_only=True)
    except Exception:  # noqa: BLE001  whatever it raises, it says so
        return "refused"
    whole = any(
        isinstance(found, dict)
        and list(found) == list(thing)
        and all(_equal(found[key], thing[key]) for key in thing)
        for thing in things
    )
    return "whole" if whole else "changed"


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or not hasattr(one, "numpy"):
        return type(one) is type(other) and bool(one == other)
    alike = (one.dtype, one.shape) == (other.dtype, other.shape)
    return alike and one.numpy().tobytes() == other.numpy().tobytes()


def with_peak(work: Callable[[], T]) -> tuple[T, int]:
    """Give what this gives, and the most bytes of memory that it had taken at once."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def case(check_id: str) -> SimpleNamespace:
    """Load the case that comes with a check."""
    path = Path(__file__).parents[1] / "fixtures" / check_id.replace("-", "_") / "make.py"
    return SimpleNamespace(**runpy.run_path(str(path)))
