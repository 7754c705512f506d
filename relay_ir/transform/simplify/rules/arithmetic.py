"""Sums, products and quotients with simpler forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from relay2relax.ops.registry.table import fusion_of
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.transform.fold_constant import constant_call
from relay2relax.relay_ir.transform.parts import is_call, scalar, scalar_value
from relay2relax.relay_ir.transform.simplify.rules.rule import Rule
from relay2relax.tir.analysis.pattern import OpPattern


def _doubled(call: Call, types: TypeTable) -> Expr:
    """x + x is x * 2."""
    ty = types.tensor(call)
    if ty is None or call.args[0] is not call.args[1]:
        return call
    result: Expr = op.multiply(call.args[0], scalar(2, ty.dtype))
    return result


def _reciprocal_root(call: Call, types: TypeTable) -> Expr:
    """x / sqrt(y) is x * rsqrt(y)."""
    root = call.args[1]
    if not isinstance(root, Call) or not is_call(root, "sqrt"):
        return call
    result: Expr = op.multiply(call.args[0], op.rsqrt(root.args[0]))
    return result


_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}
_FILLED = {0: ("zeros", "zeros_like"), 1: ("ones", "ones_like")}


def _identity(call: Call, types: TypeTable) -> Expr:
    """x + 0, x - 0, x * 1 and x / 1 are x."""
    assert isinstance(call.op, Op)
    neutral = _NEUTRAL[call.op.name]
    turns = (0, 1) if call.op.name in ("add", "multiply") else (0,)
    for place in turns:
        other = call.args[1 - place]
        if isinstance(other, Constant) or is_call(other, *_FILLED[neutral]):
            data = other.data if isinstance(other, Constant) else None
            # As in TVM: a second constant is not looked at.
            same = data is None or (data.size == 1 and data.reshape(-1)[0] == neutral)
            return call.args[place] if same and types.of(call.args[place]) == types.of(call) else call
    return call


def _filled(call: Call, types: TypeTable) -> Expr:
    """A tensor of one value next to one of full shape is that value."""
    assert isinstance(call.op, Op)
    if fusion_of(call.op.name).pattern is not OpPattern.BROADCAST or len(call.args) != 2:
        return call
    for place in (0, 1):
        value = _fill_value(call.args[place], types)
        if value is not None:
            if types.of(call.args[1 - place]) != types.of(call):
                return call
            args = (value, call.args[1]) if place == 0 else (call.args[0], value)
            return replace(call, args=args)
    return call


def _fill_value(expr: Expr, types: TypeTable) -> Constant | None:
    """Return what each element of ``expr`` is where it is made by filling."""
    if not isinstance(expr, Call):
        return None
    ty = types.tensor(expr)
    if ty is None:
        return None
    if is_call(expr, "full", "full_like"):
        value = expr.args[-1]
        known = isinstance(value, Constant) and value.data.ndim == 0 and value.tensor_type.dtype == ty.dtype
        return value if known and isinstance(value, Constant) else None
    for number, names in _FILLED.items():
        if is_call(expr, *names):
            return scalar(number, ty.dtype)
    return None


def _with_constants(call: Expr, name: str) -> Iterator[tuple[Expr, Constant]]:
    """Yield the ways to see ``call`` as ``name`` of an operand and a constant."""
    if isinstance(call, Call) and is_call(call, name):
        for place in (0, 1):
            constant = call.args[1 - place]
            if isinstance(constant, Constant):
                yield call.args[place], constant


def _product_first(call: Call, types: TypeTable) -> Expr:
    """(x + c) * d is x * d + c * d, which scale axes can be folded of."""
    for total, factor in _with_constants(call, "multiply"):
        for x, addend in _with_constants(total, "add"):
            if isinstance(x, Constant):
                return call
            result: Expr = op.add(op.multiply(x, factor), constant_call(op.multiply(addend, factor)))
            return result
    return call


def _one_constant(call: Call, types: TypeTable) -> Expr:
    """(x + c) + d is x + (c + d), (x * c) * d is x * (c * d)."""
    assert isinstance(call.op, Op)
    for inner, second in _with_constants(call, call.op.name):
        for x, first in _with_constants(inner, call.op.name):
            if isinstance(x, Constant):
                return call
            return Call(call.op, (x, constant_call(Call(call.op, (first, second), call.attrs))), call.attrs)
    return call


class _Term(NamedTuple):
    """A term ``factor * left * right``."""

    factor: float
    left: Expr
    right: Expr


def _terms(expr: Expr) -> Iterator[_Term]:
    """Yield the ways to see ``expr`` as a term."""
    if not isinstance(expr, Call) or not is_call(expr, "multiply"):
        return
    for place in (0, 1):
        one, other = expr.args[place], expr.args[1 - place]
        factor = scalar_value(one)
        if factor is not None and isinstance(other, Call) and is_call(other, "multiply"):
            yield _Term(factor, *other.args)
        for inner, constant in _with_constants(other, "multiply"):
            number = scalar_value(constant)
            if number is not None:
                yield _Term(number, one, inner)
    yield _Term(1, *expr.args)


def _binomial(call: Call, types: TypeTable) -> Expr:
    """a * x * x + b * x * y + c * y * y is a * (x + p * y) * (x + q * y)."""
    ty = types.tensor(call)
    if ty is None or ty.dtype not in ("int32", "float32", "float64"):
        return call
    for place in (0, 1):
        inner = call.args[place]
        if isinstance(inner, Call) and is_call(inner, "add"):
            found = _squares(inner.args[0], inner.args[1], call.args[1 - place], place == 0)
            if found is not None:
                return _factored(call, *found, ty.dtype)
    return call


def _squares(first: Expr, second: Expr, third: Expr, in_order: bool) -> tuple[_Term, float, _Term] | None:
    """Return the square of x, the factor of x * y and the square of y among three terms.

    Which is x is as in TVM, which binds both by the mixed term where it meets that first: where it
    begins the sum. Then x is what that has first. ``third`` stands before the others where they are
    not ``in_order``.
    """
    for mixed, left, right in ((first, second, third), (second, first, third), (third, first, second)):
        leads = mixed is (first if in_order else third)
        for x in _terms(left):
            for y in _terms(right):
                if x.left is not x.right or y.left is not y.right or x.left is y.left:
                    continue
                for term in _terms(mixed):
                    if {term.left, term.right} == {x.left, y.left}:
                        return (y, term.factor, x) if leads and term.left is y.left else (x, term.factor, y)
    return None


def _factored(call: Call, first: _Term, b: float, second: _Term, dtype: str) -> Expr:
    if second.factor == 1 and first.factor > 1:
        first, second = second, first
    (a, x, _), (c, y, _) = first, second
    square = b * b - 4 * a * c
    if square < 0 or a == 0:
        return call
    root = float(np.sqrt(square))
    # TVM's bound for one root counted twice.
    once = square < 10e-5
    roots = [(b + root) / (2 * a)] if once else [(b + root) / (2 * a), (b - root) / (2 * a)]
    if dtype == "int32" and any(one != int(one) for one in (a, *roots)):
        return call
    factors = [op.add(x, op.multiply(y, scalar(one, dtype))) for one in roots]
    result: Expr = op.multiply(scalar(a, dtype), op.multiply(factors[0], factors[-1]))
    return result


DOUBLED = Rule(("add",), _doubled)
RECIPROCAL_ROOT = Rule(("divide",), _reciprocal_root)
IDENTITY = Rule(tuple(_NEUTRAL), _identity)
FILLED = Rule((), _filled)
PRODUCT_FIRST = Rule(("multiply",), _product_first)
ONE_CONSTANT = Rule(("multiply", "add"), _one_constant)
BINOMIAL = Rule(("add",), _binomial)
