"""What PrimFuncs are given where Relax calls them."""

from __future__ import annotations

from relay2relax.core.dtype import of_array
from relay2relax.relax_ir.ir.expr import CallTIR, Constant, Expr, Var
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc


def argument_info(expr: Expr) -> StructInfo:
    """Return what is known of a variable or a constant, and that of any other value nothing is."""
    match expr:
        case Var():
            return expr.info
        case Constant(data):
            return TensorStructInfo(data.shape, of_array(data))
    return ObjectStructInfo()


def extents_of_call(func: PrimFunc, call: CallTIR) -> dict[tir.Var, Extent]:
    """Return what the symbolic extents of ``func`` are where it is called."""
    infos = [*map(argument_info, call.args), *call.out]
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    others = [param for param in func.params if param not in func.buffer_map]
    found: dict[tir.Var, Extent] = dict(zip(others, call.tir_args, strict=False))
    for buffer, info in zip(buffers, infos, strict=False):
        if isinstance(info, TensorStructInfo) and info.shape is not None:
            pairs = zip(buffer.shape, info.shape, strict=False)
            found.update((extent, actual) for extent, actual in pairs if isinstance(extent, tir.Var))
    return found
