"""RewriteDataflowReshape: PrimFuncs that only reshape become ``R.reshape``, of which memory knows
that it is a view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.relax_ir.build.builder import call_op
from relay2relax.relax_ir.ir.expr import Binding, CallTIR, GlobalVar, IRModule, MatchCast, ShapeExpr
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.tir.analysis.reshape import is_reshape
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class RewriteDataflowReshape(RelaxPass):
    """Make ``R.reshape`` of calls of PrimFuncs that copy their input in the order of memory.

    Only variables of dataflow blocks are changed, as in TVM: an output of a block shares no memory
    with others.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with reshapes as operators."""
        return _Reshaper(mod).module()


class _Reshaper(Mutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.reshapes: dict[GlobalVar, bool] = {}

    def bind(self, binding: Binding | MatchCast) -> None:
        match binding:
            case Binding(var, CallTIR(callee, (source,), (info,), (), span)) if var.dataflow and self.is_reshape(
                callee
            ):
                assert info.shape is not None
                binding = Binding(var, call_op("reshape", source, ShapeExpr(info.shape), span=span))
        self.keep(binding)

    def is_reshape(self, callee: GlobalVar) -> bool:
        if callee not in self.reshapes:
            func = self.mod.functions[callee]
            self.reshapes[callee] = isinstance(func, PrimFunc) and is_reshape(func)
        return self.reshapes[callee]
