"""What lies in a repository and is no data: pictures of its documents, tensors of its code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from preflight.formats.suffixes.images import EXTENSIONS, is_image
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES, IMAGE_SUFFIXES
from preflight.values.listing import FolderListing

_IMAGES, _TENSORS = frozenset(IMAGE_SUFFIXES), frozenset(CACHE_SUFFIXES)

_DOCUMENTS = re.compile(
    r"(?:hf)?docs?|documentation|assets?|figures?|figs?|screenshots?|teasers?|readme|"
    r"blogs?|web-?site|github[-_]?pages?",
    re.IGNORECASE,
)

# Folders that hold data as often as pictures of a README: one that it shows decides, where most do.
_PERHAPS = re.compile(
    r"im(?:a?ge?)?s|pics?|pictures?|media|static|visuals?|examples?|samples?|resources?|misc|demos?",
    re.IGNORECASE,
)

# Folders of icons and drawings, as the tools that build apps for phones want them called.
_OF_APPS = re.compile(
    r"(?:mipmap|drawable)(?:-[\w-]+)?|.+\.(?:xcassets|appiconset|imageset|iconset)", re.IGNORECASE
)
_OF_PAGES = frozenset({"css", "js"})

ICON = re.compile(r"\.(?:ico|icns)$", re.IGNORECASE)
"""What a window or a page shows of itself."""

TESTS = re.compile(r"tests?|testing", re.IGNORECASE)
_OF_TESTS = re.compile(
    rf"(?:(?:unit|integration|regression|smoke)[-_]?)?(?:{TESTS.pattern})"
    r"(?:[-_]?(?:scripts?|code|suites?|cases?|files?))?",
    re.IGNORECASE,
)
_RESOURCES = frozenset({"assets", "resources", "static", "fixtures", "tests", "test", "testing"})
_EXAMPLES = re.compile(r"(?:.*[-_])?(?:examples?|demos?|tutorials?)(?:[-_].*)?", re.IGNORECASE)
_CACHES = re.compile(r"caches?|.*_caches?|latents?|embed(?:ding)?s?|features?|vae", re.IGNORECASE)

# A file named by nothing but a number or a hash is the entry of a sample.
_ENTRY = re.compile(r"(?:\d+|[0-9a-f]{32,128})\.\w+")

_FEW_SHOWN = 8
"""Images in a folder that are no data set where a document shows most of them."""

_FEW_TENSORS, _MOST_EXAMPLES = 8, 100
"""Files of tensors that a folder of code may bring along; of more, nobody can say that."""

_TEXTS = (".md", ".mdx", ".rst", ".html", ".htm")
_MOST_TEXTS = 300
_LONGEST_TEXT = 1 << 19

# What a document refers to: in quotes, with spaces; else without. Addresses go on behind a branch.
_SUFFIXES = "|".join(sorted(EXTENSIONS))
_QUOTED = re.compile(rf"[\"'<]([^\"'<>\n]{{1,300}}\.(?:{_SUFFIXES}))[\"'>?#]", re.IGNORECASE)
_BARE = re.compile(rf"[^\s\"'<>()\[\]{{}}|]{{1,300}}\.(?:{_SUFFIXES})(?![\w.-])", re.IGNORECASE)
_HOSTED = re.compile(
    r"https?://(?:[^/]+/[^/]+/[^/]+/(?:raw|blob)/|raw\.githubusercontent\.com/[^/]+/[^/]+/)[^/]+/"
    r"|https?://huggingface\.co/.+?/resolve/[^/]+/"
)


class Repository:
    """A folder with code in it, as far as a walk from its top has come."""

    def __init__(self, top: str, *, named: bool = False) -> None:
        """Begin at the top of what lies around; or of what was named, which may be data alone."""
        self._top = top
        self._is_data = named
        self._code: set[str] = set()
        self._packages: set[str] = set()
        self._tests: set[str] = set()
        self._pages: set[str] = set()
        """Folders of what a server gives to browsers, by what lies in them."""

        self._shown: set[str] = set()
        self._texts = 0

    def own_suffixes(
        self, place: str, listed: FolderListing, suffixes: AbstractSet[str]
    ) -> set[str]:
        """Give the suffixes of files which in this folder are none of data.

        Whoever walks asks about a folder before those in it.
        """
        names = listed.names
        if place == self._top:
            self._is_data = self._is_data and not is_repository(listed)
        if self._is_data:
            return set()
        self._meet(place, listed.files)
        if "favicon.ico" in names or _OF_PAGES.issubset(one.name for one in listed.folders):
            self._pages.add(place)
        if self._is_for_tests(place):
            return {*suffixes} - {".py"}
        images, tensors = suffixes & _IMAGES, suffixes & _TENSORS
        if images and not self._are_documents(place, names):
            images = set()
        stored = [name for name in names if name.lower().endswith(CACHE_SUFFIXES)]
        if tensors and not self._are_of_code(place, stored):
            tensors = set()
        return {*images, *tensors}

    def _meet(self, place: str, names: Sequence[str]) -> None:
        if "__init__.py" in names:
            self._packages.add(place)
        if any(name.endswith(".py") for name in names):
            self._code.add(place)
            if place != self._top and _OF_TESTS.fullmatch(os.path.basename(place)):
                self._tests.add(place)
        for name in names:
            if name.lower().endswith(_TEXTS) and self._texts < _MOST_TEXTS:
                self._texts += 1
                self._shown.update(self._shown_by(place, name))

    def _shown_by(self, place: str, name: str) -> Iterator[str]:
        from urllib.parse import unquote

        try:
            with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                text = file.read(_LONGEST_TEXT)
        except OSError:
            return
        for found in {*_QUOTED.findall(text), *_BARE.findall(text)}:
            said, hosted = _HOSTED.subn("", found, count=1)
            for one in {said, unquote(said)}:
                below = one.lstrip("/")
                yield os.path.normpath(os.path.join(self._top, below))
                if not hosted:
                    yield os.path.normpath(os.path.join(place, below))

    def _are_documents(self, place: str, names: Sequence[str]) -> bool:
        """Whether the images of a folder are there for whoever reads the documents."""
        images = [name for name in names if is_image(name)]
        if not images or are_captioned(images, names):
            return False
        if all(map(ICON.search, images)) or _is_called(_OF_APPS, self._above(place)):
            return True
        if _is_called(_DOCUMENTS, self._beside_code(place)):
            return True
        if not self._pages.isdisjoint(self._above(place)):
            return True
        shown = sum(os.path.normpath(os.path.join(place, one)) in self._shown for one in images)
        most = (
            len(images) <= _FEW_SHOWN
            or place == self._top
            or _is_called(_PERHAPS, self._beside_code(place))
        )
        return shown == len(images) or (most and 2 * shown >= len(images))

    def _are_of_code(self, place: str, tensors: Sequence[str]) -> bool:
        """Whether these files of tensors in a folder belong to the code that lies around it."""
        above = list(self._above(place))
        if len(tensors) > _MOST_EXAMPLES or any(map(_ENTRY.fullmatch, tensors)):
            return False
        if _is_called(_CACHES, above):
            return False
        if _is_called(_EXAMPLES, self._beside_code(place)):
            return True
        if len(tensors) > _FEW_TENSORS:
            return False
        if place in self._packages or not self._packages.isdisjoint(above[1:]):
            return True
        return os.path.basename(place) in _RESOURCES and not self._code.isdisjoint(above)

    def _is_for_tests(self, place: str) -> bool:
        return not self._tests.isdisjoint(self._above(place))

    def _beside_code(self, place: str) -> Iterator[str]:
        """Give a folder and those above it which lie at the top, or beside code."""
        for one in self._above(place):
            over = os.path.dirname(one)
            if over == self._top or over in self._code:
                yield one

    def _above(self, place: str) -> Iterator[str]:
        """Give a folder and all above it that lie below the top."""
        while len(place) > len(self._top):
            yield place
            place = os.path.dirname(place)


def _is_called(names: re.Pattern[str], places: Iterable[str]) -> bool:
    return any(names.fullmatch(os.path.basename(one)) for one in places)


def is_repository(listed: FolderListing) -> bool:
    """Whether somebody keeps code here, by what stands at its top."""
    names = {name.lower() for name in listed.names}
    if any(one.name == ".git" for one in listed.folders):
        return True
    if not names.isdisjoint({"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}):
        return True
    read_me = any(name.startswith("readme") for name in names)
    return read_me and any(name.endswith(".py") for name in names)


def are_captioned(images: Sequence[str], names: Sequence[str]) -> bool:
    """Whether at least half of some images have a text of the same stem, and so are data."""
    texts = {
        stem
        for stem, dot, suffix in (one.rpartition(".") for one in names)
        if dot and suffix.lower() in {"txt", "caption", "json"}
    }
    return 2 * sum(one.rpartition(".")[0] in texts for one in images) >= len(images)
