"""Folders of small images with captions, and the files by which trainers name them."""

from __future__ import annotations

import functools
import io
import json
from pathlib import Path
from typing import Any

import preflight
from preflight.findings.report import Report
from tests.files import put


@functools.cache
def jpeg() -> bytes:
    """Give a small image."""
    from PIL import Image

    held = io.BytesIO()
    Image.effect_noise((64, 64), 40).convert("RGB").save(held, "JPEG")
    return held.getvalue()


def images(folder: Path, number: int, captions: str | None = None) -> None:
    """Write images, each with a caption of this extension."""
    for name in range(number):
        put(folder, f"{name:03}.jpg", content=jpeg())
        if captions is not None:
            put(folder, f"{name:03}{captions}", content=f"a dog, seen {name} times".encode())


def toml(folder: Path, text: str, name: str = "dataset.toml") -> None:
    put(folder, name, content=text.encode())


def backends(folder: Path, *every: dict[str, Any]) -> None:
    text = json.dumps(every, indent=2)
    put(folder, "config/multidatabackend.json", content=text.encode())


def look(folder: Path, *words: str) -> Report:
    return preflight.run(*words, folder=str(folder), elsewhere=True, no_ledger=True)


def found(report: Report) -> dict[str, str]:
    """Give each finding's place by its check."""
    return {
        one.check: f"{one.at.file}:{one.at.line}" if one.at.line else str(one.at.file)
        for one in report.findings
    }


SUBSETS = """
[[datasets]]
  [[datasets.subsets]]
  image_dir = "img"
"""
