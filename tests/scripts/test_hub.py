"""What a script would send to a hub is refused, and it goes on as if that had been done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preflight.scripts.saving.hub import POINTS
from tests.scripts.rehearsing import installed


@pytest.fixture
def hub(tmp_path: Path) -> Any:
    """Give the module of the hub's client, with nothing that it could reach."""
    module = pytest.importorskip("huggingface_hub.hf_api")
    with installed(POINTS, tmp_path):
        yield module


def test_a_repository_is_not_made_and_has_a_name_all_the_same(hub: Any, tmp_path: Path) -> None:
    assert hub.HfApi().create_repo("me/model", private=True).repo_id == "me/model"
    assert hub.create_repo(repo_id="model").repo_id == "none/model"
    assert "create_repo" in (tmp_path / "told.jsonl").read_text(encoding="utf-8")


def test_files_are_not_sent(hub: Any, tmp_path: Path) -> None:
    sent = hub.HfApi().upload_folder(repo_id="me/model", folder_path=tmp_path)
    later = hub.HfApi().upload_file(
        path_or_fileobj=b"", path_in_repo="a", repo_id="me/model", run_as_future=True
    )

    assert sent.oid == "0"
    assert later.result().commit_url.startswith("https://huggingface.co/me/model")
