"""Finds all of them in one file, and puts together those of many."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from preflight.sources.flaws.aliased_states import aliased_states
from preflight.sources.flaws.busy import busy_waits
from preflight.sources.flaws.facts import Flaws, Returned, TupleLoop, UnboundRead, UnstableOrder
from preflight.sources.flaws.jumps import jumps
from preflight.sources.flaws.own_raises import OwnRaises
from preflight.sources.flaws.threads import threads_in
from preflight.sources.flaws.tuples import file_called, imports_in, returned_in, tuple_loops
from preflight.sources.flaws.unbound import unbound_reads
from preflight.sources.flaws.unstable_orders import kept_in, unstable_orders
from preflight.sources.flaws.words import Signs
from preflight.syntax.bodies import TRIES, Body
from preflight.syntax.parsing import Parsed
from preflight.syntax.source_files import is_test

T = TypeVar("T")


def flaws_in(parsed: Parsed, every: Sequence[Body], file: str, signs: Signs) -> Flaws:
    """Give what a file holds of what its text has signs of; of tests nothing, which no job runs."""
    if is_test(file) or not any(signs):
        return Flaws()
    loops: tuple[TupleLoop, ...] = ()
    if signs.loops:
        known, imports = returned_in(every, file), imports_in(every, file)
        find = partial(tuple_loops, known=known, imports=imports)
        loops = _found_by(find, every, parsed, file, ast.For, ast.comprehension)
    found = Flaws(
        unbound=_unbound(every, parsed, file) if signs.unbound else (),
        jumps=_found_by(jumps, every, parsed, file, *TRIES) if signs.jumps else (),
        loops=loops,
        waits=_found_by(busy_waits, every, parsed, file, ast.While) if signs.waits else (),
        orders=_orders(every, parsed, file) if signs.orders else (),
        states=tuple(aliased_states(every, parsed, file)) if signs.states else (),
    )
    if not (found.unbound or found.jumps):
        return found
    threads = threads_in(every, parsed)
    return found._replace(
        unbound=tuple(one._replace(thread=threads.get(one.inside)) for one in found.unbound),
        jumps=tuple(one._replace(thread=threads.get(one.inside)) for one in found.jumps),
    )


def _unbound(every: Sequence[Body], parsed: Parsed, file: str) -> tuple[UnboundRead, ...]:
    find = partial(unbound_reads, raises=OwnRaises(every))
    return _found_by(find, every, parsed, file, *TRIES)


def _orders(every: Sequence[Body], parsed: Parsed, file: str) -> tuple[UnstableOrder, ...]:
    find = partial(unstable_orders, kept=kept_in(every))
    return _found_by(find, every, parsed, file, ast.expr)


def _found_by(
    find: Callable[[Body, Parsed, str], Iterator[T]],
    every: Sequence[Body],
    parsed: Parsed,
    file: str,
    *kinds: type[ast.AST],
) -> tuple[T, ...]:
    """Look through the bodies that hold something of these kinds."""
    those = (one for one in every if any(isinstance(node, kinds) for node in one.nodes))
    return tuple(found for one in those for found in find(one, parsed, file))


def of_all(
    each: Sequence[Flaws], names: Sequence[str], returned: Mapping[str, Mapping[str, Returned]]
) -> Flaws:
    """Put together those of all files; a function that a loop calls may stand in another of them.

    Args:
        each: what is wrong with each file.
        names: of all files, also those that hold nothing.
        returned: what functions give, by file and name, where loops of other files call them.
    """
    found = Flaws(*(tuple(chain.from_iterable(those)) for those in zip(*each, strict=True)))
    return found._replace(loops=tuple(_come_to(found.loops, names, returned)))


def _come_to(
    loops: Sequence[TupleLoop],
    names: Sequence[str],
    returned: Mapping[str, Mapping[str, Returned]],
) -> Iterator[TupleLoop]:
    """Give loops over one tuple; what they call may stand in another file that was read."""
    for one in loops:
        if one.defined:
            yield one
            continue
        told = returned.get(file_called(one, names) or "", {}).get(one.function)
        if told is not None and told.size == one.size:
            yield one._replace(defined=f"{told.file}:{told.line}", scalar=told.scalar)
