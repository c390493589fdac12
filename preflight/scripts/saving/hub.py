"""Refuses what a script would send to the Hugging Face Hub; it goes on as if that had been done."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from preflight.scripts.facts import Met
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.values.own_files import passes_on

_HOME = "https://huggingface.co/"

_SENDS = (
    *("create_repo", "create_branch", "create_tag", "create_commit", "upload_file"),
    *("upload_folder", "upload_large_folder", "delete_file", "delete_folder", "delete_repo"),
)


def _refuse(name: str) -> Callable[[Any, Watch], Any]:
    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(original)
        def send(*given: Any, **named: Any) -> Any:
            watch.met(Met(what="sent", at=watch.place(), name=name))
            watch.shortened("what it would send to a hub to nothing")
            words = [one for one in given if isinstance(one, str)]
            repo = str(named.get("repo_id") or (words[0] if words else "none/none"))
            answer = _answer(name, repo)
            if named.get("run_as_future"):
                from concurrent.futures import Future

                done: Future[Any] = Future()
                done.set_result(answer)
                return done
            return answer

        return send

    return wrap


@passes_on
def _answer(name: str, repo: str) -> object:
    """Give what the hub would have answered."""
    from huggingface_hub.hf_api import CommitInfo, RepoUrl

    repo = repo if "/" in repo else f"none/{repo}"
    if name == "create_repo":
        return RepoUrl(_HOME + repo)
    if name in {"create_branch", "create_tag", "delete_repo", "upload_large_folder"}:
        return None
    return CommitInfo(
        commit_url=f"{_HOME}{repo}/commit/0", commit_message="", commit_description="", oid="0"
    )


# Each is a method, and a function of the module that is bound before anybody can wrap the method.
POINTS = tuple(
    Point(module="huggingface_hub.hf_api", name=owner + name, wrap=_refuse(name))
    for owner in ("HfApi.", "")
    for name in _SENDS
)
