"""The gradients of what makes, joins, repeats and moves elements."""

from __future__ import annotations

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.relay_ir.transform.training.gradients.rules import Rules, op_name, static_shape, unary, zeros
from relay2relax.tir.extent import static


def _transpose(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    axes = call.attrs.axes
    places = [axis % len(axes) for axis in axes] if axes else []
    back = [places.index(place) for place in range(len(places))] or None
    return [op.transpose(grad, axes=back)]


def _concatenate(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    ty = types.of(call.args[0])
    assert isinstance(ty, TupleType)
    axis, places, end = call.attrs.axis, [], 0
    for field in ty.fields[:-1]:
        assert isinstance(field, TensorType)
        extent = static(field.shape[axis])
        if extent is None:
            raise UnsupportedError("the gradient of concatenate is known where extents along its axis are static")
        end += extent
        places.append(end)
    parts = op.split(grad, tuple(places), axis=axis)
    return [parts.tuple_value if isinstance(parts, TupleGetItem) else parts]


def _stack(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    ty, axis = types.of(call.args[0]), int(call.attrs.axis)
    assert isinstance(ty, TupleType)
    if len(ty.fields) == 1:
        return [Tuple((op.squeeze(grad, axis=[axis]),))]
    parts = op.split(grad, len(ty.fields), axis=axis)
    return [Tuple(tuple(op.squeeze(parts[index], axis=[axis]) for index in range(len(ty.fields))))]


def _like(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.reshape_like(grad, call.args[0]), *(op.zeros_like(one) for one in call.args[1:])]


def _spread(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.collapse_sum_like(grad, call.args[0]), *(op.zeros_like(one) for one in call.args[1:])]


def _collapsed(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.broadcast_to_like(grad, call.args[0]), op.zeros_like(call.args[1])]


def _full(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    *others, value = call.args if op_name(call) == "full_like" else call.args[:1]
    return [*(op.zeros_like(one) for one in others), op.cast_like(op.sum(grad), value)]


def _arange(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    start, stop, step = call.args
    # Element i is start + i * step.
    places = op.cumsum(op.ones_like(call), axis=0, exclusive=True)
    return [op.cast_like(op.sum(grad), start), op.zeros_like(stop), op.cast_like(op.sum(places * grad), step)]


def _pad(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, value = call.args
    if call.attrs.pad_mode != "constant":
        raise UnsupportedError(f"the gradient of nn.pad is known for constants, not for {call.attrs.pad_mode!r}")
    widths = [(int(before), int(after)) for before, after in call.attrs.pad_width]
    if min(map(min, widths), default=0) < 0:
        # What was cut off has no gradient.
        inner = op.nn.pad(grad, [(-before, -after) for before, after in widths], 0.0)
    else:
        begin = [before for before, _ in widths]
        end = [before + extent for before, extent in zip(begin, static_shape(data, types, call), strict=True)]
        inner = op.strided_slice(grad, begin, end)
    return [inner, op.cast_like(op.sum(grad) - op.sum(inner), value)]


def _repeated(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Sum over the copies: ``tile`` puts them before an axis, ``repeat`` behind it."""
    data = call.args[0]
    shape = static_shape(data, types, call)
    if op_name(call) == "tile":
        reps = [int(one) for one in call.attrs.reps]
        rank = max(len(shape), len(reps))
        pairs = zip([1] * (rank - len(reps)) + reps, [1] * (rank - len(shape)) + shape, strict=True)
        apart, copies = [extent for pair in pairs for extent in pair], list(range(0, 2 * rank, 2))
    else:
        axis = int(call.attrs.axis) % len(shape)
        apart, copies = [*shape[: axis + 1], int(call.attrs.repeats), *shape[axis + 1 :]], [axis + 1]
    return [op.reshape_like(op.sum(op.reshape(grad, apart), axis=copies), data)]


def _layout(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.layout_transform(grad, call.attrs.dst_layout, call.attrs.src_layout)]


RULES: Rules = {
    "arange": _arange,
    "broadcast_to": _spread,
    "broadcast_to_like": _spread,
    "collapse_sum_like": _collapsed,
    "collapse_sum_to": _collapsed,
    "concatenate": _concatenate,
    "contrib_reverse_reshape": _like,
    "dyn.broadcast_to": _spread,
    "dyn.ones": zeros,
    "dyn.reshape": _like,
    "dyn.zeros": zeros,
    "expand_dims": _like,
    "full": _full,
    "full_like": _full,
    "layout_transform": _layout,
    "nn.batch_flatten": _like,
    "nn.pad": _pad,
    "ones": zeros,
    "ones_like": zeros,
    "repeat": _repeated,
    "reshape": _like,
    "reshape_like": _like,
    "reverse": lambda call, grad, types: [op.reverse(grad, axis=call.attrs.axis)],
    "split": lambda call, grad, types: [op.concatenate(grad, axis=call.attrs.axis)],
    "squeeze": _like,
    "stack": _stack,
    "tile": _repeated,
    "transpose": _transpose,
    "zeros": zeros,
    "zeros_like": unary(lambda x, r, g: r),
}
