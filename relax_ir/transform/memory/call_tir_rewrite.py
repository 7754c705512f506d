"""CallTIRRewrite: calls get the memory of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.relax_ir.inference.memory import AllocTensor, memory_call
from relay2relax.relax_ir.inference.runtime_calls import read_inplace_call
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    ExternFunc,
    Function,
    IRModule,
    MatchCast,
    PrimValue,
    Tuple,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.relax_ir.transform.to_non_dataflow import ToNonDataflow


@dataclass(frozen=True, slots=True)
class CallTIRRewrite(RelaxPass):
    """Make ``call_tir`` and ``call_dps_packed`` calls of their functions, which write into tensors
    allocated before.

        alloc = R.builtin.alloc_tensor(R.shape([n, 4]), "float32", 0, "global")
        cls.relu(x, alloc)
        y = alloc

    ``call_tir_inplace`` calls its function in the same way, with memory for those results only that
    are no arguments. Dataflow blocks become ordinary ones, since such a call has an effect; a
    function that was pure is so still, as its attribute ``relax.force_pure`` says. Raises
    UnsupportedError for a result of unknown shape.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without ``call_tir``, ``call_tir_inplace`` and ``call_dps_packed``."""
        return _Rewriter(ToNonDataflow().transform(mod)).module()


class _Rewriter(Mutator):
    def local(self, func: Function) -> Function:
        made = super().local(func)
        if made is func or not func.pure:
            return made
        return replace(made, attrs={**made.attrs, "relax.force_pure": True})

    def bind(self, binding: Binding | MatchCast) -> None:
        match binding.value:
            case CallTIR(callee, args, out, scalars, span):
                given = (*args, *map(PrimValue, scalars))
                self.passed(binding.var, Call(callee, given, span=span), out, TupleStructInfo())
            case CallDPSPacked(name, args, out, span):
                self.passed(binding.var, Call(ExternFunc(name), args, span=span), out, ObjectStructInfo())
            case Call() as call if (inplace := read_inplace_call(call)) is not None:
                plain = replace(call, op=inplace.func, args=inplace.args, attrs=NoAttrs())
                held = [inplace.args[place] if place >= 0 else None for place in inplace.places]
                self.passed(binding.var, plain, inplace.out, TupleStructInfo(), held)
            case _:
                self.keep(binding)

    def passed(
        self,
        var: Var,
        call: Call,
        out: tuple[TensorStructInfo, ...],
        result: TupleStructInfo | ObjectStructInfo,
        held: Sequence[Expr | None] = (),
    ) -> None:
        """Keep a call that writes ``out``, and let ``var`` be what it has written.

        ``held`` are the arguments that results are written into.
        """
        own: list[Expr] = []
        memory = [
            self.memory(var.name, info, own) if argument is None else argument
            for info, argument in zip_longest(out, held)
        ]
        # Tuples of tensors are passed field by field.
        self.keep(Binding(Var("_", result), replace(call, args=(*_flat(call.args), *own))))
        self.keep(Binding(var, memory[0] if len(out) == 1 else Tuple(tuple(memory))))

    def memory(self, name: str, info: StructInfo, own: list[Expr]) -> Expr:
        """Allocate a result of the call ``name``, a tensor or a tuple of such.

        The tensors are added to ``own``.
        """
        match info:
            case TupleStructInfo(fields):
                return Tuple(tuple(self.memory(name, field, own) for field in fields))
            case TensorStructInfo(shape, dtype) if shape is not None and dtype:
                place = Var("alloc", info)
                self.keep(Binding(place, memory_call(AllocTensor(shape, dtype))))
                own.append(place)
                return place
        raise UnsupportedError(f"{name} has no known shape; its memory cannot be allocated beforehand")


def _flat(args: tuple[Expr, ...]) -> list[Expr]:
    return [leaf for arg in args for leaf in (_flat(arg.fields) if isinstance(arg, Tuple) else [arg])]
