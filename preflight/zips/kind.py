"""The row of zip archives of images."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.targets.targets import PictureZip
from preflight.zips.facts import ImageZip

IMAGE_ZIP = Kind(
    name="image-zip",
    noun="zip of images",
    word="data",
    part="data",
    target=PictureZip,
    facts={ImageZip: "zip of images"},
    reader="preflight.zips.read:look",
    gather="preflight.zips.gather:Zips",
    seconds=lambda _plain, _root, _depth: 0.5,
    is_kept=True,
    may_be_left=True,
    counts=lambda facts: {"archive": 1, "image": facts.images},
    depths={"index": "images by their ends", "bytes": "images not decoded"},
)

KINDS = (IMAGE_ZIP,)
