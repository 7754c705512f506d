"""EliminateCommonSubexpr: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.relax_ir.inference.memory import is_memory_call
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
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
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass


@dataclass(frozen=True, slots=True)
class EliminateCommonSubexpr(RelaxPass):
    """Let equal values without effects be computed once, where the first result can be seen.

    What was computed again becomes another name of the first result, ``b = a``, and whoever used it
    in its dataflow block, or in its sequence behind it, uses the first result;
    :class:`CanonicalizeBindings` and :class:`DeadCodeElimination` take such names away. Branches
    use what was computed before them; local functions are looked at by themselves. ``call_only``
    leaves everything but calls alone. Memory is not shared: what allocates stays.
    """

    call_only: bool = False
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with equal values shared."""
        return _Sharing(mod, self.call_only).module()


class _Data:
    """The data of a constant as a key: equal where dtype, shape and all elements are."""

    __slots__ = ("_data", "_hash")

    def __init__(self, data: Array) -> None:
        self._data = data
        # A few elements tell most constants apart; only what agrees in them is compared whole.
        self._hash = hash((of_array(data), data.shape, data.ravel()[:8].tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Data) or of_array(self._data) != of_array(other._data):
            return False
        one, two = self._data, other._data
        return one is two or (one.shape == two.shape and np.array_equal(_bits(one), _bits(two)))


def _bits(data: Array) -> Array:
    """Return the bytes of ``data``, so that a NaN is equal to itself and -0 is not 0."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


class _Sharing(Mutator):
    def __init__(self, mod: IRModule, call_only: bool) -> None:
        super().__init__(mod)
        self.call_only = call_only
        # What is visible, by sequence and dataflow block, in the functions that are open.
        self.scopes: list[list[dict[Hashable, Var]]] = []
        # What stood for variables before each local function.
        self.outer: list[dict[Var, Expr]] = []
        # Variables that others stand for as long as a dataflow block lasts, by block.
        self.replaced: list[list[Var]] = []

    def begin(self, seq: SeqExpr, owner: If | Function) -> None:
        if isinstance(owner, Function):
            self.scopes.append([])
            self.outer.append(self.values)
            self.values = {}
        self.scopes[-1].append({})

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        self.scopes[-1].pop()
        if isinstance(owner, Function):
            self.scopes.pop()
            self.values = self.outer.pop()
        return seq

    def block(self, block: BindingBlock) -> None:
        if block.dataflow:
            self.scopes[-1].append({})
            self.replaced.append([])

    def end_block(self, block: BindingBlock) -> None:
        if block.dataflow:
            inner, outer = self.scopes[-1].pop(), self.scopes[-1][-1]
            for key, var in inner.items():
                if not var.dataflow:
                    outer.setdefault(key, var)
            for var in self.replaced.pop():
                del self.values[var]

    def bind(self, binding: Binding | MatchCast) -> None:
        key = self.key(binding)
        known = None if key is None else self.find(key)
        var = binding.var
        if known is None or known.info != var.info:
            if key is not None:
                self.scopes[-1][-1].setdefault(key, var)
            self.keep(binding)
            return
        self.keep(Binding(var, self.expr(known)))
        self.values[var] = known
        if self.dataflow:
            self.replaced[-1].append(var)
            if known.dataflow and not var.dataflow:
                # Behind the block, this one is what can be seen.
                self.scopes[-1][-2].setdefault(key, var)

    def find(self, key: Hashable) -> Var | None:
        return next((table[key] for table in reversed(self.scopes[-1]) if key in table), None)

    def key(self, binding: Binding | MatchCast) -> Hashable:
        """Return what is equal for equal values, None for what is not shared."""
        value = binding.value
        if not self.inference.is_pure(value):
            return None
        if isinstance(binding, MatchCast):
            # A dimension that the cast introduces is another one than that of the next cast.
            return None if self.call_only else ("cast", _leaf(value), binding.info)
        match value:
            case Call(op, args, attrs) if not is_memory_call(value):
                return (op, attrs, tuple(map(_leaf, args)))
            case CallTIR(func, args, out, tir_args):
                return (func, tuple(map(_leaf, args)), out, tir_args)
            case CallDPSPacked(func, args, out):
                return ("dps", func, tuple(map(_leaf, args)), out)
            case If() | Function() | Call():
                return None
        return None if self.call_only else _leaf(value)


def _leaf(expr: Expr) -> Hashable:
    match expr:
        case Constant(data):
            return ("constant", _Data(data))
        case ShapeExpr(values):
            return ("shape", values)
        case PrimValue(value):
            return ("scalar", value)
        case DataTypeImm(text):
            return ("dtype", text)
        case StringImm(text):
            return ("string", text)
        case ExternFunc(name):
            return ("external", name)
        case Tuple(fields):
            return ("tuple", *map(_leaf, fields))
        case TupleGetItem(source, index):
            return ("field", _leaf(source), index)
        case Var() | GlobalVar():
            return expr
    return id(expr)
