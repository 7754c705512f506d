"""Whether the extents of a call satisfy what the accesses of a compiled function need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.tir.analysis.relations import Relation, negative_extent
from relay2relax.tir.arith.evaluate import extent_function, integer
from relay2relax.tir.ir.expr import Var


def relations_check(
    function: str, relations: Sequence[Relation], variables: Sequence[Var]
) -> Callable[[Mapping[Var, int]], None]:
    """Return what raises ExecutionError unless the values of ``variables`` satisfy ``relations``.

    The message names the function, the argument or temporary, its dimension, and the extents.
    """
    places = {var: place for place, var in enumerate(variables)}
    conditions = [(extent_function(one.condition, places), one) for one in relations]

    def check(values: Mapping[Var, int]) -> None:
        numbers = [values[var] for var in variables] if conditions else []
        for condition, relation in conditions:
            if not condition(numbers):
                raise ExecutionError(_refusal(function, relation, values), kind=running.EXTENTS)

    return check


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
