"""Groups the members of an archive into samples, as webdataset 1.0 does while it reads them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from preflight.facts import Pairing, Unpaired
from preflight.formats.images import is_image
from preflight.formats.tar import Member
from preflight.readers.pairing import Group
from preflight.readers.strange import Strange, is_plain

# What webdataset passes over (tariterators.py: skip_meta, and names like __this__ at the top).
_META = re.compile(r"__[^/]*__($|/)").match

# The key ends at the first dot of the base name (tariterators.py: base_plus_ext).
_KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$").match

# A named tuple's own constructor takes twice the time.
_new = tuple.__new__

# No name begins with this: bytes of names that are no UTF-8 are held as other surrogates.
_NO_PREFIX = "\ud800"


def key_of(name: str) -> tuple[str, str] | None:
    """Split a member's name into key and suffix; None where webdataset gives it to no sample."""
    dot = name.find(".", name.rfind("/") + 1)
    if dot > 0 and name[dot - 1] != "/" and "\n" not in name:
        return name[:dot], name[dot + 1 :]
    match = _KEY(name)
    return (match[1], match[2]) if match else None


class Samples:
    """Samples in the order of an archive; members of one key that stand apart are two samples."""

    def __init__(self) -> None:
        """Begin with none."""
        self.groups: list[Group] = []
        self.links: dict[str, list[str]] = {}
        self.strange = Strange()

        self._key: str | None = None
        self._prefix = _NO_PREFIX
        self._suffixes: list[str] = []
        self._lowered: set[str] = set()
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, member: Member) -> bool:
        """Take a member in; False where webdataset passes over it."""
        # Most members are of the sample at hand: nothing about their names has to be asked again.
        name, _, _, kind = member
        if kind == "file" and name.startswith(self._prefix):
            suffix = name[len(self._prefix) :]
            if "/" not in suffix:
                lowered = suffix.lower()
                if lowered in self._lowered:
                    self.strange.tell("twice", name)
                self._lowered.add(lowered)
                self._suffixes.append(suffix)
                return True
        return self._begin(member)

    def _begin(self, member: Member) -> bool:
        """Take in a member that may begin another sample, or belong to none."""
        name, kind = member.name, member.kind
        split = None if name.startswith("__") and _META(name) else key_of(name)
        odd = (kind != "file" or not is_plain(name)) and self.strange.meet(
            member, is_of_sample=split is not None
        )
        if split is None or kind in ("folder", "device", "other"):
            return False
        key, suffix = split
        if kind == "link":
            self.links.setdefault(key, []).append(suffix)
            return False
        if key != self._key:
            self.close()
            self._key = key
        self._prefix = _NO_PREFIX if odd else f"{key}."
        lowered = suffix.lower()
        if lowered in self._lowered:
            self.strange.tell("twice", name)
        self._lowered.add(lowered)
        self._suffixes.append(suffix)
        return True

    def close(self) -> None:
        """End the sample that is being gathered."""
        if self._key is not None:
            suffixes = tuple(self._suffixes)
            # Most samples have the same suffixes: one tuple serves them all.
            known = self._known.setdefault(suffixes, suffixes)
            self.groups.append(_new(Group, (self._key, known, 1)))
            self._suffixes.clear()
            self._lowered.clear()
        self._key, self._prefix = None, _NO_PREFIX

    @property
    def scattered(self) -> bool:
        """Whether members of one key stand apart, so that more of any sample may follow."""
        return len({one.key for one in self.groups}) < len(self.groups)

    def usual(self) -> tuple[frozenset[str], ...]:
        """Say what samples are made of here, but for the last one: the commonest roles first.

        What fewer than one sample in ten is made of is not usual.
        """
        counted: Counter[frozenset[str]] = Counter()
        for suffixes, number in Counter(one.suffixes for one in self.groups[:-1]).items():
            counted[roles(suffixes)] += number
        least = len(self.groups) / 10
        return tuple(one for one, number in counted.most_common() if number >= least)


def roles(suffixes: Sequence[str]) -> frozenset[str]:
    """Say what the files of a sample are for: all extensions of images are as one."""
    return frozenset(
        suffix.lower().rpartition(".")[0] + ".image" if is_image(f"x.{suffix}") else suffix.lower()
        for suffix in suffixes
    )


def hold_back(
    pairing: Pairing, samples: Samples, *, only_last: bool
) -> tuple[Pairing, tuple[Unpaired, ...]]:
    """Leave out what lacks something that may stand behind the end of what could be read.

    Args:
        pairing: of these samples, as `pair` gave it.
        samples: of one archive, in their order.
        only_last: whether only the last sample is in doubt, as far as samples stand in one piece.
    """
    last = f"{samples.groups[-1].key}." if samples.groups else ""
    only_last = only_last and not samples.scattered
    held = tuple(
        one
        for one in pairing.unpaired
        if one.because not in ("link", "apart")  # of these, both halves have been seen
        and (not only_last or one.name.startswith(last))
    )
    doubtful = {one.name for one in held}
    left = tuple(one for one in pairing.unpaired if one.name not in doubtful)
    return replace(pairing, unpaired=left), held
