"""Has trackers keep their record of a run in a folder of ours, also where a script says otherwise.

What they read of the environment is set before the script runs (`scripts/elsewhere.py`); an
argument or a call of the script's own would go before that.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from preflight.scripts.points import Point
from preflight.scripts.watch import Watch


def _wandb(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def init(*args: Any, **named: Any) -> Any:
        if named.get("mode") not in {None, "offline", "disabled"}:
            watch.shortened("wandb to offline")
        if named.get("mode") != "disabled":
            named["mode"] = "offline"
        if "dir" in named:
            named["dir"] = os.environ["WANDB_DIR"]
        return original(*args, **named)

    return init


def _offline(of: str) -> Callable[[Any, Watch], Any]:
    """Have one be offline that is told to be anything else, but for what sends nothing either."""

    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(original)
        def begin(*args: Any, **named: Any) -> Any:
            changed: dict[str, Any] = {"online": False} if named.get("online") else {}
            if named.get("mode") not in {None, "offline", "disabled", "debug", "local"}:
                changed = {"mode": "offline"}
            if changed:
                watch.shortened(f"{of} to offline")
            return original(*args, **{**named, **changed})

        return begin

    return wrap


def _unasked(_original: object, _watch: Watch) -> Any:
    return staticmethod(lambda *_, **__: None)


def _login(original: Callable[..., Any], _watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def login(*_args: Any, **_named: Any) -> bool:
        return True

    return login


def _address(original: Callable[[Any], None], watch: Watch) -> Callable[[Any], None]:
    @functools.wraps(original)
    def set_tracking_uri(uri: Any) -> None:  # noqa: ARG001  as mlflow calls it
        watch.shortened("mlflow to a folder of ours")
        original(os.environ["MLFLOW_TRACKING_URI"])

    return set_tracking_uri


def _client(original: Callable[..., None], _watch: Watch) -> Callable[..., None]:
    @functools.wraps(original)
    def made(client: Any, *_args: Any, **_named: Any) -> None:
        original(client, os.environ["MLFLOW_TRACKING_URI"])

    return made


POINTS = (
    Point(module="wandb.sdk.wandb_init", name="init", wrap=_wandb),
    Point(module="wandb.sdk.wandb_login", name="login", wrap=_login),
    Point(module="swanlab", name="init", wrap=_offline("swanlab")),
    Point(module="swanlab", name="login", wrap=_login),
    Point(module="comet_ml", name="start", wrap=_offline("comet")),
    Point(module="comet_ml", name="login", wrap=_login),
    Point(module="neptune.metadata_containers.run", name="Run.__init__", wrap=_offline("neptune")),
    Point(
        module="clearml.utilities.check_updates",
        name="CheckPackageUpdates.check_new_package_available",
        wrap=_unasked,
    ),
    Point(module="mlflow.tracking._tracking_service.utils", name="set_tracking_uri", wrap=_address),
    Point(module="mlflow.tracking.client", name="MlflowClient.__init__", wrap=_client),
)
