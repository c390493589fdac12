"""Reports that a user would meet: a broken job, a healthy one, one with warnings, one unjudged."""

from __future__ import annotations

from typing import Any

from preflight.findings.finding import Aside, Finding, Location, Severity
from preflight.findings.report import Broken, Named, Outcome, Report, Setting, Skip
from tests.render.sample import everything, finding, outcome

WARNING, NOTE = Severity.WARNING, Severity.NOTE


def demo() -> Report:
    return Report(
        verdict="no-go",
        verdict_by={"job": "no-go", "machine": "no-go"},
        complete=True,
        not_judged=("script",),
        started="2026-11-20T02:00:00Z",
        seconds=3.9,
        job={
            "root": Setting(value="/home/ada/demo", origin="preflight.toml"),
            "launch.gpus": Setting(value=64, origin="preflight.toml:4"),
            "launch.start_method": Setting(value="spawn", origin="preflight.toml:6"),
        },
        checks=_demo_checks(),
        findings=(*_demo_machine(), *_demo_data(), *_demo_cache(), *_demo_objects()),
        targets=(
            Named(word="data/shard-{000..003}.tar", kind="data", text="4 shards, 32 samples"),
            Named(word="cache/text", kind="cache", text="16 cache files"),
            Named(word="train:make_loader", kind="loader", text="2 workers, spawned"),
            Named(word="train:make_model", kind="model", text="2 blocks, 1.2 GB"),
            Named(word="host", kind="host", text="2 cores, 7.8 GB, no GPU"),
        ),
        steps={"import torch": 2.8, "data": 0.4, "cache": 0.1},
        command="preflight run",
        last=".preflight/last.json",
        tool={"name": "preflight", "version": "0.1.0"},
    )


def _demo_checks() -> tuple[Outcome, ...]:
    found = {
        "env-launch": ("launcher variable that is read and not set", 1, 1),
        "gpu-count": ("fewer GPUs than the job asks for", 1, 1),
        "shard-damaged": ("archive that cannot be read to its end", 2, 4),
        "sample-unpaired": ("image or caption without the other", 3, 4),
        "image-damaged": ("image that does not decode, or only in part", 2, 4),
        "cache-damaged": ("cached file that is not what was written", 3, 16),
        "loader-unpicklable": ("object that cannot be sent to a worker", 4, 1),
        "model-uncopyable": ("object that deepcopy cannot copy", 1, 1),
    }
    skip = Skip(reason="no GPU here", count=1)
    return (
        *(
            outcome(check, title, found=number, targets=targets)
            for check, (title, number, targets) in found.items()
        ),
        outcome("gpu-memory", "too little GPU memory", skipped=(skip,)),
    )


def _demo_machine() -> tuple[Finding, ...]:
    return (
        finding(
            "env-launch",
            'int(os.environ["SLURM_LOCALID"]) is read; the variable is not set',
            file="train.py",
            line=12,
            why="The script stops in its first second, on any machine without Slurm.",
            fix="Start it with srun, or set SLURM_LOCALID=0 for one process.",
        ),
        finding(
            "gpu-count",
            "64 GPUs are asked for; this machine has none (no NVIDIA driver)",
            file="preflight.toml",
            line=4,
            fix="Not the machine it will run on?  preflight run --elsewhere",
        ),
    )


def _demo_data() -> tuple[Finding, ...]:
    endless = (
        "webdataset skips what it cannot read. This pipeline never ends "
        "(resampled=True, train.py:27): it would stand at 0 % and say nothing."
    )
    dropped = 'to_tuple("jpg;png", "txt") drops them without a word: 9 % of the data.'
    gray = "Pillow opens the second one without complaint; half of it is gray."
    again = "Take them again from where they came from, or leave them out."
    shard = "data/shard-001.tar"

    def sample(check: str, member: str, message: str, why: str, fix: str) -> Finding:
        return finding(check, message, file=shard, name=f"member {member}", why=why, fix=fix)

    return (
        finding(
            "shard-damaged",
            "is a RAR archive that is named .tar",
            file="data/shard-002.tar",
            why=endless,
            fix="Unpack it and pack it as a tar.",
        ),
        finding(
            "shard-damaged",
            "ends inside dog-0044.jpg: 8 of 12 samples are whole",
            file="data/shard-003.tar",
            why=endless,
            fix="Copy it again from where it came from.",
        ),
        *(
            sample("sample-unpaired", f"{key}.jpg", f"there is no {key}.txt", dropped, "Write it.")
            for key in ("dog-0017", "dog-0021")
        ),
        sample(
            "sample-unpaired",
            "dog-0023.txt",
            "its image is .jpeg, not jpg or png",
            dropped,
            "Rename dog-0023.jpeg to dog-0023.jpg.",
        ),
        sample("image-damaged", "dog-0014.jpg", "stops before its end marker", gray, again),
        sample(
            "image-damaged",
            "dog-0019.jpg",
            "has 4,096 zero bytes in it, from 20,480 on",
            gray,
            again,
        ),
    )


def _demo_cache() -> tuple[Finding, ...]:
    messages = {
        "0b1e66f0a1": "is empty: killed between open and write",
        "5d0712aa90": "ends at 8,192 of 18,009 bytes: killed in mid-write",
        "c3a91200ff": "has wrong bytes in data/0 (its CRC differs)",
    }
    return tuple(
        finding(
            "cache-damaged",
            message,
            file=f"cache/text/{key}-demo.pt",
            why="torch.load stops at the first two, and reads the third without a word.",
            fix="Move them aside, and have them made again:  preflight quarantine",
            aside=(Aside(file=f"cache/text/{key}-demo.pt"),),
        )
        for key, message in messages.items()
    )


def _demo_objects() -> tuple[Finding, ...]:
    objects = (
        (24, "loader.collate_fn", "local function as_is"),
        (31, "loader.dataset.pipeline[7].args[0]", "lambda in make_loader"),
        (18, "loader.dataset.pipeline[11].args[1]", "local function as_text"),
        (36, "loader.dataset.pipeline[12].args[0]", "lambda, holds `fields`"),
    )
    return (
        *(
            finding(
                "loader-unpicklable",
                message,
                file="train.py",
                line=line,
                name=name,
                why="This job spawns its workers (preflight.toml:6), as Windows, macOS, and Linux "
                "from Python 3.14 on do by themselves. Python names only the first of the four; "
                "each fix uncovers the next.",
                fix="Make them functions or classes at the top level of train.py.",
                workaround="num_workers=0 runs today, and loads more slowly.",
            )
            for line, name, message in objects
        ),
        finding(
            "model-uncopyable",
            "is a ProcessGroup",
            file="model.py",
            line=57,
            name="blocks[0].attn.group",
            also=(Location(file="model.py", line=57, name="blocks[1].attn.group"),),
            why="EMA(model), train.py:52, copies the model. After loading 1.2 GB it would stop: "
            "cannot pickle 'torch._C._distributed_c10d.ProcessGroup' object.",
            fix="Copy before the groups are set, or let the copy share the group:\n"
            "copy.deepcopy(model, {id(group): group})",
        ),
    )


def healthy(**changes: Any) -> Report:
    of_machine = ("target-missing", "gpu-count", "gpu-memory")
    of_files = ("image-damaged", "cache-damaged", "cache-stale")
    values: dict[str, Any] = {
        "verdict": "go",
        "verdict_by": {"job": "go", "machine": "go"},
        "complete": True,
        "not_judged": ("loader", "model", "script"),
        "started": "2026-11-20T10:00:00Z",
        "seconds": 0.91,
        "job": {
            "root": Setting(value="/data/subject", origin="default"),
            "launch.gpus": Setting(value=8, origin="config/config.json:3"),
            "data": Setting(value="datasets/subject", origin="config/multidatabackend.json:2"),
        },
        "checks": (
            *(outcome(one, one.replace("-", " ")) for one in (*of_machine, *of_files)),
            outcome(
                "env-launch",
                "launcher variable not set",
                skipped=(Skip(reason="no source was named", count=1),),
            ),
        ),
        "findings": (),
        "targets": (
            Named(word="datasets/subject", kind="data", text="25 images, 25 captions"),
            Named(word="cache/text/flux", kind="cache", text="26 of 26 files whole"),
            Named(word="cache/vae/flux", kind="cache", text="75 of 75 files whole"),
            Named(word="host", kind="host", text="8 x H100 80GB, all free; 212 GB of disk free"),
        ),
        "last": ".preflight/last.json",
        "tool": {"name": "preflight", "version": "0.1.0"},
    }
    return Report(**(values | changes))


def warned() -> Report:
    return healthy(
        checks=(
            outcome("image-small", "image smaller than training wants", found=3, targets=25),
            outcome("model-unused", "parameters that no optimizer holds", found=1),
            outcome("host-clock", "clock that is off", found=1),
            outcome("gpu-count", "fewer GPUs than the job asks for"),
        ),
        findings=(
            *(
                finding(
                    "image-small",
                    "is 640 x 480, below 1,024: it is left out",
                    severity=WARNING,
                    file=f"datasets/subject/{name}.jpg",
                    fix="Take larger ones, or lower minimum_image_size.",
                )
                for name in ("cat-001", "cat-007", "dog-003")
            ),
            finding(
                "model-unused",
                "13.4 GB of gradients belong to no optimizer",
                severity=WARNING,
                file="train/train_c.py",
                line=221,
            ),
            finding("host-clock", "is 41 s behind the file server's", severity=NOTE, name="clock"),
        ),
    )


def unjudged() -> Report:
    denied = Broken(
        at=Location(file="s3://acme/latents"),
        error="access denied (403) as role ci-readonly",
        fix="Give the runner s3:GetObject on acme/latents, or say that this may be left out "
        "here:  preflight run --may-skip cache",
    )
    return healthy(
        verdict="cannot-judge",
        checks=(
            *(
                outcome(one, one, looked_at=0, broken=(denied,))
                for one in ("cache-damaged", "cache-stale")
            ),
            *(outcome(one, one) for one in ("gpu-count", "gpu-memory", "image-damaged")),
        ),
        reasons=("118,431 latents were not looked at, and nothing says that they may be.",),
    )


REPORTS = {
    "everything": everything,
    "demo": demo,
    "healthy": healthy,
    "warned": warned,
    "unjudged": unjudged,
}
