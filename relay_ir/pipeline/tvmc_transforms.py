"""What flags of ``tvmc compile`` change of a program: its layouts, and its precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.passes import PassContext
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.layout.op_attrs import TempOpAttr
from relay2relax.relay_ir.transform.precision.conversions import CONVERSION, MIXED_PRECISION_ALWAYS

LAYOUT_OPS, PRECISION_OPS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d"), ("nn.conv2d", "nn.dense")


def transformed(
    mod: IRModule,
    desired_layout: str | Sequence[str] | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str = "float16",
    mixed_precision_acc_type: str = "float16",
) -> IRModule:
    """Return a module in other layouts and lower precision, as flags of ``tvmc compile`` ask.

    Raises Relay2RelaxError where there are neither one layout nor as many as operators.
    """
    if desired_layout:
        layouts = [desired_layout] if isinstance(desired_layout, str) else list(desired_layout)
        ops = list(desired_layout_ops or LAYOUT_OPS)
        if len(layouts) not in (1, len(ops)):
            raise Relay2RelaxError(f"expected 1 or {len(ops)} layouts but got {len(layouts)}")
        pairs = (one.partition(":") for one in (layouts * len(ops) if len(layouts) == 1 else layouts))
        wanted = {op: [data, kernel or "default"] for op, (data, _, kernel) in zip(ops, pairs, strict=False)}
        mod = transform.RemoveUnusedFunctions()(mod)
        mod = transform.FoldConstant()(transform.ConvertLayout(wanted)(mod))
    if mixed_precision:
        with ExitStack() as stack:
            for op in mixed_precision_ops or PRECISION_OPS:
                stack.enter_context(TempOpAttr(op, CONVERSION, _always(mixed_precision_acc_type)))
            stack.enter_context(PassContext(3, config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}))
            mod = transform.ToMixedPrecision(mixed_precision_calculation_type)(transform.InferType()(mod))
    return mod


def _always(accumulation: str) -> Callable[[object, str], list[object]]:
    return lambda call, dtype: [MIXED_PRECISION_ALWAYS, accumulation, dtype]
