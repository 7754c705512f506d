"""Calls of composite functions in the place of what patterns match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, Union, cast

from relay2relax.core.errors.extensions import ask
from relay2relax.core.matching.patterns import as_pattern, unfit
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.dataflow_pattern import DFPattern, partition
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Expr, Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import Type
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions

# (the result of a part that matched, the types of the program) -> whether it becomes a function
Check: TypeAlias = Callable[[Expr, Mapping[Expr, Type]], bool]
Row: TypeAlias = Union[tuple[str, DFPattern], tuple[str, DFPattern, Check]]


@dataclass(frozen=True, slots=True)
class MergeComposite(Pass[IRModule]):
    """Make a function of each part of the program that a pattern matches, and call it there.

    ``pattern_table`` has a row for each pattern: its name, the pattern, and a check where not every
    match is wanted. The patterns are tried in their order, each over what those before it left. The
    function has the name as ``Composite``, and the operators in it as ``PartitionedFromPattern``:

        sum_and_relu = is_op("nn.relu")(wildcard() + wildcard())
        mod = transform.MergeComposite([("dnnl.add_relu", sum_and_relu)])(mod)

    TVM 0.18 src/relay/transforms/merge_composite.cc, whose checks ask ``checked_type`` of nodes for
    what is in their second argument here.
    """

    pattern_table: Sequence[Row]
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with composite functions; infers types before each pattern."""
        for name, pattern, *checks in map(_row, self.pattern_table):
            mod = _merged(mod, name, pattern, checks)
        return mod


def _row(given: object) -> Row:
    """Return a row of the table; raises PatternError where it is none."""
    if not isinstance(given, (list, tuple)) or len(given) < 2 or not isinstance(given[0], str):
        raise unfit("a row of the table", "a name, a pattern and checks", given)
    as_pattern(given[1])
    return cast(Row, tuple(given))


def _merged(mod: IRModule, name: str, pattern: DFPattern, checks: Sequence[Check]) -> IRModule:
    mod = typed_module(mod)

    def wanted(node: Expr) -> bool:
        what, where = f"the check of {name}", mod.locations.get(node)
        return all(ask(one, node, mod.types, what=what, where=where, source=mod.source) for one in checks)

    def merged(function: Function) -> Function:
        if left_alone(function):
            return function
        result = partition(pattern, function, {"Composite": name}, wanted, mod)
        assert isinstance(result, Function)
        return result

    return map_functions(mod, merged)
