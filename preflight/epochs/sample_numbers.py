"""Tells the samples of a batch apart: how many it holds, and a number for each part of each."""

from __future__ import annotations

import hashlib
import io
import itertools
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from preflight.objects.attributes import classes

# Bytes of a sample's part that are looked at: every n-th of a larger one.
_MOST_BYTES = 1 << 16

# Parts of a batch that are looked at.
_MOST_PARTS = 8

_PLAIN = {str, bytes, int, float, bool}

# Begins the name of a part that is taken as it is, and not by its rows.
_WHOLE = "="


def columns_of(batch: Any, batch_size: int | None) -> int | None:
    """Count the columns of a full batch that is a list of them, such as `(texts, answers)`.

    Gives 0 where it is a list of samples, and None where nobody can tell.
    """
    if batch_size is None or not isinstance(batch, (list, tuple)):
        return None
    heights = _heights(batch)
    if len(batch) == batch_size:
        return None if heights in (None, {batch_size}) else 0
    return len(batch) if heights == {batch_size} else None


def count(batch: Any, batch_size: int | None = None, columns: int | None = None) -> int | None:
    """Say how many samples a batch holds; None where nobody can tell.

    Args:
        batch: what came.
        batch_size: samples of a full one; None: the loader makes no batches of its own.
        columns: of a full one, of the same loader, by `columns_of`.
    """
    if columns is not None and isinstance(batch, (list, tuple)):
        if not columns:
            return len(batch)
        if len(batch) == columns:
            return _one(_heights(batch))
    kinds = {type(one) for one in batch} if isinstance(batch, (list, tuple)) else set()
    if len(kinds) > 1 and str in kinds:  # an image and its caption, which nobody has batched
        return None
    if batch_size is None and isinstance(batch, tuple) and kinds <= _PLAIN:
        return None  # the fields of one sample, maybe
    if kinds and _are_whole_samples(batch, batch_size):
        return len(batch)
    if kinds and kinds <= {list, tuple} and {len(one) for one in batch} == {batch_size}:
        return batch_size
    sizes = {len(part) for _, part in _parts(batch)}
    if len(sizes) == 1:
        return sizes.pop()
    if len(sizes) > 1 and batch_size not in (None, len(batch)):
        return None  # columns of several heights, such as pictures and the boxes of all of them
    return len(batch) if len(kinds) == 1 else None


def told_apart(batch: Any, batch_size: int | None) -> dict[str, list[int]]:
    """Give a number for each sample, by each part of the batch by which they can be told apart.

    Of a batch that is not a row of samples, as far as that can be seen, a number for each part.

    Args:
        batch: what came.
        batch_size: samples of a full one; None: the loader makes no batches of its own.
    """
    parts = dict(_parts(batch))
    sizes = {len(part) for part in parts.values()}
    is_row = isinstance(batch, (list, tuple)) and _are_samples(batch)
    if is_row and batch_size is not None and (len(batch) == batch_size or len(sizes) != 1):
        return {"": [digest(one) for one in batch]}
    found = {}
    if len(sizes) == 1:
        found = {name: [digest(one) for one in part] for name, part in parts.items()}
    if found and batch_size is not None:
        return found
    wholes = itertools.islice(_leaves("", batch, 0, every=True), _MOST_PARTS)
    return {**{f"{_WHOLE}{name}": [digest(one)] for name, one in wholes}, **found}


def unit(name: str) -> str:
    """Say what a part by this name has: a `sample`, or a `batch`."""
    return "batch" if name.startswith(_WHOLE) else "sample"


def _heights(batch: Sequence[Any]) -> set[int] | None:
    """Give how many rows there are in each of them; None: some have none."""
    arrays: Any = _arrays()
    found = set[int]()
    for one in batch:
        if (isinstance(one, arrays) and len(one.shape)) or isinstance(one, (list, tuple)):
            found.add(len(one))
        else:
            return None
    return found


def _one(sizes: set[int] | None) -> int | None:
    return next(iter(sizes)) if sizes is not None and len(sizes) == 1 else None


def _are_whole_samples(batch: Sequence[Any], batch_size: int | None) -> bool:
    """Whether each in it is a sample with all of its parts, and not one part of all samples.

    Collate functions that leave them alone give a list of tuples, or of dicts; others turn a row of
    samples into a list of lists, or a tuple of tuples.
    """
    first = batch[0]
    if hasattr(first, "items") and hasattr(first, "keys"):
        alike = all(hasattr(one, "keys") and one.keys() == first.keys() for one in batch)
        single = any(isinstance(one, (str, bytes, int, float)) for one in first.values())
        return alike and (single or len(batch) == batch_size)
    if not isinstance(first, (list, tuple)):
        return False
    made_of = [[type(part) for part in one] for one in batch if isinstance(one, type(first))]
    if len(made_of) < len(batch) or any(one != made_of[0] for one in made_of):
        return False
    if len(batch) == batch_size or len(set(made_of[0])) > 1:
        return True
    return len(first) != batch_size and isinstance(batch, list) and isinstance(first, tuple)


def _are_samples(batch: Any) -> bool:
    """Whether all in it are of one kind, as samples are, and pictures and their boxes are not."""
    kinds = {(type(one), getattr(one, "dtype", None), getattr(one, "ndim", None)) for one in batch}
    return len(kinds) == 1


def _parts(batch: Any) -> Iterator[tuple[str, Any]]:
    """Give what has a row for each sample: tensors, arrays, lists of texts or numbers."""
    return itertools.islice(_leaves("", batch, 0), _MOST_PARTS)


def _leaves(name: str, thing: Any, depth: int, *, every: bool = False) -> Iterator[tuple[str, Any]]:
    """Give what has rows, or every part that holds no others."""
    arrays: Any = _arrays()
    if isinstance(thing, arrays):
        if every or len(thing.shape):
            yield name, thing
    elif isinstance(thing, (list, tuple)):
        if thing and all(isinstance(one, (str, bytes, int, float)) for one in thing):
            yield name, thing
        elif depth < 3:
            for number, one in enumerate(thing[:_MOST_PARTS]):
                yield from _leaves(f"{name}[{number}]", one, depth + 1, every=every)
    elif depth < 3 and hasattr(thing, "items") and hasattr(thing, "keys"):
        for key, one in list(thing.items())[: 4 * _MOST_PARTS]:
            yield from _leaves(f"{name}[{key!r}]", one, depth + 1, every=every)
    elif every:
        yield name, thing


def _arrays() -> tuple[type, ...]:
    return (*classes("torch", "Tensor"), *classes("numpy", "ndarray"))


def digest(thing: Any) -> int:
    """Give a number that is the same for what is the same.

    Raises:
        Exception: it can be made no bytes of.
    """
    hashed = hashlib.blake2b(digest_size=6)
    for piece in _bytes_of(thing):
        hashed.update(piece)
    return int.from_bytes(hashed.digest(), "big")


def _bytes_of(thing: Any) -> Iterator[bytes]:
    tensors: Any = classes("torch", "Tensor")
    arrays: Any = classes("numpy", "ndarray")
    if isinstance(thing, tensors):
        import torch

        dense = thing.detach().cpu()
        dense = dense.to_dense() if dense.layout is not torch.strided else dense
        plain = dense.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
        yield repr((thing.dtype, tuple(thing.shape))).encode()
        yield plain[:: 1 + len(plain) // _MOST_BYTES].numpy().tobytes()
    elif isinstance(thing, arrays) and not thing.dtype.hasobject:
        yield repr((thing.dtype, thing.shape)).encode()
        data = thing.tobytes()
        yield data[:: 1 + len(data) // _MOST_BYTES]
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield repr(key).encode()
            yield from _bytes_of(value)
    elif isinstance(thing, (list, tuple)):
        yield b"%d," % len(thing)
        for value in thing:
            yield from _bytes_of(value)
    elif hasattr(thing, "tobytes") and hasattr(thing, "size"):  # a picture of Pillow's
        data = thing.tobytes()
        yield repr(thing.size).encode() + data[:: 1 + len(data) // _MOST_BYTES]
    elif thing is None or isinstance(thing, (str, bytes, int, float)):
        yield pickle.dumps(thing)
    else:
        pickled = io.BytesIO()
        _Pickler(pickled).dump(thing)
        yield pickled.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles a thing of the job's own, and of tensors that it holds their numbers.

    As torch pickles these, they have the address in it at which they lie.
    """

    def persistent_id(self, thing: Any) -> int | None:
        """Give what stands for it; None: itself does."""
        return digest(thing) if isinstance(thing, classes("torch", "Tensor")) else None
