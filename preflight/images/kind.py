"""The rows of folders of images, and of what is asked about in them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from preflight.formats.suffixes.images import is_image
from preflight.images.facts import CaptionsSeen, FolderFacts, ImageDamage, Picture
from preflight.kinds.kind import Kind
from preflight.kinds.question import stamp_of
from preflight.kinds.same import Same, listed
from preflight.pairing.facts import Captioned
from preflight.pairing.folder_contents import list_all
from preflight.targets.file_types.suffixes import IMAGE_SUFFIXES
from preflight.targets.targets import Folder

# Seconds for one image, by depth; of JPEGs, with one processor, from the page cache.
_SECONDS = {"index": 40e-6, "bytes": 120e-6, "decode": 4e-3}

# Seconds for one byte of a table.
_BYTE = 50e-9


def _listed(facts: FolderFacts, root: str) -> Iterator[Same]:
    """Give how many files it has, and a hash of their names."""
    top = os.path.join(root, facts.file)
    names = (
        os.path.join(folder, f"{stem}.{suffix}")
        for one in list_all(top, root)
        for folder in (os.path.relpath(one.path, top),)
        for suffixes, stems in one.stems.items()
        for suffix in suffixes
        for stem in stems.split("/")
    )
    yield Same(what=f"files of {facts.file}", value=listed(names, "file"))


def _counts(facts: FolderFacts) -> dict[str, int]:
    """Count its images and captions; a link that leads nowhere, or a pipe, is none."""
    no_files = sum(is_image(name) for name, _ in facts.unreadable)
    return {"image": facts.pairing.images - no_files, "caption": facts.pairing.captions}


FOLDER = Kind(
    name="folder",
    noun="folder of images",
    word="data",
    part="data",
    target=Folder,
    suffixes=IMAGE_SUFFIXES,
    facts={FolderFacts: "folder of images"},
    gather="preflight.images.gather:Folders",
    alike={FolderFacts: _listed},
    counts=_counts,
    depths={"index": "images by their ends", "bytes": "images not decoded"},
)

IMAGE = Kind(
    name="image",
    noun="image",
    answers=(Picture, ImageDamage),
    reader="preflight.images.folder:look_at_image",
    seconds=lambda _plain, _root, depth: _SECONDS[depth],
    is_kept=True,
    may_be_left=True,
    about="image",
)

TABLE = Kind(
    name="caption-table",
    noun="table of captions",
    answers=(Captioned,),
    reader="preflight.pairing.tables:look",
    seconds=lambda plain, root, _depth: _BYTE * stamp_of(os.path.join(root, plain["path"]))[0],
    may_be_left=True,
)

CAPTIONS = Kind(
    name="captions",
    noun="caption",
    answers=(CaptionsSeen,),
    reader="preflight.images.captions:look",
    seconds=lambda plain, _root, _depth: 25e-6 * len(plain["names"]),
    may_be_left=True,
    about="caption",
)

KINDS = (FOLDER, IMAGE, TABLE, CAPTIONS)
