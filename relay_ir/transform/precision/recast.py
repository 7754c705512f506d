"""Operators computed in another dtype, between casts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, overload

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.analysis import count_layers
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, Tuple, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class Recast(Pass[IRModule]):
    """Compute the operators ``ops`` in ``dtype``, with results in ``out_dtype``, between casts.

    What is around them keeps its dtypes: numbers are rounded, so this is for measuring, not for
    quantising. ``skip_layers`` says which calls stay, counted from the inputs along the longest
    path of such calls; negative numbers count from the result.
    """

    dtype: str
    out_dtype: str
    ops: Sequence[str] = ("nn.conv2d",)
    skip_layers: Sequence[int] = ()
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` recast; infers types where ``mod`` has none.

        Raises UnsupportedError where the result of such a call is not a tensor.
        """
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda function: self._recast(function, types))

    def _recast(self, root: Function, types: TypeTable) -> Function:
        layers = count_layers(root, list(self.ops))
        skipped = {place % layers if layers else place for place in self.skip_layers}
        depths = self._depths(root)
        done: dict[Expr, Expr] = {}
        for node in nodes(root):
            made = with_children(node, [done[child] for child in children(node)])
            if isinstance(made, Call) and self._asked(node) and layers - 1 - depths[node] not in skipped:
                made = self._between_casts(made, types, node)
            done[node] = made
        result = done[root]
        assert isinstance(result, Function)
        return result

    def _asked(self, node: Expr) -> bool:
        return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in self.ops

    def _depths(self, root: Expr) -> dict[Expr, int]:
        """Return how many of the operators stand between each node and the result."""
        depths: dict[Expr, int] = {root: 0}
        for node in reversed(list(nodes(root))):
            below = depths[node] + self._asked(node)
            for child in children(node):
                depths[child] = max(depths.get(child, 0), below)
        return depths

    def _between_casts(self, call: Call, types: TypeTable, old: Expr) -> Expr:
        was = types.tensor(old)
        if was is None:
            raise UnsupportedError(f"{call.op} gives no tensor, which cannot be recast")
        args = tuple(self._cast(arg) for arg in call.args)
        attrs = replace(call.attrs, out_dtype=self.out_dtype) if hasattr(call.attrs, "out_dtype") else call.attrs
        made: Expr = op.cast(replace(call, args=args, attrs=attrs), was.dtype)
        return made

    def _cast(self, arg: Expr) -> Expr:
        if isinstance(arg, Tuple):
            return Tuple(tuple(self._cast(field) for field in arg.fields))
        made: Expr = op.cast(arg, self.dtype)
        return made


@overload
def recast(
    expr: IRModule, dtype: str, out_dtype: str, ops: Sequence[str] = ..., skip_layers: Sequence[int] = ...
) -> IRModule: ...
@overload
def recast(
    expr: Expr, dtype: str, out_dtype: str, ops: Sequence[str] = ..., skip_layers: Sequence[int] = ...
) -> Expr: ...
def recast(
    expr: IRModule | Expr,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] = ("nn.conv2d",),
    skip_layers: Sequence[int] = (),
) -> IRModule | Expr:
    """Return a module or an expression as :class:`Recast` changes it; TVM's function."""
    one = Recast(dtype, out_dtype, tuple(ops), tuple(skip_layers))
    if isinstance(expr, IRModule):
        return one(expr)
    if isinstance(expr, Function):
        return one(IRModule.from_expr(expr))["main"]
    return one(IRModule.from_expr(Function(free_vars(expr), expr)))["main"].body
