"""Finds all of them in one file, and puts together those of many."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from preflight.sources.flaws.busy import busy_waits
from preflight.sources.flaws.facts import Flaws, Returned, TupleLoop
from preflight.sources.flaws.jumps import jumps
from preflight.sources.flaws.threads import threads_in
from preflight.sources.flaws.tuples import file_called, imports_in, returned_in, tuple_loops
from preflight.sources.flaws.unbound import unbound_reads
from preflight.sources.flaws.unstable_orders import unstable_orders
from preflight.sources.flaws.words import Signs
from preflight.syntax.bodies import Body, is_try
from preflight.syntax.parsing import Parsed
from preflight.syntax.source_files import is_test


def flaws_in(parsed: Parsed, every: Sequence[Body], file: str, signs: Signs) -> Flaws:
    """Give what a file holds of what its text has signs of; of tests nothing, which no job runs."""
    if is_test(file) or not any(signs):
        return Flaws()
    found = Flaws(
        unbound=tuple(
            found
            for one in _with(every, ast.ExceptHandler, wanted=signs.unbound)
            for found in unbound_reads(one, parsed, file)
        ),
        jumps=tuple(
            found
            for one in every
            if signs.jumps and any(map(is_try, one.nodes))
            for found in jumps(one, parsed, file)
        ),
        waits=tuple(
            found
            for one in _with(every, ast.While, wanted=signs.waits)
            for found in busy_waits(one, parsed, file)
        ),
        orders=tuple(
            found for one in every if signs.orders for found in unstable_orders(one, parsed, file)
        ),
    )
    if signs.loops:
        known, imports = returned_in(every, file), imports_in(every, file)
        found = found._replace(
            loops=tuple(
                loop
                for one in _with(every, ast.For, wanted=True)
                for loop in tuple_loops(one, parsed, file, known, imports)
            )
        )
    if not (found.unbound or found.jumps):
        return found
    threads = threads_in(every, parsed)
    return found._replace(
        unbound=tuple(one._replace(thread=threads.get(one.inside)) for one in found.unbound),
        jumps=tuple(one._replace(thread=threads.get(one.inside)) for one in found.jumps),
    )


def _with(every: Sequence[Body], kind: type[ast.AST], *, wanted: bool) -> list[Body]:
    """Give the bodies that hold something of this kind."""
    return [one for one in every if wanted and any(isinstance(node, kind) for node in one.nodes)]


def of_all(
    each: Sequence[Flaws], names: Sequence[str], returned: Mapping[str, Mapping[str, Returned]]
) -> Flaws:
    """Put together those of all files; a function that a loop calls may stand in another of them.

    Args:
        each: what is wrong with each file.
        names: of all files, also those that hold nothing.
        returned: what functions give, by file and name, where loops of other files call them.
    """
    return Flaws(
        unbound=tuple(found for one in each for found in one.unbound),
        jumps=tuple(found for one in each for found in one.jumps),
        loops=tuple(found for one in each for found in _come_to(one.loops, names, returned)),
        waits=tuple(found for one in each for found in one.waits),
        orders=tuple(found for one in each for found in one.orders),
    )


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
