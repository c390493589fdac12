"""What readers give and checks judge: frozen plain values, which go to JSON and back.

Files are named as reports name them: relative to the job's folder, with forward slashes. Each kind
of facts is imported when it is first asked for, since a process that reads one small file is
mostly its own start.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from preflight.facts.cache import (
        CacheContents,
        CachedTensor,
        CacheFacts,
        CachePiece,
        Content,
        OddContent,
    )
    from preflight.facts.cache_folder import (
        Alike,
        Burst,
        CacheFolderFacts,
        Checkpoint,
        CheckpointFacts,
        Unread,
    )
    from preflight.facts.cache_keys import CacheKeys, LackedKind, Respelled, SharedKey
    from preflight.facts.code import (
        Copied,
        Definition,
        Held,
        Inherited,
        Loaded,
        Part,
        Sent,
        Trip,
        Uncopyable,
        Unloadable,
        Unsendable,
        Weight,
    )
    from preflight.facts.datasets import DatasetFacts, KeyNames, Shared
    from preflight.facts.files import (
        Captioned,
        Damage,
        FolderFacts,
        ImageDamage,
        Oddity,
        Pairing,
        ShardFacts,
        Unpaired,
    )
    from preflight.facts.host import Gpu, GpuProcess, Gpus, HostFacts
    from preflight.facts.missing import Absent, Frame, Unbuilt
    from preflight.facts.source import EnvironmentRead, LoaderCall, SourceFacts, Unguarded

__all__ = [
    "Absent",
    "Alike",
    "Burst",
    "CacheContents",
    "CacheFacts",
    "CacheFolderFacts",
    "CacheKeys",
    "CachePiece",
    "CachedTensor",
    "Captioned",
    "Checkpoint",
    "CheckpointFacts",
    "Content",
    "Copied",
    "Damage",
    "DatasetFacts",
    "Definition",
    "EnvironmentRead",
    "Facts",
    "FolderFacts",
    "Frame",
    "Gpu",
    "GpuProcess",
    "Gpus",
    "Held",
    "HostFacts",
    "ImageDamage",
    "Inherited",
    "KeyNames",
    "LackedKind",
    "Loaded",
    "LoaderCall",
    "OddContent",
    "Oddity",
    "Pairing",
    "Part",
    "Respelled",
    "Sent",
    "ShardFacts",
    "Shared",
    "SharedKey",
    "SourceFacts",
    "Trip",
    "Unbuilt",
    "Uncopyable",
    "Unguarded",
    "Unloadable",
    "Unpaired",
    "Unread",
    "Unsendable",
    "Weight",
]

_HOME = {
    "Absent": "missing",
    "Alike": "cache_folder",
    "Burst": "cache_folder",
    "CacheContents": "cache",
    "CacheFacts": "cache",
    "CacheFolderFacts": "cache_folder",
    "CacheKeys": "cache_keys",
    "CachePiece": "cache",
    "CachedTensor": "cache",
    "Captioned": "files",
    "Checkpoint": "cache_folder",
    "CheckpointFacts": "cache_folder",
    "Content": "cache",
    "Copied": "code",
    "Damage": "files",
    "DatasetFacts": "datasets",
    "Definition": "code",
    "EnvironmentRead": "source",
    "FolderFacts": "files",
    "Frame": "missing",
    "Gpu": "host",
    "GpuProcess": "host",
    "Gpus": "host",
    "Held": "code",
    "HostFacts": "host",
    "ImageDamage": "files",
    "Inherited": "code",
    "KeyNames": "datasets",
    "LackedKind": "cache_keys",
    "Loaded": "code",
    "LoaderCall": "source",
    "OddContent": "cache",
    "Oddity": "files",
    "Pairing": "files",
    "Part": "code",
    "Respelled": "cache_keys",
    "Sent": "code",
    "ShardFacts": "files",
    "Shared": "datasets",
    "SharedKey": "cache_keys",
    "SourceFacts": "source",
    "Trip": "code",
    "Unbuilt": "missing",
    "Uncopyable": "code",
    "Unguarded": "source",
    "Unloadable": "code",
    "Unpaired": "files",
    "Unread": "cache_folder",
    "Unsendable": "code",
    "Weight": "code",
}

if TYPE_CHECKING:
    Facts: TypeAlias = (
        HostFacts
        | SourceFacts
        | ShardFacts
        | FolderFacts
        | DatasetFacts
        | CacheFacts
        | CacheContents
        | CachePiece
        | Content
        | CacheFolderFacts
        | CheckpointFacts
        | CacheKeys
        | Sent
        | Loaded
        | Copied
        | Absent
        | Unbuilt
    )


def __getattr__(name: str) -> object:
    """Import a kind of facts when it is asked for."""
    if name == "Facts":
        return object  # for annotations only, which nobody evaluates
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"preflight.facts.{_HOME[name]}"), name)
