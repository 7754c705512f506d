"""Copies of functions that may stand beside the original in one module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir.analysis.analysis import bound_vars, defined_symbolic_vars
from relay2relax.relax_ir.build.expr_mutator import ExprMutator
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Binding, Expr, Function, MatchCast, SeqExpr, Var
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.transform.rewriting.rewriter import substitute_extents
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir


def copy_with_new_vars(function: Function, named: Callable[[str], str] = str) -> Function:
    """Return ``function`` with variables and symbolic dimensions of its own; ``named`` may give the
    dimensions other names.

    What it captures it shares.
    """
    copy = _Copy(function, named).visit(function)
    if not isinstance(copy, Function):
        raise Relay2RelaxError("the copy of a function is no function")
    return copy


class _Copy(ExprMutator):
    def __init__(self, function: Function, named: Callable[[str], str]) -> None:
        super().__init__()
        self.bound = set(bound_vars(function))
        self.extents: dict[tir.Var, Extent] = {
            var: tir.Var(named(var.name), var.dtype) for var in defined_symbolic_vars(function)
        }

    def visit_default(self, expr: Expr) -> Expr:
        return substitute_extents(expr, self.extents)

    def visit_var(self, var: Var) -> Expr:
        return self.visit_var_def(var) if var in self.bound else var

    def visit_var_def(self, var: Var) -> Var:
        # A local function that calls itself is used before it is bound.
        if var not in self.vars:
            self.vars[var] = replace(var, info=symbols.substitute(var.info, self.extents))
        copy = self.vars[var]
        assert isinstance(copy, Var)
        return copy

    def visit_binding(self, binding: Binding) -> None:
        self.builder.emit_normalized(replace(binding, var=self.visit_var_def(binding.var)))

    def visit_match_cast(self, binding: MatchCast) -> None:
        info = symbols.substitute(binding.info, self.extents)
        self.builder.emit_normalized(replace(binding, var=self.visit_var_def(binding.var), info=info))

    def returned(self, func: Function, params: tuple[Var, ...], body: SeqExpr) -> StructInfo:
        return symbols.substitute(func.ret, self.extents)
