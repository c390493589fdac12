"""Finds what in sources makes loaders and models; they are read, and nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from preflight.sources.makers.summaries import Defined, DefinedClass, DefinedFunction, sources_in
from preflight.sources.work.work_names import LOADER_CLASSES, OTHER_LOADER
from preflight.targets.folders import look_for_sources
from preflight.values.names import with_article

# How far one function's value is followed through others: `return build(args)`.
_MOST_HOPS = 8

_MAKES = re.compile(r"(make|get|create|build)_?", re.IGNORECASE)
_MAKE = r"(make|get|create|build|init|setup|set_up|prepare|load|configure)_?"
_MAKES_LOADERS = re.compile(
    _MAKE + r"(\w*?_?)(loaders?|dls)(_and_\w+)?|(train|training)_?(data_?)?loader",
    re.IGNORECASE,
)
_MAKES_MODELS = re.compile(_MAKE + r"(\w*_)?(model|net|network|unet)", re.IGNORECASE)
_GIVES_BATCHES = re.compile(r"(get|next|iter|make|sample)_?(train_)?batch(es)?", re.IGNORECASE)

# What is handed one, does something with it.
_HANDED = re.compile(r"(\w+_)?(models?|modules?|net|network|loaders?|dataloaders?|module_?list)")

_MODEL_CLASSES = frozenset(
    {"Module", "LightningModule", "PreTrainedModel", "ModelMixin", "PyTorchModelHubMixin"}
)

# They do something with a model that was made, or with one that is stored.
_HELPS = re.compile(
    r"(init(ialize)?|load|save|reset|copy|restore)_?(\w+_)?(weights?|params?|state)\w*|save_\w+|\w+_hook"
)
_LOADS = re.compile(r"load_\w+")

# Modules that judge what a model gives.
_LOSS = re.compile(r"(?:loss(?:es)?(?:_?f(?:n|unc|unction))?|criteri(?:on|a))$", re.IGNORECASE)

_USUAL, _BY_VALUE, _BY_LOADING, _BY_ITSELF, _BY_HELPING = range(5)


class Maker(NamedTuple):
    """A function or a class of the sources that gives a loader or a model when it is called."""

    kind: str
    """`loader` or `model`."""

    call: str
    """As `preflight run` takes it: `train:make_loader`, `my-job/train.py:make_loader`."""

    file: str = ""
    """Where it stands, below the folder that was looked into."""

    line: int = 0

    what: str = ""
    """What it is, as a predicate of its place: `makes a DataLoader`."""

    needs: tuple[str, ...] = ()
    """Its arguments that have no default."""

    rank: int = _BY_VALUE
    """What speaks for it, the best first: a usual name, what it returns, what it is."""

    by: str = ""
    """What it calls to make it."""

    is_called: bool = False
    """Whether what trains calls it, by the names of files."""

    @property
    def is_usual(self) -> bool:
        """Whether it is called as what makes loaders or models mostly is."""
        return self.rank == _USUAL

    @property
    def is_guess(self) -> bool:
        """Whether nothing speaks for it but what it comes from."""
        return self.kind == "model" and self.rank >= _BY_ITSELF


def factories_in(folder: str, *, paths: Iterable[str] | None = None) -> Iterator[Maker]:
    """Give every function and class below a folder that makes a loader or a model.

    The files at its top come first; of all of them where no paths are given.
    """
    sources = list(sources_in(folder, look_for_sources(folder) if paths is None else paths))
    known = _Known(sources)
    for source in sources:
        home = _home_of(source.file)
        found = [
            *(known.of_function(one, f"{home}:{one.name}") for one in source.functions),
            *(known.of_class(one, f"{home}:{one.name}", source) for one in source.classes),
        ]
        makers = [
            one._replace(file=source.file, is_called=one.call.rpartition(":")[2] in known.called)
            for one in found
            if one is not None
        ]
        yield from sorted(makers, key=lambda one: one.line)


def worth_offering(makers: Iterable[Maker]) -> tuple[Maker, ...]:
    """Leave out what only helps: what others call, and where one has a usual name, what has none.

    Loaders and models are counted apart.
    """
    every = tuple(makers)
    best = {kind: min(one.rank for one in every if one.kind == kind) for kind in _kinds(every)}
    usual = [one for one in every if one.rank == best[one.kind]]
    called = {(one.kind, one.by) for one in usual if not one.call.endswith(f":{one.by}")}
    outer = [one for one in usual if (one.kind, one.call.rpartition(":")[2]) not in called]
    without = _kinds(usual) - _kinds(outer)
    return tuple(one for one in usual if one in outer or one.kind in without)


def _kinds(makers: Iterable[Maker]) -> set[str]:
    return {one.kind for one in makers}


def _home_of(file: str) -> str:
    """Name a source as `preflight run` takes it: a module below the folder, else the file."""
    parts = file.removesuffix(".py").split("/")
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if all(map(str.isidentifier, parts)) else file


# --- what it all comes to -------------------------------------------------------------------------


class _Known:
    """Says what is a loader or a model, by what stands in all of the files."""

    def __init__(self, sources: Sequence[Defined]) -> None:
        self.classes: dict[str, DefinedClass] = {}
        self.functions: dict[str, DefinedFunction] = {}
        self.called: set[str] = set()
        for source in sources:
            self.classes |= {one.name: one for one in source.classes}
            self.functions |= {one.name: one for one in source.functions}
            self.called |= source.called
        for alias, name in (pair for one in sources for pair in one.aliases.items()):
            self.called |= {name} if alias in self.called else set()

    def of_function(self, one: DefinedFunction, call: str) -> Maker | None:
        """Say what calling a function gives; of a helper, that it comes behind what makes."""
        made = self._of_function(one, call)
        if made is None or made.kind != "model":
            return made
        if one.of_others or _LOSS.search(one.name) or _LOSS.search(made.by):
            return None
        if _HELPS.fullmatch(one.name):
            return made._replace(rank=_BY_HELPING)
        return made._replace(rank=_BY_LOADING) if _LOADS.fullmatch(one.name) else made

    def _of_function(self, one: DefinedFunction, call: str) -> Maker | None:
        returned = one.returned
        if not returned.something or any(map(_HANDED.fullmatch, one.needs)):
            return None
        made = Maker("", call, line=one.line, needs=one.needs)
        usual = _usual_kind(one.name)
        is_making = bool(_MAKES.match(one.name))
        for given in returned.names:
            kind = self._kind_of(given, 0)
            if kind is not None:
                is_class = given[:1].isupper()
                what = f"makes {with_article(given)}" if is_class else f"gives what {given}() makes"
                is_usual = usual == kind or (kind == "loader" and is_making)
                rank = _USUAL if is_usual else _BY_VALUE
                return made._replace(kind=kind, what=what, rank=rank, by=given)
        if self._is_trainer(returned.trainer):
            what = f"makes {with_article(returned.trainer)}"
            rank = _USUAL if is_making else _BY_VALUE
            return made._replace(kind="loader", what=what, rank=rank, by=returned.trainer)
        if "Module" in returned.annotated:
            rank = _USUAL if usual == "model" else _BY_VALUE
            return made._replace(kind="model", what="makes a Module", rank=rank)
        if usual is not None:
            return made._replace(kind=usual, what=f"makes a {usual}, by its name", rank=_USUAL)
        if _GIVES_BATCHES.fullmatch(one.name):
            return made._replace(kind="loader", what="makes batches, by its name", rank=_BY_ITSELF)
        return None

    def of_class(self, one: DefinedClass, call: str, source: Defined) -> Maker | None:
        """Say what making an object of a class gives."""
        made = Maker("loader", call, line=one.line, needs=one.needs)
        lineage = tuple(self._lineage(one.name))
        for base in lineage:
            if self._is_data_module(base, one.name):
                return made._replace(what=f"is {with_article(base)}", rank=_USUAL)
            if base in LOADER_CLASSES or self._is_trainer_of_a_library(base):
                return made._replace(what=f"is {with_article(base)}", rank=_BY_ITSELF)
        is_block = one.name.startswith("_") or one.name in source.used or _LOSS.search(one.name)
        if not is_block and not one.is_abstract and self._is_model(lineage):
            return made._replace(kind="model", what="is a model", rank=_BY_ITSELF)
        return None

    def _kind_of(self, name: str, hops: int) -> str | None:
        lineage = (name, *self._lineage(name))
        if any(one in LOADER_CLASSES or self._is_data_module(one, name) for one in lineage):
            return "loader"
        if self._is_model(lineage[1:]):
            return "model"
        function = self.functions.get(name)
        if function is not None and hops < _MOST_HOPS:
            if self._is_trainer(function.returned.trainer):
                return "loader"
            kinds = (self._kind_of(one, hops + 1) for one in function.returned.names)
            return next((one for one in kinds if one is not None), None)
        return _usual_kind(name) if function is None and name not in self.classes else None

    def _is_data_module(self, base: str, name: str) -> bool:
        """Whether a base is a library's module of data, or the job's own that gives loaders."""
        lineage = (name, *self._lineage(name))
        own = [self.classes[one] for one in lineage if one in self.classes]
        return base.endswith("DataModule") and (
            base not in self.classes or any(one.gives_loaders for one in own)
        )

    def _is_trainer(self, name: str) -> bool:
        """Whether a class of that name is a library's, or comes from one, and holds a loader."""
        bases = self._lineage(name) if name in self.classes else (name,)
        return any(map(self._is_trainer_of_a_library, bases))

    def _is_trainer_of_a_library(self, name: str) -> bool:
        return name.endswith("Trainer") and name not in self.classes

    def _lineage(self, name: str) -> Iterator[str]:
        """Give the names of the classes that a class comes from, the nearest first."""
        waiting, seen = [name], {name}
        while waiting:
            one = self.classes.get(waiting.pop(0))
            fresh = [base for base in (one.bases if one else ()) if base not in seen]
            seen.update(fresh)
            waiting += fresh
            yield from fresh

    @staticmethod
    def _is_model(lineage: Iterable[str]) -> bool:
        return any(one in _MODEL_CLASSES for one in lineage)


def _usual_kind(name: str) -> str | None:
    if _MAKES_LOADERS.fullmatch(name) and not OTHER_LOADER.search(name):
        return "loader"
    return "model" if _MAKES_MODELS.fullmatch(name) else None
