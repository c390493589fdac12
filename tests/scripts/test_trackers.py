"""Trackers keep their record in a folder of ours, whatever the script tells them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from preflight.scripts.elsewhere import lay_over_disk
from preflight.scripts.saving.trackers import POINTS
from preflight.scripts.watch import Watch
from tests.scripts.rehearsing import installed

# The entry points of the trackers, with what these are called with.
PACKAGES = {
    "wandb/__init__.py": "from wandb.sdk import init, login\n",
    "wandb/sdk/__init__.py": (
        "from wandb.sdk.wandb_init import init\nfrom wandb.sdk.wandb_login import login\n"
    ),
    "wandb/sdk/wandb_init.py": "def init(**named):\n    return named\n",
    "wandb/sdk/wandb_login.py": "def login(key=None):\n    raise ConnectionError\n",
    "swanlab/__init__.py": (
        "def init(**named):\n    return named\ndef login(api_key):\n    raise ConnectionError\n"
    ),
    "comet_ml/__init__.py": "def start(**named):\n    return named\n",
    "mlflow/__init__.py": (
        "from mlflow.tracking._tracking_service.utils import set_tracking_uri\n"
        "from mlflow.tracking.client import MlflowClient\n"
    ),
    "mlflow/tracking/__init__.py": "",
    "mlflow/tracking/_tracking_service/__init__.py": "",
    "mlflow/tracking/_tracking_service/utils.py": (
        "said = []\ndef set_tracking_uri(uri):\n    said.append(uri)\n"
    ),
    "mlflow/tracking/client.py": (
        "class MlflowClient:\n"
        "    def __init__(self, tracking_uri=None, registry_uri=None):\n"
        "        self.uris = tracking_uri, registry_uri\n"
    ),
}


NAMES = {one.partition("/")[0] for one in PACKAGES}


@pytest.fixture
def trackers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, ModuleType]]:
    """Import them as a script would."""
    for name, text in PACKAGES.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    known = {*sys.modules}
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    for name in [one for one in sys.modules if one.partition(".")[0] in NAMES]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("WANDB_DIR", "ours")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "file:///ours")
    with installed(POINTS, tmp_path):
        yield {one: importlib.import_module(one) for one in NAMES}
    for name in {*sys.modules} - known:
        if name.partition(".")[0] in NAMES:
            del sys.modules[name]


def test_a_run_of_wandb_is_offline_and_in_a_folder_of_ours(trackers: Any, tmp_path: Path) -> None:
    wandb = trackers["wandb"]

    assert wandb.login(key="secret") is True
    assert wandb.init(mode="online", dir="logs", project="p") == {
        "mode": "offline",
        "dir": "ours",
        "project": "p",
    }
    assert wandb.init(mode="disabled") == {"mode": "disabled"}
    assert "wandb to offline" in (tmp_path / "told.jsonl").read_text(encoding="utf-8")


def test_a_server_of_mlflow_is_not_asked(trackers: Any) -> None:
    mlflow = trackers["mlflow"]
    mlflow.set_tracking_uri("http://tracker.invalid:5000")

    assert sys.modules["mlflow.tracking._tracking_service.utils"].said == ["file:///ours"]
    assert mlflow.MlflowClient("http://tracker.invalid").uris == ("file:///ours", None)
    assert mlflow.MlflowClient(tracking_uri="http://tracker.invalid").uris[0] == "file:///ours"


def test_others_are_offline_whatever_they_are_told(trackers: Mapping[str, Any]) -> None:
    swanlab, comet = trackers["swanlab"], trackers["comet_ml"]

    assert swanlab.login(api_key="key")
    assert swanlab.init(project="p", mode="cloud") == {"project": "p", "mode": "offline"}
    assert swanlab.init(mode="disabled") == {"mode": "disabled"}
    assert swanlab.init(project="p") == {"project": "p"}
    assert comet.start(online=True) == {"online": False}
    assert comet.start(online=False) == {"online": False}


def test_folders_of_records_are_ours_and_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each service reads it from the environment."""
    monkeypatch.setattr("os.environ", {})
    watch = Watch(
        root=str(tmp_path),
        scratch=str(tmp_path),
        folder=str(tmp_path),
        batches=2,
        epochs=2,
        options={"wants": (), "allow_writes": True},
    )

    lay_over_disk(watch, {})

    folders = (
        "WANDB_DIR",
        "WANDB_CACHE_DIR",
        "WANDB_DATA_DIR",
        "SWANLAB_LOG_DIR",
        "COMET_OFFLINE_DIRECTORY",
        "__AIM_REPO_NAME__",
    )
    assert all(Path(os.environ[one]).is_relative_to(tmp_path) for one in folders)
    assert (os.environ["SWANLAB_MODE"], os.environ["COMET_START_ONLINE"]) == ("offline", "false")
    record = os.environ["MLFLOW_TRACKING_URI"].removeprefix("file://")
    assert Path(record).is_relative_to(tmp_path)
    assert not Path(record).exists()  # else mlflow looks in it for an experiment, and finds none
