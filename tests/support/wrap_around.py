"""Arithmetic of integers that wraps around, on Python's integers: what programs compute from what
they load.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from relay2relax.tir.ir.expr import Binary, BufferLoad, Cast, IntImm, Not, PrimExpr, Select, Var

BITS = {"int32": 32, "int64": 64, "int8": 8, "uint8": 8, "uint32": 32}
Values = Mapping[PrimExpr, int]


class Beyond(Exception):
    """A position beyond its dtype, which there is none of in a program that runs."""


def wrapped(value: int, dtype: str) -> int:
    low = 0 if dtype.startswith("uint") else -(1 << (BITS[dtype] - 1))
    return (value - low) % (1 << BITS[dtype]) + low


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def arithmetic(op: str, a: int, b: int) -> int:
    match op:
        case "+" | "-" | "*":
            return {"+": a + b, "-": a - b, "*": a * b}[op]
        case "//":
            return a // b if b else 0
        case "%":
            return a % b if b else 0
        case "truncdiv":
            return truncated(a, b) if b else 0
        case "truncmod":
            return a - truncated(a, b) * b if b else 0
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "and":
            return int(a and b)
        case "or":
            return int(a or b)
    return int({"<": a < b, "<=": a <= b, "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b}[op])


def is_data(expr: PrimExpr) -> bool:
    match expr:
        case BufferLoad():
            return True
        case Binary(_, a, b) | Select(_, a, b):
            return is_data(a) or is_data(b)
        case Cast(_, a) | Not(a):
            return is_data(a)
    return False


def evaluate(expr: PrimExpr, values: Values, strict: bool = False) -> int:
    """Return the value of an expression; where positions leave their dtype, raise if ``strict``."""
    match expr:
        case IntImm(value):
            return value
        case Var() | BufferLoad():
            return values[expr]
        case Binary(op, a, b):
            x, y = evaluate(a, values, strict), evaluate(b, values, strict)
            if strict and op in ("//", "%", "truncdiv", "truncmod") and not (y or is_data(b) or isinstance(b, IntImm)):
                raise Beyond
            found = arithmetic(op, x, y)
            if expr.dtype not in BITS:
                return found
            if strict and wrapped(found, expr.dtype) != found and not is_data(expr):
                raise Beyond
            return wrapped(found, expr.dtype)
        case Not(a):
            return 1 - evaluate(a, values, strict)
        case Cast(dtype, a):
            return wrapped(evaluate(a, values, strict), dtype)
        case Select(condition, a, b):
            chosen, other = (a, b) if evaluate(condition, values, strict) else (b, a)
            evaluate(other, values, strict)
            return evaluate(chosen, values, strict)
    raise AssertionError(expr)


def near(dtype: str, random: Random) -> int:
    low = 0 if dtype.startswith("uint") else -(1 << (BITS[dtype] - 1))
    high = low + (1 << BITS[dtype]) - 1
    ends = [low, low + 1, high, high - 1, low // 2, high // 2, high // 2 + 1, -1, 0, 1, 2, 5]
    return random.choice([random.choice([one for one in ends if low <= one <= high]), random.randint(low, high)])
