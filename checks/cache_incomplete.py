"""A cache whose entries and samples do not lead to each other.

What it finds
    Of a cache whose data sets are named (`[[cache]] of = ["photos"]`), by names and times alone:
    two samples of one key (`cat.jpg` and `cat.png` by their stem), but not where keys are made of
    captions, which samples share on purpose; samples whose entry is there under another spelling
    of the same path (`./photos`, an absolute path, `.JPG`, backslashes, accents in another form),
    or below the path of the data set, which a trainer has put into the cache once more
    (`cache/data/photos/cat.npz`); samples without an entry; samples that lack a kind of entry which
    nearly all others have beside another one (`cat_sdxl.npz`, and no `cat_te_outputs.npz`); entries
    without a sample; and entries older than the file they were made of, a caption's where their
    names say so (`cat_te.npz`). Entries whose keys are made of captions are never old. An empty
    cache is a note, and so are entries in a folder that the rule does not name (`latents/cat.npz`
    by `stem`). What lies in the folder of other samples, or of another data set, is no entry of a
    sample. How captions of several lines are read is settled once for a cache.

    The rule of the keys is `key` in the settings: a name or a hash of it (`stem`, `sha256(stem)`,
    `md5(path)[:16]`), a template (`"{md5('sks dog ' + caption)}-flux.pt"`), or `module:function`.
    Where none is said, the usual ones are tried, and the check is skipped where none of them
    leads from most samples to an entry. Sizes, frames, numbers, hashes and kinds of models that
    trainers (SimpleTuner, kohya, musubi, ai-toolkit) write behind a key are understood, and so is
    what stands there in the entries of most samples (`_flip`). Of shards that are only sampled
    (`--sample`), and where a `--budget` is used up, nothing is compared, and the page says so.

Why it matters
    Where one entry stands for two samples, the job trains one of them on the latents of the other.
    Where keys do not lead back, a trainer finds no entry although all are there: it makes them all
    again, or finds that no rank owns any work, and caches nothing. Samples without an entry are
    encoded first, which may take hours on every GPU of the job. An entry older than its image
    is trained on as the image was before.

What to do
    Let the job spell the folder of its data as it did when the cache was made. Name entries after
    the whole path or the whole name of their file, not after its stem. Have old entries made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import Foreign, check
from preflight.facts import CacheKeys, LackedKind
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.settings.ages import format_age
from preflight.values.names import counted, first_of, shown

from ._incomplete_words import (
    CHANGED,
    LACKING,
    entries,
    guessed,
    how_far,
    is_said,
    made_of,
    named_below,
    of_all,
    of_spelling,
    rule_of,
    settings_of,
)


def _cannot_tell(facts: CacheKeys, _: Job) -> str | None:
    """Say so where nothing leads from samples to entries, or there are none."""
    if facts.is_file:
        return Foreign("it is one file, and no folder of entries")
    if facts.is_unfilled:
        return None
    if not facts.samples and facts.uncaptioned:
        have = "sample has" if facts.uncaptioned == 1 else "samples have"
        return f"its keys are made of captions, and {facts.uncaptioned:,} {have} none"
    if not facts.samples:
        return "its data sets hold no sample"
    if facts.stores and not facts.entries and not facts.others:
        return f"files such as {shown(facts.stores[0])} hold many entries, and are not looked into"
    if facts.rule is not None or not facts.entries:
        return None
    where = shown(facts.file)
    return (
        f"{where}: no rule leads from most samples to an entry; tried {how_far(facts)}. "
        'Say which in preflight.toml, such as  key = "{md5(caption)}-flux.pt"'
    )


@check(
    over=CacheKeys,
    title="cache that does not fit its samples",
    many="places where caches and samples do not fit",
    severity=Severity.ERROR,
    skip=_cannot_tell,
)
def cache_incomplete(facts: CacheKeys, job: Job) -> Iterator[Finding]:
    """Tell each kind of fault once, with its numbers and the first names."""
    if facts.shared:
        yield _of_shared(facts, job)
    if not facts.entries and not facts.others:
        yield from (_of_emptiness(facts),) if facts.samples or facts.is_unfilled else ()
        return
    if facts.respelled is not None:
        yield _of_spelling(facts, job)
    elif facts.entries and not facts.matched and (facts.orphans or facts.instead is not None):
        yield _of_nothing(facts, job)
        return
    if facts.missing > (facts.respelled.samples if facts.respelled is not None else 0):
        yield _of_missing(facts) if facts.entries else _of_other_names(facts)
    if facts.elsewhere:
        yield _of_elsewhere(facts, job)
    yield from (_of_lacked(one, facts) for one in facts.lacked)
    if facts.orphans and facts.respelled is None and not facts.unread and not is_said(facts):
        yield _of_orphans(facts)
    if facts.stale:
        yield _of_stale(facts)


def _of_emptiness(facts: CacheKeys) -> Finding:
    of = f"the entries of {counted(facts.samples, 'sample')}" if facts.samples else "all entries"
    return cache_incomplete.found(
        f"is empty: {of} are still to be made",
        severity=Severity.NOTE,
        at=Location(file=facts.file),
        why="A job that fills its cache does so before it trains, while its GPUs wait; a job that "
        "only reads it stops at the first sample.",
        evidence={"missing": facts.samples, "samples": facts.samples},
        about="missing",
    )


def _of_shared(facts: CacheKeys, job: Job) -> Finding:
    first = facts.shared_keys[0]
    both = "both" if first.samples == 2 else "all"
    more = facts.shared - 1
    others = f"; so it is with {counted(more, 'more key')}" if more else ""
    # Where most share, a pair of images may have one entry on purpose, unless the rule was said.
    few = 2 * facts.shared_samples < facts.samples
    sure = (facts.was_said or (few and not facts.orphans)) and not first.sized
    return cache_incomplete.found(
        f"has one entry for {counted(first.samples, 'sample')}: "
        f"{first_of(first.names, first.samples)} {both} have the key {shown(first.key)}"
        f"{others}{guessed(facts)}",
        severity=Severity.ERROR if sure else Severity.WARNING,
        at=Location(file=facts.file),
        also=settings_of(facts, job),
        why=f"{counted(facts.shared_samples, 'sample')} share {entries(facts.shared)}: "
        "whichever is cached last is what the job trains on in place of the others.",
        fix=f"Rename one of each, or have entries named after {_telling(first.names)} of a file.",
        evidence={"keys": facts.shared, "samples": facts.shared_samples},
        about="shared",
    )


def _telling(names: Sequence[str]) -> str:
    """Say what of their files tells samples apart that have one key."""
    last = {name.rpartition("/")[2] for name in names}
    return "the whole name" if len(last) == len(names) else "the whole path"


def _of_spelling(facts: CacheKeys, job: Job) -> Finding:
    other = facts.respelled
    assert other is not None  # noqa: S101  for the type checker
    who = "the job" if facts.was_said else "preflight.toml"
    message, fix = of_spelling(facts, other, who)
    return cache_incomplete.found(
        message,
        severity=Severity.ERROR if facts.was_said else Severity.WARNING,
        at=Location(file=facts.file),
        also=settings_of(facts, job),
        why="The job finds none of these entries although they are there: it makes them again, or "
        "takes no sample for its own and caches nothing."
        if facts.was_said
        else "A job that spells the folder as preflight.toml does finds none of these entries, and "
        "makes them again.",
        fix=fix,
        evidence={"samples": other.samples, "said": other.said, "made": other.made},
        about="spelling",
    )


def _of_nothing(facts: CacheKeys, job: Job) -> Finding:
    if facts.instead is not None:
        led = of_all(facts.instead_matched, facts.samples)
        hint = f"; by {facts.instead}, {led} do"
        fix = (
            f'Correct preflight.toml if that is how the job names them: key = "{facts.instead}"; '
            "else have the cache made again."
        )
    else:
        hint = f": it holds {first_of(facts.orphan_names, facts.entries, 2)}"
        fix = "Look whether this is the cache of these data sets, and correct key, of or path."
        if facts.by_caption and facts.rule is not None and "'" not in facts.rule:
            key = facts.rule.replace("caption", "'sks dog ' + caption")
            fix = (
                f'Say it where the job puts a text before each caption: key = "{shown(key)}"; '
                "else correct key, of or path."
            )
    return cache_incomplete.found(
        f"has {entries(facts.entries)}, and none of {counted(facts.samples, 'sample')} leads to "
        f"one by {rule_of(facts)}{hint}",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        also=settings_of(facts, job),
        why="The job makes all entries again before it trains, or finds none of them.",
        fix=fix,
        evidence={"samples": facts.samples, "entries": facts.entries},
        about="nothing",
    )


def _of_missing(facts: CacheKeys) -> Finding:
    number, names = facts.missing, f": {first_of(facts.missing_names, facts.missing)}"
    if facts.respelled is not None:  # those are among the names
        number, names = number - facts.respelled.samples, ""
    why, fix = CHANGED if facts.changed else LACKING
    changed = ""
    if facts.by_caption and facts.orphans:
        lead = "leads" if facts.orphans == 1 else "lead"
        changed = f"; {entries(facts.orphans)} {lead} to no sample, as where captions were changed"
    return cache_incomplete.found(
        f"lacks the entries of {of_all(number, facts.samples)}{names}{guessed(facts)}{changed}",
        severity=Severity.NOTE if facts.changed else Severity.WARNING,
        at=Location(file=facts.file),
        why=why,
        fix=fix,
        evidence={"missing": number, "samples": facts.samples},
        about="missing",
    )


def _of_elsewhere(facts: CacheKeys, job: Job) -> Finding:
    folders = facts.elsewhere
    called, rule, how = "", rule_of(facts), ""
    if not facts.was_said:
        called, rule = ", which is called as its data set", f"{shown(facts.rule or '')} (a guess)"
        how = (
            "; where it spells the path of its data in another way (./, //), it may put them there"
        )
    return cache_incomplete.found(
        f"has its entries below {first_of(folders, len(folders))}{called}, where {rule} does "
        "not lead: it names the cache itself, or the folder in which a sample lies below its data "
        "set",
        severity=Severity.WARNING if facts.was_said else Severity.NOTE,
        at=Location(file=facts.file),
        also=settings_of(facts, job),
        why=f"A job that looks where the rule leads finds none of them, and makes all again{how}.",
        fix=f"Where the job does look there, say so: {named_below(facts)}",
        evidence={"entries": facts.entries},
        about="elsewhere",
    )


def _of_lacked(one: LackedKind, facts: CacheKeys) -> Finding:
    have = "has one" if one.have == 1 else "have one"
    why, fix = CHANGED if facts.changed else LACKING
    return cache_incomplete.found(
        f"lacks {shown(one.kind)} for {counted(one.samples, 'sample')} with other entries: "
        f"{first_of(one.names, one.samples)}; {one.have:,} {have}{guessed(facts)}",
        severity=Severity.NOTE if facts.changed else Severity.WARNING,
        at=Location(file=facts.file),
        why=why,
        fix=fix,
        evidence={"missing": one.samples, "samples": facts.samples, "kind": one.kind},
        about=f"kind {one.kind}",
    )


def _of_other_names(facts: CacheKeys) -> Finding:
    return cache_incomplete.found(
        f"holds {counted(facts.others, 'cached file')}, and none is named by {rule_of(facts)}: "
        f"{first_of(facts.other_names, facts.others, 2)}",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why="The job makes all entries again before it trains, or finds none of them.",
        fix="Correct key in the settings, or have the cache made for this job.",
        evidence={"missing": facts.missing, "samples": facts.samples},
        about="missing",
    )


def _of_orphans(facts: CacheKeys) -> Finding:
    most = facts.missing > 0 and 2 * facts.orphans > facts.entries
    lead = "leads" if facts.orphans == 1 else "lead"
    return cache_incomplete.found(
        f"has {entries(facts.orphans)} of {facts.entries:,} that {lead} to no sample: "
        f"{first_of(facts.orphan_names, facts.orphans)}{guessed(facts)}",
        severity=Severity.WARNING if most else Severity.NOTE,
        at=Location(file=facts.file),
        why="They take room and are not trained on."
        + " So many are rather of another data set." * most,
        fix="Name all data sets of this cache in  of = [...],  or move aside what is left over.",
        evidence={"orphans": facts.orphans, "entries": facts.entries},
        about="orphans",
    )


def _of_stale(facts: CacheKeys) -> Finding:
    nearly_all = 10 * facts.stale >= 9 * facts.dated
    is_one = facts.stale == 1
    are = "is older than the file it was" if is_one else "are older than the files they were"
    return cache_incomplete.found(
        f"has {entries(facts.stale)} of {facts.entries:,} that {are} made of, "
        f"by {'up to ' * (facts.stale > 1)}{format_age(facts.oldest)}: "
        f"{first_of(facts.stale_names, facts.stale)}{made_of(facts)}",
        severity=Severity.NOTE if nearly_all else Severity.WARNING,
        at=Location(file=facts.file),
        why="Nearly all are: most likely the data were copied without their times."
        if nearly_all
        else "The job trains on what those files were before they were changed.",
        fix="Have these entries made again, unless the files were only copied.",
        evidence={"stale": facts.stale, "compared": facts.dated, "seconds": round(facts.oldest)},
        about="stale",
    )
