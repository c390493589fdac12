"""Notes the members of an archive that are no part of a sample, or that stand where they hurt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from preflight.formats.suffixes.images import EXTENSIONS
from preflight.formats.tar.header import is_shortened
from preflight.formats.tar.walk import Member
from preflight.pairing.rules import FileGroup, keys_of, made_of
from preflight.shards.facts import Oddity

_FIRST = 5
"""Names of a kind that are kept."""

# What file managers leave behind, on macOS and on Windows.
_LEFT_BEHIND = frozenset({".DS_Store", "Thumbs.db", "ehthumbs.db", "desktop.ini"})
_ARCHIVER = "__MACOSX/"
_SUSPECT = (".db", ".ini")

_TEXTS = frozenset({"txt", "caption", "json", "cls", "tags", "text"})


class Strange:
    """Members that are told, each kind once, with their number and the names of the first few."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._of_samples: Counter[str] = Counter()
        self._names: dict[str, list[str]] = {}

    def meet(self, member: Member, *, is_of_sample: bool) -> bool:
        """Look at a member, and say whether there is anything strange about it.

        `is_of_sample`: webdataset would make it, or makes it, part of a sample.
        """
        found = list(_kinds(member.name, member.kind))
        for one in found:
            self.tell(one, member.name, is_of_sample=is_of_sample)
        return bool(found)

    def tell(self, kind: str, name: str, *, is_of_sample: bool = True) -> None:
        """Note one more member of a kind."""
        self._count[kind] += 1
        self._of_samples[kind] += is_of_sample
        names = self._names.setdefault(kind, [])
        if len(names) < _FIRST:
            names.append(name)

    def told(self, groups: Sequence[FileGroup]) -> tuple[Oddity, ...]:
        """Give all that was noted, and what is strange in the order of the samples."""
        for kind, key in _repeated(groups):
            self.tell(kind, key)
        for image, text in _folders(groups):
            self.tell("folders", f"{image} and {text}")
        return tuple(
            Oddity(
                kind=kind,
                count=count,
                names=tuple(self._names[kind]),
                of_samples=self._of_samples[kind],
            )
            for kind, count in sorted(self._count.items())
        )


def is_plain(name: str) -> bool:
    """Whether nothing can be strange about a file of this name, as about nearly all."""
    return (
        name[:1] not in "./_"
        and "/." not in name
        and ":" not in name
        and "\\" not in name
        and not name.endswith(_SUSPECT)
        and not is_shortened(name)
    )


def _kinds(name: str, kind: str) -> Iterator[str]:
    base = name.rpartition("/")[2]
    if is_shortened(name):
        yield "long"
    if name.startswith("/") or (name[1:3] in (":\\", ":/") and name[:1].isalpha()):
        yield "absolute"
    if ".." in name and ".." in name.replace("\\", "/").split("/"):
        yield "parent"
    if kind in ("link", "device", "sparse"):
        yield kind
    if kind != "folder" and is_left_behind(name, base):
        yield "left-behind"


def is_left_behind(name: str, base: str) -> bool:
    """Whether an archiver or a file manager has put this beside the user's own files."""
    return base.startswith("._") or base in _LEFT_BEHIND or name.startswith(_ARCHIVER)


def _repeated(groups: Sequence[FileGroup]) -> Iterator[tuple[str, str]]:
    """Give the keys that stand in several places: with other files there, or with the same.

    What stands between two halves of a sample and was left behind there is to blame, not the order.
    """
    if len(set(keys_of(groups))) == len(groups):
        return
    places: dict[str, list[FileGroup]] = {}
    before = ""
    parted = False
    for one in groups:
        # In a folder, the key of `a/._dog.jpg` is `a/`.
        if one.key.endswith("/"):
            parted = True
            continue
        if one.key != before or not parted:
            places.setdefault(one.key, []).append(one)
        else:
            yield "parted", one.key
        before, parted = one.key, False
    for key, several in places.items():
        if len(several) > 1:
            made_of = {frozenset(map(str.lower, one.suffixes)) for one in several}
            yield ("again" if len(made_of) == 1 else "split"), key


def _folders(groups: Sequence[FileGroup]) -> Iterator[tuple[str, str]]:
    """Give images and texts of one name in two folders, where images have no texts beside them."""
    kinds = {suffixes: _holds(suffixes) for suffixes in set(made_of(groups))}
    if not {("image",), ("text",)} <= set(kinds.values()):
        return
    texts: dict[str, FileGroup | None] = {}
    for one in groups:
        if kinds[one.suffixes] == ("text",):
            base = one.key.rpartition("/")[2]
            texts[base] = None if base in texts else one  # of several, it may be any
    images = [one for one in groups if kinds[one.suffixes] == ("image",)]
    bases = Counter(one.key.rpartition("/")[2] for one in images)
    pairs = [
        (one, text)
        for one in images
        if (text := texts.get(base := one.key.rpartition("/")[2])) is not None
        and bases[base] == 1
        and text.key != one.key
    ]
    folders = {(one.key.rpartition("/")[0], two.key.rpartition("/")[0]) for one, two in pairs}
    both = sum(one == ("image", "text") for one in kinds.values())
    # One folder for images and one for texts, each folder full of them: less may be chance.
    if len(folders) == 1 and not both and 10 * len(pairs) >= 9 * len(images) and len(pairs) > 1:
        for one, two in pairs:
            yield f"{one.key}.{one.suffixes[0]}", f"{two.key}.{two.suffixes[0]}"


def _holds(suffixes: Sequence[str]) -> tuple[str, ...]:
    extensions = {suffix.rpartition(".")[2].lower() for suffix in suffixes}
    return ("image",) * bool(extensions & EXTENSIONS) + ("text",) * bool(extensions & _TEXTS)
