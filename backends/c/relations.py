"""Whether the extents of a call are such that the accesses of a compiled function stay inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from relay2relax.backends.c.codegen.program import Entry
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.tir.analysis.relations import Relation, negative_extent
from relay2relax.tir.arith.evaluate import extent_function, integer
from relay2relax.tir.arith.overflow import MOST_EXTENT
from relay2relax.tir.ir.expr import Buffer, BufferData, BufferLoad, IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, Stmt
from relay2relax.tir.ir.visit import expressions, shape_variables, statements, subexpressions, variables


def relations_check(entry: Entry) -> Callable[[Mapping[Var, int]], None]:
    """Return what raises ExecutionError unless the values of an entry's variables satisfy its
    relations, and proofs hold for them.

    The message names the function, the argument or temporary, its dimension, and the extents.
    """
    function, places = entry.func.name, {var: place for place, var in enumerate(entry.variables)}
    conditions = [(extent_function(one.condition, places), one) for one in entry.relations]
    given = [*entry.func.buffers, *entry.func.root_buffers]
    extents = [var for var in shape_variables(given) if var in places]

    def check(values: Mapping[Var, int]) -> None:
        numbers = [values[var] for var in entry.variables] if conditions else []
        for condition, relation in conditions:
            if not condition(numbers):
                raise ExecutionError(_refusal(function, relation, values), kind=running.EXTENTS)
        for var in extents:
            if values[var] > MOST_EXTENT:
                _check_far(entry, var, values)

    return check


def _check_far(entry: Entry, far: Var, values: Mapping[Var, int]) -> None:
    """Raise ExecutionError unless nothing is accessed by an index.

    Proofs take an open extent for at most ``MOST_EXTENT``, whatever is computed of it. Where one is
    larger, all tensors must be empty, or be accessed at places that are numbers.
    """
    func = entry.func
    for buffer in dict.fromkeys(_indexed(func.body)):
        if not any(_is_zero(extent, values) for extent in buffer.shape):
            problem = f"extent {far.name} = {values[far]} is beyond {MOST_EXTENT}, and {buffer.name!r} is not empty"
            raise ExecutionError(f"{func.name}: {problem}", kind=running.EXTENTS)


def _indexed(body: Stmt) -> Iterator[Buffer]:
    """Yield the buffers that ``body`` accesses otherwise than at places that are numbers."""
    for stmt in statements(body):
        places: list[tuple[Buffer, tuple[PrimExpr, ...]]] = []
        if isinstance(stmt, BufferStore):
            places.append((stmt.buffer, stmt.indices))
        if isinstance(stmt, BlockRealize):
            yield from (one.region.buffer for one in stmt.block.matches)
        for node in (node for expr in expressions(stmt) for node in subexpressions(expr)):
            if isinstance(node, BufferData):
                yield node.buffer
            elif isinstance(node, BufferLoad):
                places.append((node.buffer, node.indices))
        for buffer, indices in places:
            if not all(isinstance(index, IntImm) for index in indices):
                yield buffer


def _is_zero(extent: PrimExpr, values: Mapping[Var, int]) -> bool:
    return all(var in values for var in variables(extent)) and integer(extent, values) == 0


def _refusal(function: str, relation: Relation, values: Mapping[Var, int]) -> str:
    given = ", ".join(f"{var.name} = {value}" for var, value in values.items())
    function = relation.function or function
    extents = f" (extents: {given})" if given else ""
    reach = integer(relation.reach, values)
    if not relation.buffer:
        return f"{function}: an extent that divides is {reach}{extents}"
    if relation.declared:
        problem = negative_extent(relation.buffer, relation.dimension, reach)
        return f"{function}: {problem}{extents}"
    where = f"dimension {relation.dimension} of {relation.buffer!r}"
    return f"{function}: {where} does not hold place {reach}, which would be accessed{extents}"
