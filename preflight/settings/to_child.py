"""What a process of ours is told of the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preflight.settings.job import Job


def told_of(job: Job) -> Mapping[str, Any]:
    """Give the settings that readers go by, as plain values."""
    return {
        "root": job.root,
        "elsewhere": job.launch.elsewhere,
        "ranks": job.launch.ranks,
        "nodes": job.launch.nodes,
        "num_workers": job.launch.num_workers,
        "batch_size": job.launch.batch_size,
        "start_method": job.launch.start_method,
        "import_anyway": job.look.import_anyway,
        "trust_caches": job.look.trust_caches,
        "timeout": job.look.timeout,
        "depth": job.look.depth,
        "batches": job.look.batches,
        "epochs": job.look.epochs,
        "device": job.look.device,
        "allow_writes": job.look.allow_writes,
        "resume_with": job.look.resume_with,
    }
