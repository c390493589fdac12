"""Groups the members of an archive into samples, as webdataset 1.0 does while it reads them."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from preflight.formats.suffixes.images import is_image
from preflight.formats.tar.walk import Found, Member
from preflight.pairing.rules import Groups, extension_of
from preflight.shards.oddities import Strange, is_plain

# What webdataset passes over (tariterators.py: skip_meta, and names like __this__ at the top).
_META = re.compile(r"__[^/]*__($|/)").match

# The key ends at the first dot of the base name (tariterators.py: base_plus_ext).
_KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$").match

_MOST_REMEMBERED = 1 << 12

# No name begins with this: bytes of names that are no UTF-8 are held as other surrogates.
_NO_PREFIX = "\ud800"


def key_of(name: str) -> tuple[str, str] | None:
    """Split a member's name into key and suffix; None where webdataset gives it to no sample."""
    dot = name.find(".", name.rfind("/") + 1)
    if dot > 0 and name[dot - 1] != "/" and "\n" not in name:
        return name[:dot], name[dot + 1 :]
    match = _KEY(name)
    return (match[1], match[2]) if match else None


class _Known(NamedTuple):
    """What samples are made of."""

    suffixes: tuple[str, ...]
    again: tuple[str, ...]
    """Those that stand in it once more, also where only in other letters, small or large."""


class Samples:
    """Samples in the order of an archive; members of one key that stand apart are two samples."""

    def __init__(
        self, texts: frozenset[str] = frozenset(), records: frozenset[str] = frozenset()
    ) -> None:
        """Give beside the images the members of these fields and extensions, in small letters."""
        self.groups = Groups()
        self.sizes = array("Q")
        """Bytes of each of these."""

        self.contents = array("Q")
        """Bytes of each of their files, in the order of `groups.made_of`."""

        self.links: dict[str, list[str]] = {}
        self.strange = Strange()
        self.files = 0
        """Members that are files, of samples or not."""

        self.last: Found | None = None
        """The last member, of any kind."""

        self._bytes = self._told = 0
        self._key: str | None = None
        self._here: str | None = None
        """The key at hand, where other members of it need no look at their whole names."""

        self._folder = _NO_PREFIX
        self._suffixes: list[str] = []
        self._texts, self._records = texts, records
        self._known: dict[tuple[str, ...], _Known] = {}
        self._pictured: dict[str, bool] = {}
        """By a suffix about which nothing can be strange: whether its members are given."""

    def gather(self, walked: Iterable[Found]) -> Iterator[Found]:
        """Take all members in, and give the images that webdataset gives, and texts."""
        contents, suffixes, pictured = self.contents, self._suffixes, self._pictured
        here: str | None = None
        folder, in_folder, dotted = _NO_PREFIX, 0, False
        files = 0
        member: Found | None = None
        for member in walked:
            # Most members are of the sample at hand, or begin the next one in its folder, with a
            # suffix that is known: little about their names has to be asked again. Names are taken
            # apart in the way that takes least; `startswith` takes twice the time.
            name, _, size, kind = member
            picture = None
            if kind == "file":
                files += 1
                head, _, suffix = name.partition(".")
                if dotted and name[:in_folder] == folder:
                    base, _, suffix = name[in_folder:].partition(".")
                    head = f"{folder}{base}"
                if head == here:
                    picture = pictured.get(suffix)
                elif head[:in_folder] == folder and head[in_folder:].isalnum():
                    picture = pictured.get(suffix)
                    if picture is not None:
                        self._end()
                        self._key = here = head
            if picture is None:
                self._here = here
                picture = self._take(member)
                here, folder = self._here, self._folder
                in_folder, dotted = len(folder), "." in folder
            else:
                suffixes.append(suffix)
                contents.append(size)
            self._bytes += size
            if picture:
                yield member
        self.files += files
        self.last = member
        self._end()

    def _take(self, member: Found) -> bool:
        """Take in any member, and say whether it is an image that webdataset gives, or a text."""
        name, _, size, kind = member
        self.files += kind == "sparse"
        split = None if name.startswith("__") and _META(name) else key_of(name)
        plain = kind == "file" and is_plain(name)
        odd = not plain and self.strange.meet(Member(*member), is_of_sample=split is not None)
        if split is None or kind in ("folder", "device", "other"):
            return False
        key, suffix = split
        if kind == "link":
            self.links.setdefault(key, []).append(suffix)
            return False
        if key != self._key:
            self._end()
            self._key = key
        # In a folder, hidden files share the key `a/`, and each is to be looked at by itself.
        self._here = None if odd or key.endswith("/") else key
        self._folder = name[: name.rfind("/") + 1] if plain else _NO_PREFIX
        self._suffixes.append(suffix)
        self.contents.append(size)
        pictured = kind == "file" and (is_image(name) or self._is_text(suffix.lower()))
        if plain and suffix and "\n" not in suffix and len(self._pictured) < _MOST_REMEMBERED:
            self._pictured[suffix] = pictured
        return pictured

    def _is_text(self, suffix: str) -> bool:
        return suffix in self._texts or extension_of(suffix) in self._records

    def _end(self) -> None:
        key, suffixes = self._key, self._suffixes
        if key is None:
            return
        # Most samples have the same suffixes: what is to be told of them is worked out once.
        made_of = tuple(suffixes)
        known = self._known.get(made_of)
        if known is None:
            known = self._known[made_of] = _Known(made_of, _again(suffixes))
        self.groups.keys.append(key)
        self.groups.made_of.append(known.suffixes)
        self.sizes.append(self._bytes - self._told)
        self._told = self._bytes
        for suffix in known.again:
            self.strange.tell("twice", f"{key}.{suffix}")
        suffixes.clear()
        self._key = None

    @property
    def at_hand(self) -> tuple[int, str] | None:
        """Give the number of the sample at hand and its last field; None where it stands twice."""
        if not self._suffixes:
            return None
        field = self._suffixes[-1].lower()
        again = any(field == one.lower() for one in self._suffixes[:-1])
        return None if again else (len(self.groups), field)

    @property
    def kinds(self) -> Iterable[tuple[str, ...]]:
        """Give what samples are made of, each once."""
        return self._known

    @property
    def scattered(self) -> bool:
        """Whether members of one key stand apart, so that more of any sample may follow."""
        return len(set(self.groups.keys)) < len(self.groups)

    def usual(self) -> tuple[frozenset[str], ...]:
        """Say what samples are made of here, but for the last one: the commonest roles first.

        What fewer than one sample in ten is made of is not usual.
        """
        counted: Counter[frozenset[str]] = Counter()
        for suffixes, number in Counter(self.groups.made_of[:-1]).items():
            counted[roles(suffixes)] += number
        least = len(self.groups) / 10
        return tuple(one for one, number in counted.most_common() if number >= least)


def _again(suffixes: Sequence[str]) -> tuple[str, ...]:
    """Give the suffixes that webdataset has met before in one sample; it reads small letters."""
    met: set[str] = set()
    again = []
    for suffix in suffixes:
        lowered = suffix.lower()
        if lowered in met:
            again.append(suffix)
        met.add(lowered)
    return tuple(again)


def roles(suffixes: Sequence[str]) -> frozenset[str]:
    """Say what the files of a sample are for: all extensions of images are as one."""
    return frozenset(
        suffix.lower().rpartition(".")[0] + ".image" if is_image(f"x.{suffix}") else suffix.lower()
        for suffix in suffixes
    )
