"""Tensor expressions called with Relax values: what ``BlockBuilder.emit_te`` makes of a function
over tensors.

The function gets a ``te`` tensor for every tensor among its arguments, the extents for a shape, an
expression for a scalar; lists, tuples and dictionaries are looked into, everything else is handed
on. Of the tensors that it returns one PrimFunc is made. Its parameters are the tensors and scalars
that have no name for an expression, in order, then those variables of the expressions that no
tensor's shape tells, then the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir.inference.infer import StructInfoError
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import CallTIR, Expr, GlobalVar, Var
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.script.names import identifier

_EXPRESSIONS = get_args(Expr)


def te_call(
    func: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    name: str,
    struct_info: Callable[[Expr], StructInfo],
) -> tuple[PrimFunc, CallTIR]:
    """Return the PrimFunc ``name`` of what ``func`` returns, and its call, whose callee is to be
    put in.

    Raises StructInfoError for a value that is neither a tensor of known shape, nor a known shape,
    nor a scalar, and Relay2RelaxError where ``func`` returns something other than tensors.
    """
    given = _Arguments(struct_info)
    made = func(*[given.convert(one) for one in args], **{key: given.convert(one) for key, one in kwargs.items()})
    outputs = [made] if isinstance(made, te.Tensor) else made
    if not isinstance(outputs, (tuple, list)) or not all(isinstance(one, te.Tensor) for one in outputs):
        raise Relay2RelaxError(f"{name} returns {made!r}, expected one tensor or several")
    prim_func, scalars = given.prim_func(outputs, identifier(name))
    return prim_func, CallTIR(GlobalVar(prim_func.name), tuple(given.values), given.results(outputs, name), scalars)


class _Arguments:
    """Relax values on their way into tensor expressions.

    ``values[i]`` is passed as ``inputs[i]``.
    """

    def __init__(self, struct_info: Callable[[Expr], StructInfo]) -> None:
        self.struct_info = struct_info
        self.values: list[Expr] = []
        self.inputs: list[te.Tensor | tir.Var] = []
        self.vdevice = ""

    def convert(self, value: object) -> Any:
        """Return what a function over tensors is given for ``value``."""
        match value:
            case list():
                return [self.convert(one) for one in value]
            case tuple():
                return tuple(self.convert(one) for one in value)
            case Mapping():
                return {key: self.convert(one) for key, one in value.items()}
            case _ if isinstance(value, _EXPRESSIONS):
                return self._expression(value)
        return value

    def _expression(self, value: Expr) -> Any:
        hint = value.name if isinstance(value, Var) else f"input_{len(self.inputs)}"
        match self.struct_info(value):
            case TensorStructInfo(shape, dtype, _, vdevice) if shape is not None and dtype:
                self.vdevice = self.vdevice or vdevice
                return self._passed(value, te.placeholder(shape, dtype, hint))
            case ShapeStructInfo(extents) if extents is not None:
                return list(extents)
            case PrimStructInfo(_, known) if known is not None:
                return known
            case PrimStructInfo(dtype):
                return self._passed(value, tir.Var(hint, dtype))
            case info:
                raise StructInfoError(
                    f"a tensor expression takes tensors and shapes whose extents are known, and scalars; "
                    f"{hint} is {print_struct_info(info)}"
                )

    def _passed(self, value: Expr, as_input: te.Tensor | tir.Var) -> te.Tensor | tir.Var:
        self.values.append(value)
        self.inputs.append(as_input)
        return as_input

    def prim_func(self, outputs: Sequence[te.Tensor], name: str) -> tuple[PrimFunc, tuple[tir.Var, ...]]:
        """Return the PrimFunc with its parameters in the order in which they are passed, and
        further scalars.
        """
        tensors = [one for one in self.inputs if isinstance(one, te.Tensor)]
        func = te.create_prim_func(tensors, outputs, name)
        handles = iter(func.params[: len(tensors)])
        passed = tuple(next(handles) if isinstance(one, te.Tensor) else one for one in self.inputs)
        results = func.params[len(func.params) - len(outputs) :]
        rest = func.params[len(tensors) : len(func.params) - len(outputs)]
        scalars = tuple(var for var in rest if var not in self.inputs)
        return replace(func, params=(*passed, *scalars, *results)), scalars

    def results(self, outputs: Sequence[te.Tensor], name: str) -> tuple[TensorStructInfo, ...]:
        """Return the struct info of ``outputs``; raises StructInfoError where the caller cannot say
        an extent.
        """
        unnamed = {one for one in self.inputs if isinstance(one, tir.Var)}
        found: list[TensorStructInfo] = []
        for out in outputs:
            for extent in out.shape:
                for var in symbols.variables(extent):
                    if var in unnamed:
                        raise StructInfoError(
                            f"the result of {name} has the extent {extent}; give the scalar {var.name} the struct info "
                            f"PrimStructInfo({var.dtype!r}, var), so that its value has a name"
                        )
            shape = tuple(symbols.static_extent(extent) for extent in out.shape)
            found.append(TensorStructInfo(shape, out.dtype, vdevice=self.vdevice))
        return tuple(found)
