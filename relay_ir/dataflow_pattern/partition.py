"""Calls of functions in place of what matches a pattern."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import cast

from relay2relax.core.errors.extensions import ask
from relay2relax.core.matching.patterns import DFPattern, FunctionPattern, unfit
from relay2relax.core.matching.view import partitioned
from relay2relax.core.passes import note_rewritten
from relay2relax.relay_ir.dataflow_pattern.groups import Grouper
from relay2relax.relay_ir.dataflow_pattern.view import RelayView
from relay2relax.relay_ir.ir.expr import Call, Expr, RelayExpr, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children


def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, object] | None = None,
    check: Callable[[Expr], bool] = lambda _: True,
    mod: IRModule | None = None,
) -> Expr:
    """Return ``expr`` with a call of a function for each part that ``pattern`` matches.

    The function has ``attrs``, and ``PartitionedFromPattern`` besides: the operators in it.
    ``check`` is asked of each part that matches, the nodes of ``expr`` as they are. ``mod`` holds
    the functions and data types that ``expr`` refers to. A function that nothing calls stays as it
    is. Raises ExtensionError where ``check`` raises. Semantics: TVM's ``PatternPartitioner``.
    """
    if not isinstance(attrs or {}, Mapping):
        raise unfit("the attributes of a partition", "a mapping", attrs)
    if isinstance(pattern, FunctionPattern):
        return expr
    groups = Grouper(RelayView(expr, mod)).groups(pattern)
    source = None if mod is None else mod.source
    where = {} if mod is None else mod.locations

    def wanted(node: Expr) -> bool:
        return bool(ask(check, node, what="the check of a partition", where=where.get(node), source=source))

    done: dict[Expr, Expr] = {}
    for node in nodes(expr):
        done[node] = with_children(node, [done[child] for child in children(node)])
        group = groups.get(node)
        if group is not None and wanted(node):
            done[node] = Call(group.function(attrs or {}), tuple(done[one] for one in group.inputs))
    note_rewritten(done)
    return done[expr]


@partitioned.register(RelayExpr)
def _(expr: RelayExpr, pattern: DFPattern, attrs: Mapping[str, object], check: Callable[[Hashable], bool]) -> object:
    return partition(pattern, cast(Expr, expr), attrs, check)
