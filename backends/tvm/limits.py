"""Modules that came from elsewhere, made such that apache-tvm can build them.

The facts are in ``relax_ir``.
"""

from __future__ import annotations

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.infer import Inference, argument_type
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.inference.tvm_limits import limit_of
from relay2relax.relax_ir.ir.expr import Call, Expr, Function, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter


def within_limits(mod: IRModule) -> IRModule:
    """Return ``mod`` with calls that apache-tvm cannot build, or computes otherwise, as
    ``call_tir``.

    Their PrimFuncs say why. What the translators made is within the limits, and is returned as it
    is. Raises UnsupportedError for such a call of an operator that has no record.
    """
    inference = Inference(mod)
    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    values = (binding.value for seq in all_sequences(roots) for binding in bindings(seq))
    return _Limited(mod).module() if any(_limit(inference, value) for value in values) else mod


def _limit(inference: Inference, value: Expr) -> str:
    """Return why apache-tvm is not given ``value``, "" where it is."""
    match value:
        case Call(OpDef() as op, args, attrs):
            return limit_of(op, attrs, lambda: tuple(argument_type(inference.of(arg)) for arg in args))
    return ""


class _Limited(Rewriter):
    def value(self, value: Expr) -> Expr:
        why = _limit(Inference(), value)
        match value:
            case Call(ForeignOp() as op) if why:
                raise UnsupportedError(f"R.{op.name} has no record to lower it by: {why}", kind=running.NOT_ON_BACKEND)
            case Call(OpDef(passes_through=True), (arg,)) if why:
                return arg
            case Call(OpDef() as op, args, attrs, span) if why:
                return self.emitter.tir_call(op, attrs, args, span, why)
        return value
