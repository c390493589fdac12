"""Words that checks of what a loader or a model holds have in common."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.job import Job
from preflight.values.names import shown

WITHOUT_WORKERS = (
    "num_workers=0 runs today; the training process then loads every batch itself, and the GPU "
    "waits for it."
)


def cut_short(cut: Sequence[str]) -> str:
    """Say, behind the last finding, why it may not be the last."""
    return f"; the look stopped short ({shown(cut[0])}), so there may be more" if cut else ""


def cut_evidence(cut: Sequence[str]) -> dict[str, str]:
    """Say where the look stopped short, if it did."""
    return {"cut": "; ".join(map(shown, cut[:10]))} if cut else {}


def started(start_method: str, start_method_from: str, job: Job) -> str:
    """Say how workers that are not forked are started, and by whose will."""
    way = "spawned" if start_method == "spawn" else "started by a forkserver"
    return f"The workers of this job are {way} ({shown(job.said_in(start_method_from))})"
