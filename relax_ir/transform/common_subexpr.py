"""EliminateCommonSubexpr: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.dtype import of_array
from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    DataTypeImm,
    Expr,
    GlobalVar,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.memory import is_memory_call
from relay2relax.relax_ir.transform.mutator import Mutator, RelaxPass

# Constants of at most so many bytes are compared by value, larger ones by identity.
_COMPARED = 64


@dataclass(frozen=True, slots=True)
class EliminateCommonSubexpr(RelaxPass):
    """Let equal values without effects be computed once, where the first result can be seen.

    ``call_only`` leaves everything but calls alone. Memory is not shared: what allocates stays.
    """

    call_only: bool = False
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with equal values shared."""
        return _Sharing(mod, self.call_only).module()


class _Sharing(Mutator):
    def __init__(self, mod: IRModule, call_only: bool) -> None:
        super().__init__(mod)
        self.call_only = call_only
        # What is visible, by sequence; the dataflow variables of the current block in a table of their own.
        self.visible: list[dict[Hashable, Var]] = []
        self.inner: dict[Hashable, Var] = {}

    def begin(self, seq: SeqExpr) -> None:
        self.visible.append({})

    def finish(self, seq: SeqExpr) -> SeqExpr:
        self.visible.pop()
        return seq

    def block(self, block: BindingBlock) -> None:
        self.inner = {}

    def bind(self, binding: Binding | MatchCast) -> None:
        key = self.key(binding.value) if isinstance(binding, Binding) else None
        if key is None:
            self.keep(binding)
            return
        known = self.find(key)
        var = binding.var
        if known is None or symbols.mismatch(var.info, known.info) or known.info != var.info:
            (self.inner if var.dataflow else self.visible[-1]).setdefault(key, var)
            self.keep(binding)
        elif var.dataflow or not self.dataflow:
            self.values[var] = known
        else:
            # An output of the block keeps its name.
            self.keep(Binding(var, known))

    def find(self, key: Hashable) -> Var | None:
        tables = [self.inner, *reversed(self.visible)] if self.dataflow else self.visible[::-1]
        return next((table[key] for table in tables if key in table), None)

    def key(self, value: Expr) -> Hashable:
        """Return what is equal for equal values, None for what is not shared."""
        if not self.inference.is_pure(value):
            return None
        match value:
            case Call(op, args, attrs) if not is_memory_call(value):
                return (op, attrs, tuple(map(_leaf, args)))
            case CallTIR(func, args, out, tir_args):
                return (func, tuple(map(_leaf, args)), out, tir_args)
            case CallDPSPacked(func, args, out):
                return ("dps", func, tuple(map(_leaf, args)), out)
            case Tuple() | TupleGetItem() | ShapeExpr() | PrimValue() if not self.call_only:
                return _leaf(value)
        return None


def _leaf(expr: Expr) -> Hashable:
    match expr:
        case Constant(data) if data.nbytes <= _COMPARED:
            return ("constant", of_array(data), data.shape, data.tobytes())
        case Constant(data):
            return ("constant", id(data))
        case ShapeExpr(values):
            return ("shape", values)
        case PrimValue(value):
            return ("scalar", value)
        case DataTypeImm(text):
            return ("dtype", text)
        case StringImm(text):
            return ("string", text)
        case Tuple(fields):
            return ("tuple", *map(_leaf, fields))
        case TupleGetItem(source, index):
            return ("field", _leaf(source), index)
        case Var() | GlobalVar():
            return expr
    return id(expr)
