"""Simulated quantisation of what quantised operators take.

Source of the semantics: TVM 0.18 src/relay/quantize/annotate.cc and
python/tvm/relay/quantize/_annotate.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.ops.quantized.simulated import AnnotatedQuantizeAttrs
from relay2relax.relay_ir.analysis.checks import check_constant
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, Tuple, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.relay_ir.quantize.config import QAnnotateKind, current_qconfig
from relay2relax.relay_ir.quantize.forward_rewrite import Rule, Temporary, Value, forward_op, forward_rewrite
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import register_op_attr, registered

KEY = "FQAnnotateRewrite"
SIMULATED = Op("relay.op.annotation.simulated_quantize")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QAnnotateExpr(Temporary):
    """A value of a kind: an ``INPUT`` is quantised already, an ``ACTIVATION`` is a sum that the
    next operator has to quantise.
    """

    expr: Expr
    kind: int

    def realize(self) -> Expr:
        """Return the value."""
        return self.expr


class QuantizeContext:
    """What annotation counts as it goes on; ``with`` begins anew."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.qnode_map: dict[tuple[Expr, int, bool, str], Call] = {}
        self._conv2d_counter = 0
        self._stop_quantize = False

    def check_to_skip(self, ref_call: Call) -> bool:
        """Whether a call stays as it is; counts convolutions."""
        if self._stop_quantize:
            return True
        skipped = current_qconfig().skip_conv_layers
        if skipped is None or ref_call.op != Op("nn.conv2d"):
            return False
        self._conv2d_counter += 1
        return self._conv2d_counter - 1 in [int(one) for one in skipped]

    def stop_quantize(self) -> None:
        """Leave everything that follows as it is."""
        self._stop_quantize = True

    def __enter__(self) -> QuantizeContext:
        self.reset()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


_CONTEXT: ContextVar[QuantizeContext | None] = ContextVar("quantize_context", default=None)


def quantize_context() -> QuantizeContext:
    """Return what annotation counts."""
    found = _CONTEXT.get()
    if found is None:
        found = QuantizeContext()
        _CONTEXT.set(found)
    return found


@dataclass(frozen=True, slots=True)
class QuantizeAnnotate(Pass[IRModule]):
    """Round what quantised operators take by ``simulated_quantize``, whose scales and bounds are
    new parameters.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with annotations.

        Raises UnsupportedError for operands that cannot be quantised together.
        """
        return map_functions(mod, lambda one: one if left_alone(one) else _annotated(one))


def _annotated(function: Function) -> Function:
    found = forward_rewrite(function, _rule, several=_as_input)
    return found if found is function else replace(found, params=(*found.params, *free_vars(found)))


def _as_input(value: Temporary) -> Value:
    assert isinstance(value, QAnnotateExpr)
    return QAnnotateExpr(attach_simulated_quantize(value.expr, QAnnotateKind.INPUT), QAnnotateKind.INPUT)


def register_annotate_function(op_name: str, frewrite: Rule | None = None, level: int = 10) -> Any:
    """Register ``frewrite(call, new_args, ctx)`` for an operator, or decorate with it.

    It returns a :class:`QAnnotateExpr`, or None where the call stays. ``level`` is TVM's; what is
    registered last holds.
    """
    return register_op_attr(op_name, KEY, frewrite)


def _rule(name: str) -> Rule | None:
    own = registered(name, KEY)
    rule: Rule | None = _RULES.get(name) if own is None else own.replacement
    if rule is None or current_qconfig().debug_enabled_ops is None:
        return rule

    def guarded(call: Call, args: Sequence[Value], known: object) -> Value | None:
        if current_qconfig().guard(call):
            return rule(call, args, known)
        return forward_op(call, [_kind(one)[0] for one in args])

    return guarded


def _kind(value: Value) -> tuple[Expr, int | None]:
    """Return a value as an expression, and its kind, None where it is not quantised."""
    if isinstance(value, QAnnotateExpr):
        return value.expr, value.kind
    assert not isinstance(value, Temporary)
    return value, None


def attach_simulated_quantize(data: Expr, kind: int, sign: bool = True, rounding: str = "round") -> Call:
    """Return ``data`` rounded as a quantised value of a kind; the same call where it is asked for
    again.
    """
    attrs = AnnotatedQuantizeAttrs(int(kind), sign, rounding)
    if isinstance(data, Call) and data.op == SIMULATED and data.attrs == attrs:
        return data
    known = quantize_context().qnode_map
    key = (data, int(kind), sign, rounding)
    if key not in known:
        known[key] = Call(SIMULATED, (data, Var("dom_scale"), Var("clip_min"), Var("clip_max")), attrs)
    return known[key]


def _weight_or_input(expr: Expr) -> Call:
    kind = QAnnotateKind.WEIGHT if check_constant(expr) else QAnnotateKind.INPUT
    return attach_simulated_quantize(expr, kind)


def _requires_input(expr: Expr, kind: int | None) -> Expr:
    """Return an operand as an input, which it may be already."""
    if kind is None or kind == QAnnotateKind.ACTIVATION:
        return attach_simulated_quantize(expr, QAnnotateKind.INPUT)
    return expr


def _activation(call: Call, args: Sequence[Expr]) -> QAnnotateExpr:
    return QAnnotateExpr(forward_op(call, args), QAnnotateKind.ACTIVATION)


# --- what becomes of each operator ----------------------------------------------------------------


def _product(call: Call, args: Sequence[Value], known: object) -> Value | None:
    """Convolutions and dense layers: an input and a weight."""
    if quantize_context().check_to_skip(call):
        return None
    (left, left_kind), (right, right_kind) = map(_kind, args)
    if right_kind is not None:
        raise UnsupportedError("a weight that is quantised cannot be what another quantised operator computes")
    weight = attach_simulated_quantize(right, QAnnotateKind.WEIGHT)
    return _activation(call, (_requires_input(left, left_kind), weight))


def _dense(call: Call, args: Sequence[Value], known: object) -> Value | None:
    return None if current_qconfig().skip_dense_layer else _product(call, args, known)


def _blocked_conv2d(call: Call, args: Sequence[Value], known: object) -> None:
    warnings.warn(
        "convolutions of layout NCHWc are not quantised: quantise before AlterOpLayout", UserWarning, stacklevel=2
    )


def _batch_matmul(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    return _activation(
        call, [one if kind == QAnnotateKind.INPUT else _weight_or_input(one) for one, kind in map(_kind, args)]
    )


def _multiply(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    pairs = [_kind(one) for one in args]
    kinds = [kind for _, kind in pairs]
    if kinds == [None, None]:
        return None
    if None not in kinds:
        raise UnsupportedError("the product of two quantised values cannot be quantised")
    return _activation(
        call, [_weight_or_input(one) if kind is None else _requires_input(one, kind) for one, kind in pairs]
    )


def _add(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    (left, left_kind), (right, right_kind) = map(_kind, args)
    if left_kind is None and right_kind is None:
        return None
    if left_kind is None:
        left = attach_simulated_quantize(left, QAnnotateKind.INPUT)
    elif right_kind is None:
        right = _weight_or_input(right)
    elif left_kind == right_kind == QAnnotateKind.ACTIVATION:
        right = attach_simulated_quantize(right, QAnnotateKind.INPUT)
    return _activation(call, (left, right))


def _same(call: Call, args: Sequence[Value], known: object) -> Value | None:
    """What keeps its input's kind."""
    if quantize_context().check_to_skip(call):
        return None
    expr, kind = _kind(args[0])
    return None if kind is None else QAnnotateExpr(forward_op(call, (expr,)), kind)


def _max_pool(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    expr, kind = _kind(args[0])
    return None if kind is None else _as_given(call, expr, kind)


def _as_given(call: Call, expr: Expr, kind: int) -> QAnnotateExpr:
    return QAnnotateExpr(forward_op(call, (_requires_input(expr, kind),)), QAnnotateKind.INPUT)


def _cast_hint(call: Call, args: Sequence[Value], known: object) -> Value:
    expr, kind = _kind(args[0])
    if quantize_context().check_to_skip(call):
        return expr
    return args[0] if kind is None else _as_given(call, expr, kind)


def _concatenate(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    whole = args[0]
    if not isinstance(whole, Tuple):
        return None
    pairs = [_kind(one) for one in whole.fields]
    if all(kind is None for _, kind in pairs):
        return None
    fields = [attach_simulated_quantize(one, QAnnotateKind.ACTIVATION) if kind is None else one for one, kind in pairs]
    return _activation(call, (Tuple(tuple(fields)),))


def _global_avg_pool2d(call: Call, args: Sequence[Value], known: object) -> Value | None:
    if quantize_context().check_to_skip(call):
        return None
    expr, kind = _kind(args[0])
    if kind is None:
        return None
    quantize_context().stop_quantize()
    return forward_op(call, (expr,))


_RULES: Mapping[str, Rule] = {
    "add": _add,
    "annotation.cast_hint": _cast_hint,
    "annotation.stop_fusion": _same,
    "clip": _same,
    "concatenate": _concatenate,
    "multiply": _multiply,
    "nn.avg_pool2d": _same,
    "nn.batch_flatten": _same,
    "nn.batch_matmul": _batch_matmul,
    "nn.contrib_conv2d_NCHWc": _blocked_conv2d,
    "nn.conv1d": _product,
    "nn.conv2d": _product,
    "nn.dense": _dense,
    "nn.global_avg_pool2d": _global_avg_pool2d,
    "nn.max_pool1d": _max_pool,
    "nn.max_pool2d": _max_pool,
    "nn.relu": _same,
    "reshape": _same,
    "strided_slice": _same,
    "transpose": _same,
}
