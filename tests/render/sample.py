"""Reports that renderers are tried on: one that has everything, and four that a user would meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from preflight.findings.finding import Finding, Location, Severity, fingerprint
from preflight.findings.report import (
    Accepted,
    Broken,
    Named,
    Outcome,
    Recalled,
    Report,
    Setting,
    Skip,
)

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

HOSTILE = (
    "two\nlines.jpg",
    "\x1b[2J\x1b[31mred.jpg",
    "[bold]markup[/] :smile:.jpg",
    "dog \U0001f436\u200d\U0001f9ba.jpg",
    "gpj.\u202eevil\u202c.jpg",
    "caf\udce9.jpg",
    "\u732b\u306e\u5199\u771f-\u5927\u304d\u3044.jpg",
    "a|b`c`<img src=x onerror=alert(1)>.jpg",
    "[click](javascript:alert(1)) @octocat #1 https://evil.example/x.jpg",
    "NO-GO\r\nGO  all is well\u2028.jpg",
)
"""Names as archives and folders can hold them, each with something that a page must not obey."""


def finding(
    check: str,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    name: str | None = None,
    severity: Severity = ERROR,
    **more: Any,
) -> Finding:
    at = Location(file=file, line=line, name=name)
    mark = fingerprint(check, at, about=message, line_text=None)
    return Finding(check=check, severity=severity, message=message, at=at, fingerprint=mark, **more)


def outcome(check: str, title: str, *, targets: int = 1, **more: Any) -> Outcome:
    """Say what became of a check: all was looked at, where it was not skipped."""
    scope = "machine" if check.startswith(("gpu", "host")) else "job"
    became = next((word for word in ("broken", "found", "skipped") if more.get(word)), "passed")
    seen = 0 if became == "skipped" else targets
    values = {"targets": targets, "looked_at": seen, "seconds": 0.01} | more
    return Outcome(id=check, outcome=became, scope=scope, title=title, **values)


def accept(one: Finding, reason: str) -> Accepted:
    return Accepted(check=one.check, at=one.at, fingerprint=one.fingerprint, reason=reason)


def everything() -> Report:
    """Give a report with every outcome, every severity, and hostile names everywhere."""
    images = tuple(
        finding(
            "image-damaged",
            "stops before its end marker",
            file="data/shard-001.tar",
            name=f"member {name}",
            why="Pillow reads it, and half of it is gray.",
            fix="Take it again from where it came from.",
        )
        for name in HOSTILE
    )
    accepted = finding("shard-damaged", "ends inside old.jpg", file="data/old.tar")
    denied = Broken(
        at=Location(file="data/\x1b[1mshard-003.tar"), error="permission denied (EACCES)"
    )
    return Report(
        verdict="no-go",
        verdict_by={"job": "no-go", "machine": "go"},
        complete=False,
        interrupted=True,
        not_judged=("model", "script"),
        started="2026-11-20T10:00:00Z",
        seconds=3.91,
        job={
            "root": Setting(value="/data/projects/dogs", origin="preflight.toml:2"),
            "launch.gpus": Setting(value=8, origin="preflight.toml:4"),
            "launch.vram": Setting(value=80_000_000_000, origin="--vram"),
        },
        machine={
            "system": "Linux",
            "python": "3.11.7",
            "cpus": 16,
            "memory": 128_000_000_000,
            "available": 100_000_000_000,
            "disk_free": 10**12,
            "recorded": False,
            "gpus": {"state": "no-driver", "gpus": []},
            "environment": {"RANK": "0"},
        },
        checks=(
            outcome("env-launch", "launcher variable that is read and not set", found=1),
            outcome(
                "gpu-memory",
                "too little free GPU memory",
                skipped=(Skip(reason="no GPU here, and none is asked for", count=1),),
            ),
            outcome(
                "shard-damaged",
                "archive that cannot be read to its end",
                targets=4,
                looked_at=2,
                found=3,
                remembered=1,
                broken=(replace(denied, fix="Let this user read it: chmod u+r"),),
            ),
            outcome(
                "image-damaged",
                "image that does not decode",
                targets=4,
                looked_at=3,
                found=len(images) + 812,
                broken=(denied,),
            ),
            outcome("caption-long", "caption that the text encoder will cut", found=1),
            outcome(
                "cache-damaged",
                "cached file that is not what was written",
                looked_at=0,
                targets=16,
                remembered=16,
            ),
            outcome("loader-order", "order that changes between runs", found=1),
            outcome("acme/step-time", "step that takes too long", found=1),
        ),
        findings=(
            finding(
                "env-launch",
                'int(os.environ["SLURM_LOCALID"]) is read; the variable is not set',
                file="train.py",
                line=12,
                why="The script stops in its first second, on any machine without Slurm.",
                fix="Start it with srun, or for one process:\nexport SLURM_LOCALID=0",
            ),
            finding(
                "shard-damaged",
                "is a RAR archive that is named .tar",
                file="data/shard-002.tar",
                why="webdataset skips what it cannot read.",
                fix="Unpack it and pack it as a tar.",
            ),
            finding(
                "shard-damaged",
                "ends inside dog-0044.jpg: 8 of 12 samples are whole",
                file="data/shard-004.tar",
                why="webdataset skips what it cannot read.",
                fix="Copy it again from where it came from.",
            ),
            accepted,
            *images,
            finding(
                "caption-long",
                "has 312 tokens; the encoder reads 77",
                severity=WARNING,
                file="data/\u732b.txt",
                line=1,
                workaround="Cut it yourself.",
                also=(Location(file="data/\u732b.txt", line=9), Location(file="b.txt")),
                evidence={"tokens": 312, "limit": 77},
            ),
            finding(
                "loader-order",
                "is listed in the order of the file system",
                severity=NOTE,
                name="loader.dataset.files",
            ),
            finding(
                "acme/step-time",
                "takes 4.1 s a step",
                file="/elsewhere/lib/deep/down/step.py",
                line=7,
            ),
        ),
        more={"image-damaged": {"data/shard-001.tar": 700, "data/caf\udce9.tar": 112}},
        targets=(
            Named(word="data/shard-{001..004}.tar", kind="data", text="4 shards, 48 samples"),
            Named(word="cache/\u732b", kind="cache", text="16 files"),
            Named(word="train:make_loader", kind="loader", text=""),
        ),
        remembered=(
            Recalled(noun="shard", count=1, of=4, age=11_000.0),
            Recalled(noun="cache file", count=16, of=16, age=11_000.0),
        ),
        accepted=(accept(accepted, "will be dropped in March"),),
        steps={"import torch": 2.8, "data": 0.9},
        reasons=("It was stopped by Ctrl-C.",),
        command="preflight run 'data/shard-{001..004}.tar' train:make_loader",
        last=".preflight/last.json",
        tool={"name": "preflight", "version": "0.1.0"},
    )
