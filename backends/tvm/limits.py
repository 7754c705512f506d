"""Modules made such that apache-tvm can build them.

What it cannot do with Relax's operators is said in ``relax_ir/inference/tvm_limits.py``, of which
tensor programs it makes no kernels in ``gpu/left.py``.
"""

from __future__ import annotations

from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.left import left_of
from relay2relax.backends.scheduled.schedule_module import with_kernels
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.infer import Inference, argument_type
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.inference.tvm_limits import limit_of
from relay2relax.relax_ir.ir.expr import Call, CallTIR, Expr, Function, GlobalVar, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.ir.stmt import PrimFunc


def within_limits(mod: IRModule, device: Device | None = None) -> IRModule:
    """Return ``mod`` with calls that apache-tvm cannot build, or computes otherwise, as
    ``call_tir``; for a GPU ``device``, with kernels in the place of PrimFuncs of which apache-tvm
    makes none.

    Their PrimFuncs say why. What the translators made is within the limits of processors, and is
    returned as it is. Raises UnsupportedError for such a call of an operator that has no record.
    """
    inference = Inference(mod)
    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    values = (binding.value for seq in all_sequences(roots) for binding in bindings(seq))
    if any(_limit(inference, value, device is not None) for value in values):
        mod = _Limited(mod, device is not None).module()
    return mod if device is None else with_kernels(mod, device)


def missing_kernels(mod: IRModule) -> dict[str, str]:
    """Return the operators of ``mod`` of which apache-tvm's default pipeline makes no kernels for
    GPUs, and why; PrimFuncs that are no operators by their own names.

    :func:`within_limits` gives them kernels.
    """
    inference = Inference(mod)
    found: dict[str, str] = {}
    reasons: dict[GlobalVar, str] = {}
    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            name, why = "", ""
            match binding.value:
                case CallTIR(callee):
                    func = mod.functions[callee]
                    if isinstance(func, PrimFunc):
                        if callee not in reasons:
                            reasons[callee] = left_of(func)
                        said, why = func.attrs.get("op_name", func.name), reasons[callee]
                        name = str(getattr(said, "value", said))
                case Call(OpDef() as op):
                    name, why = op.name, _limit(inference, binding.value, gpu=True)
            if why:
                found.setdefault(name, why)
    return found


def _limit(inference: Inference, value: Expr, gpu: bool) -> str:
    """Return why apache-tvm is not given ``value``, "" where it is."""
    match value:
        case Call(OpDef() as op, args, attrs):
            return limit_of(op, attrs, lambda: tuple(argument_type(inference.of(arg)) for arg in args), gpu)
    return ""


class _Limited(Rewriter):
    def __init__(self, mod: IRModule, gpu: bool) -> None:
        super().__init__(mod)
        self.gpu = gpu

    def value(self, value: Expr) -> Expr:
        why = _limit(Inference(), value, self.gpu)
        match value:
            case Call(ForeignOp() as op) if why:
                raise UnsupportedError(f"R.{op.name} has no record to lower it by: {why}", kind=running.NOT_ON_BACKEND)
            case Call(OpDef(passes_through=True), (arg,)) if why:
                return arg
            case Call(OpDef() as op, args, attrs, span) if why:
                return self.emitter.tir_call(op, attrs, args, span, why)
        return value
