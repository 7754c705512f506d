"""Types of expressions while a model is read, and the spans of what is made of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.frontend.pytorch.constants import constant_value
from relay2relax.relay_ir.inference.operators import infer_operator
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.rewrite import with_children
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type


class Quantised(NamedTuple):
    """How a tensor of integers stands for numbers: ``scale * (integer - zero)``."""

    scale: float
    zero: int


class Types:
    """Types of expressions, inferred as they are asked for, each once.

    ``quantised`` says how integers stand for numbers, ``held`` has the values of weights.
    """

    def __init__(self) -> None:
        self._known: dict[Expr, Type] = {}
        self.quantised: dict[Expr, Quantised] = {}
        self.held: dict[Expr, Array] = {}

    def of(self, expr: Expr) -> Type:
        """Return the type of ``expr``; raises what inference of its operators raises."""
        known = self._known.get(expr)
        if known is not None:
            return known
        stack = [expr]
        while stack:
            node = stack[-1]
            missing = [one for one in _operands(node) if one not in self._known] if node not in self._known else []
            stack += missing
            if not missing:
                self._known.setdefault(node, self._known.get(node) or self._infer(node))
                stack.pop()
        return self._known[expr]

    def state(self, expr: Expr, type_: Type) -> Expr:
        """Say the type of an expression that is no call of an operator, and return it."""
        self._known[expr] = type_
        return expr

    def value(self, expr: Expr) -> Array | None:
        """Return the value of a small expression that constants and weights decide, else None."""
        return expr.data if isinstance(expr, Constant) else constant_value(expr, self._known, self.held)

    def _infer(self, node: Expr) -> Type:
        match node:
            case Var(name, annotation):
                assert annotation is not None, f"variables of an import have types: %{name}"
                return annotation
            case Constant(data):
                return TensorType(data.shape, of_array(data))
            case Tuple(fields):
                return TupleType(tuple(self._known[one] for one in fields))
            case TupleGetItem(value, index):
                whole = self._known[value]
                assert isinstance(whole, TupleType)
                return whole.fields[index]
            case Call(Op(name), args, attrs):
                record = relay_op(name)
                if record is not None:
                    return infer_operator(record, attrs, tuple(self._known[one] for one in args)).result
        raise UnsupportedError(
            f"a conversion makes {type(node).__name__}, whose type is not followed", kind=frontends.FORM
        )


def _operands(node: Expr) -> Sequence[Expr]:
    return [one for one in children(node) if not isinstance(one, Op)]


def with_spans(root: Expr, span: Span) -> Expr:
    """Return ``root`` with ``span`` on what has none, down to what has one."""
    done: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done or isinstance(node, (Op, Var)) or getattr(node, "span", None) is not None:
            done.setdefault(node, node)
            stack.pop()
            continue
        missing = [one for one in children(node) if one not in done]
        stack += missing
        if not missing:
            made = with_children(node, [done[one] for one in children(node)])
            done[node] = cast(Expr, replace(cast(Any, made), span=span))
            stack.pop()
    return done[root]
