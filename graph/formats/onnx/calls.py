"""Operators on their way to ONNX: those that have a form there stay calls of their own records."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.source import Span
from relay2relax.graph.formats.onnx.forms import find_form
from relay2relax.ops.registry.record import Expanded, OpDef
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.expr import Call, Expr


class CallEmitter(OpEmitter):
    """Emits calls of records, of Relay's where ONNX says them, else of what their Relax forms are
    made of.
    """

    def as_relax(self, op: OpDef, attrs: object, args: Sequence[Expr], span: Span | None = None) -> Expr:
        """Emit a call of ``op``, or what its Relax form says where it has no form in ONNX."""
        self.span = span
        args = [self.known(arg) for arg in args]
        op, attrs, args = self._settled(op, attrs, args)
        if op.passes_through:
            return args[0]
        if find_form(op) is None and isinstance(op.relax, Expanded):
            result: Expr = op.relax.expand(self, attrs, *args)
            return self._noted(result, op, attrs, args)
        return self._noted(self._operator(op, attrs, args), op, attrs, args)

    def as_tir(self, op: OpDef, attrs: object, args: Sequence[Expr], why: str = "", span: Span | None = None) -> Expr:
        """Emit a call of ``op`` itself: ONNX knows no tensor programs."""
        if op.passes_through:
            return args[0]
        args = [self.known(arg) for arg in args]
        op, attrs, args = self._settled(op, attrs, args)
        return self._noted(self._operator(op, attrs, args), op, attrs, args)

    def _operator(self, op: OpDef, attrs: object, args: Sequence[Expr]) -> Expr:
        return self.known(self.builder.emit(Call(op, tuple(args), attrs, self.span)))
