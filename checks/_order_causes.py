"""How world-order says what was otherwise in another process, and why samples are of no rank."""

from __future__ import annotations

from typing import NamedTuple

from preflight.finding import Severity


class Cause(NamedTuple):
    """How it is said what was otherwise in another process."""

    why: str
    fix: str
    when: str = ""
    severity: Severity | None = None


CAUSES = {
    "rank": Cause(
        when="than the last rank has at the same places of its list",
        why="Each rank makes a list of its own, and its sampler divides that among all ranks",
        fix="Make one list on all ranks, shuffled with one seed; or, where each rank is to have a "
        "list of its own, leave out the sampler that divides it.",
    ),
    "hash": Cause(
        when="with another PYTHONHASHSEED",
        why="Python orders a set of strings anew in each process, and so hash() of one",
        fix="Sort what comes out of a set, as in  sorted(set(names))  , before it is divided; in "
        "place of hash(), take what is alike in all processes, as in  zlib.crc32(name.encode())",
    ),
    "random": Cause(
        when="with other random numbers",
        why="Each process draws its own random numbers where nobody has seeded them",
        fix="Draw with one seed for all ranks before it is divided, as in  "
        "random.Random(0).shuffle(names)  or  random_split(…, "
        "generator=torch.Generator().manual_seed(0))",
    ),
    "folder": Cause(
        when="where folders list their entries in another order",
        why="os.listdir, os.scandir and glob give entries as the file system has them, and each "
        "node, each copy of the data may have them in another order",
        fix="Sort what a folder lists, as in  sorted(os.listdir(folder))  , before it is divided.",
        severity=Severity.WARNING,
    ),
}

NOBODYS = {
    "several": Cause(
        why="Each rank takes a part, and these overlap: an epoch holds those samples several times "
        "as often as others.",
        fix="Divide so that each sample is of one rank, as in  names[rank::world_size]  ; with "
        "workers, by steps of world_size * workers.",
        severity=Severity.WARNING,
    ),
    "twice": Cause(
        why="Where each rank has a part, and that is divided once more, most of it is of no rank.",
        fix="Divide once: by split_dataset_by_node, by a DistributedSampler, by a slice, or by "
        "accelerate's prepare, which divides whatever it is given.",
    ),
    "alike": Cause(
        why="Several ranks have the same part, and nobody has the others.",
        fix="Divide by the rank among all (RANK), and not by LOCAL_RANK, which is the same on each "
        "node.",
    ),
    "apart": Cause(
        why="Each rank has another part, and these are not the whole.",
        fix="Divide one list, which is in the same order on all ranks, so that the parts of all "
        "together are the whole, as in  names[rank::world_size]",
    ),
    "overlapping": Cause(
        why="Each rank takes a part by itself, and these overlap: others are of several ranks.",
        fix="Divide one list, shuffled with one seed on all ranks, by a number that each rank has "
        "for itself, as in  names[rank::world_size]  ; with workers, by rank * workers + worker.",
    ),
    "same": Cause(
        why="All ranks have the same part, and nobody has the others.",
        fix="Divide by the rank of the process, as torch.distributed.get_rank() tells it, and not "
        "by a number, an argument or a variable that is the same on all.",
        severity=Severity.WARNING,
    ),
    "replicas": Cause(
        why="Its sampler divides among ranks that the job does not have.",
        fix="Leave out num_replicas and rank, which DistributedSampler then takes from the job.",
        severity=Severity.WARNING,
    ),
    "beyond": Cause(
        why="It divides among more ranks than the job has.",
        fix="Divide by the number of ranks that the job has (WORLD_SIZE), and not by one that is "
        "written down.",
        severity=Severity.WARNING,
    ),
    "trainer": Cause(
        why="Where it finds no DistributedSampler, it gives a loader one, which divides the part "
        "of each rank among all ranks once more.",
        fix="Say Trainer(use_distributed_sampler=False); or leave it to the Trainer to divide.",
    ),
    "before": Cause(
        why="Ranks are counted from 0, and what it divides by begins at 1, as in "
        "names[rank + 1::world_size].",
        fix="Divide by the rank as it is, as in  names[rank::world_size]",
        severity=Severity.WARNING,
    ),
    "between": Cause(
        why="Each rank takes a slice, and what lies between them, as many each time, is of none: a "
        "slice begins behind the end of the one before, as with  names[rank * n + 1 : …]",
        fix="Have each slice begin where the one before ends, as in  names[rank * n : (rank + 1) "
        "* n]",
        severity=Severity.WARNING,
    ),
    "few": Cause(
        why="What does not fill a batch on every rank is left out, maybe of each bucket; or what "
        "is left over where a number of shards is divided; or a part is divided once more.",
        fix="Have the parts of all ranks together be the whole: fill up, or take smaller batches "
        "or fewer buckets.",
        severity=Severity.WARNING,
    ),
}
