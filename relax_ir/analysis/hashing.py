"""A number for a Relax program: what ``structural_equal`` calls the same program has the same
number.

Variables and symbolic dimensions count by the place where they come first, functions of the module
by name, constants by dtype, shape and value, and spans not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.analysis.structural_equal import Comparable, as_value, canonical_attrs, plain_number
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
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
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import Steps, operands, run
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.structural_equal import structural_key

# Elements of a constant that are looked at together.
_PIECE = 1 << 20


def structural_hash(program: Comparable) -> int:
    """Return a number of 64 bits for ``program``, the same in every process.

    Variables that are not defined in it count alike.
    """
    hasher = _Hasher()
    match program:
        case IRModule():
            return _of_module(program, hasher)
        case PrimFunc():
            hasher.say(structural_key(program))
        case StructInfo():
            hasher.value(program)
        case _:
            run(hasher.whole(program))
    return hasher.result()


def _of_module(program: IRModule, hasher: _Hasher) -> int:
    hasher.value(program.attrs)
    hasher.value(program.global_infos)
    for var in sorted(program.functions, key=lambda one: one.name):
        func = program.functions[var]
        hasher.say("function", var.name)
        if isinstance(func, Function):
            inner = _Hasher()
            run(inner.function(func))
            hasher.say(inner.result())
        else:
            hasher.say(structural_key(func))
    return hasher.result()


class _Hasher:
    """What is said of a program becomes its number."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=8)
        self.vars: dict[Var, int] = {}
        self.symbols: dict[tir.Var, int] = {}

    def result(self) -> int:
        return int.from_bytes(self.digest.digest(), "little")

    def say(self, *words: object) -> None:
        self.digest.update(repr(words).encode())

    def function(self, func: Function) -> Steps:
        self.say("params", len(func.params), func.pure, func.private)
        self.value(func.attrs)
        for param in func.params:
            self.define(param)
        yield self.sequence(func.body)
        self.value(func.ret)

    def define(self, var: Var) -> None:
        self.vars[var] = len(self.vars)
        self.say("var", var.dataflow)
        self.value(var.info)

    def sequence(self, seq: SeqExpr) -> Steps:
        for block in seq.blocks:
            self.say("block", block.dataflow, len(block.bindings))
            for binding in block.bindings:
                yield self.binding(binding)
        self.expr(seq.body)

    def binding(self, binding: Binding | MatchCast) -> Steps:
        if isinstance(binding.value, Function):
            self.vars[binding.var] = len(self.vars)  # a local function may call itself
        yield self.whole(binding.value)
        if isinstance(binding, MatchCast):
            self.say("cast")
            self.value(binding.info)
        self.define(binding.var)

    def whole(self, expr: Expr) -> Steps:
        """Say what ``expr`` is, with what is nested in it."""
        match expr:
            case Function():
                yield self.function(expr)
            case If(condition, then, otherwise):
                self.expr(condition)
                yield self.sequence(then)
                yield self.sequence(otherwise)
            case SeqExpr():
                yield self.sequence(expr)
            case _:
                self.expr(expr)

    def expr(self, expr: Expr) -> None:
        """Say what ``expr`` and its operands are."""
        stack: list[Expr] = [expr]
        while stack:
            one = as_value(stack.pop())
            inner = operands(one)
            self.say(type(one).__name__, len(inner))
            self.node(one)
            stack += inner[::-1]

    def node(self, expr: Expr) -> None:
        match expr:
            case Var():
                self.say(self.vars.get(expr))
            case Constant(data, _, sharding):
                self.constant(data)
                self.value(sharding)
            case GlobalVar(name) | ExternFunc(name) | StringImm(name):
                self.say(name)
            case Call(op, _, attrs):
                self.say(type(op).__name__ if isinstance(op, Var) else op.name)
                self.value(canonical_attrs(op, attrs))
            case CallTIR(func, _, out, tir_args):
                self.say(func.name)
                self.value((out, tir_args))
            case CallDPSPacked(name, _, out):
                self.say(name)
                self.value(out)
            case TupleGetItem(_, index):
                self.say(index)
            case ShapeExpr(values):
                self.value(values)
            case PrimValue(value):
                self.value(value)

    def constant(self, data: Array) -> None:
        """Say the elements of a constant; every NaN is the same, and so are the two zeros."""
        dtype = of_array(data)
        self.say(dtype, data.shape)
        flat = data.reshape(-1)
        for start in range(0, flat.size, _PIECE):
            piece = flat[start : start + _PIECE]
            if is_float(dtype):
                piece = np.where(np.isnan(piece), piece.dtype.type(np.nan), piece + piece.dtype.type(0))
            self.digest.update(piece.tobytes())

    def value(self, value: object) -> None:
        """Say a struct info, extent or attribute.

        Symbolic dimensions by the place where they came first.
        """
        value = plain_number(value)
        match value:
            case tir.Var():
                self.say("dimension", self.symbols.setdefault(value, len(self.symbols)), value.dtype)
            case str():
                self.say(str(value))
            case bool() | int() | float():
                self.say("nan" if value != value else hash(value))  # 1, 1.0 and True are equal
            case Sequence():
                self.say("row", len(value))
                for one in value:
                    self.value(one)
            case Mapping():
                for key in sorted(value):
                    self.say("key", key)
                    self.value(value[key])
            case OpDef():
                self.say(value.name)
            case _ if is_dataclass(value) and not isinstance(value, type):
                self.say(type(value).__name__)
                for field in fields(value):
                    self.value(getattr(value, field.name))
            case _:
                self.say(repr(value))
