"""FoldConstant: what depends on constants only is computed beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.evaluate import evaluate_call, kernel_value
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op
from relay2relax.relax_ir.inference.memory import is_memory_call
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.inference.sharding import is_spread
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallTIR,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import with_operands
from relay2relax.relax_ir.transform.dead_code import without_dead_bindings
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.tir.extent import static
from relay2relax.tir.ir.stmt import PrimFunc

# Runs a PrimFunc: its inputs, then its outputs, which are filled.
Evaluate = Callable[[PrimFunc, Sequence[Array], Sequence[Array]], None]
# A value may have so many times the elements of what it is computed from.
_GROWTH = 8


@dataclass(frozen=True, slots=True)
class FoldConstant(RelaxPass):
    """Replace calls of operators and of PrimFuncs on constants by their values, and leave out what
    nothing uses then.

    Operators run as their records' numpy kernels; so do PrimFuncs that were made from an operator.
    Any other PrimFunc is run by ``evaluate`` where that is given (the backends have one), and stays
    otherwise. A value of more than ``limit`` elements is kept only if it has at most eight times
    the elements of its arguments: what merely fills or broadcasts a tensor is cheaper to compute
    than to store. A call that its operator refuses stays, and fails where it runs.
    ``R.tensor_to_shape`` of a constant is a shape, ``R.shape_to_tensor`` of a known shape a
    constant, and shapes stand where they are used, so that results of known shape are known to have
    it.
    """

    limit: int = 1024
    evaluate: Evaluate | None = None
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with constant values computed."""
        return _Folder(mod, self).module()


class _Folder(Mutator):
    def __init__(self, mod: IRModule, options: FoldConstant) -> None:
        super().__init__(mod)
        self.options = options
        self.shapes: dict[Var, ShapeExpr] = {}
        self.tuples: dict[Var, Tuple] = {}

    def function(self, var: GlobalVar, func: Function) -> Function:
        made = super().function(var, func)
        return func if made is func else without_dead_bindings(made, self.inference)

    def bind(self, binding: Binding | MatchCast) -> None:
        if isinstance(binding, MatchCast):
            self.keep(binding)
            return
        given = self.shaped(binding.value)
        value = self.folded(given, binding.var.info if given is binding.value else self.inference.of(given))
        match value:
            case Constant():
                self.values[binding.var] = value
                return
            case ShapeExpr():
                self.shapes[binding.var] = value
            case Tuple(fields) if any(isinstance(one, Constant) for one in fields):
                self.tuples[binding.var] = value
        made = binding if value is binding.value else replace(binding, value=value)
        self.keep(made, infer=given is not binding.value)

    def shaped(self, value: Expr) -> Expr:
        """Return ``value`` with known shapes as such in place of variables that hold them."""
        if isinstance(value, Call) and isinstance(value.op, OpDef) and self.shapes:
            known = [self.shapes.get(one, one) if isinstance(one, Var) else one for one in value.args]
            return with_operands(value, known)
        return value

    def folded(self, value: Expr, info: StructInfo) -> Expr:
        match value:
            case TupleGetItem(Var() as source, index) if source in self.tuples:
                found = self.tuples[source].fields[index]
                return found if isinstance(found, Constant) else value
            case Call(OpDef() as op, (Constant(data),)) if op is relax_op("tensor_to_shape"):
                return ShapeExpr(tuple(int(extent) for extent in data))
            case Call(OpDef() as op, args, attrs) if not (isinstance(op, ForeignOp) or is_memory_call(value)):
                given = [_known(arg) for arg in args]
                if given and all(one is not None for one in given) and self.small(info, args):
                    return self.operator(value, op, attrs, given)
            case CallTIR(func, args, out, ()) if not any(map(is_spread, out)):
                prim = self.mod.functions[func]
                arrays = [arg.data for arg in args if isinstance(arg, Constant)]
                if args and len(arrays) == len(args) and isinstance(prim, PrimFunc) and self.small(info, args):
                    return self.prim_func(value, prim, arrays, out)
        return value

    def small(self, info: StructInfo, args: Sequence[Expr]) -> bool:
        """Whether a result of ``info`` is static, and small enough to be kept."""
        size = _elements(info)
        given = sum(_elements(arg.info) or 0 for arg in _leaves(args) if isinstance(arg, Constant))
        return size is not None and (size <= self.options.limit or size <= _GROWTH * given)

    def operator(self, call: Call, op: OpDef, attrs: object, given: Sequence[object]) -> Expr:
        try:
            return _constant(kernel_value(op, attrs, given))
        except Relay2RelaxError:
            return call  # The mistake belongs to the moment when the call runs, if it ever does.

    def prim_func(
        self, call: CallTIR, func: PrimFunc, arrays: Sequence[Array], out: Sequence[TensorStructInfo]
    ) -> Expr:
        try:
            results = [
                empty([static(e) or 0 for e in one.shape or ()], numpy_dtype(one.dtype), lambda: func.name)
                for one in out
            ]
            if isinstance(func.origin, Origin):
                evaluate_call(func.origin, arrays, results)
            elif self.options.evaluate is not None:
                self.options.evaluate(func, arrays, results)
            else:
                return call
        except Relay2RelaxError:
            return call
        made = tuple(map(Constant, results))
        return made[0] if len(made) == 1 else Tuple(made)


def _known(arg: Expr) -> Any:
    """Return the value of a constant argument as operators' kernels take it, None for any other."""
    match arg:
        case Constant(data, _, None):
            return data
        case ShapeExpr(values):
            extents = tuple(static(value) for value in values)
            return extents if None not in extents else None
        case Tuple(fields) if fields:
            known = tuple(_known(one) for one in fields)
            return known if all(one is not None for one in known) else None
    return None


def _leaves(args: Sequence[Expr]) -> list[Expr]:
    found: list[Expr] = []
    stack = list(args)
    while stack:
        one = stack.pop()
        if isinstance(one, Tuple):
            stack += one.fields
        else:
            found.append(one)
    return found


def _elements(info: StructInfo) -> int | None:
    """Return how many elements a value has, None where that is not known or it is not a tensor."""
    match info:
        case TensorStructInfo(shape, dtype) if shape is not None and dtype:
            extents = [static(extent) for extent in shape]
            return prod(e for e in extents if e is not None) if None not in extents else None
        case TupleStructInfo(fields):
            sizes = [_elements(one) for one in fields]
            return sum(size for size in sizes if size is not None) if None not in sizes else None
    return None


def _constant(value: object) -> Expr:
    if isinstance(value, tuple):
        return Tuple(tuple(map(_constant, value)))
    array = np.asarray(value)
    # Kernels read rows; a transposed view would be copied at every call.
    return Constant(array if array.flags.c_contiguous else np.ascontiguousarray(array))
