"""Says of what nothing here decodes that nobody has looked at it, and what would."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.check import Foreign
from preflight.findings.finding import Location
from preflight.findings.looks import Failed, Left
from preflight.images.facts import FolderFacts, Pictures
from preflight.targets.targets import Folder
from preflight.values.names import counted

_PILLOW = "pip install --upgrade pillow"

# What has Pillow decode a format; of others, nothing is known that would.
_WAYS = {
    "AVIF": _PILLOW,
    "HEIF": "pip install pillow-heif",
    "JPEG 2000": _PILLOW,
    "JPEG XL": "pip install pillow-jxl-plugin",
    "QOI": _PILLOW,
}


def not_decoded(
    file: str, pictures: Pictures, facts: type, target: Folder | None = None
) -> Iterator[Left | Failed]:
    """Give what is to be said of the images of a shard or folder; where none was seen, it fails."""
    undecoded = pictures.undecoded
    alone = sum(one.images for one in undecoded) == pictures.images
    for one in undecoded:
        way = _WAYS.get(one.format)
        noun = f"{one.suffix or one.format} image"
        if alone:
            yield Failed(
                at=Location(file=file),
                error=f"nothing here decodes {one.format}: {counted(one.images, noun)}",
                kinds=(facts,),
                fix=way or "Look at them with what the job decodes them with.",
                about="image",
            )
            continue
        yield Left(
            reason=f"nothing here decodes {one.format}" + (f"; {way}" if way else ""),
            kinds=(facts,),
            count=one.images,
            about="image",
            noun=noun,
            target=target,
        )


def not_seen(found: FolderFacts) -> Iterator[Left]:
    """Say of videos, and of what is to be heard, that nobody looks into them."""
    for count, medium, noun in (
        (found.videos, "video", "video"),
        (found.sounds, "audio", "audio file"),
    ):
        if count:
            reason = Foreign(f"{medium} is not read by this version")
            yield Left(reason=reason, kinds=(FolderFacts,), count=count, about="image", noun=noun)
