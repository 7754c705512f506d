"""Where quantised values go from one part of a program to the next: there they are to be inputs.

Source of the semantics: TVM 0.18 src/relay/quantize/partition.cc and
python/tvm/relay/quantize/_partition.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.analysis.checks import check_constant
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.quantize.config import current_qconfig
from relay2relax.relay_ir.quantize.forward_rewrite import Rule, Temporary, Value, forward_op, forward_rewrite
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import register_op_attr, registered

KEY = "FQPartitionRewrite"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QPartitionExpr(Temporary):
    """A value of a quantised part; users outside of the part get it as an input of theirs."""

    expr: Expr

    def realize(self) -> Expr:
        """Return the value, hinted to have the dtype of inputs, and not fused with its users."""
        hinted = op.annotation.cast_hint(self.expr, dtype=current_qconfig().dtype_input)
        stopped: Expr = op.annotation.stop_fusion(hinted)
        return stopped


@dataclass(frozen=True, slots=True)
class QuantizePartition(Pass[IRModule]):
    """Hint which values quantised parts hand to each other, by ``annotation.cast_hint``."""

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with hints."""
        return map_functions(mod, lambda one: one if left_alone(one) else forward_rewrite(one, _rule))


def register_partition_function(op_name: str, frewrite: Rule | None = None, level: int = 10) -> Any:
    """Register ``frewrite(call, new_args, ctx)`` for an operator, or decorate with it.

    It returns the new call, a :class:`QPartitionExpr` of it where it is part of what is quantised,
    or None. ``level`` is TVM's; what is registered last holds.
    """
    return register_op_attr(op_name, KEY, frewrite)


def _rule(name: str) -> Rule | None:
    own = registered(name, KEY)
    return _RULES.get(name) if own is None else own.replacement


def _parts(args: Sequence[Value]) -> list[tuple[bool, Expr]]:
    """Return of each argument whether it is of a quantised part, and the expression."""
    return [(True, one.expr) if isinstance(one, QPartitionExpr) else (False, _expr(one)) for one in args]


def _expr(value: Value) -> Expr:
    assert not isinstance(value, Temporary)
    return value


def _realised(value: Value) -> Expr:
    return value.realize() if isinstance(value, Temporary) else value


def _conv2d(call: Call, args: Sequence[Value], known: object) -> Value:
    if isinstance(args[1], QPartitionExpr):
        raise UnsupportedError("the weight of a convolution that is quantised cannot be what another one computes")
    return QPartitionExpr(forward_op(call, (_realised(args[0]), args[1])))


def _same(call: Call, args: Sequence[Value], known: object) -> Value | None:
    ((within, expr),) = _parts(args)
    return QPartitionExpr(forward_op(call, (expr,))) if within else None


def _add(call: Call, args: Sequence[Value], known: object) -> Value | None:
    (left_within, left), (right_within, right) = _parts(args)
    if left_within and right_within:  # The first sum of two branches.
        return QPartitionExpr(forward_op(call, [_realised(one) for one in args]))
    if right_within:
        return forward_op(call, (left, _realised(args[1])))
    if left_within and check_constant(right):  # A bias.
        return QPartitionExpr(forward_op(call, (left, right)))
    return forward_op(call, (_realised(args[0]), right)) if left_within else None


def _multiply(call: Call, args: Sequence[Value], known: object) -> Value | None:
    (left_within, left), (right_within, right) = _parts(args)
    if left_within:
        return QPartitionExpr(forward_op(call, (_realised(args[0]), right)))
    return QPartitionExpr(forward_op(call, (left, _realised(args[1])))) if right_within else None


def _global_avg_pool2d(call: Call, args: Sequence[Value], known: object) -> Value:
    ((_, expr),) = _parts(args)
    return forward_op(call, (QPartitionExpr(expr).realize(),))


_RULES: Mapping[str, Rule] = {
    "add": _add,
    "clip": _same,
    "multiply": _multiply,
    "nn.conv2d": _conv2d,
    "nn.global_avg_pool2d": _global_avg_pool2d,
    "nn.max_pool2d": _same,
    "nn.relu": _same,
}
