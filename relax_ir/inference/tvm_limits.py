"""What apache-tvm 0.25 to 0.27 cannot build of Relax's operators, or computes otherwise than is
said of them.

One table of facts: the translators ask it for every operator that they emit, ``backends/tvm`` for
modules that come from elsewhere. A call that it names becomes ``call_tir`` of the operator's own
PrimFunc, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeAlias

from relay2relax.core.dtype import is_float, is_unsigned
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir.extent import Shape, equal, static

_Types: TypeAlias = tuple["Type | Shape", ...]
_SORTED = ("float32", "float64", "int32", "int64")


@dataclass(frozen=True, slots=True)
class Limit:
    """Calls of ``operators`` for which ``applies``, and ``why`` apache-tvm is not given them."""

    operators: tuple[str, ...]
    why: str
    applies: Callable[[Any, _Types], bool] = lambda attrs, types: True


def _dtype(types: _Types) -> str:
    return types[0].dtype if types and isinstance(types[0], TensorType) else ""


def _number(value: Any) -> float:
    return float(getattr(value, "value", value))


def _plain_image(attrs: Any, types: _Types) -> bool:
    return bool(attrs.data_layout[:2] == "NC" and attrs.kernel_layout[:2] == "IO")


def _shapes(types: _Types) -> list[Shape]:
    return [one if isinstance(one, tuple) else one.shape for one in types if isinstance(one, (tuple, TensorType))]


def _is_open(shapes: Sequence[Shape]) -> bool:
    """Whether it is told only when the program runs which of some aligned extents are spread."""
    for extents in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = [extent for extent in extents if static(extent) != 1]
        if any(static(one) is None for one in wide) and any(equal(one, wide[0]) is not True for one in wide[1:]):
            return True
    return False


def _updates_fit(data: Shape, indices: Shape, updates: Shape) -> bool:
    """Whether the updates are proved to be one slice of the data for each place."""
    depth = static(indices[-1])
    wanted = (*indices[:-1], *data[depth:]) if depth is not None else ()
    return len(wanted) == len(updates) and all(equal(a, b) is True for a, b in zip(wanted, updates, strict=True))


_LIMITS = (
    Limit(
        ("add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "divide", "equal", "floor_divide",
         "floor_mod", "greater", "greater_equal", "left_shift", "less", "less_equal", "log_add_exp", "logical_and",
         "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift",
         "subtract", "where"),
        "apache-tvm does not spread an extent of which only the running program knows that it is 1",
        lambda attrs, types: _is_open(_shapes(types)),
    ),
    Limit(
        ("matmul",),
        "apache-tvm does not spread an extent of which only the running program knows that it is 1",
        lambda attrs, types: _is_open([shape[:-2] for shape in _shapes(types)]),
    ),
    Limit(
        ("acos", "acosh", "asin", "asinh", "atan", "cosh", "sinh"),
        "apache-tvm has no code for it in float16",
        lambda attrs, types: _dtype(types) == "float16",
    ),
    Limit(
        ("isfinite", "isinf", "isnan"),
        "apache-tvm has no code for it in bfloat16 and bool",
        lambda attrs, types: _dtype(types) in ("bfloat16", "bool"),
    ),
    Limit(
        ("argmax", "argmin", "mod", "nn.prelu", "power"),
        "apache-tvm has no code for it in bfloat16",
        lambda attrs, types: _dtype(types) == "bfloat16",
    ),
    Limit(
        ("logical_and", "logical_not", "logical_or"),
        "apache-tvm lowers it for bool only",
        lambda attrs, types: _dtype(types) != "bool",
    ),
    Limit(
        ("nn.group_norm", "nn.instance_norm", "nn.layer_norm", "nn.rms_norm"),
        "apache-tvm lowers it in float32 and float16 only",
        lambda attrs, types: _dtype(types) not in ("float32", "float16"),
    ),
    Limit(
        ("nn.batch_norm",),
        "apache-tvm computes it in float32, and returns that instead of the dtype that it says",
        lambda attrs, types: _dtype(types) in ("float16", "bfloat16"),
    ),
    Limit(
        ("nn.leakyrelu", "nn.prelu"),
        "apache-tvm takes it of floating-point numbers only",
        lambda attrs, types: not is_float(_dtype(types)),
    ),
    Limit(
        ("take",),
        "apache-tvm takes places for integers",
        lambda attrs, types: _dtype(types[1:]) == "bool",
    ),
    Limit(
        ("negative", "sign"),
        "apache-tvm cannot lower it for unsigned numbers",
        lambda attrs, types: is_unsigned(_dtype(types)),
    ),
    Limit(
        ("abs", "add", "argmax", "argmin", "clip", "cumprod", "cumsum", "equal", "greater", "greater_equal", "less",
         "less_equal", "max", "maximum", "min", "minimum", "multiply", "nn.relu", "not_equal", "scatter_elements",
         "scatter_nd"),
        "apache-tvm cannot lower it for bool",
        lambda attrs, types: _dtype(types) == "bool",
    ),
    Limit(
        ("mean", "std", "variance"),
        "apache-tvm computes it of integers in another dtype than it says",
        lambda attrs, types: not is_float(_dtype(types)),
    ),
    Limit(
        ("argsort", "sort", "topk"),
        "apache-tvm sorts numbers of 32 and 64 bits only",
        lambda attrs, types: _dtype(types) not in _SORTED,
    ),
    Limit(
        ("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"),
        "apache-tvm lowers it with channels first only",
        lambda attrs, types: not _plain_image(attrs, types),
    ),
    Limit(
        ("eye_like",),
        "apache-tvm's lowering ignores dtype",
        lambda attrs, types: bool(attrs.dtype) and attrs.dtype != _dtype(types),
    ),
    Limit(
        ("image.resize3d",),
        "apache-tvm weighs depths by widths where places outside are left out",
        lambda attrs, types: attrs.method == "cubic" and bool(attrs.cubic_exclude),
    ),
    Limit(
        ("split",),
        "apache-tvm makes of one part no tuple",
        lambda attrs, types: attrs.indices_or_sections in (1, ()),
    ),
    Limit(
        ("meshgrid",),
        "apache-tvm takes the extents of a grid \"xy\" for those of \"ij\"",
        lambda attrs, types: attrs.indexing == "xy",
    ),
    Limit(
        ("arange",),
        "apache-tvm counts the elements of a descending row wrongly",
        lambda attrs, types: _number(attrs.step) < 0,
    ),
    Limit(
        ("median",),
        "apache-tvm returns another shape than it says",
        lambda attrs, types: attrs.axis is None and attrs.keepdims,
    ),
    Limit(
        ("nn.prelu",),
        "apache-tvm's lowering wants a known number of channels",
        lambda attrs, types: any(static(shape[attrs.axis]) is None for shape in _shapes(types)[:1]),
    ),
    Limit(
        ("scatter_nd",),
        "apache-tvm wants to prove the shape of the updates",
        lambda attrs, types: not _updates_fit(*_shapes(types)),
    ),
    Limit(("nn.pixel_shuffle",), "apache-tvm's lowering calls a function that is not there"),
    Limit(
        ("builtin.stop_lift_params", "call_tir_with_grad", "ewise_fma", "hint_on_device", "nn.attention_var_len",
         "wrap_param"),
        "apache-tvm has no lowering for it",
    ),
)  # fmt: skip


@lru_cache(maxsize=None)
def _by_name() -> Mapping[str, tuple[Limit, ...]]:
    names = {name for limit in _LIMITS for name in limit.operators}
    return {name: tuple(limit for limit in _LIMITS if name in limit.operators) for name in names}


def limit_of(op: OpDef, attrs: Any, types: Callable[[], _Types]) -> str:
    """Return why apache-tvm is not given this call, "" where it can be.

    ``types`` are asked for where they matter.
    """
    if op.script is None:
        return ""
    return next((one.why for one in _by_name().get(op.script.name, ()) if one.applies(attrs, types())), "")
