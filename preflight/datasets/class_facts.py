"""What is known of folders of which each is a class, and of the labels that loaders give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import Definition
from preflight.pipelines.facts import ReadsClasses


class ClassFolder(NamedTuple):
    """One folder of a class, with all below it."""

    name: str
    images: int = 0
    """Files that torchvision takes for images, by their names."""

    left: int = 0
    """Images of suffixes that it does not take."""

    left_suffix: str = ""
    """Of the first of them."""

    attributes: int = 0
    """Of those that it takes, `._` files of macOS, which are no images."""

    attributes_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFolders:
    """A folder that a source has torchvision's ImageFolder read, each folder in it a class."""

    reads: ReadsClasses
    file: str
    """The folder."""

    classes: tuple[ClassFolder, ...] = ()
    """In the order of their labels."""

    loose: int = 0
    """Images that lie in it beside the folders."""

    splits: tuple[str, ...] = ()
    """Those of its classes that hold folders themselves, and are called as splits are."""

    sure: bool = False
    """Whether the source is what is started, and reads this folder as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitClasses:
    """Two splits of one data set that a source has ImageFolder read, each by its own folders."""

    train: ClassFolders
    other: ClassFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNumbers:
    """Two live loaders that give files of folders of the same names other labels."""

    name: str
    """The one, as the user called it."""

    train: str
    """The other one, which trains, as far as names tell."""

    shared: int
    """Folders that both have."""

    moved: tuple[tuple[str, int, int], ...]
    """Those with other labels, with that of each loader."""

    apart: bool
    """Whether their files have no folder in common, so that they may be of two data sets."""

    defined: Definition = Definition()
