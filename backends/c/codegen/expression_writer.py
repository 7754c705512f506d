"""Expressions of scheduled loops as C: numbers, elements in memory, vectors in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay2relax.backends.c.access import CONVERSIONS, DOTS, MULTIPLY_ADD, READ
from relay2relax.backends.c.codegen.expression import (
    Atom,
    CExpr,
    Conditional,
    Convert,
    Element,
    Infix,
    Invoke,
    Prefix,
    render,
    whole,
)
from relay2relax.backends.c.codegen.header import FUNCTIONS
from relay2relax.backends.c.codegen.names import Names
from relay2relax.backends.c.codegen.properties import is_distance, is_divisor, is_fraction, is_remainder, largest
from relay2relax.backends.c.codegen.quotients import NEAREST, QUOTIENT, nearest
from relay2relax.backends.c.dtypes import HALF, c_type, value_type
from relay2relax.backends.runtime.extern_calls import math_call
from relay2relax.core.dtype import bits, is_float, is_int, is_unsigned, numpy_dtype
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.analysis.guards import GUARD
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.floats import fits
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    FunctionCall,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
    binary,
)
from relay2relax.tir.ir.visit import mentions

_DOTS = frozenset({*DOTS.values(), MULTIPLY_ADD})
# Calls that there are for vectors.
_VECTORS = _DOTS | {"nearbyint", NEAREST, QUOTIENT}
_LOGICAL = {"and": "&&", "or": "||"}
_DIVISIONS = {"//": "/", "%": "%", "truncdiv": "/", "truncmod": "%"}
# Intrinsics whose values are numbers of half precision where their arguments are.
_EXACT = frozenset({"abs", "ceil", "copysign", "fabs", "floor", "fmod", "nearbyint", "round", "trunc"})
_PREDICATES = frozenset({"isfinite", "isinf", "isnan"})


def stored(value: CExpr, dtype: str) -> CExpr:
    """Return ``value`` in the form that memory holds.

    What only moves from memory to memory keeps its bits.
    """
    if dtype not in HALF:
        return value
    match value:
        case Invoke(name, (inner,)) if name == f"r2r_load_{dtype}":
            return inner
        case Invoke(name, (inner,)) if name == f"r2r_round_{dtype}":
            value = inner
        case Conditional(condition, then, otherwise):
            return Conditional(condition, stored(then, dtype), stored(otherwise, dtype))
    return Invoke(f"r2r_store_{dtype}", (value,))


def rounded(value: CExpr, dtype: str) -> CExpr:
    """Return ``value`` as a number of ``dtype``; for all but half precision C computes just
    those.
    """
    return Invoke(f"r2r_round_{dtype}", (value,)) if dtype in HALF else value


class ExpressionWriter:
    """Writes the expressions of one stage."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def text(self, expr: PrimExpr) -> str:
        """Return ``expr`` as C text."""
        return render(self.expr(expr))

    def element(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> CExpr:
        """Return an element of a buffer."""
        return self.at(buffer, self.position(buffer, indices, None)[1])

    def at(self, buffer: Buffer, place: CExpr) -> CExpr:
        """Return the element of a buffer at a position in its memory."""
        if self.names.checked:
            return Prefix("*", Convert(f"{c_type(buffer.dtype)}*", self.checked(buffer, place, 1)))
        return Element(self.names.base(buffer), place)

    def checked(self, buffer: Buffer, place: CExpr, lanes: int) -> CExpr:
        """Return the address of elements, which is looked at before it is used."""
        names = self.names
        base = names.base(buffer)
        count = size_of(buffer if buffer in names.local else names.memory(buffer))
        begin = 0 if buffer in names.local else names.begin(buffer)
        number = self.expr(simplify(binary("-", count, begin)))
        size = Atom(f"sizeof({c_type(buffer.dtype)})")
        site = Atom(str(names.site(buffer.name, None)))
        return Invoke("r2r_checked", (Atom(base), place, Atom(str(lanes)), number, size, Atom("wrong"), site))

    def expr(self, expr: PrimExpr) -> CExpr:
        """Return ``expr`` as a C expression."""
        match expr:
            case IntImm() | FloatImm():
                return literal(expr)
            case Var() if expr in self.names.unrolled.steps:
                return literal(self.names.unrolled.steps[expr])
            case Var():
                return Atom(self.names.variable(expr))
            case Binary():
                return self.binary(expr)
            case Not(a):
                return Prefix("!", self.expr(a))
            case Cast(dtype, value):
                return self.cast(dtype, value)
            case Select(condition, then, otherwise) | Call("if_then_else", (condition, then, otherwise)):
                decided = self.names.unrolled.put(condition)
                if isinstance(decided, IntImm):
                    return self.expr(then if decided.value else otherwise)
                return Conditional(self.expr(condition), self.expr(then), self.expr(otherwise))
            case Call():
                return self.call(expr)
            case FunctionCall(name):
                raise UnsupportedError(
                    f"the C backend does not call Module.{name}, another function of the module",
                    kind=running.NOT_ON_BACKEND,
                )
            case BufferLoad(buffer, indices):
                element = self.element(buffer, indices)
                if buffer.dtype == "bool" and buffer not in self.names.local:
                    # Whoever calls may have other bytes for true than 1.
                    return Infix("!=", element, Atom("0"))
                return Invoke(f"r2r_load_{buffer.dtype}", (element,)) if buffer.dtype in HALF else element
        raise UnsupportedError(
            mistake(running.NOT_ON_BACKEND, what=f"the expression {type(expr).__name__}", backend="the C backend")
        )

    def cast(self, dtype: str, value: PrimExpr) -> CExpr:
        """Return ``value`` converted to ``dtype``."""
        inner = self.expr(value)
        if dtype == "bool":
            return Infix("!=", inner, Atom("0"))
        if dtype in HALF and dtype != "bfloat16" and value.dtype == "float64":
            return rounded(Invoke("r2r_sticky_float", (inner,)), dtype)
        if is_int(dtype) and is_float(value.dtype) and not fits(value, dtype):
            return Invoke(f"r2r_{value_type(value.dtype)}_to_{dtype}", (inner,))
        return rounded(Convert(value_type(dtype), inner), dtype)

    def binary(self, expr: Binary) -> CExpr:
        """Return ``a op b``; of half precision it is computed in single precision and rounded,
        which is exact.
        """
        a, b, dtype = self.expr(expr.a), self.expr(expr.b), expr.a.dtype
        if dtype in HALF:
            value = self.operation(expr, a, b, "float32")
            return value if expr.op in ("min", "max") or expr.dtype == "bool" else rounded(value, dtype)
        return self.operation(expr, a, b, dtype)

    def operation(self, expr: Binary, a: CExpr, b: CExpr, dtype: str) -> CExpr:
        """Return what ``expr`` does to the numbers ``a`` and ``b`` of ``dtype``."""
        type_ = c_type(dtype)
        match expr.op:
            case "and" | "or":
                return Infix(_LOGICAL[expr.op], a, b)
            case "!=" if is_float(dtype):
                # Ordered, as TVM compares: a NaN is not different from anything.
                return Invoke("__builtin_islessgreater", (a, b))
            case "min" | "max":
                # A function: the text of an operand stands in it once.
                return Invoke(f"r2r_{expr.op}_{type_}", (a, b))
            case "//" | "%" if is_float(dtype):
                if expr.op == "%":
                    return Invoke(f"r2r_floormod_{type_}", (a, b))
                return Invoke("floorf" if dtype == "float32" else "floor", (Infix("/", a, b),))
            case "//" | "%" if not is_unsigned(dtype) and not self.natural(expr.a, expr.b):
                return Invoke(f"r2r_floor{'div' if expr.op == '//' else 'mod'}_{type_}", (a, b))
            case "//" | "%" | "truncdiv" | "truncmod" if is_int(dtype) and not is_divisor(expr.b):
                return Invoke(f"r2r_trunc{'div' if expr.op in ('//', 'truncdiv') else 'mod'}_{type_}", (a, b))
            case "<<" | ">>" if not is_distance(expr.b):
                return Invoke(f"r2r_sh{'l' if expr.op == '<<' else 'r'}_{type_}", (a, b))
            case "truncmod" if is_float(dtype):
                return Invoke("fmodf" if dtype == "float32" else "fmod", (a, b))
            case "<<" if isinstance(expr.a, IntImm):
                # A literal is an int in C, too narrow for some shifts.
                return Infix("<<", Convert(type_, a), b)
            case "truncdiv" if is_float(dtype):
                return Invoke("truncf" if dtype == "float32" else "trunc", (Infix("/", a, b),))
        if expr.op == "-" and is_remainder(expr):
            b = Invoke(f"r2r_product_{type_}", (b,))
        elif expr.op == "-" and is_fraction(expr):
            a = Invoke(f"r2r_product_{type_}", (a,))
        value = Infix(_DIVISIONS.get(expr.op, expr.op), a, b)
        # C widens small integers to int; the program's arithmetic wraps around in its own width.
        if is_int(dtype) and bits(dtype) < 32 and expr.dtype != "bool":
            return Convert(type_, value)
        return value

    def natural(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Whether neither number is ever negative."""
        naturals = self.names.naturals
        return largest(a, naturals) is not None and largest(b, naturals) is not None

    def call(self, expr: Call) -> CExpr:
        """Return the value of an intrinsic."""
        if expr.name == GUARD:
            index, extent, tensor, dimension, function = expr.args
            assert isinstance(tensor, StringImm)
            assert isinstance(dimension, IntImm)
            assert isinstance(function, StringImm)
            site = self.names.site(tensor.value, dimension.value, function=function.value)
            return Invoke("r2r_within", (self.expr(index), self.expr(extent), Atom("wrong"), Atom(str(site))))
        expr = math_call(expr) or expr
        args = tuple(self.expr(arg) for arg in expr.args)
        dtype = expr.args[0].dtype if expr.args else expr.dtype
        match expr.name:
            case "likely":
                return args[0]
            case name if name == READ:
                return Invoke("r2r_quad", (Prefix("&", args[0]),))
            case name if name in _DOTS:
                return Invoke(f"r2r_{name}", args)
            case "vector_sum" | "vector_min" | "vector_max":
                return self.across(f"r2r_across_{expr.name.removeprefix('vector_')}", expr.args[0])
            case "reinterpret" if dtype in HALF or expr.dtype in HALF:
                same = Convert(c_type(expr.dtype), stored(args[0], dtype))
                return Invoke(f"r2r_load_{expr.dtype}", (same,)) if expr.dtype in HALF else same
            case "reinterpret" if is_float(dtype) == is_float(expr.dtype):
                return Convert(c_type(expr.dtype), args[0])
            case "reinterpret":
                return Invoke(f"r2r_{c_type(dtype)}_as_{c_type(expr.dtype)}", args)
            case "bitwise_not":
                return Convert(c_type(dtype), Prefix("~", args[0]))
            case "popcount":
                unsigned = Convert(c_type(f"uint{bits(dtype)}"), args[0])
                return Convert(c_type(expr.dtype), Invoke("__builtin_popcountll", (unsigned,)))
            case "abs" | "fabs" if is_int(dtype):
                if is_unsigned(dtype):
                    return args[0]
                negative = Convert(c_type(dtype), Prefix("-", args[0]))
                return Conditional(Infix("<", args[0], Atom("0")), negative, args[0])
            case "pow" | "power" if is_int(dtype):
                return Convert(c_type(dtype), Invoke("r2r_powi", args))
            case "floor" | "ceil" | "round" | "trunc" | "nearbyint" if is_int(dtype):
                return args[0]
            case "isnan" | "isinf" | "isfinite" if is_int(dtype):
                return Atom("1" if expr.name == "isfinite" else "0")
        found = FUNCTIONS.get(expr.name)
        if found is None or not is_float(dtype):
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what=f"the intrinsic T.{expr.name} of {dtype}", backend="the C backend")
            )
        value = Invoke(found[1] if dtype == "float64" else found[0], args)
        return value if expr.name in _EXACT | _PREDICATES else rounded(value, dtype)

    def position(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var | None) -> tuple[int | None, CExpr]:
        """Return how far a lane moves a position, and where the first lane is."""
        found, offset = self.names.unrolled.position(buffer, indices, lane)
        if found.stride is None:
            return None, Atom("")
        if found.start == IntImm(0):
            return found.stride, literal(IntImm(offset))
        start = found.text = self.expr(found.start) if found.text is None else found.text
        if not offset:
            return found.stride, start
        return found.stride, Infix("+" if offset > 0 else "-", start, literal(IntImm(abs(offset))))

    def vector_place(
        self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var, lanes: int
    ) -> tuple[CExpr, bool] | None:
        """Return the elements as a C expression and whether it is a vector, or None where it cannot
        be one.
        """
        vector = f"{c_type(buffer.dtype)}x{lanes}"
        if buffer in self.names.registers:
            *rows, last = indices
            extents = self.names.registers[buffer]
            if last != lane or lanes != extents[-1]:
                return None
            number = 0
            for row, extent in zip(rows, extents, strict=False):
                at = self.names.unrolled.number(row)
                if at is None:
                    return None
                number = number * extent + at
            return Atom(f"{self.names.local[buffer]}_{number}"), True
        stride, place = self.position(buffer, indices, lane)
        if stride == 0:
            return self.at(buffer, place), False
        if stride == 1:
            address: CExpr = Prefix("&", Element(self.names.base(buffer), place))
            if self.names.checked:
                address = self.checked(buffer, place, lanes)
            return Prefix("*", Convert(f"{vector}*", address)), True
        return None

    def vector_value(self, expr: PrimExpr, lane: Var, lanes: int) -> tuple[CExpr, bool] | None:
        """Return ``expr`` as a C expression and whether it is a vector, or None where it cannot be
        one.
        """
        match expr:
            case Binary("+" | "-" | "*" | "/" | "min" | "max" as op, a, b) if bits(expr.dtype) > 8:
                left, right = self.vector_value(a, lane, lanes), self.vector_value(b, lane, lanes)
                # A product that is rounded on its own is so number by number.
                if left is None or right is None or is_fraction(expr):
                    return None
                if not left[1] and not right[1]:
                    return self.expr(expr), False
                if op in ("min", "max"):
                    vector = f"{c_type(expr.dtype)}x{lanes}"
                    whole = tuple(part if is_vector else spread(part, vector) for part, is_vector in (left, right))
                    return Invoke(f"r2r_{op}_{vector}", whole), True
                return Infix(op, left[0], right[0]), True
        if not mentions(expr, lane):
            return self.expr(expr), False
        match expr:
            case Call("if_then_else", (condition, *branches)) if not mentions(condition, lane):
                values = [self.vector_value(branch, lane, lanes) for branch in branches]
                vector = f"{c_type(expr.dtype)}x{lanes}"
                parts = [value[0] if value[1] else spread(value[0], vector) for value in values if value is not None]
                if len(parts) < len(values):
                    return None
                then, otherwise = (Convert(vector, part) for part in parts)
                return Conditional(self.expr(condition), then, otherwise), True
            case Call(name, args) if name in _VECTORS:
                return self.vector_call(name, args, expr.dtype, lane, lanes)
            case Cast(dtype, value):
                return self.vector_cast(dtype, value, lane, lanes)
        if not isinstance(expr, BufferLoad):
            return None
        found = self.vector_place(expr.buffer, expr.indices, lane, lanes)
        if found is not None and found[1] and expr.buffer not in self.names.local:
            vector = f"{c_type(expr.buffer.dtype)}x{lanes}"
            match found[0]:
                case Prefix("*", Convert(_, address)):
                    return Prefix("*", Convert(f"const {vector}*", address)), True
        return found

    def vector_call(
        self, name: str, args: Sequence[PrimExpr], dtype: str, lane: Var, lanes: int
    ) -> tuple[CExpr, bool] | None:
        """Return a function of vectors, or None where an argument cannot be one."""
        found: list[CExpr] = []
        for arg in args:
            value = self.vector_value(arg, lane, lanes)
            if value is None:
                return None
            found.append(value[0] if value[1] else spread(value[0], f"{c_type(arg.dtype)}x{lanes}"))
        return Invoke(f"r2r_{name}_{c_type(dtype)}x{lanes}", tuple(found)), True

    def vector_cast(self, dtype: str, value: PrimExpr, lane: Var, lanes: int) -> tuple[CExpr, bool] | None:
        """Return converted lanes, or None where C would have to take them apart."""
        rounded = nearest(value) if dtype == "int32" else None
        if rounded is not None:
            return self.vector_value(rounded, lane, lanes)
        name = CONVERSIONS.get((value.dtype, dtype))
        if name is None or (is_float(value.dtype) and not fits(value, dtype)):
            return None
        if isinstance(value, Cast) and name == "wide":
            # Cut off in registers what a byte has not.
            found = self.vector_value(value.value, lane, lanes)
            if found is None or not found[1] or value.value.dtype != "int32":
                return None
            if value.dtype == "uint8":
                return Infix("&", found[0], Atom("255")), True
            return Infix(">>", Infix("<<", found[0], Atom("24")), Atom("24")), True
        return self.vector_call(name, (value,), value.dtype, lane, lanes)

    def across(self, name: str, expr: PrimExpr) -> CExpr:
        """Return the sum, the least or the largest of the lanes of the vector that begins at
        ``expr``, in registers.
        """
        assert isinstance(expr, BufferLoad)
        lanes = self.names.registers[expr.buffer][-1]
        lane = Var("lane")
        found = self.vector_place(expr.buffer, (*expr.indices[:-1], lane), lane, lanes)
        assert found is not None
        return Invoke(f"{name}_{c_type(expr.dtype)}x{lanes}", (found[0],))


def spread(value: CExpr, vector: str) -> CExpr:
    """Return a vector of which every lane is ``value``; a difference keeps the sign of a zero."""
    return Infix("-", value, Atom(f"({vector}){{0}}"))


def literal(expr: IntImm | FloatImm) -> CExpr:
    """Return a constant in C's spelling; floats are written in hexadecimal, which is exact."""
    if isinstance(expr, FloatImm):
        suffix = "f" if value_type(expr.dtype) == "float" else ""
        number = float(numpy_dtype(expr.dtype).type(expr.value)) if expr.dtype in HALF else expr.value
        if math.isnan(number):
            return Atom("NAN")
        if math.isinf(number):
            return Atom("INFINITY" if number > 0 else "-INFINITY")
        if number == int(number) and abs(number) < 1e6:
            return Atom(f"{number:.1f}{suffix}")
        return Atom(number.hex() + suffix)
    value = expr.value
    if is_unsigned(expr.dtype):
        return Atom(f"{value}{'ULL' if bits(expr.dtype) == 64 else 'U'}" if bits(expr.dtype) >= 32 else str(value))
    return whole(value)
