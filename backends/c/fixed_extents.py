"""Extents that a program asserts to be one number are that number behind the assertion.

A model for any batch may ask for a batch of one somewhere: where it joins a constant of one row to
its inputs, say. Its kernels are then made for that number, and not for any.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.relax_ir.inference.op_signatures import ForeignAttrs
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Call, Function, IRModule, PrimValue, Var
from relay2relax.relax_ir.ir.visit import Steps
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir

# How the call of an assertion begins.
_ASSERTS = ("", "relax.run.assert_op")


def with_fixed_extents(module: IRModule) -> IRModule:
    """Return ``module`` with numbers for the extents of parameters that functions assert first."""
    functions = (one for one in module.functions.values() if isinstance(one, Function))
    return _Fixer(module).module() if any(_asserted(one) for one in functions) else module


class _Fixer(Rewriter):
    """Casts the parameters behind the assertions, and takes the numbers from there on."""

    def params(self, name: str, func: Function) -> tuple[tuple[Var, ...], dict[str, object]]:
        self.function = func
        return tuple(func.params), dict(func.attrs)

    def block(self, block: BindingBlock) -> Steps:
        yield super().block(block)
        if self.function.body.blocks[:1] != (block,):
            return
        fixed = _asserted(self.function)
        for param in self.function.params if fixed else ():
            info = symbols.substitute(param.info, fixed)
            if info != param.info:
                self.values[param] = self.builder.match_cast(param, info, param.name)
        self.extents = dict(fixed)


def _asserted(func: Function) -> dict[tir.Var, Extent]:
    """Return the extents of parameters that the first block asserts, and what they must be."""
    known = symbols.defined(param.info for param in func.params)
    found: dict[tir.Var, Extent] = {}
    for block in func.body.blocks[:1]:
        for condition in _conditions(block):
            match condition:
                case tir.Binary("==", tir.Var() as var, tir.IntImm(value)) if var in known:
                    found.setdefault(var, value)
                case tir.Binary("==", tir.IntImm(value), tir.Var() as var) if var in known:
                    found.setdefault(var, value)
    return found


def _conditions(block: BindingBlock) -> Iterator[tir.PrimExpr]:
    for binding in block.bindings:
        match binding:
            case Binding(_, Call(_, (PrimValue(condition), *_), ForeignAttrs() as attrs)) if _ASSERTS in attrs.layout:
                yield condition
