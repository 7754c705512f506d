"""What many operators' rules need: arguments that are tensors, axes, and broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from relay2relax.core.dtype import is_float
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.record import Emit, OpError, V
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir.extent import Extent, Shape, as_prim, ask, equal, is_any, maximum, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, binary


def tensor(value: Type, argument: int = 0) -> TensorType:
    """Return ``value`` where it is a tensor type.

    Raises OpError where it is a tuple or a function.
    """
    if isinstance(value, TensorType):
        return value
    what = f"a tuple of {len(value.fields)}" if isinstance(value, TupleType) else type(value).__name__
    raise OpError(f"a tensor is expected, this is {what}", argument, kind=operators.DTYPE)


def check_scalar(value: Type, dtype: str, argument: int) -> None:
    """Raise OpError unless ``value`` is one number of ``dtype``."""
    found = tensor(value, argument)
    if found.rank or found.dtype != dtype:
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the parameter",
                dtype=f"{found.dtype} and shape {show(found.shape)}",
                expected=f"one {dtype}",
            ),
            argument,
        )


def ask_equal(a: Extent, b: Extent) -> None:
    """Ask that two extents are equal when the program runs: inference, like TVM's, does not
    look.
    """
    if not is_any(a) and not is_any(b):
        ask(binary("==", as_prim(a), as_prim(b)))


def ask_at_least(extent: Extent, least: Extent) -> None:
    """Ask that an extent is no smaller when the program runs."""
    if not is_any(extent) and not is_any(least):
        ask(binary(">=", as_prim(extent), as_prim(least)))


def check_float(name: str, dtype: str) -> None:
    """Raise OpError where ``dtype`` is none of floating-point numbers, on which alone ``name`` is
    defined.
    """
    if not is_float(dtype):
        raise OpError(f"{name} is defined for floating-point numbers, not for {dtype}", 0, kind=operators.DTYPE)


def floating(name: str, infer: Callable[..., Type]) -> Callable[..., Type]:
    """Return ``infer`` for an operator whose first input has to be of floating-point numbers."""

    @wraps(infer)
    def checked(attrs: Any, data: Type, *others: Type) -> Type:
        check_float(name, tensor(data).dtype)
        return infer(attrs, data, *others)

    return checked


def any_type(attrs: object, data: Type) -> Type:
    """Return the type of an input that may be of any kind: so far TVM's inference looks at
    element-wise operators.
    """
    return data


def tensors(value: Type, argument: int = 0) -> tuple[TensorType, ...]:
    """Return the fields of a tuple of tensors with one element type.

    Raises OpError where that is not what it is.
    """
    if not isinstance(value, TupleType):
        raise OpError("a tuple of tensors is expected, this is one tensor", argument, kind=operators.DTYPE)
    if not value.fields:
        raise OpError("the tuple has no tensors", argument)
    found = tuple(tensor(one, argument) for one in value.fields)
    for one in found[1:]:
        if one.dtype != found[0].dtype:
            raise OpError(
                f"the tensors have element types {found[0].dtype} and {one.dtype}", argument, kind=operators.DTYPE
            )
    return found


def normal_axis(axis: int, rank: int, name: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises OpError where a tensor of ``rank`` has no such axis.
    """
    if not -rank <= axis < rank:
        raise OpError(mistake(operators.AXIS, name=name, axis=axis, rank=rank), 0)
    return axis % rank


def no_new_axis(axis: int, rank: int) -> OpError:
    """Return the error for a new axis that cannot be put into a tensor of ``rank``."""
    return OpError(f"axis {axis} is no place for a new axis in a tensor of rank {rank}", 0, kind=operators.AXIS)


def check_squeezed(shape: Shape, axes: Iterable[int], argument: int = 0) -> None:
    """Raise OpError where one of ``axes``, which shall go, has another extent than 1."""
    for axis in axes:
        if static(shape[axis]) not in (1, None):
            raise OpError(
                f"axis {axis} of {show(shape)} has extent {static(shape[axis])}; only 1 can be squeezed",
                argument,
                kind=operators.AXIS,
            )


def check_groups(
    channels: Extent, groups: int, argument: int = 0, what: str = "channels", among: str = "groups"
) -> None:
    """Raise OpError unless each of ``groups`` gets as many channels, as far as these are known."""
    known = static(channels)
    if groups < 1 or (known is not None and known % groups):
        shown = show((channels,))[1:-1]
        raise OpError(f"{shown} {what} cannot be shared among {groups} {among}", argument, kind=operators.SHAPE)


def normal_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Return ``axes`` counted from the front.

    Raises OpError for one that does not exist or is given twice.
    """
    found = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise OpError(f"an axis is given twice: {list(axes)}", 0, kind=operators.AXIS)
    return found


def does_not_broadcast(shape: Shape, target: Shape, argument: int = 0) -> OpError:
    """Return the error for a tensor of ``shape`` that is wanted in the shape ``target``."""
    return OpError(f"shape {show(shape)} does not broadcast to {show(target)}", argument, kind=operators.SHAPE)


def broadcast(*shapes: Sequence[Extent]) -> Shape:
    """Return the shape that ``shapes`` broadcast to, aligned on the right.

    An unknown extent that meets a known one other than 1 is taken to be 1 or that one; whoever runs
    the program sees. Two symbolic extents give their maximum, for a legal program has them equal,
    or one of them 1. Raises OpError where two static extents differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Extent] = [1] * rank
    # A dimension that only one shape has keeps its extent as it is written.
    for offset, shape in ((rank - len(shape), shape) for shape in shapes):
        for position, extent in enumerate(shape, offset):
            result[position] = _meet(result[position], extent, position, shapes)
    return tuple(result)


def _meet(a: Extent, b: Extent, position: int, shapes: Sequence[Sequence[Extent]]) -> Extent:
    first, second = static(a), static(b)
    if first == 1:
        return b
    if second == 1:
        return a
    if is_any(a) or is_any(b):
        return b if is_any(a) else a
    if first is not None and second is not None:
        if first != second:
            listed = " and ".join(show(shape) for shape in shapes)
            raise OpError(
                f"shapes {listed} do not broadcast: {first} and {second} meet in dimension {position}",
                1,
                kind=operators.SHAPE,
            )
        return a
    if a == b:
        return a
    one, other = as_prim(a), as_prim(b)
    ask(binary("or", binary("==", one, other), binary("==", binary("min", one, other), 1)))
    if first is not None or second is not None:
        return a if first is not None else b
    # The larger of two that are equal is one of them.
    return maximum(a, b)


def operand_indices(
    shape: Sequence[PrimExpr], out: Sequence[Extent], indices: Sequence[PrimExpr]
) -> tuple[PrimExpr, ...]:
    """Return where an operand of ``shape`` is read for the element ``indices`` of the broadcast
    shape ``out``.

    An extent that is not known to be the result's may be 1 when the program runs, so its index is
    chosen then.
    """
    offset = len(out) - len(shape)
    found: list[PrimExpr] = []
    for extent, target, index in zip(shape, out[offset:], indices[offset:], strict=True):
        if static(extent) == 1 and static(target) != 1:
            found.append(IntImm(0))
        elif static(extent) is not None or equal(extent, target):
            found.append(index)
        else:
            found.append(Select(as_prim(extent).equal(1), IntImm(0), index))
    return tuple(found)


def extent_value(e: Emit[V], extent: Extent, dtype: str) -> V:
    """Return ``extent`` as a tensor of rank 0: a constant, or what the extent is when the program
    runs.
    """
    value = static(extent)
    if value is not None:
        return e.const(value, dtype)
    number = e.call("reshape", e.call("shape_to_tensor", e.shape((extent,))), e.shape(()))
    return e.call("astype", number, dtype=dtype)
