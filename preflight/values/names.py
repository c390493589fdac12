"""How names are shown: paths as the user would type them, and nothing that a console would obey."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence

from preflight.values.this_process import full_path

# Categories that change what a reader sees instead of being seen (Unicode 15, table 2-3), and the
# separators that would start a new line.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Joins the parts of one emoji; harmless, and part of ordinary names.
_JOINERS = frozenset({"\u200d", "\ufe0f"})


def shown(text: str) -> str:
    r"""Escape whatever a console would interpret: control characters, direction marks, lost bytes.

    Bytes of a name that are no UTF-8 (which Python holds as lone surrogates) become `\xe9`.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown_character(character) for character in text)


def _shown_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte kept by the surrogateescape error handler (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    import unicodedata  # few names need it, and it is large

    if unicodedata.category(character) not in _INVISIBLE or character in _JOINERS:
        return character
    if code < 0x100:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def path_below(folder: str, name: str) -> str:
    """Give the path of a name in a folder, so that the folder itself has one path, not two."""
    return folder if name in {".", "./"} else os.path.join(folder, name)


def name_of(path: str, root: str) -> str:
    """Name a file for a report: relative where it lies under the job's folder, always with `/`."""
    folder, file = os.path.split(path)
    before = None if file in ("", os.curdir, os.pardir) else _before_names_in(folder, root)
    return _name_of(path, root) if before is None else before + file


# Files are named by the thousand, most of them of one folder.
@functools.lru_cache(maxsize=64)
def _before_names_in(folder: str, root: str) -> str | None:
    """Give what stands before each name of this folder; None where that depends on the name."""
    if not (os.path.isabs(folder) and os.path.isabs(root)):
        return None
    if folder != root and root.startswith(folder):  # a name in it may be the job's folder itself
        return None
    named = _name_of(folder, root)
    return "" if named == "." else f"{named.rstrip('/')}/"


def _name_of(path: str, root: str) -> str:
    full = full_path(os.path.join(root, path))
    base = full_path(root)
    try:
        inside = os.path.commonpath([full, base]) == base
    except ValueError:  # another drive
        inside = False
    name = os.path.relpath(full, base) if inside else full
    return name.replace(os.sep, "/")


def text_of(name: bytes) -> str:
    """Decode a name found inside a file; what is no UTF-8 is kept, and shown escaped."""
    return name.decode("utf-8", "surrogateescape")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Say a number with its noun: `1 shard`, `4 shards`, `12,000 shards`."""
    return f"{number:,} {one if number == 1 else many or many_of(one)}"


def many_of(noun: str) -> str:
    """Give the plural of a noun: `shards`, `first batches`."""
    is_hissed = noun.endswith(("ch", "sh", "s", "x")) and not noun.endswith("epoch")
    return noun + ("es" if is_hissed else "s")


def with_article(noun: str) -> str:
    """Put the article before a noun or the name of a class: `a Linear`, `an Embedding`."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def first_of(names: Sequence[str], count: int, most: int = 3) -> str:
    """List the first few names of many: `a.jpg, b.jpg and 12 more`."""
    listed = [shown(name) for name in names[:most]]
    more = count - len(listed)
    if more > 0:
        return f"{', '.join(listed)} and {more:,} more"
    return joined(listed)


def joined(words: Sequence[str]) -> str:
    """Put words into a sentence: `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def lfs_pull(path: str) -> str:
    """Say the command that fetches a path from Git LFS; empty: all that is not there."""
    return f'git lfs pull --include="{path}"' if path else "git lfs pull"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Give the one of these words that is most like a mistyped one; None: none is like it.

    Where none is, the shortest one that begins with it: of `make_loader`, `make` was typed.
    """
    import difflib  # few words are mistyped

    words = [*words]
    begun = sorted((one for one in words if one.startswith(word)), key=len)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.7)
    return next(iter((*near, *begun)), None)
