"""LegalizeOps: every call of an operator becomes ``call_tir`` of a PrimFunc made from the
operator's record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay2relax.core.passes import Pass
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.memory import is_memory_call, viewed
from relay2relax.relax_ir.inference.runtime_calls import identity, runs_itself
from relay2relax.relax_ir.inference.sharding import is_spread
from relay2relax.relax_ir.ir.expr import Call, Constant, Expr, IRModule, ShapeExpr, Var
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter


@dataclass(frozen=True, slots=True)
class LegalizeOps(Pass[IRModule]):
    """Lower operator calls, or those ``only`` of an operator and its attributes.

    Equal calls share one PrimFunc.

    Calls on tensors over a mesh of devices stay. Raises UnsupportedError for a call whose shapes
    are not known before the program runs.
    """

    only: Callable[[OpDef, Any], bool] | None = None

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without operators but what the virtual machine does itself: memory,
        closures, shapes.
        """
        return _Legalizer(mod, self.only or _every).module()


def _every(op: OpDef, attrs: object) -> bool:
    return True


class _Legalizer(Rewriter):
    def __init__(self, mod: IRModule, only: Callable[[OpDef, Any], bool]) -> None:
        super().__init__(mod)
        self.only = only

    def value(self, value: Expr) -> Expr:
        source = identity(value)
        match value:
            case Call(OpDef() as op, args) if op.name.startswith("dist.") or self.any_spread(args):
                return value
            case Call(OpDef(), (_, _) as args) if all(map(self.is_scalar, args)):
                return value
            case Call() if source is not None:
                return source
            case Call() if is_memory_call(value) or runs_itself(value):
                return value
            case Call(_, (_, shape)) if viewed(value) is not None and not isinstance(shape, ShapeExpr):
                return value
            case Call(OpDef(passes_through=True) as op, (arg,), attrs) if self.only(op, attrs):
                return arg
            case Call(OpDef() as op, args, attrs, span) if not op.builtin and self.only(op, attrs):
                return self.emitter.tir_call(op, attrs, args, span)
        return value

    def is_scalar(self, arg: Expr) -> bool:
        return isinstance(self.builder.struct_info(arg), PrimStructInfo)

    def any_spread(self, args: Sequence[Expr]) -> bool:
        return any(is_spread(self.builder.struct_info(arg)) for arg in args if isinstance(arg, (Var, Constant)))
