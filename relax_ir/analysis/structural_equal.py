"""Whether two Relax programs are the same up to the names of variables, symbolic dimensions and
spans.

Functions are told apart by name, constants by dtype, shape and value (NaN equals NaN), attributes
by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias, Union, get_args

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.op_signatures import ForeignAttrs, without_defaults
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
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.ir.visit import Steps, operands, run
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.structural_equal import structural_key

_EXPRESSIONS = get_args(Expr)
# What is compared: a program, a part of one, or struct info.
Comparable: TypeAlias = Union[IRModule, PrimFunc, Expr, StructInfo]


def structural_equal(a: Comparable, b: Comparable, map_free_vars: bool = False) -> bool:
    """Whether ``a`` and ``b`` are the same program, as :func:`first_difference` compares them."""
    return first_difference(a, b, map_free_vars) is None


def first_difference(a: Comparable, b: Comparable, map_free_vars: bool = False) -> str | None:
    """Return where ``a`` and ``b`` differ first, in words, or None where they are the same program.

    Of expressions and struct info by themselves, variables and dimensions that are not defined
    there have to be the same ones, or, with ``map_free_vars``, to stand in the same places.
    """
    try:
        match a, b:
            case IRModule(), IRModule():
                _modules(a, b)
            case PrimFunc(), PrimFunc():
                _prim_funcs(a, b, a.name)
            case Function(), Function():
                run(_Comparison("function").function(a, b))
            case StructInfo(), StructInfo():
                _Comparison("struct info", map_free_vars, map_free_vars).value(a, b)
            case _ if isinstance(a, _EXPRESSIONS) and isinstance(b, _EXPRESSIONS):
                run(_Comparison("expression", map_free_vars, map_free_vars).whole(a, b))
            case _:
                return f"a {type(a).__name__} and a {type(b).__name__}"
    except _DifferenceError as difference:
        return str(difference)
    return None


def assert_structural_equal(a: Comparable, b: Comparable, map_free_vars: bool = False) -> None:
    """Raise DifferentError, which says where they differ first, unless ``a`` and ``b`` are the same
    program.
    """
    difference = first_difference(a, b, map_free_vars)
    if difference is not None:
        raise DifferentError(difference)


class DifferentError(Relay2RelaxError, AssertionError):
    """Two programs that were said to be the same differ."""

    kind = relax.DIFFERENT


class _DifferenceError(Exception):
    """Ends the comparison; its text says where and what."""


def _modules(a: IRModule, b: IRModule) -> None:
    first = {var.name: func for var, func in a.functions.items()}
    second = {var.name: func for var, func in b.functions.items()}
    if first.keys() != second.keys():
        only = sorted(first.keys() ^ second.keys())
        raise _DifferenceError(f"functions on one side only: {', '.join(only)}")
    if dict(a.attrs) != dict(b.attrs):
        raise _DifferenceError(f"module attributes {dict(a.attrs)} and {dict(b.attrs)}")
    if dict(a.global_infos) != dict(b.global_infos):
        raise _DifferenceError(f"global infos {dict(a.global_infos)} and {dict(b.global_infos)}")
    for name, func in first.items():
        other = second[name]
        match func, other:
            case Function(), Function():
                run(_Comparison(name).function(func, other))
            case PrimFunc(), PrimFunc():
                _prim_funcs(func, other, name)
            case _:
                raise _DifferenceError(f"{name} is a {type(func).__name__} and a {type(other).__name__}")


def _prim_funcs(a: PrimFunc, b: PrimFunc, name: str) -> None:
    if structural_key(a) != structural_key(b):
        raise _DifferenceError(f"the PrimFuncs {name} differ")


class _Comparison:
    """Compares two programs; variables of the second are found through those of the first.

    ``free_vars`` and ``free_symbols`` say whether variables and dimensions that are not defined may
    stand for others.
    """

    def __init__(self, name: str, free_vars: bool = False, free_symbols: bool = True) -> None:
        self.place = name
        self.name = name
        self.vars: dict[Var, Var] = {}
        self.symbols: dict[tir.Var, tir.Var] = {}
        self.taken: set[tir.Var | Var] = set()
        self.free_vars = free_vars
        self.free_symbols = free_symbols

    def require(self, same: bool, what: str) -> None:
        if not same:
            raise _DifferenceError(f"{self.place}: {what}")

    def function(self, a: Function, b: Function) -> Steps:
        self.require(len(a.params) == len(b.params), f"{len(a.params)} and {len(b.params)} parameters")
        self.require(a.pure == b.pure, "one is pure, the other is not")
        self.require(a.private == b.private, "one is private, the other is not")
        self.require(a.attrs.keys() == b.attrs.keys(), f"attributes {dict(a.attrs)} and {dict(b.attrs)}")
        self.value(a.attrs, b.attrs)
        for one, other in zip(a.params, b.params, strict=True):
            self.place = f"{self.name}, parameter {one.name}"
            with self.defining():
                self.define(one, other)
        yield self.sequence(a.body, b.body)
        self.place = f"{self.name}, result"
        self.value(a.ret, b.ret)

    def define(self, a: Var, b: Var) -> None:
        self.require(a.dataflow == b.dataflow, "one is seen in its block only, the other is not")
        self.value(a.info, b.info)
        self.vars[a] = b
        self.taken.add(b)

    @contextmanager
    def defining(self) -> Iterator[None]:
        """Compare what defines dimensions."""
        outer, self.free_symbols = self.free_symbols, True
        yield
        self.free_symbols = outer

    def whole(self, a: Expr, b: Expr) -> Steps:
        """Compare two expressions with what is nested in them."""
        match a, b:
            case Function(), Function():
                yield self.function(a, b)
            case If(condition, then, otherwise), If(other_condition, other_then, other_otherwise):
                self.expr(condition, other_condition)
                yield self.sequence(then, other_then)
                yield self.sequence(otherwise, other_otherwise)
            case SeqExpr(), SeqExpr():
                yield self.sequence(a, b)
            case _:
                self.expr(a, b)

    def sequence(self, a: SeqExpr, b: SeqExpr) -> Steps:
        shape_a = [(block.dataflow, len(block.bindings)) for block in a.blocks]
        shape_b = [(block.dataflow, len(block.bindings)) for block in b.blocks]
        self.require(shape_a == shape_b, "the blocks have different numbers of bindings")
        for block, other_block in zip(a.blocks, b.blocks, strict=True):
            for one, other in zip(block.bindings, other_block.bindings, strict=True):
                self.place = f"{self.name}, binding {one.var.name}"
                yield self.binding(one, other)
        self.place = f"{self.name}, result"
        self.expr(a.body, b.body)

    def binding(self, a: Binding | MatchCast, b: Binding | MatchCast) -> Steps:
        self.require(type(a) is type(b), f"{type(a).__name__} and {type(b).__name__}")
        if isinstance(a.value, Function):
            self.vars[a.var] = b.var  # a local function may call itself
        yield self.whole(a.value, b.value)
        if isinstance(a, MatchCast) and isinstance(b, MatchCast):
            with self.defining():
                self.value(a.info, b.info)
        self.define(a.var, b.var)

    def expr(self, a: Expr, b: Expr) -> None:
        """Compare two expressions; ``operands`` are leaves and tuples, walked with a stack."""
        stack: list[tuple[Expr, Expr]] = [(a, b)]
        while stack:
            one, other = map(as_value, stack.pop())
            self.node(one, other)
            inner, other_inner = operands(one), operands(other)
            self.require(len(inner) == len(other_inner), f"{len(inner)} and {len(other_inner)} operands")
            stack += list(zip(inner, other_inner, strict=True))[::-1]

    def node(self, a: Expr, b: Expr) -> None:
        """Compare what ``a`` and ``b`` are themselves, apart from their operands."""
        match a, b:
            case Var(), Var():
                if self.free_vars and a not in self.vars and b not in self.taken:
                    self.define(a, b)
                self.require(self.vars.get(a, a) is b, f"variables {a.name} and {b.name}")
            case Constant(data, _, sharding), Constant(other, _, other_sharding):
                same = sharding == other_sharding and _same_data(data, other)
                self.require(same, "the constants differ")
            case GlobalVar(name), GlobalVar(other_name):
                self.require(name == other_name, f"functions {name} and {other_name}")
            case Call(op, _, attrs), Call(other_op, _, other_attrs):
                if not (isinstance(op, Var) and isinstance(other_op, Var)):
                    self.require(_callee(op) == _callee(other_op), f"{_callee(op)} and {_callee(other_op)} are called")
                self.value(canonical_attrs(op, attrs), canonical_attrs(other_op, other_attrs))
            case CallTIR(func, _, out, tir_args), CallTIR(other_func, _, other_out, other_tir_args):
                self.require(func.name == other_func.name, f"PrimFuncs {func.name} and {other_func.name}")
                self.value((out, tir_args), (other_out, other_tir_args))
            case CallDPSPacked(name, _, out), CallDPSPacked(other_name, _, other_out):
                self.require(name == other_name, f"functions {name} and {other_name}")
                self.value(out, other_out)
            case Tuple(), Tuple():
                pass
            case TupleGetItem(_, index), TupleGetItem(_, other_index):
                self.require(index == other_index, f"fields {index} and {other_index}")
            case ShapeExpr(values), ShapeExpr(other_values):
                self.value(values, other_values)
            case PrimValue(value), PrimValue(other_value):
                self.value(value, other_value)
            case (StringImm(text), StringImm(other_text)) | (ExternFunc(text), ExternFunc(other_text)):
                self.require(type(a) is type(b) and text == other_text, f"{text!r} and {other_text!r}")
            case _:
                raise _DifferenceError(f"{self.place}: a {type(a).__name__} and a {type(b).__name__}")

    def value(self, a: object, b: object) -> None:
        """Compare struct infos, extents and attributes, symbolic dimensions by the place where they
        came first.
        """
        a, b = plain_number(a), plain_number(b)
        match a, b:
            case tir.Var(), tir.Var():
                self.require(a.dtype == b.dtype, f"dimensions of {a.dtype} and {b.dtype}")
                if a not in self.symbols and b not in self.taken and (self.free_symbols or a is b):
                    self.symbols[a] = b
                    self.taken.add(b)
                self.require(self.symbols.get(a) is b, f"dimensions {a.name} and {b.name}")
            case (str(), _) | (_, str()):
                self.require(a == b, f"{a!r} and {b!r}")
            case Sequence(), Sequence():
                self.require(len(a) == len(b), f"{len(a)} and {len(b)} entries")
                for one, other in zip(a, b, strict=True):
                    self.value(one, other)
            case _ if is_dataclass(a) and is_dataclass(b) and not isinstance(a, (OpDef, type)):
                self.require(type(a) is type(b), _both(a, b))
                for field in fields(a):
                    self.value(getattr(a, field.name), getattr(b, field.name))
            case Mapping(), Mapping():
                self.require(a.keys() == b.keys(), f"{a!r} and {b!r}")
                for key in a:
                    self.value(a[key], b[key])
            case _:
                self.require(a == b or (a != a and b != b), _both(a, b))  # not a number is itself


def as_value(expr: Expr) -> Expr:
    """Return ``expr``, or the empty tuple for a variable that can be nothing else: TVM prints both
    alike.
    """
    return Tuple(()) if isinstance(expr, Var) and expr.info == TupleStructInfo(()) else expr


def plain_number(value: object) -> Any:
    """Return an int64 constant as the plain int that stands for it in shapes and attributes."""
    return value.value if isinstance(value, tir.IntImm) and value.dtype == "int64" else value


def canonical_attrs(op: Any, attrs: Any) -> Any:
    """Return ``attrs`` of ``op`` without what TVM writes down although it says nothing, or leaves
    out although it is meant.

    That is an ``out_layout`` that repeats the layout, padding of both sides where they are alike,
    corners of an affine grid that are aligned, sums that do not leave out their element, and what
    TVM takes for arguments that an operator without a record is not given.
    """
    if isinstance(attrs, ForeignAttrs):
        return without_defaults(op.name, attrs)
    changes: dict[str, Any] = {}
    layout = getattr(attrs, "data_layout", getattr(attrs, "layout", None))
    if layout and getattr(attrs, "out_layout", None) == layout:
        changes["out_layout"] = ""
    padding, rank = getattr(attrs, "padding", None), len(getattr(attrs, "strides", None) or ())
    if isinstance(padding, tuple) and len(padding) in (1, rank) and len(padding) != 2 * rank:
        changes["padding"] = (padding if len(padding) == rank else padding * rank) * 2
    if getattr(attrs, "align_corners", True) is None:
        changes["align_corners"] = True
    if getattr(attrs, "exclusive", True) is None:
        changes["exclusive"] = False
    return replace(attrs, **changes) if changes else attrs


def _both(a: object, b: object) -> str:
    if isinstance(a, StructInfo) and isinstance(b, StructInfo):
        return f"{print_struct_info(a)} and {print_struct_info(b)}"
    return f"{a!r} and {b!r}"


def _callee(op: OpDef | GlobalVar | Var | ExternFunc) -> str:
    match op:
        case OpDef():
            return f"operator {op.name}"
        case GlobalVar(name) | ExternFunc(name):
            return f"function {name}"
        case Var():
            return "a closure"


def _same_data(a: Array, b: Array) -> bool:
    if a is b:
        return True
    return of_array(a) == of_array(b) and bool(np.array_equal(a, b, equal_nan=is_float(of_array(a))))
