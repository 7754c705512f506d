"""Casts and clips that change nothing."""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import bits, integer_range, is_float, is_int, is_unsigned, numpy_dtype
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.relay_ir.transform.simplify.rules.rule import Rule

_CASTS = ("cast", "cast_like")


def _same(call: Call, types: TypeTable) -> Expr:
    """A cast to the dtype that there is goes."""
    before, after = types.tensor(call.args[0]), types.tensor(call)
    same = before is not None and after is not None and before.dtype == after.dtype
    return call.args[0] if same else call


def _consecutive(call: Call, types: TypeTable) -> Expr:
    """A cast that keeps all values goes before another."""
    first = call.args[0]
    if not isinstance(first, Call) or not is_call(first, *_CASTS):
        return call
    dtypes = [types.tensor(one) for one in (first.args[0], first, call)]
    origin, middle, result = (ty.dtype if ty is not None else None for ty in dtypes)
    if origin is None or middle is None or result is None or not _widens(origin, middle):
        return call
    made: Expr = op.cast(first.args[0], result)
    return made


def _widens(origin: str, wide: str) -> bool:
    """Whether TVM takes the cast for one that keeps all values.

    Its order is signed integers, unsigned integers, floats, of at least as many bits; but negative
    numbers are not unsigned, and so that step is left out here.
    """
    kinds = [_kind(origin), _kind(wide)]
    if -1 in kinds or bits(origin) > bits(wide):
        return False
    return kinds[0] == kinds[1] or (kinds[1] == 2 and kinds[0] < 2)


def _kind(dtype: str) -> int:
    if dtype.startswith("bfloat"):
        return -1
    if is_unsigned(dtype) or dtype == "bool":
        return 1
    return 0 if is_int(dtype) else 2 if is_float(dtype) else -1


def _range(dtype: str) -> tuple[float, float] | None:
    """Return the least and the greatest number of a dtype."""
    if dtype == "bool":
        return 0, 1
    if is_int(dtype) or is_unsigned(dtype):
        low, high = integer_range(dtype)
        return float(low), float(high)
    if numpy_dtype(dtype).kind != "f":
        return None
    limits = np.finfo(dtype)
    return float(limits.min), float(limits.max)


def _after_clip(call: Call, types: TypeTable) -> Expr:
    """Casts between a clip and the last of them go where the clipped range fits their dtypes."""
    chain: list[tuple[Call, str]] = []
    node: Expr = call
    while isinstance(node, Call) and is_call(node, "cast"):
        chain.append((node, node.attrs.dtype))
        node = node.args[0]
    start = types.tensor(node)
    if not isinstance(node, Call) or not is_call(node, "clip") or start is None:
        return call
    kept = [dtype for _, dtype in chain if not _holds(dtype, node.attrs.a_min, node.attrs.a_max)]
    last = kept[0] if kept else start.dtype
    wanted = ([chain[0][1]] if last != chain[0][1] else []) + kept
    # A cast to integers rounds floats, and may not go before floats.
    rounds = is_float(start.dtype) and is_float(chain[0][1]) and any(not is_float(dtype) for _, dtype in chain)
    if rounds or wanted == [dtype for _, dtype in chain]:
        return call
    result: Expr = node
    for dtype in reversed(wanted):
        result = op.cast(result, dtype)
    return result


def _holds(dtype: str, low: float, high: float) -> bool:
    limits = _range(dtype)
    return limits is not None and limits[0] <= low and high <= limits[1]


def _clip(call: Call, types: TypeTable) -> Expr:
    """A clip to what the dtype holds anyway goes, but for those that DNNL's patterns look for."""
    ty = types.tensor(call)
    limits = _range(ty.dtype) if ty is not None else None
    if limits is None or is_call(call.args[0], "qnn.requantize", "qnn.add"):
        return call
    return call.args[0] if call.attrs.a_min <= limits[0] and limits[1] <= call.attrs.a_max else call


SAME = Rule(_CASTS, _same)
CONSECUTIVE = Rule(_CASTS, _consecutive)
AFTER_CLIP = Rule(("cast",), _after_clip)
CLIP = Rule(("clip",), _clip)
