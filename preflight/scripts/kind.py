"""The row of scripts, which are run as they are."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.pipelines.facts import Reads
from preflight.resuming.facts import Resumed, SavedState
from preflight.resuming.page import in_words as resumes_in_words
from preflight.scripts.facts import Rehearsal
from preflight.scripts.page import in_words
from preflight.targets.targets import Script
from preflight.training.facts import Steps
from preflight.training.facts import in_words as steps_in_words

SCRIPT = Kind(
    name="script",
    noun="script",
    word="script",
    part="script",
    target=Script,
    facts={
        Rehearsal: "script",
        SavedState: "save",
        Resumed: "resume",
        Steps: "steps of a script",
    },
    lacks=lambda facts: facts.not_reached if isinstance(facts, Rehearsal) else (),
    sums_up={Rehearsal: in_words, Resumed: resumes_in_words, Steps: steps_in_words},
    may_give=(Sent, Loaded, Reads, Copied),
    reader="preflight.scripts.saving.again:look",
    gather="preflight.scripts.gather:Scripts",
    runs_code=True,
)

KINDS = (SCRIPT,)
