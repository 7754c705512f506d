"""Functions of float32 written out as arithmetic, which apache-tvm makes vectors of.

LLVM calls the C library for every number of a vector. These are the formulas of the C backend
(``c/codegen/header.py``), whose errors are at most two and a half units in the last place; what is
not a number comes through the arithmetic as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay2relax.tir.ir.expr import Call, FloatImm, IntImm, PrimExpr, Select, Var, binary, cast, intrinsic
from relay2relax.tir.ir.stmt import BufferStore, Let, Stmt
from relay2relax.tir.ir.visit import map_expr, map_stmt

_HEX = float.fromhex
# 1.5 * 2^23: what is added to it is rounded to an integer, which its last bits then are.
_ROUNDING, _ROUNDING_BITS = _HEX("0x1.8p+23"), 0x4B400000
_LOG2_E, _LN2, _LN2_REST = _HEX("0x1.715476p+0"), _HEX("0x1.62e4p-1"), _HEX("0x1.7f7d1cp-20")
# Polynomials, the highest power first.
_EXP = tuple(map(_HEX, ("0x1.6a234ep-10", "0x1.123a6cp-7", "0x1.5558f4p-5", "0x1.555490p-3", "0x1.fffffcp-2")))
_TANH = tuple(map(_HEX, ("-0x1.76abf6p-8", "0x1.5256cep-6", "-0x1.b84448p-5", "0x1.110768p-3", "-0x1.555534p-2")))
_ERF = tuple(
    map(
        _HEX,
        ("0x1.5cd4aap-14", "-0x1.aa3f2cp-11", "0x1.54c7f4p-8", "-0x1.b80e90p-6", "0x1.ce2e0ap-4", "-0x1.812742p-2",
         "0x1.06eba8p-3"),
    )
)  # fmt: skip
_FAR_ERF = tuple(
    map(
        _HEX,
        ("-0x1.4b65e8p-18", "0x1.7e5ce2p-15", "0x1.9ff69ap-15", "-0x1.800fc4p-9", "0x1.737e3ap-6", "-0x1.af27f0p-4",
         "-0x1.4570aep-1", "-0x1.20e8c4p+0"),
    )
)  # fmt: skip


def written_out(stmt: Stmt) -> Stmt:
    """Return ``stmt`` with exp, sigmoid, tanh and erf of float32 as arithmetic.

    Intermediate values get names before the store that they are for. What is computed under a
    condition (``if_then_else``) stays a call: ahead of the condition it might read what is not
    there.
    """

    def rewrite(node: Stmt) -> Stmt | None:
        if not isinstance(node, BufferStore):
            return None
        steps = _Steps()
        value = steps.expr(node.value)
        if not steps.named:
            return node
        made: Stmt = BufferStore(node.buffer, node.indices, value, node.predicate)
        for var, named in reversed(steps.named):
            made = Let(var, named, made)
        return made

    return map_stmt(stmt, lambda expr: expr, rewrite)


class _Steps:
    """Values that are named on the way to one, in order."""

    def __init__(self) -> None:
        self.named: list[tuple[Var, PrimExpr]] = []
        self.known: dict[PrimExpr, PrimExpr] = {}

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """Return ``expr`` with functions as arithmetic."""
        return map_expr(expr, self.part)

    def part(self, node: PrimExpr) -> PrimExpr | None:
        """Return what stands for a call, None where there is nothing to replace."""
        match node:
            case Call("if_then_else", (condition, *branches)):
                return Call(node.name, (self.expr(condition), *branches), node.dtype)
            case Call(name, (arg,), "float32") if name in _FUNCTIONS:
                value = self.expr(arg)
                call = Call(name, (value,), node.dtype)
                if call not in self.known:
                    self.known[call] = self.name(name, _FUNCTIONS[name](self, value))
                return self.known[call]
        return None

    def name(self, name: str, value: PrimExpr) -> PrimExpr:
        """Return a variable with a value."""
        if isinstance(value, Var):
            return value
        var = Var(name, value.dtype)
        self.named.append((var, value))
        return var


def _number(value: float) -> PrimExpr:
    return FloatImm(float(value))


def _polynomial(coefficients: Sequence[float], x: PrimExpr) -> PrimExpr:
    total = _number(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + _number(coefficient)
    return total


def _below(x: PrimExpr, most: float) -> PrimExpr:
    """Return ``x`` or ``most``, whichever is less; what is not a number stays."""
    return Select(binary(">", x, _number(most)), _number(most), x)


def _power(places: PrimExpr) -> PrimExpr:
    """Return 2 to an integer power, between -126 and 127."""
    bits = binary("<<", places + IntImm(127, "int32"), IntImm(23, "int32"))
    return Call("reinterpret", (bits,), "float32")


def _split(steps: _Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Return e to what is left of ``x`` without n * ln 2, and n."""
    shifted = steps.name("shifted", x * _number(_LOG2_E) + _number(_ROUNDING))
    n = steps.name("n", Call("reinterpret", (shifted,), "int32") - IntImm(_ROUNDING_BITS, "int32"))
    # Not by subtracting again: apache-tvm takes that for no operation at all.
    whole = steps.name("whole", cast("float32", n))
    rest = steps.name("rest", x - whole * _number(_LN2) - whole * _number(_LN2_REST))
    return _polynomial(_EXP, rest) * rest * rest + rest + _number(1), n


def _exp(steps: _Steps, x: PrimExpr) -> PrimExpr:
    """Two factors are the power of two, so that subnormal results and infinity come out right."""
    most = steps.name("x", _below(x, 89))
    inside = steps.name("x", Select(binary("<", most, _number(-104)), _number(-104), most))
    power, n = _split(steps, inside)
    half = steps.name("half", binary(">>", n, IntImm(1, "int32")))
    return power * _power(half) * _power(n - half)


def _near_exp(steps: _Steps, x: PrimExpr) -> PrimExpr:
    """For what lies between -80 and 80."""
    power, n = _split(steps, steps.name("x", x))
    return power * _power(n)


def _sigmoid(steps: _Steps, x: PrimExpr) -> PrimExpr:
    return _number(1) / (_number(1) + _exp(steps, _number(0) - x))


def _odd(steps: _Steps, x: PrimExpr, border: float, small: PrimExpr, large: PrimExpr) -> PrimExpr:
    """Return ``small`` where ``x`` lies within ``border``, else ``large`` with the sign of x."""
    far = steps.name("far", large)
    signed = Select(binary("<", x, _number(0)), _number(0) - far, far)
    return Select(binary("<", intrinsic("fabs", x), _number(border)), small, signed)


def _tanh(steps: _Steps, arg: PrimExpr) -> PrimExpr:
    x = steps.name("x", arg)
    square = steps.name("square", x * x)
    small = x * (_number(1) + square * _polynomial(_TANH, square))
    power = _near_exp(steps, _number(2) * _below(intrinsic("fabs", x), 10))
    return _odd(steps, x, 0.625, small, _number(1) - _number(2) / (power + _number(1)))


def _erf(steps: _Steps, arg: PrimExpr) -> PrimExpr:
    x = steps.name("x", arg)
    square = steps.name("square", x * x)
    near = steps.name("near", _below(intrinsic("fabs", x), 4))
    power = _near_exp(steps, near * _polynomial(_FAR_ERF, near))
    return _odd(steps, x, 0.9277344, x + x * _polynomial(_ERF, square), _number(1) - power)


_FUNCTIONS: Mapping[str, Callable[[_Steps, PrimExpr], PrimExpr]] = {
    "exp": _exp,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "erf": _erf,
}
