"""What is seen of a zip archive of images."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.images.facts import ImageDamage


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageZip:
    """A zip archive of images, read to its end."""

    file: str
    size: int
    images: int = 0
    """Images that were looked at."""

    damage: str = ""
    """Why it cannot be opened, as a predicate; empty: it can."""

    damaged: tuple[ImageDamage, ...] = ()
    """Members that do not decode, or whose bytes do not agree with their checksum."""

    more_damaged: int = 0
    left_behind: int = 0
    """What macOS has put beside images (`__MACOSX/._dog.jpg`), and is none."""

    left_behind_name: str = ""
    labels: str = ""
    """The member that holds labels: `dataset.json`; empty: none does."""

    unread_labels: int = 0
    """Bytes of that, where it is larger than what is read of one."""

    unlabelled: int = 0
    """Images that it says nothing of, where it says something of others."""

    unlabelled_names: tuple[str, ...] = ()
    """Of the first few."""

    absent: int = 0
    """Names in it of which the archive has no image."""

    absent_names: tuple[str, ...] = ()
