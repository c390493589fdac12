"""Checks are found among ours and among the entry points of what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings import registry


@pytest.mark.parametrize("said", [b"no section = 1\n", b"= =\n", b""])
def test_odd_entry_points_of_another_package_are_nobodys_business(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, said)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert registry.load() == (registry.built_in(), [])


@pytest.mark.parametrize(
    "said", [b"[train_preflight.checks]\n\xff = acme\n", b"[g]\nno equals sign\n"]
)
def test_entry_points_that_cannot_be_read_cost_plug_ins_alone(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, said)
    monkeypatch.syspath_prepend(str(tmp_path))

    checks, bad = registry.load()

    assert checks == registry.built_in()
    assert [name for name, _ in bad] == ["train_preflight.checks"]
    assert "the entry points of installed packages cannot be read: " in bad[0][1]


def install(folder: Path, entry_points: bytes) -> None:
    """Leave what an installer leaves of a package."""
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_bytes(entry_points)
