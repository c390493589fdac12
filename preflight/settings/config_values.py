"""Reads files of settings, of whatever program, as plain values: YAML, JSON and TOML."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# A file of settings is small; aliases of YAML may make very much of little.
_LARGEST = 1 << 20


def toml_reader() -> Any:
    """Give what reads TOML in this version of Python."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def read_config(path: str) -> Any:
    """Read a file of settings; None of one that cannot be read."""
    try:
        if os.path.getsize(path) > _LARGEST:
            return None
        with open(path, encoding="utf-8") as file:
            text = file.read()
        kind = os.path.splitext(path)[1].lower()
        read = {".json": json.loads, ".toml": toml_reader().loads}.get(kind, _of_yaml)
        return read(text)
    except (OSError, ValueError, RecursionError):
        return None


def _of_yaml(text: str) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]  # of webdataset
    except ImportError:
        return None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None
