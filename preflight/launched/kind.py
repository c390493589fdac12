"""The row of the ranks that a launcher has started together."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.launched.facts import RanksSeen, in_words
from preflight.targets.targets import Host, Script

LAUNCHED = Kind(
    name="launched",
    noun="rank",
    facts={RanksSeen: "several ranks that a launcher has started"},
    led_to_by=(Script, Host),
    of_job=False,
    reader="preflight.launched.read:look",
    gather="preflight.launched.gather:Launched",
    runs_code=True,
    sums_up={RanksSeen: in_words},
)

KINDS = (LAUNCHED,)
