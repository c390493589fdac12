"""Says what is given to names by files of settings: `yaml.safe_load(open("a.yaml"))["shards"]`.

Only files whose names are written out, or are a default; and only what they say by themselves. What
is put together (`${…}`, other files, several that are merged), or changed in the run, is not known.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from preflight.pipelines.names.composed_configs import composed, of_words, overruled
from preflight.pipelines.names.config_changes import MERGES, changes_in, is_of_omega, taken_apart
from preflight.pipelines.names.meanings import Meanings, place_of
from preflight.pipelines.names.own_calls import is_of_hydra
from preflight.pipelines.names.settings_said import SettingsSaid
from preflight.settings.config_values import read_config
from preflight.syntax.parsing import everything_in, nodes_of
from preflight.syntax.running import is_none, last_name, text_of
from preflight.syntax.surroundings import called
from preflight.values.names import name_of

LOADS = re.compile(r"(?:yaml|json|toml\w*|OmegaConf|YAML\(.*\))\.\w*loads?\b|safe_load|hydra\.main")
"""Find code that may read one of them."""

_OF_YAML = frozenset({"safe_load", "full_load", "unsafe_load", "safe_load_all"})
_KINDS = {
    "yaml": (".yaml", ".yml", ".json"),
    "OmegaConf": (".yaml", ".yml"),
    "json": (".json",),
    "toml": (".toml",),
    "tomllib": (".toml",),
    "tomli": (".toml",),
}

# They give the same values under other ways to ask for them.
_SAME = frozenset(
    {
        *("EasyDict", "edict", "AttrDict", "Munch", "munchify", "Box", "DotMap", "Dict", "dict"),
        *("DictConfig", "to_container", "Namespace", "SimpleNamespace", "deepcopy", "CfgNode"),
    }
)

# Who says so takes settings from other files, too, which may say otherwise.
_FROM_OTHERS = frozenset({"defaults", "_base_", "base", "include", "extends", "inherits"})

# From here on, Hydra leaves the current folder as it is.
_STAYS = (1, 2)

_DEEPEST = 12


@dataclass(slots=True)
class ToldByConfigs:
    """Looks in files that belong together for values that files of settings give."""

    meanings: Meanings
    files: Sequence[str]
    """Their paths."""

    folders: Sequence[str]
    """In which the job may be started, the likeliest first."""

    _read: dict[str, Any] = field(default_factory=dict)
    """What each file says, by its path."""

    _known: dict[int, SettingsSaid | None] = field(default_factory=dict)
    _lost: set[tuple[int, str]] = field(default_factory=set)
    """Keys that are given other values, by the call that reads the file; empty: any of them."""

    _anywhere: frozenset[str] = frozenset()
    """Keys to which somebody gives a value, of whatever that is."""

    def tell(self, trees: Sequence[ast.AST]) -> tuple[str, ...]:
        """Have the meanings know what is asked of settings, and name the files that were read."""
        nodes = [one for tree in trees for one in nodes_of(tree) if isinstance(one, ast.expr)]
        for one in nodes:
            if isinstance(one, ast.Name) and one.id == "__file__":
                path = self.files[self.meanings.number(one)]
                self.meanings.given[place_of(one)] = [ast.Constant(path)]
        found = {id(one): (one, its) for node in nodes for one, its in self._asked(node)}
        if found:
            self._change(trees, nodes)
        for node, its in found.values():
            value = its.written() if self._is_left(its) else None
            if value is not None:
                self.meanings.given[place_of(node)] = [value]
                self.meanings.told[id(value)] = its.file
                if its.assumed:
                    said = f"{'.'.join(its.keys)} of {its.file}"
                    self.meanings.handed.defaults[id(value)] = said
        return tuple(name_of(one, self.folders[0]) for one in self._read)

    def _asked(self, node: ast.expr) -> Iterator[tuple[ast.expr, SettingsSaid]]:
        """Give what asks settings for a key, with what they say."""
        end = self.meanings.texts.meant(node)
        its = None if taken_apart(end) is None else self._settings(end)
        if its is not None:
            yield end, its

    def _settings(self, node: ast.expr, depth: int = 0) -> SettingsSaid | None:
        """Give the settings that an expression stands for."""
        node = self.meanings.texts.meant(node)
        if depth > _DEEPEST:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = None  # as long as it is looked up
            self._known[id(node)] = self._looked_up(node, depth + 1)
        return self._known[id(node)]

    def _looked_up(self, node: ast.expr, depth: int) -> SettingsSaid | None:
        apart = taken_apart(node)
        if apart is not None:
            holder, key = apart
            its = self._settings(holder, depth)
            if its is not None:
                inner = its.said.get(key) if isinstance(its.said, dict) else None
                return None if inner is None else its.part(inner, key)
        return self._loaded(node, depth) if isinstance(node, ast.Call) else None

    # --- who reads them

    def _loaded(self, call: ast.Call, depth: int) -> SettingsSaid | None:
        name, given = called(call), [*call.args, *(one.value for one in call.keywords)]
        if is_of_hydra(call):
            return self._of_hydra(call)
        of = last_name(getattr(call.func, "value", None))
        if (name in _SAME or is_of_omega(call, "create")) and given:
            return self._settings(given[0], depth) if len(given) == 1 else None
        if is_of_omega(call, "from_cli", *MERGES):
            return self._put_together(call, depth)
        of = "yaml" if name in _OF_YAML else of
        if of not in _KINDS or name not in _OF_YAML | {"load", "loads"}:
            return self._returned(call, depth)
        path = self._path(call.args[0]) if call.args else None
        if path is None:
            return None
        text = self.meanings.texts.only(path)
        its = self._settings(path, depth) if text is None else None
        text = text if its is None or not isinstance(its.said, str) else its.said
        if text is None or not text.lower().endswith(_KINDS[of]):
            return None
        paths = (os.path.join(at, os.path.expanduser(text)) for at in self.folders)
        file = next(filter(os.path.isfile, paths), None)
        said = None if file is None else self._read.setdefault(file, read_config(file))
        if file is None or not isinstance(said, dict) or _FROM_OTHERS & said.keys():
            return None
        assumed = bool(self.meanings.assumed(path))
        return SettingsSaid(said, name_of(file, self.folders[0]), call, assumed=assumed)

    def _put_together(self, call: ast.Call, depth: int) -> SettingsSaid | None:
        """Give the words of the command line, where they are known, or what overrules what."""
        if called(call) == "from_cli":
            words = () if call.args else self.meanings.handed.words
            return SettingsSaid(of_words(words), "the command line", call) if words else None
        layers = [self._settings(one, depth) for one in call.args]
        known = [one for one in layers if one is not None and isinstance(one.said, dict)]
        if not known or len(known) < len(layers) or call.keywords:
            return None
        said = reduce(overruled, (one.said for one in known))
        assumed, moves = (
            any(one) for one in zip(*((k.assumed, k.moves) for k in known), strict=True)
        )
        return SettingsSaid(said, "", call, assumed=assumed, moves=moves, layers=tuple(known))

    def _returned(self, call: ast.Call, depth: int) -> SettingsSaid | None:
        """Give what a function of the job's own gives, where it ends in one place."""
        own = self.meanings.handed.meant_by(call)
        ends = [] if own is None else [*everything_in(own.node)]
        given = [one.value for one in ends if isinstance(one, ast.Return) and one.value is not None]
        return self._settings(given[0], depth) if len(given) == 1 else None

    def _path(self, node: ast.expr) -> ast.expr | None:
        """Give the path of what is opened, or read as a text."""
        node = self.meanings.texts.meant(node)
        if not isinstance(node, ast.Call):
            return node
        holder = node.func.value if isinstance(node.func, ast.Attribute) else None
        if called(node) == "open" and (holder is None or last_name(holder) in ("io", "codecs")):
            return node.args[0] if node.args else None
        if called(node) in ("open", "read_text", "read_bytes") and holder is not None:
            return holder
        if called(node) == "read" and holder is not None:
            return self._path(holder)
        return node  # Path("a.yaml"), os.path.join("configs", "a.yaml")

    def _of_hydra(self, call: ast.Call) -> SettingsSaid | None:
        """Give what Hydra hands to the function that it decorates, where no word says otherwise."""
        words = {one.arg: one.value for one in call.keywords}
        folder = self.meanings.texts.only(words.get("config_path", ast.Constant(None)))
        name = self.meanings.texts.only(words["config_name"])
        if folder is None or name is None or self.meanings.handed.words:
            return None
        beside = os.path.dirname(self.files[self.meanings.number(call)])
        path = os.path.join(beside, folder, f"{name.removesuffix('.yaml')}.yaml")
        said = composed(path, self._read)
        if said is None or "hydra" in said:
            return None
        version = words.get("version_base")
        stays = version is not None and (is_none(version) or _at_least(text_of(version), _STAYS))
        file = name_of(path, self.folders[0])
        return SettingsSaid(said, file, call, assumed=True, moves=not stays)

    # --- who changes them

    def _change(self, trees: Sequence[ast.AST], nodes: Sequence[ast.expr]) -> None:
        """Find which keys, and which settings as a whole, may be given other values."""
        anywhere, dynamic = set[str](), set[str]()
        for changed, key in (one for tree in trees for one in changes_in(tree)):
            its = self._settings(changed)
            if its is None and key:
                anywhere.add(key)
            elif its is None:
                dynamic.add(last_name(changed))
            else:
                self._lose(its, key)
        self._anywhere = frozenset(anywhere)
        for node in nodes:
            own = [(last_name(node), node)] if isinstance(node, (ast.Name, ast.Attribute)) else []
            handed = self._handed(node) if isinstance(node, ast.Call) else ()
            for name, given in (*own, *handed):
                its = self._settings(given) if name in dynamic else None
                if its is not None:
                    self._lose(its, "")

    def _lose(self, its: SettingsSaid, key: str) -> None:
        """Take a key for lost, or all; a value by itself is not changed by who is handed it."""
        if isinstance(its.said, (dict, list)):
            self._lost.add((id(its.read_by), key))

    def _handed(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """Give what parameters of the job's own functions are given by a call."""
        for own in self.meanings.handed.functions.get(called(call), []):
            names = [one.arg for one in (*own.node.args.posonlyargs, *own.node.args.args)]
            yield from zip(names[names[:1] in (["self"], ["cls"]) :], call.args, strict=False)
        yield from ((one.arg, one.value) for one in call.keywords if one.arg is not None)

    def _is_left(self, its: SettingsSaid) -> bool:
        """Whether nobody is seen to give it another value."""
        lost = {(id(one), key) for one in its.read_by_all for key in ("", *its.keys)}
        return self._lost.isdisjoint(lost) and its.keys[-1] not in self._anywhere


def _at_least(version: str | None, least: tuple[int, ...]) -> bool:
    parts = (version or "").split(".")
    return all(map(str.isdigit, parts)) and tuple(map(int, parts)) >= least
