"""DispatchCalls: chosen calls go to other functions, external ones or PrimFuncs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, Union

from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    GlobalVar,
    IRModule,
    MatchCast,
    PrimValue,
    Tuple,
)
from relay2relax.relax_ir.ir.names import NameSupply, kernel_name
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc

DPSCall: TypeAlias = Union[Call, CallTIR, CallDPSPacked]
# The name of an external function, or a PrimFunc that becomes part of the module.
Target: TypeAlias = Union[str, PrimFunc]


@dataclass(frozen=True, slots=True)
class DispatchCalls(RelaxPass):
    """Let calls go to other functions that take the same tensors and write the same results.

    ``functions`` maps what is called now (an operator such as ``"nn.relu"``, a PrimFunc or an
    external function, by name) to the name of an external function, to a PrimFunc, or to a function
    that is asked for each call and answers with one of these, or with None for a call that stays.
    Arguments keep their order, tuples among them are flattened; an operator's attributes are not
    passed on, so whoever depends on them asks for them. Raises Relay2RelaxError for a PrimFunc that
    takes another number of arguments, UnsupportedError for a call whose result cannot be allocated
    beforehand.
    """

    functions: Mapping[str, Target | Callable[[DPSCall], Target | None]]

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the calls changed."""
        return _Dispatcher(mod, self.functions).module()


class _Dispatcher(Mutator):
    def __init__(self, mod: IRModule, functions: Mapping[str, Target | Callable[[DPSCall], Target | None]]) -> None:
        super().__init__(mod)
        self.functions = functions
        self.added: dict[PrimFunc, GlobalVar] = {}
        self.supply = NameSupply()
        for var in mod.functions:
            self.supply.reserve(var.name)

    def module(self) -> IRModule:
        changed = super().module()
        if not self.added:
            return changed
        own = {var: replace(func, name=var.name) for func, var in self.added.items()}
        return replace(changed, functions={**changed.functions, **own})

    def bind(self, binding: Binding | MatchCast) -> None:
        value = binding.value
        if isinstance(binding, Binding) and isinstance(value, (Call, CallTIR, CallDPSPacked)):
            target = self.target(value)
            if target is not None:
                binding = replace(binding, value=self.dispatched(value, target, binding.var.info))
        self.keep(binding)

    def target(self, call: DPSCall) -> Target | None:
        match call:
            case CallTIR(GlobalVar(name)) | CallDPSPacked(name):
                found = self.functions.get(name)
            case Call(OpDef() as op, _) if not isinstance(op, ForeignOp) and op.script is not None:
                found = self.functions.get(op.script.name)
            case _:
                return None
        return found if found is None or isinstance(found, (str, PrimFunc)) else found(call)

    def dispatched(self, call: DPSCall, target: Target, info: StructInfo) -> Expr:
        args, scalars, out = _parts(call, info)
        if isinstance(target, str):
            return CallDPSPacked(target, (*args, *map(PrimValue, scalars)), out, call.span)
        count = len(args) + len(scalars) + len(out)
        if count != len(target.params):
            raise Relay2RelaxError(f"{target.name} takes {len(target.params)} arguments; the call has {count}")
        if target not in self.added:
            self.added[target] = GlobalVar(self.supply.fresh(kernel_name(target.name)))
        return CallTIR(self.added[target], args, out, scalars, call.span)


def _parts(
    call: DPSCall, info: StructInfo
) -> tuple[tuple[Expr, ...], tuple[PrimExpr, ...], tuple[TensorStructInfo, ...]]:
    """Return tensors, scalars and results of a call."""
    match call:
        case CallTIR(_, args, out, scalars):
            return args, scalars, out
        case CallDPSPacked(_, args, out):
            tensors = tuple(arg for arg in args if not isinstance(arg, PrimValue))
            return tensors, tuple(arg.value for arg in args if isinstance(arg, PrimValue)), out
    return tuple(_flat(call.args)), (), tuple(_results(info))


def _flat(args: Sequence[Expr]) -> list[Expr]:
    return [leaf for arg in args for leaf in (_flat(arg.fields) if isinstance(arg, Tuple) else [arg])]


def _results(info: StructInfo) -> list[TensorStructInfo]:
    match info:
        case TensorStructInfo(shape, dtype) if shape is not None and dtype:
            return [info]
        case TupleStructInfo(fields) if all(isinstance(one, TensorStructInfo) for one in fields):
            return [found for one in fields for found in _results(one)]
    raise UnsupportedError("a call whose result has no known shape cannot be given the memory of its result")
