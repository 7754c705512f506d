"""Carrying the functions of a module over into a new one, binding by binding.

Everything is built anew by a BlockBuilder, so struct info follows from what the bindings became.
Functions keep their GlobalVars, PrimFuncs stay, names are kept where they are free. A pass says
what it does differently by overriding :meth:`Rewriter.value`, :meth:`Rewriter.params` or
:meth:`Rewriter.block`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from relay2relax.core.passes import note_rewritten
from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    ExternFunc,
    Function,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.visit import Steps, operands, run, sequences, with_operands
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir import expr as tir


class Rewriter:
    """Builds a module from ``mod``; one rewriter is used once."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.builder = BlockBuilder(mod)
        self.emitter = OpEmitter(self.builder)
        self.values: dict[Var, Expr] = {}
        self.extents: dict[tir.Var, Extent] = {}
        self._sequences: dict[SeqExpr, SeqExpr] = {}

    def module(self) -> IRModule:
        """Return the new module."""
        for var, func in self.mod.functions.items():
            if isinstance(func, Function):
                self.extents = {}
                params, attrs = self.params(var.name, func)
                self.builder.begin_function(var.name, params, attrs, private=func.private, pure=func.pure)
                run(self._blocks(func.body))
                result = self.expr(func.body.body)
                said = symbols.substitute(func.ret, self.extents)
                found = self.builder.struct_info(result)
                self.builder.emit_func_output(result, ret=None if symbols.is_narrower(found, said) else said)
                self.builder.end_function()
        note_rewritten(self.values)
        return self.builder.get()

    # What a pass overrides.

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        """Return parameters and attributes of the new function ``name``."""
        return func.params, dict(func.attrs)

    def value(self, value: Expr) -> Expr:
        """Return what ``value`` becomes; its operands are those of the new function already."""
        return value

    # Walking.

    def _blocks(self, seq: SeqExpr) -> Steps:
        for block in seq.blocks:
            if block.dataflow:
                self.builder.begin_dataflow()
            yield self.block(block)
            if block.dataflow:
                self.builder.end_dataflow()

    def block(self, block: BindingBlock) -> Steps:
        """Carry the bindings of a block over, one by one."""
        for binding in block.bindings:
            var, value = binding.var, binding.value
            if isinstance(value, Function):
                yield self._local(var, value)
                continue
            for inner in sequences(value):
                self.builder.begin_sequence()
                yield self._blocks(inner)
                self._sequences[inner] = self.builder.end_sequence(self.expr(inner.body))
            self.values[var] = self._bind(binding, block.dataflow)

    def _local(self, var: Var, func: Function) -> Steps:
        # A local function may call itself, so its variable is there before its body.
        info = symbols.substitute(var.info, self.extents)
        own = self.builder.new_var(var.name, info, output=not var.dataflow)
        self.values[var] = own
        params = func.params
        if self.extents:
            params = tuple(replace(p, info=symbols.substitute(p.info, self.extents)) for p in func.params)
            self.values.update(zip(func.params, params, strict=True))
        self.builder.begin_sequence()
        yield self._blocks(func.body)
        body = self.builder.end_sequence(self.expr(func.body.body))
        ret = symbols.substitute(func.ret, self.extents)
        self.builder.bind(own, replace(func, params=params, body=body, ret=ret))

    def _bind(self, binding: Binding | MatchCast, dataflow: bool) -> Expr:
        var = binding.var
        if isinstance(binding, MatchCast):
            info = symbols.substitute(binding.info, self.extents)
            output = dataflow and not var.dataflow
            return self.builder.match_cast(self.expr(binding.value), info, var.name, output)
        value = self.value(self._nested(binding.value))
        given = self._said(var, value)
        if dataflow and not var.dataflow:
            return self.builder.emit_output(value, var.name, given)
        return self.builder.emit(value, var.name, given)

    def _said(self, var: Var, value: Expr) -> StructInfo | None:
        """Return the struct info of ``var`` where that says more of ``value`` than inference can,
        else None.
        """
        if isinstance(value, Call) and isinstance(value.op, (ExternFunc, ForeignOp)):
            return symbols.substitute(var.info, self.extents)
        if isinstance(value, (Var, TupleGetItem)):
            said = symbols.substitute(var.info, self.extents)
            return said if symbols.is_narrower(said, self.builder.struct_info(value)) else None
        return None

    def _nested(self, value: Expr) -> Expr:
        if isinstance(value, If):
            then, otherwise = (self._sequences[branch] for branch in sequences(value))
            return If(self.expr(value.condition), then, otherwise)
        return self.expr(value)

    def expr(self, expr: Expr) -> Expr:
        """Return ``expr`` with the values of the new function in it."""
        if isinstance(expr, Var):
            return self.values.get(expr, expr)
        new = [self.values.get(one, one) if isinstance(one, Var) else self.expr(one) for one in operands(expr)]
        moved = with_operands(expr, new) if new else expr
        return substitute_extents(moved, self.extents) if self.extents else moved


def substitute_extents(expr: Expr, extents: Mapping[tir.Var, Extent]) -> Expr:
    """Return ``expr`` with ``extents`` in place of symbolic dimensions.

    Its operands stay as they are.
    """
    match expr:
        case ShapeExpr(values):
            return ShapeExpr(tuple(symbols.substitute_extent(value, extents) for value in values))
        case PrimValue(value):
            return PrimValue(as_prim(symbols.substitute_extent(value, extents)))
        case CallTIR(_, _, out, tir_args):
            args = tuple(as_prim(symbols.substitute_extent(arg, extents)) for arg in tir_args)
            return replace(expr, out=_infos(out, extents), tir_args=args)
        case CallDPSPacked(_, _, out):
            return replace(expr, out=_infos(out, extents))
        case Call(_, _, attrs) if is_dataclass(attrs) and not isinstance(attrs, type):
            changed = {field.name: _attribute(getattr(attrs, field.name), extents) for field in fields(attrs)}
            return replace(expr, attrs=replace(attrs, **changed))
    return expr


def _infos(out: Sequence[TensorStructInfo], extents: Mapping[tir.Var, Extent]) -> tuple[TensorStructInfo, ...]:
    new = (symbols.substitute(info, extents) for info in out)
    return tuple(info for info in new if isinstance(info, TensorStructInfo))


def _attribute(value: object, extents: Mapping[tir.Var, Extent]) -> Any:
    match value:
        case tuple():
            return tuple(_attribute(one, extents) for one in value)
        case tir.PrimExpr():
            return symbols.substitute_extent(value, extents)
        case StructInfo():
            return symbols.substitute(value, extents)
    return value
