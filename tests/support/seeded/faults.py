"""Faults that are made on purpose: in translations to Relax's operators and to TensorIR, and in C.

The host model calls every operator that a fault is in. Extents are equal where that lets a wrong
axis pass unseen by types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.backends.c.fusion.rule import Fusion, Rule
from relay2relax.backends.c.stages import Stage
from relay2relax.ops import Expanded, SameOp, attr_fields, relay_op
from relay2relax.tir import te
from relay2relax.tir.ir.expr import Binary, BufferLoad, Cast, FloatImm, IntImm, PrimExpr, Select, binary
from relay2relax.tir.ir.expr import Call as TirCall
from relay2relax.tir.ir.visit import map_expr

HOST = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(8, 8, 3, 3), float32], %b: Tensor[(8), float32],
          %g: Tensor[(16), float32], %h: Tensor[(16), float32], %k: Tensor[(1, 16, 16), float32],
          %d: Tensor[(8, 8), float32]) {
  %0 = nn.conv2d(multiply(%x, 9f), %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = clip(%1, a_min=-0.5f, a_max=1f);
  %3 = nn.max_pool2d(%2, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %4 = nn.avg_pool2d(%2, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %5 = (%3, %4);
  %6 = concatenate(%5, axis=1);
  %7 = nn.pad(%6, 0.25f, pad_width=[[0, 0], [0, 0], [1, 0], [0, 1]]);
  %8 = strided_slice(%7, begin=[0, 0, 1, 1], end=[1, 16, 5, 5], strides=[1, 1, 1, 1]);
  %9 = transpose(%8, axes=[0, 2, 3, 1]);
  %10 = reshape(%9, newshape=[1, 16, 16]);
  %11 = nn.layer_norm(%10, %g, %h, axis=-1, epsilon=0.1f);
  %12 = nn.batch_matmul(%11, %k, transpose_b=True);
  %13 = nn.softmax(%12, axis=-1);
  %14 = nn.batch_matmul(%13, %11, transpose_b=False);
  %15 = subtract(%11, %14);
  %16 = nn.leaky_relu(%15, alpha=0.3f);
  %17 = split(%16, indices_or_sections=2, axis=2);
  %18 = divide(%17.0, exp(%17.1));
  %19 = mean(%18, axis=[1]);
  %20 = nn.dense(%19, %d, units=8);
  %21 = reverse(%20, axis=1);
  cumsum(%21, axis=1, exclusive=True)
}
"""
Handler = Callable[..., Any]


def original(name: str, emit: Any, attrs: Any, *args: Any) -> Any:
    """Return what the operator becomes without a fault."""
    op = relay_op(name)
    assert op is not None
    if isinstance(op.relax, Expanded):
        return op.relax.expand(emit, attrs, *args)
    assert isinstance(op.relax, SameOp)
    assert op.script is not None
    values = {one.name: getattr(attrs, one.name) for one in attr_fields(op.attrs) if one.name not in op.script.omit}
    return emit.call(op.script.name, *args, **values)


def in_relax(name: str, **changes: object) -> Handler:
    """Return a handler that writes the operator with other attributes."""
    return lambda emit, attrs, *args: original(name, emit, replace(attrs, **changes), *args)


def in_tensorir(name: str, **changes: object) -> Handler:
    """Return a definition of the operator with other attributes."""
    op = relay_op(name)
    assert op is not None
    return lambda attrs, out, *args: op.compute(replace(attrs, **changes), out, *args)


@dataclass(frozen=True)
class Fault:
    """A fault in the translation of an operator."""

    what: str
    operator: str
    handler: Handler

    def __str__(self) -> str:
        return f"{self.operator}-{self.what.replace(' ', '_')}"


def _turned(emit: Any, attrs: Any, x: Any, w: Any) -> Any:
    return original("nn.conv2d", emit, attrs, x, emit.call("permute_dims", w, axes=(0, 1, 3, 2)))


def _rounded(emit: Any, attrs: Any, x: Any, w: Any) -> Any:
    narrow = [emit.call("astype", one, dtype="float16") for one in (x, w)]
    return emit.call("astype", original("nn.dense", emit, attrs, *narrow), dtype="float32")


def _stale(emit: Any, attrs: Any, x: Any, w: Any) -> Any:
    return original("nn.dense", emit, attrs, x, emit.call("multiply", w, emit.const(0.97, "float32")))


def _fields_swapped(emit: Any, attrs: Any, x: Any) -> Any:
    made = original("split", emit, attrs, x)
    return emit.tuple([emit.item(made, 1), emit.item(made, 0)])


RELAX = (
    Fault("pad off by one", "nn.conv2d", in_relax("nn.conv2d", padding=(2, 2, 0, 0))),
    Fault("kernel layout swapped", "nn.conv2d", _turned),
    Fault("wrong axis", "nn.bias_add", in_relax("nn.bias_add", axis=2)),
    Fault("clamp left out", "clip", lambda emit, attrs, x: x),
    Fault("dropped attribute", "nn.avg_pool2d", in_relax("nn.avg_pool2d", count_include_pad=True)),
    Fault("operands swapped", "concatenate", lambda emit, attrs, x: original(
        "concatenate", emit, attrs, emit.tuple([emit.item(x, 1), emit.item(x, 0)]))),
    Fault("begin off by one", "strided_slice", in_relax("strided_slice", begin=(0, 0, 0, 0), end=(1, 16, 4, 4))),
    Fault("axes swapped", "transpose", in_relax("transpose", axes=(0, 3, 2, 1))),
    Fault("dropped epsilon", "nn.layer_norm", in_relax("nn.layer_norm", epsilon=1e-5)),
    Fault("transposition dropped", "nn.batch_matmul", in_relax("nn.batch_matmul", transpose_b=False)),
    Fault("wrong axis", "nn.softmax", in_relax("nn.softmax", axis=1)),
    Fault("operands swapped", "subtract", lambda emit, attrs, a, b: emit.call("subtract", b, a)),
    Fault("dropped slope", "nn.leaky_relu", in_relax("nn.leaky_relu", alpha=0.01)),
    Fault("fields swapped", "split", _fields_swapped),
    Fault("stale weight", "nn.dense", _stale),
    Fault("float16 accumulation", "nn.dense", _rounded),
    Fault("dropped attribute", "cumsum", in_relax("cumsum", exclusive=False)),
)  # fmt: skip


def _narrow_sum(attrs: Any, out: Any, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    k = te.reduce_axis(8, "k")
    made = te.compute(
        out.shape, lambda i, j: te.sum(Cast("float16", binary("*", x[i, k.var], w[j, k.var])), k), name="narrow"
    )
    return te.compute(out.shape, lambda i, j: Cast("float32", made[i, j]), name="wide")


TENSORIR = (
    Fault("pad off by one", "nn.max_pool2d", in_tensorir("nn.max_pool2d", padding=(0, 0, 2, 2))),
    Fault("upper bound left out", "clip", in_tensorir("clip", a_max=9.0)),
    Fault("sides of pad swapped", "nn.pad", in_tensorir("nn.pad", pad_width=((0, 0), (0, 0), (0, 1), (1, 0)))),
    Fault("axes swapped", "transpose", in_tensorir("transpose", axes=(0, 3, 2, 1))),
    Fault("wrong axis", "nn.softmax", in_tensorir("nn.softmax", axis=1)),
    Fault("wrong slope", "nn.leaky_relu", in_tensorir("nn.leaky_relu", alpha=0.03)),
    Fault("reads its own order", "reverse", lambda attrs, out, x: te.compute(out.shape, lambda i, j: x[i, j])),
    Fault("float16 accumulation", "nn.dense", _narrow_sum),
)


# In C a rule of fusion goes wrong: it changes expressions of stages.


@dataclass(frozen=True)
class CFault:
    """A fault in a rule of the C backend: what becomes of a stage, and an operator of which the
    stage is.
    """

    what: str
    operator: str
    change: Callable[[Stage], Stage]

    def rule(self) -> Rule:
        """Return the rule."""

        def apply(fusion: Fusion) -> Fusion:
            return fusion.of([self.change(one) if isinstance(one, Stage) else one for one in fusion.stages])

        return Rule("c.Faulty", "Is wrong on purpose.", apply)

    def __str__(self) -> str:
        return f"{self.operator}-{self.what.replace(' ', '_')}"


def _values(rewrite: Callable[[PrimExpr], PrimExpr | None]) -> Callable[[Stage], Stage]:
    def change(stage: Stage) -> Stage:
        reduction = stage.reduction
        if reduction is not None:
            reduction = replace(reduction, source=map_expr(reduction.source, rewrite))
        return replace(stage, value=map_expr(stage.value, rewrite), reduction=reduction)

    return change


def _no_minimum(expr: PrimExpr) -> PrimExpr | None:
    return expr.a if isinstance(expr, Binary) and expr.op == "min" and isinstance(expr.b, FloatImm) else None


def _no_exponential(expr: PrimExpr) -> PrimExpr | None:
    if isinstance(expr, TirCall) and expr.name == "exp":
        return binary("+", expr.args[0], FloatImm(1.0, "float32"))
    return None


def _narrow_source(stage: Stage) -> Stage:
    if stage.reduction is None or stage.reduction.op != "+":
        return stage
    narrow = Cast("float32", Cast("float16", stage.reduction.source))
    return replace(stage, reduction=replace(stage.reduction, source=narrow))


def _short_sum(stage: Stage) -> Stage:
    if stage.reduction is None or stage.reduction.op != "+":
        return stage
    last = stage.reduction.axes[-1]
    axes = (*stage.reduction.axes[:-1], replace(last, extent=binary("-", last.extent, 1)))
    return replace(stage, reduction=replace(stage.reduction, axes=axes))


def _low_maximum(stage: Stage) -> Stage:
    if stage.reduction is None or stage.reduction.op != "max":
        return stage
    return replace(stage, reduction=replace(stage.reduction, identity=FloatImm(1.1, "float32")))


def _first_of_vectors(expr: PrimExpr) -> PrimExpr | None:
    if isinstance(expr, BufferLoad) and len(expr.indices) == 1:
        return BufferLoad(expr.buffer, (IntImm(0),))
    return None


def _quotient(expr: PrimExpr) -> PrimExpr | None:
    return Binary("*", expr.a, expr.b) if isinstance(expr, Binary) and expr.op == "/" else None


def _always(expr: PrimExpr) -> PrimExpr | None:
    return expr.true_value if isinstance(expr, Select) else None


C = (
    CFault("upper bound left out", "clip", _values(_no_minimum)),
    CFault("wrong function", "nn.softmax", _values(_no_exponential)),
    CFault("float16 accumulation", "nn.conv2d", _narrow_source),
    CFault("sum one short", "nn.conv2d", _short_sum),
    CFault("maximum begins too high", "nn.max_pool2d", _low_maximum),
    CFault("one bias for all", "nn.bias_add", _values(_first_of_vectors)),
    CFault("product for quotient", "nn.avg_pool2d", _values(_quotient)),
    CFault("condition dropped", "nn.leaky_relu", _values(_always)),
)
