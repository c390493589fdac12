"""Says what becomes of a sample in the stages of a pipeline, as webdataset 1.0 treats it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from typing import NamedTuple

from preflight.pairing.rules import extension_of
from preflight.pipelines.arrived import Arrived, Lacking
from preflight.pipelines.facts import Reads, Stage

# What `decode` has decoded as UTF-8 by the last extension of a field (autodecode.py: decoders).
TEXTS = frozenset({"txt", "text", "transcript"})

SAMPLE_STAGES = frozenset({"open", "expand", "group"})
"""Stages that make samples of shards."""

RECORDS = frozenset({"json", "jsn", "cls", "cls2", "index", "inx", "id", "npy", "npz", "pth"})
"""What it reads beside texts and images, of which can be told here that it is damaged."""

OPAQUE = frozenset({"npz", "pth", "pkl", "pyd", "pickle", "ten", "tb", "mp", "msg", "cbor"})
"""What it reads whole, and nobody else: most of it are pickles, which only the job may load."""

TAKES = frozenset({"to_tuple", "extract_keys", "rename", "rename_keys", "map_dict"})
"""Stages that ask for fields by their names."""


# Where a function of the job's says what goes on.
_CHOOSE = frozenset({"select", "select_files"})


class Fate(NamedTuple):
    """Where a sample ends; without a stage where it comes through."""

    stage: Stage | None = None
    reason: str = ""
    field: tuple[str, ...] = ()


def fate(sample: Arrived, stages: tuple[Stage, ...]) -> Fate:
    """Put a sample through all stages, as far as it is known what they do."""
    fields: Mapping[str, bool] = {one: one in sample.spoiled for one in sample.fields}
    for stage in stages:
        if stage.kind == "other":
            break
        if stage.kind == "decode":
            ill = _refused(stage, fields)
            if ill is not None:
                return Fate(stage, _what_is(ill), (ill,))
            fields = {one: bad and not _is_decoded(stage, one) for one, bad in fields.items()}
        elif stage.kind in TAKES:
            lacks = _lacking(stage, fields)
            if lacks is not None:
                return Fate(stage, "field", lacks)
            if stage.kind in ("to_tuple", "extract_keys"):
                break  # what follows asks for places, not for names
            fields = _renamed(stage, fields)
    return Fate()


def lacking(arrived: Iterable[Arrived], reads: Reads) -> tuple[Lacking, ...]:
    """Give what the samples of a shard lack of the fields that a loader takes."""
    found: dict[Fate, Lacking] = {}
    for one in arrived:
        end = fate(one._replace(spoiled=()), reads.stages)
        if end.stage is None or not one.whole:
            continue
        known = found.get(end)
        samples, keys = (known.samples, known.keys) if known else (0, ())
        stage = end.stage
        found[end] = Lacking(
            field=end.field,
            samples=samples + one.samples,
            keys=(keys + one.keys)[:3],
            how=how(stage, reads.stages),
            stage=written(stage),
            at=stage.at,
            handler_name=stage.handler_name,
            chosen=chooser(up_to(stage, reads.stages)),
        )
    return (*found.values(), *_filled_in(arrived, reads))


def _filled_in(arrived: Iterable[Arrived], reads: Reads) -> Iterator[Lacking]:
    """Give what samples lack of the fields for which a stage gives None (`missing_is_error`)."""
    stage = next((one for one in reads.stages if one.kind in (*TAKES, "other")), None)
    if stage is None or stage.kind != "to_tuple" or stage.strict:
        return  # behind others, fields have other names
    for wanted in stage.fields:
        those = [
            one
            for one in arrived
            if one.whole and not _matching(stage, wanted, dict.fromkeys(one.fields, False))
        ]
        if those:
            yield Lacking(
                field=wanted,
                samples=sum(one.samples for one in those),
                keys=sum((one.keys for one in those), ())[:3],
                how="filled-in",
                stage=written(stage),
                at=stage.at,
            )


def how(stage: Stage, stages: tuple[Stage, ...]) -> str:
    """Say what becomes of a sample at which a stage raises.

    The user's own code may have taken it out before it comes to that stage.
    """
    filters = any(one.kind == "filter" for one in up_to(stage, stages))
    if stage.handler == "raises" and filters:
        return "unknown"
    return stage.handler or "goes-on"


def chooser(stages: tuple[Stage, ...]) -> str:
    """Name what first takes out samples, or files of theirs: `select (train.py:9)`."""
    chosen = next((one for one in stages if one.name in _CHOOSE), None)
    if chosen is None:
        return ""
    return f"{chosen.name} ({chosen.at.file}:{chosen.at.line})" if chosen.at.line else chosen.name


def up_to(stage: Stage, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Give the stages through which a sample comes to one."""
    return stages[: stages.index(stage)] if stage in stages else ()


def written(stage: Stage) -> str:
    """Write a stage as the user does: `to_tuple("jpg;png", "txt")`."""
    if stage.kind in SAMPLE_STAGES:
        return "the reader of shards"
    fields = [";".join(one) for one in stage.fields]
    if stage.kind in ("rename", "rename_keys"):
        told = [f'{name}="{one}"' for name, one in zip(stage.names, fields, strict=False)]
    elif stage.kind == "map_dict":
        told = [f"{one}=..." for one in fields]
    else:
        told = [f'"{one}"' for one in fields]
    return f"{stage.kind}({', '.join(told)})"


def taken(reads: Reads) -> bool:
    """Whether it is known which fields a loader takes."""
    for stage in reads.stages:
        if stage.kind == "other":
            return False
        if stage.kind in TAKES and stage.fields:
            return True
    return False


def asks_nothing(reads: Reads) -> bool:
    """Whether samples come out of its pipeline with the fields that they have, as is known."""
    kinds = {one.kind for one in reads.stages}
    return bool(kinds) and kinds.isdisjoint({"other", *TAKES})


def deciding(reads: Reads) -> str:
    """Name the first stage of which nobody knows which fields it takes, or fills in itself."""
    stage = next((one for one in reads.stages if one.kind == "other"), None)
    if stage is None or taken(reads):
        return ""
    name = stage.name or stage.handler_name or "a function"
    line = f" ({stage.at.file}:{stage.at.line})" if stage.at.line else ""
    return f"{name} of {reads.name}{line}"


def decodes(field: str, stages: tuple[Stage, ...]) -> bool:
    """Whether `decode` reads a field by its own rules as it stands in the shard."""
    for stage in stages:
        if stage.kind == "decode":
            only = stage.only is None or field in stage.only
            return stage.records and only and not field.startswith("__")
        if stage.kind in ("other", *TAKES):
            return False  # it may have another name there, or be gone
    return False


def use_of(those: Iterable[str], stages: tuple[Stage, ...]) -> str:
    """Say what a loader does with some fields: `taken`, `decoded` and then left, or `left`.

    Where nobody knows, they are `taken`.
    """
    fields = dict.fromkeys(those, False)
    use = "left"
    for stage in stages:
        if stage.kind == "other":
            return "taken"
        if stage.kind == "decode" and any(_is_decoded(stage, one) for one in fields):
            use = "decoded"
        elif stage.kind in TAKES:
            for wanted in stage.fields:
                if any(one in fields for one in _matching(stage, wanted, fields)):
                    return "taken"
            if stage.kind != "map_dict" and not stage.keeps:
                return use
    return "taken"


def dropped_by(field: str, stages: tuple[Stage, ...]) -> str:
    """Name the handler that drops a sample of which this field does not decode, with its line."""
    for stage in stages:
        if stage.kind == "decode" and _is_decoded(stage, field):
            line = f" ({stage.at.file}:{stage.at.line})" if stage.at.line else ""
            return f"{stage.handler_name}{line}" if stage.handler == "goes-on" else ""
        if stage.kind in ("other", *TAKES):
            break  # it may have another name there, or be gone
    return ""


def use_of_field(field: str, stages: tuple[Stage, ...]) -> str:
    """Say what a loader does with one field: as `use_of`, or what takes it as the bytes that it is.

    `read`: a function of the job's does, in the pipeline; `raw`: what comes behind it may.
    """
    use = use_of([field], stages)
    if use != "taken":
        return use
    for stage in stages:
        if stage.kind == "decode" and _is_decoded(stage, field):
            return use
        if stage.kind == "map_dict" and any(field in one for one in stage.fields):
            return "read"
        if stage.kind in TAKES or (stage.kind == "other" and stage.name not in _CHOOSE):
            break
    return "raw"


def _is_decoded(stage: Stage, field: str) -> bool:
    if field.startswith("__") or (stage.only is not None and field not in stage.only):
        return False
    return {"text": True, "record": stage.records, "image": stage.images}[_what_is(field)]


def _what_is(field: str) -> str:
    extension = extension_of(field)
    return "text" if extension in TEXTS else "record" if extension in RECORDS else "image"


def _refused(stage: Stage, fields: Mapping[str, bool]) -> str | None:
    """Give the field at which `decode` raises."""
    return next((one for one, ill in fields.items() if ill and _is_decoded(stage, one)), None)


def _lacking(stage: Stage, fields: Mapping[str, bool]) -> tuple[str, ...] | None:
    """Give the first field that a stage asks for in vain, with its alternatives."""
    if not stage.strict:
        return None
    return next((one for one in stage.fields if not _matching(stage, one, fields)), None)


def _matching(stage: Stage, wanted: tuple[str, ...], fields: Mapping[str, bool]) -> list[str]:
    if any(one.startswith("__") for one in wanted):  # `__key__` and `__url__` are always there
        return ["__key__"]
    if stage.kind in ("extract_keys", "rename_keys"):
        return [
            one for one in fields for p in wanted if fnmatch(one, p) or _with_dot(stage, one, p)
        ]
    return [one for one in wanted if one in fields][:1]


def _with_dot(stage: Stage, field: str, pattern: str) -> bool:
    return stage.kind == "extract_keys" and fnmatch(f".{field}", pattern)


def _renamed(stage: Stage, fields: Mapping[str, bool]) -> Mapping[str, bool]:
    if stage.kind == "map_dict":
        return fields
    named = {
        name: any(fields.get(one, False) for one in _matching(stage, wanted, fields)[:1])
        for name, wanted in zip(stage.names, stage.fields, strict=False)
        if _matching(stage, wanted, fields)
    }
    if not stage.keeps:
        return named
    gone = {one for wanted in stage.fields for one in wanted}
    if stage.kind == "rename_keys":
        gone = {one for wanted in stage.fields for one in _matching(stage, wanted, fields)}
    return {**{one: ill for one, ill in fields.items() if one not in gone}, **named}
