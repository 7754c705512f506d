"""Quantised operators in forms that hardware computes fast, by the text of a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.ops.quantized.qnn_functions import FUNCTIONS
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, const
from relay2relax.relay_ir.transform.qnn.relay_values import RelayValues
from relay2relax.tir.extent import static

# (kit, call) -> what takes its place, itself where it stays
Form: TypeAlias = Callable[[RelayValues, Call], Expr]

# Processors of x86 without SSE4.2; LLVM's other names of processors have it.
_NAMES = "generic x86-64 i386 i486 i586 i686 pentium pentium-m prescott nocona core2 penryn k8 k8-sse3"
_OLD = frozenset(_NAMES.split())
_CHANNELS_IN, _CHANNELS_OUT = 4, 32


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the text of a target, such as ``llvm -mcpu=cascadelake``, says that matters here."""

    kind: str
    options: Mapping[str, str]

    @staticmethod
    def of(target: str) -> Hardware:
        """Return what ``target`` says."""
        words = target.split() or [""]
        return Hardware(words[0], dict(re.findall(r"-(\w+)=(\S+)", target)))

    def product(self, call: Call) -> Form | None:
        """Return the form of a convolution or dense layer, None where it stays."""
        if self.kind == "hexagon":
            return _aligned
        if self.kind in ("cuda", "rocm"):
            return _as_bytes("int8", "int8")
        if self.kind == "vulkan":
            return _alike
        if self.kind != "llvm":
            return None
        if "arm" in self.options.get("device", "") or "aarch64" in self.options.get("mtriple", ""):
            dense_images = call.op == Op("qnn.conv2d") and call.attrs.data_layout == "NHWC" and call.attrs.groups == 1
            return _alike if dense_images or "dotprod" in self.options.get("mattr", "") else _as_words
        fast = self.options.get("mcpu", "generic") not in _OLD or "sse4.2" in self.options.get("mattr", "")
        return _as_bytes("uint8", "int8") if fast else _as_words


def _as_words(k: RelayValues, call: Call) -> Expr:
    """Return the plain product of int16 operands without their zero points."""
    assert isinstance(call.op, Op)
    data, weight, zero, weight_zero = call.args[:4]
    rank = len(k.type_of(weight).shape)
    axis = call.attrs.kernel_layout.index("O") if rank == 4 else 0

    def word(x: Expr, zero: Expr) -> Expr:
        made: Expr = op.subtract(op.cast(x, "int16"), k.cast(zero, "int16"))
        return made

    args = (word(data, k.spread(zero, 0, 0)), word(weight, k.spread(weight_zero, rank, axis)))
    return replace(call, op=Op(f"nn.{call.op.name.removeprefix('qnn.')}"), args=args, type_args=())


def _as_bytes(data_dtype: str, weight_dtype: str) -> Form:
    """Return the form of a product whose operands have given dtypes, shifted by 128 where they had
    not.
    """

    def form(k: RelayValues, call: Call) -> Expr:
        data, weight, zero, weight_zero, *scales = call.args
        data, zero = _shifted(k, data, zero, data_dtype)
        weight, weight_zero = _shifted(k, weight, weight_zero, weight_dtype)
        made = (data, weight, zero, weight_zero, *scales)
        return call if made == call.args else replace(call, args=made)

    return form


def _alike(k: RelayValues, call: Call) -> Expr:
    """Return a product whose operands have one dtype."""
    dtype = k.dtype_of(call.args[1])
    return _as_bytes(dtype, dtype)(k, call)


def _shifted(k: RelayValues, x: Expr, zero: Expr, dtype: str) -> tuple[Expr, Expr]:
    """Return bytes and their zero point as ``dtype``; what is not bytes of other sign stays."""
    if {k.dtype_of(x), dtype} != {"int8", "uint8"}:
        return x, zero
    shift = const(128 if dtype == "uint8" else -128, "int32")
    moved: Expr = op.cast(op.add(op.cast(x, "int32"), shift), dtype)
    known = isinstance(zero, Constant)
    return moved, Constant(_sum(zero, shift)) if known else op.add(zero, shift)


def _sum(a: Expr, b: Expr) -> Array:
    assert isinstance(a, Constant)
    assert isinstance(b, Constant)
    return np.asarray(np.add(a.data, b.data, dtype=np.int32))


def _aligned(k: RelayValues, call: Call) -> Expr:
    """Return a product whose channels are padded to whole vectors, the padding cut off again."""
    data, weight, zero, weight_zero, scale, weight_scale = call.args
    shape = [static(extent) for extent in k.type_of(weight).shape]
    dense = call.op == Op("qnn.dense")
    if not dense and (call.attrs.data_layout, call.attrs.kernel_layout, call.attrs.groups) != ("NCHW", "OIHW", 1):
        return call
    outputs, inputs = shape[:2]
    if outputs is None or inputs is None or not {k.dtype_of(data), k.dtype_of(weight)} <= {"int8", "uint8"}:
        return call
    wide, deep = -outputs % _CHANNELS_OUT, 0 if dense else -inputs % _CHANNELS_IN
    rank = len(shape)
    if deep:
        if not isinstance(zero, Constant):
            return call
        amounts = [[0, deep] if axis == 1 else [0, 0] for axis in range(rank)]
        # The real value 0; TVM pads with the integer 0, which changes results.
        data = op.nn.pad(data, pad_width=amounts, pad_value=zero.data.item())
        weight = op.nn.pad(weight, pad_width=amounts)
    attrs: Any = call.attrs
    if wide:
        weight = op.nn.pad(weight, pad_width=[[0, wide] if axis == 0 else [0, 0] for axis in range(rank)])
        weight_zero, weight_scale = _longer(weight_zero, wide, 0), _longer(weight_scale, wide, 1)
        field = "units" if dense else "channels"
        if getattr(attrs, field) is not None:
            attrs = replace(attrs, **{field: outputs + wide})
    if not wide and not deep:
        return call
    made: Expr = replace(call, args=(data, weight, zero, weight_zero, scale, weight_scale), attrs=attrs)
    if wide:
        made = op.strided_slice(made, [0] * rank, list(k.type_of(call).shape))
    return made


def _longer(parameter: Expr, amount: int, value: int) -> Expr:
    """Return a constant vector of parameters with more of them; others stay."""
    if not isinstance(parameter, Constant) or not parameter.data.ndim:
        return parameter
    return Constant(np.concatenate([parameter.data, np.full(amount, value, parameter.data.dtype)]))


def _table(k: RelayValues, call: Call) -> Expr:
    """Return a function of bytes as a look-up in the table of all its values."""
    assert isinstance(call.op, Op)
    data, *parameters = call.args
    if not all(isinstance(one, Constant) for one in parameters):
        return call
    dtype = k.dtype_of(data)
    record = relay_op(call.op.name)
    assert record is not None
    patterns = np.arange(256, dtype=np.uint8).view(numpy_dtype(dtype))
    values = [one.data for one in parameters if isinstance(one, Constant)]
    table = const(np.asarray(record.numpy(call.attrs, patterns, *values)))
    made: Expr = op.take(table, op.reinterpret(data, "uint8"), axis=0, mode="fast")
    return made


# Forms that do not depend on the hardware.
GENERIC: Mapping[str, Form] = {"qnn.conv2d_transpose": _as_words, **dict.fromkeys(FUNCTIONS, _table)}
PRODUCTS = frozenset({"qnn.conv2d", "qnn.dense"})
