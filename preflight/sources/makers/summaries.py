"""Keeps of a source what it defines and calls, by which a maker of loaders and models is told."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from preflight.sources.makers.returned import ReturnedValues, needs_of, returned_by
from preflight.sources.work.work_names import TRAINS
from preflight.syntax.full_names import imported
from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.running import called_in, last_name
from preflight.values.names import name_of
from preflight.values.small_files import OddFileError, read_small

# What is read of a folder, the files at its top first: some seconds' worth of parsing.
_MOST_FILES = 5_000
_MOST_BYTES = 8 << 20
_LARGEST_FILE = 1 << 20

# No file without one of these holds anything that is looked for.
_WORDS = re.compile(rb"oader|odule|odel|rainer|batch")

_NO_PART_OF_A_JOB = frozenset({"tests", "test", "testing", "docs", "doc", "benchmarks"})
_NO_JOB = re.compile(r"(test_.*|.*_test|conftest|setup|noxfile)\.py")

_OTHER_MODELS = frozenset(
    {
        *("fasttext", "sklearn", "joblib", "xgboost", "lightgbm", "catboost", "kenlm", "spacy"),
        *("gensim", "tensorflow", "keras", "jax", "flax", "haiku", "paddle", "mxnet", "onnx"),
        *("onnxruntime", "sentencepiece", "tokenizers", "llama_cpp", "ctranslate2", "openai"),
        *("anthropic", "cuml", "statsmodels", "hmmlearn", "tensorrt", "openvino", "coremltools"),
    }
)

# They make no model.
_BESIDE = sys.stdlib_module_names | {
    *("numpy", "scipy", "pandas", "tqdm", "requests", "huggingface_hub", "yaml")
}

_FOR_OTHERS = re.compile(r"^Base(?=[A-Z])|Mixin$|^Abstract")


class DefinedFunction(NamedTuple):
    """A function at the top of a file."""

    name: str
    line: int
    needs: tuple[str, ...]
    returned: ReturnedValues
    of_others: bool = False
    """Whether all that it makes anything of are libraries whose models are none of torch."""


class DefinedClass(NamedTuple):
    """A class at the top of a file."""

    name: str
    line: int
    needs: tuple[str, ...]
    bases: tuple[str, ...]
    is_abstract: bool
    gives_loaders: bool
    """Whether it has the method of a module of data that Lightning's trainer calls."""


class Defined(NamedTuple):
    """What is kept of one file."""

    file: str
    functions: tuple[DefinedFunction, ...]
    classes: tuple[DefinedClass, ...]
    used: frozenset[str]
    """Names that its classes call: blocks that others are built of."""

    called: frozenset[str]
    """Names that its functions call, of a file that trains by its name."""

    aliases: Mapping[str, str]
    """Second names: `Model` of `Model = DetectionModel`."""


def sources_in(folder: str, every: Iterable[str]) -> Iterator[Defined]:
    """Read the files of a folder, those at its top first, as far as the bounds go."""
    left = _MOST_BYTES
    paths = [path for path, _ in zip(every, range(_MOST_FILES), strict=False)]
    for path in sorted(paths, key=lambda path: (path.count(os.sep), path)):
        file = name_of(path, folder)
        *places, name = file.split("/")
        if _NO_JOB.fullmatch(name) or not _NO_PART_OF_A_JOB.isdisjoint(places):
            continue
        try:
            if os.path.getsize(path) > min(left, _LARGEST_FILE):
                continue
            content = read_small(path)
            if _WORDS.search(content) is None:
                continue
            left -= len(content)
            tree = parse(content).tree
        except (OSError, OddFileError, UnparsableError):
            continue  # `preflight run source=...` says what is wrong with it
        yield _summary(file, tree)


def _summary(file: str, tree: ast.Module) -> Defined:
    functions: list[DefinedFunction] = []
    classes: list[DefinedClass] = []
    used: set[str] = set()
    called: set[str] = set()
    aliases: dict[str, str] = {}
    names, own = _names_in(tree)
    trains = TRAINS.match(file.rpartition("/")[2].removesuffix(".py")) is not None
    for node in tree.body:
        if trains and not isinstance(node, ast.ClassDef):
            called |= called_in(node)
        if isinstance(node, ast.FunctionDef):
            if not node.name.startswith("_") and not TRAINS.match(node.name):
                returned = returned_by(node)
                told = node.name, node.lineno, needs_of(node), returned
                functions.append(DefinedFunction(*told, of_others=_is_of_others(node, names, own)))
        elif isinstance(node, ast.ClassDef):
            bases = tuple(map(last_name, node.bases))
            known = (_needs_of_class(node), bases, _is_abstract(node), _gives_loaders(node))
            classes.append(DefinedClass(node.name, node.lineno, *known))
            used |= called_in(node) - {node.name}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            aliases |= dict.fromkeys(map(last_name, node.targets), node.value.id)
    every = frozenset(used), frozenset(called), aliases
    return Defined(file, tuple(functions), tuple(classes), *every)


def _names_in(tree: ast.Module) -> tuple[dict[str, str], set[str]]:
    """Give what is imported, wherever that is, and what is the job's own."""
    nodes = [one for one in ast.walk(tree) if isinstance(one, (ast.Import, ast.ImportFrom))]
    own = {one.name for one in tree.body if isinstance(one, ast.ClassDef)}
    for one in nodes:
        if isinstance(one, ast.ImportFrom) and one.level:
            own |= {each.asname or each.name for each in one.names}
    return imported(nodes), own


def _is_of_others(function: ast.FunctionDef, names: Mapping[str, str], own: set[str]) -> bool:
    used = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    packages = {names[one].partition(".")[0] for one in used if one in names} - _BESIDE
    return bool(packages) and packages <= _OTHER_MODELS and own.isdisjoint(used)


def _is_abstract(node: ast.ClassDef) -> bool:
    """Whether a class is there for others, and no object of it alone is made."""
    if _FOR_OTHERS.search(node.name):
        return True
    functions = (one for one in node.body if isinstance(one, ast.FunctionDef))
    decorators = (last_name(one) for function in functions for one in function.decorator_list)
    return any(one.startswith("abstract") for one in decorators)


def _gives_loaders(node: ast.ClassDef) -> bool:
    return any(
        isinstance(one, ast.FunctionDef) and one.name == "train_dataloader" for one in node.body
    )


def _needs_of_class(node: ast.ClassDef) -> tuple[str, ...]:
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return needs_of(one)[1:]
    return ()
