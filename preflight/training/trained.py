"""Which parameters a script trains: who has them, and who gets a gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from preflight.objects.facts import Definition
from preflight.training.facts import UNOWNED, UNUSED, Idle
from preflight.training.parameters import models
from preflight.users_code.facts import Frame

# Names of parameters that are told of one model.
_NAMES = 8


@dataclass(slots=True, kw_only=True, eq=False)
class _Model:
    name: str
    replicated: bool
    """Whether DistributedDataParallel waits for a gradient of each of its parameters."""

    training: bool


@dataclass(slots=True, kw_only=True, eq=False)
class _Entry:
    """One parameter that is to be trained."""

    ref: weakref.ref[Any]
    name: str
    model: _Model | None
    """None: it is part of no model."""

    holders: tuple[tuple[Any, str], ...]
    """As long as it is not known where it is kept; then none, so that nothing is kept alive."""

    owner: weakref.ref[Any] | None = None
    owner_name: str = ""
    has_had: bool = False
    """Whether it had a gradient at any step."""

    asked: int = 0
    """Steps of its optimizer in which it was to be trained."""

    numbers: int = 0
    defined: Definition = Definition()


class Trained:
    """All parameters of a script that are to be trained, as its optimizers step."""

    def __init__(self, root: str, place: Callable[[], Frame | None]) -> None:
        self._root = root
        self._place = place
        self._made: weakref.WeakKeyDictionary[Any, Frame | None] = weakref.WeakKeyDictionary()
        self.number_made = 0
        """Optimizers that were given parameters, also such as are gone."""

        self._has_changed = False
        self._entries: dict[int, _Entry] = {}
        self._open: dict[int, _Entry] = {}
        """Those of which it is not known that they are trained, or where they are kept."""

        self._detached: Frame | None = None

    def given(self, optimizer: Any) -> None:
        """Note that an optimizer is given parameters."""
        self.number_made += optimizer not in self._made
        self._made.setdefault(optimizer, self._place())
        self._has_changed = True

    @property
    def has_optimizer(self) -> bool:
        """Whether an optimizer was given parameters."""
        return bool(self._made)

    def owns(self, module: Any) -> bool:
        """Say whether an optimizer has parameters of a model."""
        own = {id(one) for one in module.parameters()}
        groups = (group for optimizer in list(self._made) for group in optimizer.param_groups)
        return any(id(one) in own for group in groups for one in group["params"])

    def detached(self, at: Frame | None) -> None:
        """Note a line that has activations computed again without a gradient to be had."""
        self._detached = self._detached or at

    def look(self, optimizer: Any) -> None:
        """Look who has a gradient, before a step."""
        self._made.setdefault(optimizer, None)
        if self._has_changed:
            self._has_changed = False
            self._find()
        self._note_gradients()

    def stepped(self, optimizer: Any) -> None:
        """Look again, after a step: a closure computes gradients within it."""
        self._note_gradients()
        for number, one in [*self._open.items()]:
            if one.holders:
                self._settle(one)
            if not one.has_had and one.owner is not None and one.owner() is optimizer:
                parameter = one.ref()
                one.asked += parameter is not None and parameter.requires_grad
            if one.has_had:
                del self._open[number]

    def name(self, parameter: Any) -> str:
        """Name a parameter as its model does."""
        one = self._entries.get(id(parameter))
        if one is None or one.ref() is not parameter:
            return "a parameter"
        return one.name if one.model is None else f"{one.model.name}.{one.name}"

    def idle(self) -> tuple[Idle, ...]:
        """Say which are to be trained, and are not."""
        return tuple(self._idle())

    # --- finding them

    def _find(self) -> None:
        """Take in all parameters of all models and optimizers; what is known of them stays."""
        for found in models():
            model = _Model(
                name=found.name,
                replicated=_waits_for_all(found.replicated),
                training=found.module.training,
            )
            for own in found.parameters:
                self._take(own.parameter, own.name, model, own.holders)
        for optimizer in list(self._made):
            kind = type(optimizer).__name__
            every = (one for group in optimizer.param_groups for one in group["params"])
            for number, parameter in enumerate(every):
                entry = self._take(parameter, f"{kind}, parameter {number}", None, ())
                if entry is not None:
                    entry.owner = weakref.ref(optimizer)
                    entry.owner_name = kind

    def _take(
        self,
        parameter: Any,
        name: str,
        model: _Model | None,
        holders: tuple[tuple[Any, str], ...],
    ) -> _Entry | None:
        from torch.nn.parameter import is_lazy

        known = self._entries.get(id(parameter))
        if known is not None and known.ref() is parameter:
            if known.model is not None and model is not None:
                known.model.replicated |= model.replicated
            return known
        if is_lazy(parameter) or not (parameter.is_floating_point() or parameter.is_complex()):
            return None
        entry = _Entry(
            ref=weakref.ref(parameter),
            name=name,
            model=model,
            holders=holders,
            numbers=parameter.numel(),
        )
        self._entries[id(parameter)] = self._open[id(parameter)] = entry
        return entry

    # --- gradients

    def _note_gradients(self) -> None:
        for one in self._open.values():
            if not one.has_had:
                parameter = one.ref()
                one.has_had = parameter is not None and parameter.grad is not None

    def _settle(self, one: _Entry) -> None:
        """Say which line of the script keeps it, if that may have to be told."""
        if not one.has_had or one.owner is None:
            from preflight.objects.where import kept_by_user

            one.defined = kept_by_user(one.holders, self._root) or Definition()
        one.holders = ()

    def _idle(self) -> Iterator[Idle]:
        owned = {id(one.model) for one in self._entries.values() if one.owner is not None}
        # Optimizers with copies of their own, of higher precision, train the model all the same.
        by_copies = any(one.model is None for one in self._entries.values())
        groups: dict[tuple[str, int], list[_Entry]] = {}
        for one in self._entries.values():
            whole = one.model is not None and id(one.model) not in owned
            if one.owner is not None and one.asked and not one.has_had:
                groups.setdefault((UNUSED, id(one.model)), []).append(one)
            elif one.owner is None and one.has_had and not (whole and _is_apart(one, by_copies)):
                groups.setdefault((UNOWNED, id(one.model)), []).append(one)
        for (fault, _), entries in groups.items():
            yield self._told(fault, entries)

    def _told(self, fault: str, entries: list[_Entry]) -> Idle:
        first = next((one for one in entries if one.defined.line is not None), entries[0])
        model = first.model
        of = sum(one.model is model and _is_trainable(one) for one in self._entries.values())
        return Idle(
            model=model.name if model is not None else first.owner_name,
            fault=fault,
            names=tuple(one.name for one in entries[:_NAMES]),
            count=len(entries),
            numbers=sum(one.numbers for one in entries),
            of=max(of, len(entries)),
            steps=min(one.asked for one in entries),
            defined=first.defined,
            in_model=model is not None,
            replicated=fault == UNUSED and model is not None and model.replicated,
            detached=self._detached if fault == UNUSED else None,
        )


def _is_trainable(one: _Entry) -> bool:
    return one.has_had or one.owner is not None


def _is_apart(one: _Entry, by_copies: bool) -> bool:  # noqa: FBT001
    """Whether a model of which no optimizer has anything is so on purpose."""
    return by_copies or one.model is None or not one.model.training


def _waits_for_all(replicated: Any) -> bool:
    if replicated is None:
        return False
    return not replicated.find_unused_parameters and not replicated.static_graph
