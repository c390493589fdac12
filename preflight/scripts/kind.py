"""The row of scripts, which are run as they are."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.batches.pass_facts import RandomDraws, WholePass
from preflight.flow.facts import Flow
from preflight.kinds.kind import Kind
from preflight.kinds.same import EVALUATES, EVENED, Same
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.pipelines.facts import Reads
from preflight.resuming.facts import Resumed, SavedState
from preflight.resuming.facts import in_words as resumes_in_words
from preflight.scripts.facts import Rehearsal, StartedRanks, in_words
from preflight.targets.targets import Script
from preflight.training.facts import Steps
from preflight.training.facts import in_words as steps_in_words


def _on_purpose(facts: Rehearsal, _root: str) -> Iterator[Same]:
    """Say where it evaluates, and whether it knows that ranks may have more batches than others."""
    words = {"evaluation": EVALUATES, "join": EVENED}
    for one in facts.met:
        if one.what in words:
            at = None if one.at is None else one.at.place()
            yield Same(what=words[one.what], value="", at=at)


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
        StartedRanks: "several ranks that a script has started",
    },
    lacks=lambda facts: facts.not_reached if isinstance(facts, Rehearsal) else (),
    sums_up={Rehearsal: in_words, Resumed: resumes_in_words, Steps: steps_in_words},
    may_give=(Sent, Loaded, Reads, Copied, Flow, RandomDraws, WholePass),
    reader="preflight.scripts.saving.again:look",
    gather="preflight.scripts.gather:Scripts",
    runs_code=True,
    alike={Rehearsal: _on_purpose},
)

KINDS = (SCRIPT,)
