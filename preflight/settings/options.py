"""The options of `preflight run`, each declared once.

The command line, `preflight.run(...)`, PREFLIGHT_* and the reference page are made of these rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from preflight.settings.ages import parse_age
from preflight.settings.how_to_look import Depth, Device, FailOn
from preflight.settings.job import StartMethod
from preflight.values.byte_sizes import parse_size
from preflight.values.sampling import parse_sample


class Type(NamedTuple):
    """What the value of an option is, and how its text is read."""

    metavar: str
    read: Callable[[str], Any]
    """Makes a value of text, or raises ValueError."""

    choices: tuple[str, ...] = ()
    bounds: str = ""
    """What a number must be: `x>=1`."""


class Option(NamedTuple):
    """A row: how an option is spelled, which setting it is, and what is said of it."""

    name: str
    """`batch-size`, without its dashes."""

    type: Type
    key: str | None
    """The setting, `launch.batch_size`; None: it says which checks, or which file of settings."""

    help: str

    @property
    def variable(self) -> str:
        """Of the environment."""
        return f"PREFLIGHT_{self.name.replace('-', '_').upper()}"


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _yes(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(f"{text!r} is no number of seconds above 0")
    return number


def _png(text: str) -> str:
    if not text.lower().endswith(".png"):
        raise ValueError(f"{text!r} does not end in .png, which is what is written")
    return text


def _number(least: int) -> Type:
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is no whole number") from None
        if number < least:
            raise ValueError(f"{number} is less than {least}")
        return number

    return Type("N", read, bounds=f"x>={least}")


def _one_of(words: tuple[str, ...]) -> Type:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return Type(f"[{'|'.join(words)}]", read, words)


FLAG = Type("", _yes)
IDS = Type("ID,…", _words)
PICTURE = Type("FILE", _png)
FILE, FOLDER, PROGRAM = Type("FILE", str), Type("DIR", str), Type("EXE", str)
SIZE, AGE = Type("SIZE", parse_size), Type("AGE", parse_age)
TEXT = Type("ARGS", str)
SECONDS = Type("S", _seconds, bounds="x>0")
SAMPLE = Type("N|P%", lambda text: parse_sample(text).text)
FROM_0, FROM_1 = _number(0), _number(1)
GATE, METHOD, DEPTH, DEVICE = (
    _one_of(get_args(one)) for one in (FailOn, StartMethod, Depth, Device)
)

OPTIONS = (
    Option("config", FILE, None, "The settings (default: the nearest upward)."),
    Option("no-config", FLAG, None, "Read no settings, which may name code to run."),
    Option("select", IDS, None, "Ask these checks only, by id or first word."),
    Option("ignore", IDS, None, "Leave these checks out."),
    Option("fail-on", GATE, "gate.fail_on", "What makes a NO-GO (default: error)."),
    Option("baseline", FILE, "gate.baseline", "A saved report; what it holds gates no more."),
    Option("require", IDS, "gate.require", "These must look at all; skipped is CANNOT JUDGE."),
    Option("may-skip", IDS, "gate.may_skip", "These checks may fail to look without CANNOT JUDGE."),
    Option("gpus", FROM_0, "launch.gpus", "GPUs that the job needs here."),
    Option("vram", SIZE, "launch.vram", "Free memory on each: 80GB."),
    Option("world-size", FROM_1, "launch.world_size", "Ranks in all."),
    Option("num-workers", FROM_0, "launch.num_workers", "Workers of each loader."),
    Option("batch-size", FROM_1, "launch.batch_size", "Samples in a batch."),
    Option("grad-accum", FROM_1, "launch.grad_accum", "Batches to one step."),
    Option("start-method", METHOD, "launch.start_method", "How workers are started."),
    Option(
        "elsewhere",
        FLAG,
        "launch.elsewhere",
        "The job runs on another machine: this one is not judged.",
    ),
    Option("python", PROGRAM, "python", "The job's interpreter (default: ours)."),
    Option(
        "depth",
        DEPTH,
        "look.depth",
        "Names and ends of files; every byte (default); or every image decoded.",
    ),
    Option("jobs", FROM_1, "look.jobs", "Processes that read files."),
    Option(
        "timeout",
        SECONDS,
        "look.timeout",
        "Silence of one step of your code that counts as hung (default: 120 s).",
    ),
    Option(
        "budget",
        SECONDS,
        "look.budget",
        "Leave out data that was not looked at after so long (default: look at all).",
    ),
    Option(
        "sample",
        SAMPLE,
        "look.sample",
        "Look at so many shards or images of each data set, or at a share: 500, 10%.",
    ),
    Option(
        "state",
        FOLDER,
        "look.state",
        "Where the report and the ledger are kept (default: .preflight).",
    ),
    Option("no-ledger", FLAG, "look.no_ledger", "Read every file, and remember none."),
    Option(
        "reread",
        AGE,
        "look.reread",
        "Read unchanged files again that were read so long ago: 12h, 30d (default), 0.",
    ),
    Option(
        "max-findings",
        FROM_1,
        "look.max_findings",
        "Findings kept for each check (default: 10000).",
    ),
    Option(
        "deep",
        FLAG,
        "look.deep",
        "Load cached files with torch (weights_only), and look at their numbers.",
    ),
    Option(
        "trust-caches",
        FLAG,
        "look.trust_caches",
        "Load them with a torch older than 2.6 too, which a file can make run code.",
    ),
    Option("batches", FROM_1, "look.batches", "Of each loader of a script, an epoch (default: 2)."),
    Option("epochs", FROM_1, "look.epochs", "After which a script is stopped (default: 2)."),
    Option("allow-writes", FLAG, "look.allow_writes", "A script writes where it says, for real."),
    Option(
        "resume-with",
        TEXT,
        "look.resume_with",
        "What a script is given to go on from what it saved:  '--resume {checkpoint}'.",
    ),
    Option("device", DEVICE, "look.device", "What a script asks of a GPU is done on the CPU."),
    Option(
        "show-batch",
        PICTURE,
        "look.show_batch",
        "Draw the first batch of each loader into a picture: images, captions, ranges.",
    ),
    Option(
        "probe-storage",
        FLAG,
        "look.probe_storage",
        "Try renames and locks where caches lie, in a folder of ours.",
    ),
    Option(
        "import-anyway", FLAG, "look.import_anyway", "Import modules even where that starts work."
    ),
)
"""In the order of the command's help: what is looked at, how deep, and what is said of it."""
