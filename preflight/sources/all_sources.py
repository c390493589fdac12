"""Puts together what was seen of the sources of a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from preflight.host.start_method import default_start_method
from preflight.sources.batch_loops.handed import over_loaders
from preflight.sources.deciding import of_the_job
from preflight.sources.facts import SourceFacts, Unguarded
from preflight.sources.flaws.find import of_all
from preflight.sources.job_sources import JobSources
from preflight.sources.judged_reads import judged


def facts_of_sources(
    job: JobSources,
    unguarded: Iterable[Unguarded | None] = (),
    more: Sequence[tuple[str, ...]] = (),
) -> SourceFacts:
    """Give what there is to judge, of sources each of which was read by itself."""
    method, method_from = default_start_method()
    files = list(job.files.values())
    unreadable = [(one.file, *one.unreadable) for one in files if one.unreadable is not None]
    entries = tuple(job.entries()) if job.is_folder else ()
    starts = job.starting() if unreadable and job.is_folder else [job.name]
    needed = [one for one in unreadable if _is_needed(job, one[0], starts)]
    others = [one for one in unreadable if one not in needed]
    draws: dict[str, str] = {}
    for one in files:
        told = {how: f"{one.file}:{at}" for how, at in one.draws._asdict().items() if at}
        draws = told | draws
    of_job = of_the_job(files, entries, job.ways)
    return SourceFacts(
        file=job.name,
        files=job.count,
        reads=tuple(judged(job)),
        unreadable=tuple(needed),
        passed_over=(*others, *more),
        is_folder=job.is_folder,
        scripts=sum(one.is_script is True for one in files) if job.is_folder else 0,
        entries=entries,
        implied=job.implied,
        unguarded=tuple(one for one in unguarded if one is not None),
        default_start_method=method,
        default_start_method_from=method_from,
        pipelines=tuple(job.pipelines),
        class_folders=tuple(call for one in files for call in one.class_folders),
        uses=tuple(use for one in of_job for use in one.uses),
        resampled=draws.get("resampled"),
        perhaps_resampled=draws.get("perhaps"),
        drawn_once=draws.get("once"),
        model_copy=job.model_copy,
        zstd=draws.get("zstd"),
        flaws=of_all([one.flaws for one in files], job.names, job.returned),
        loops=over_loaders(
            (loop for one in files for loop in one.loops),
            (call for one in files for call in one.handed),
        ),
        in_allocation="SLURM_JOB_ID" in job.environment,
    )


def _is_needed(job: JobSources, file: str, starts: Sequence[str]) -> bool:
    """Whether a file that cannot be parsed is one that no run can do without."""
    return bool(starts) and all(file == one or file in job.unparsed.get(one, ()) for one in starts)
