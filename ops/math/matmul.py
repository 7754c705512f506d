"""Matrix products, and what stands before and behind them: ``nn.batch_flatten``, ``R.flatten``,
``nn.bias_add``.

All products multiply with one kernel, so that a Relay product and the Relax product that it becomes
agree to the bit: a transposed operand is a view. The product is accumulated in the output's dtype,
to which operands are converted first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import OPEN, is_open, shapes_of
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import ask_equal, broadcast, normal_axis, operand_indices, tensor
from relay2relax.ops.registry.attributes import Bool, DType, Int, NoAttrs, OptionalIndexExpr
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, equal, is_any, maximum, product, static
from relay2relax.tir.ir.expr import PrimExpr, cast


@dataclass(frozen=True, slots=True)
class DenseAttrs:
    """``units`` is the number of output features; None takes it from the weight."""

    units: OptionalIndexExpr
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class MatmulAttrs:
    """``transpose_a`` and ``transpose_b`` say that an operand is stored transposed."""

    units: OptionalIndexExpr
    out_dtype: DType = ""
    transpose_a: Bool = False
    transpose_b: Bool = False


@dataclass(frozen=True, slots=True)
class BatchMatmulAttrs:
    """``transpose_a`` and ``transpose_b`` say that an operand is stored transposed."""

    out_dtype: DType = ""
    transpose_a: Bool = False
    transpose_b: Bool = False


@dataclass(frozen=True, slots=True)
class RelaxMatmulAttrs:
    """``out_dtype`` is the dtype of the sums; "" keeps the operands' dtype."""

    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class BiasAddAttrs:
    """``axis`` is the axis of the data that the bias belongs to."""

    axis: Int = 1


# The one product.


def _product(a: Array, b: Array, out_dtype: str) -> Array:
    dtype = numpy_dtype(out_dtype) if out_dtype else a.dtype
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise OpError(
            f"operands of shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied", 1, kind=operators.SHAPE
        )
    result: Array = np.matmul(a.astype(dtype, copy=False), b.astype(dtype, copy=False))
    # Products of bfloat16 come in single precision.
    return np.asarray(result, dtype)


def _turned(array: Array, transposed: bool) -> Array:
    return np.swapaxes(array, -1, -2) if transposed else array


def _check_depths(columns: Extent, rows: Extent) -> None:
    if equal(columns, rows) is False:
        raise OpError(f"the left operand has {columns} columns, the right one {rows} rows", 1, kind=operators.SHAPE)


def _matmul_compute(
    out: TensorType, a: te.Tensor, b: te.Tensor, transpose_a: bool, transpose_b: bool, name: str
) -> te.Tensor:
    """Return the product of stacks of matrices with numpy's broadcasting of leading axes.

    Operands may be vectors.
    """
    rows, columns = a.rank > 1, b.rank > 1
    depth_a = a.shape[-2 if transpose_a else -1]
    depth_b = b.shape[-1 if transpose_b or not columns else -2]
    _check_depths(depth_a, depth_b)
    axis = te.reduce_axis(depth_a, "k")

    def element(*indices: PrimExpr) -> PrimExpr:
        kept = len(indices) - rows - columns
        batch, target = indices[:kept], out.shape[:kept]
        left: list[PrimExpr] = [axis.var]
        if rows:
            left = [axis.var, indices[kept]] if transpose_a else [indices[kept], axis.var]
        right: list[PrimExpr] = [axis.var]
        if columns:
            right = [indices[-1], axis.var] if transpose_b else [axis.var, indices[-1]]
        at_a = (*operand_indices(a.shape[:-2], target, batch), *left)
        at_b = (*operand_indices(b.shape[:-2], target, batch), *right)
        return te.sum(cast(out.dtype, a[at_a]) * cast(out.dtype, b[at_b]), axis)

    return te.compute(out.shape, element, name)


# nn.dense and nn.matmul: a stack of rows times one matrix.


def _linear_type(
    a: Type, b: Type, units: Extent | None, out_dtype: str, transpose_a: bool, transpose_b: bool
) -> TensorType:
    data, weight = tensor(a), tensor(b, 1)
    if data.rank < (2 if transpose_a else 1):
        raise OpError(
            mistake(operators.RANK, what="the data", rank=data.rank, expected=f"at least {2 if transpose_a else 1}"), 0
        )
    if weight.rank != 2:
        raise OpError(mistake(operators.RANK, what="the weight", rank=weight.rank, expected="2"), 1)
    shape = list(data.shape)
    depth = shape[-1]
    if transpose_a:
        depth, shape[-2] = shape[-2], shape[-1]
    columns, rows = weight.shape if transpose_b else (weight.shape[1], weight.shape[0])
    if units is not None:
        # Relay compares the summed extents here only: without ``units`` it takes any weight, and so
        # does inference; the product itself refuses.
        if equal(units, columns) is False:
            raise OpError(
                mistake(
                    operators.ATTRIBUTE,
                    name="units",
                    value=units,
                    expected=f"{columns}, the output features of the weight",
                ),
                1,
            )
        if equal(depth, rows) is False:
            raise OpError(f"the data has {depth} features, but the weight takes {rows}", 1, kind=operators.SHAPE)
        columns = units
    else:
        ask_equal(depth, rows)
    return TensorType((*shape[:-1], columns), out_dtype or data.dtype)


def _linear_weight(
    types: tuple[Type | None, ...], units: Extent | None, transpose_a: bool, transpose_b: bool
) -> tuple[Type | None, ...]:
    data, weight = types
    if weight is not None or units is None or not isinstance(data, TensorType):
        return types
    if data.rank < (2 if transpose_a else 1):
        return types
    depth = data.shape[-2 if transpose_a else -1]
    return data, TensorType((units, depth) if transpose_b else (depth, units), data.dtype)


def dense_type(attrs: DenseAttrs, data: Type, weight: Type) -> TensorType:
    """Return data's leading extents and the number of output features."""
    return _linear_type(data, weight, attrs.units, attrs.out_dtype, False, True)


def dense_operands(attrs: DenseAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight from the data where ``units`` is given."""
    return _linear_weight(types, attrs.units, False, True)


def dense_numpy(attrs: DenseAttrs, data: Array, weight: Array) -> Array:
    """Return ``data @ weight.T``."""
    return _product(data, weight.T, attrs.out_dtype)


def dense_compute(attrs: DenseAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the product; the weight is read as it is stored."""
    return _matmul_compute(out, data, weight, False, True, "dense")


def dense_relax(e: Emit[V], attrs: DenseAttrs, data: V, weight: V) -> V:
    """Relax multiplies by a weight stored (inputs, outputs)."""
    return e.call("matmul", data, e.call("permute_dims", weight, axes=(1, 0)), out_dtype=attrs.out_dtype)


def matmul_type(attrs: MatmulAttrs, a: Type, b: Type) -> TensorType:
    """Return the leading extents of the left operand and the columns of the right one."""
    return _linear_type(a, b, attrs.units, attrs.out_dtype, attrs.transpose_a, attrs.transpose_b)


def matmul_operands(attrs: MatmulAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown right operand from the left one where ``units`` is given."""
    return _linear_weight(types, attrs.units, attrs.transpose_a, attrs.transpose_b)


def matmul_numpy(attrs: MatmulAttrs | BatchMatmulAttrs, a: Array, b: Array) -> Array:
    """Return the product of the operands, turned where they are stored transposed."""
    return _product(_turned(a, attrs.transpose_a), _turned(b, attrs.transpose_b), attrs.out_dtype)


def matmul_compute(attrs: MatmulAttrs | BatchMatmulAttrs, out: TensorType, a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """Return the product; operands are read as they are stored."""
    return _matmul_compute(out, a, b, attrs.transpose_a, attrs.transpose_b, "matmul")


def matmul_relax(e: Emit[V], attrs: MatmulAttrs | BatchMatmulAttrs, a: V, b: V) -> V:
    """Relax multiplies untransposed operands."""
    left = _turned_relax(e, a) if attrs.transpose_a else a
    right = _turned_relax(e, b) if attrs.transpose_b else b
    return e.call("matmul", left, right, out_dtype=attrs.out_dtype)


def _turned_relax(e: Emit[V], value: V) -> V:
    rank = tensor(e.type_of(value)).rank
    return e.call("permute_dims", value, axes=(*range(rank - 2), rank - 1, rank - 2))


# nn.batch_matmul: two stacks of matrices.


def batch_matmul_type(attrs: BatchMatmulAttrs, a: Type, b: Type) -> TensorType:
    """Return (batch, rows, columns); a batch of 1 meets any other."""
    left, right = tensor(a), tensor(b, 1)
    for argument, one in enumerate((left, right)):
        if one.rank != 3:
            raise OpError(
                mistake(operators.RANK, what="the operand of batch_matmul", rank=one.rank, expected="3"), argument
            )
    batch_a, rows, depth_a = left.shape
    batch_b, depth_b, columns = right.shape
    if attrs.transpose_a:
        rows, depth_a = depth_a, rows
    if attrs.transpose_b:
        depth_b, columns = columns, depth_b
    (batch,) = broadcast((batch_a,), (batch_b,))
    if is_any(batch_a) or is_any(batch_b):
        batch = ANY
    elif static(batch_a) is not None and static(batch_b) is not None:
        batch = maximum(batch_a, batch_b)
    if equal(depth_a, depth_b) is False:
        raise OpError(
            f"the left matrices have {depth_a} columns, the right ones {depth_b} rows", 1, kind=operators.SHAPE
        )
    return TensorType((batch, rows, columns), attrs.out_dtype or left.dtype)


# R.matmul.


def relax_matmul_type(attrs: RelaxMatmulAttrs, a: Type, b: Type) -> TensorType:
    """Return numpy's shape of the product: vectors count as a row or a column, leading axes
    broadcast.
    """
    left, right = tensor(a), tensor(b, 1)
    for argument, one in enumerate((left, right)):
        if one.rank == 0:
            raise OpError("a scalar cannot be multiplied as a matrix", argument, kind=operators.RANK)
    if left.dtype != right.dtype and not attrs.out_dtype:
        raise OpError(
            f"operands have dtypes {left.dtype} and {right.dtype}, and no out_dtype is given", 1, kind=operators.DTYPE
        )
    depth_a, depth_b = left.shape[-1], right.shape[-2 if right.rank > 1 else 0]
    _check_depths(depth_a, depth_b)
    batch = broadcast(left.shape[:-2], right.shape[:-2])
    rows, columns = left.shape[-2:-1], right.shape[-1:] if right.rank > 1 else ()
    return TensorType((*batch, *rows, *columns), attrs.out_dtype or left.dtype)


def relax_matmul_numpy(attrs: RelaxMatmulAttrs, a: Array, b: Array) -> Array:
    """Return numpy's product."""
    return _product(a, b, attrs.out_dtype)


def relax_matmul_compute(attrs: RelaxMatmulAttrs, out: TensorType, a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """Return numpy's product."""
    return _matmul_compute(out, a, b, False, False, "matmul")


# nn.bias_add.


def bias_add_type(attrs: BiasAddAttrs, data: Type, bias: Type) -> TensorType:
    """Return the type of the data; the bias has one dimension, the extent of ``axis``."""
    x, b = tensor(data), tensor(bias, 1)
    axis = normal_axis(attrs.axis, x.rank)
    if b.rank != 1:
        raise OpError(mistake(operators.RANK, what="the bias", rank=b.rank, expected="1"), 1)
    # One element is added to all, where the extent of the data is known only when the program runs.
    alone = static(b.shape[0]) == 1 and static(x.shape[axis]) is None
    if not alone and equal(b.shape[0], x.shape[axis]) is False:
        raise OpError(
            f"the bias has {b.shape[0]} elements, axis {attrs.axis} of the data {x.shape[axis]}", 1, kind=operators.AXIS
        )
    if b.dtype != x.dtype:
        raise OpError(
            mistake(operators.DTYPE, what="the bias", dtype=b.dtype, expected=f"{x.dtype}, as the data has"), 1
        )
    return x


def bias_add_operands(attrs: BiasAddAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown bias from the data."""
    data, bias = types
    if bias is not None or not isinstance(data, TensorType):
        return types
    return data, TensorType((data.shape[normal_axis(attrs.axis, data.rank)],), data.dtype)


def bias_add_numpy(attrs: BiasAddAttrs, data: Array, bias: Array) -> Array:
    """Return the data plus the bias along ``axis``."""
    shape = [1] * data.ndim
    shape[attrs.axis] = -1
    return np.asarray(np.add(data, bias.reshape(shape)))


def bias_add_compute(attrs: BiasAddAttrs, out: TensorType, data: te.Tensor, bias: te.Tensor) -> te.Tensor:
    """Return the data plus the bias along ``axis``, along which a bias of one element is
    repeated.
    """
    axis = normal_axis(attrs.axis, data.rank)

    def element(*at: PrimExpr) -> PrimExpr:
        return data[at] + bias[operand_indices(bias.shape, (out.shape[axis],), (at[axis],))]

    return te.compute(out.shape, element, "bias_add")


def bias_add_relax(e: Emit[V], attrs: BiasAddAttrs, data: V, bias: V) -> V:
    """The bias, given trailing axes of extent 1 where ``axis`` is not the last, is added with
    broadcasting.
    """
    x = tensor(e.type_of(data))
    axis = normal_axis(attrs.axis, x.rank)
    if axis != x.rank - 1:
        extent = tensor(e.type_of(bias), 1).shape[0]
        bias = e.call("reshape", bias, e.shape((extent, *[1] * (x.rank - 1 - axis))))
    return e.call("add", data, bias)


# nn.batch_flatten.


def batch_flatten_type(attrs: NoAttrs, data: Type) -> TensorType:
    """Return (batch, everything else)."""
    x = tensor(data)
    if x.rank == 0:
        raise OpError("a scalar has no batch axis", 0, kind=operators.AXIS)
    return TensorType((x.shape[0], product(x.shape[1:])), x.dtype)


def batch_flatten_relax_type(attrs: NoAttrs, data: Type) -> TensorType:
    """Return the type; Relax wants an axis besides the batch."""
    if tensor(data).rank < 2:
        raise OpError(mistake(operators.RANK, what="the data", rank=tensor(data).rank, expected="at least 2"), 0)
    return batch_flatten_type(attrs, data)


def batch_flatten_numpy(attrs: NoAttrs, data: Array) -> Array:
    """Return a view of two dimensions where the data is contiguous."""
    return data.reshape((data.shape[0], int(np.prod(data.shape[1:], dtype=np.int64))))


def batch_flatten_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the elements in row-major order."""

    def element(n: PrimExpr, rest: PrimExpr) -> PrimExpr:
        at: list[PrimExpr] = []
        for extent in reversed(data.shape[2:]):
            at.append(rest % extent)
            rest = rest // extent
        index = (n, *([rest] if data.rank > 1 else []), *reversed(at))
        return data[index]

    return te.compute(out.shape, element, "batch_flatten")


def batch_flatten_relax(e: Emit[V], attrs: NoAttrs, data: V) -> V:
    """A reshape."""
    return e.call("reshape", data, e.shape(batch_flatten_type(attrs, e.type_of(data)).shape))


def flatten_type(attrs: NoAttrs, data: Type) -> TensorType:
    """Return as many elements as ``data`` has."""
    x = tensor(data)
    return TensorType((product(x.shape),), x.dtype)


def flatten_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the elements in row-major order."""
    return te.compute(out.shape, lambda i: data[reshaped_index(data.shape, out.shape, (i,))], "flatten")


def outer_type(attrs: NoAttrs, x1: Type, x2: Type) -> TensorType:
    """Return one row for each element of the first vector."""
    a, b = tensor(x1), tensor(x2, 1)
    for index, one in enumerate((a, b)):
        if one.rank != 1:
            raise OpError(mistake(operators.RANK, what="the tensor", rank=one.rank, expected="1"), index)
    if a.dtype != b.dtype:
        raise OpError(f"the vectors have dtypes {a.dtype} and {b.dtype}", 1, kind=operators.DTYPE)
    return TensorType((a.shape[0], b.shape[0]), a.dtype)


_OPEN_BATCHES = Limit(OPEN.why, lambda attrs, types: is_open([shape[:-2] for shape in shapes_of(types)]))

OPS: tuple[OpDef, ...] = (
    OpDef(
        script=Script("outer", "x1, x2", since="0.21"),
        doc="The products of all pairs of elements of two vectors.",
        source="R.outer of TVM 0.25-0.27",
        inputs=("x1", "x2"),
        infer=outer_type,
        numpy=lambda attrs, x1, x2: np.asarray(np.outer(x1, x2), x1.dtype),
        compute=lambda attrs, out, x1, x2: te.compute(out.shape, lambda i, j: x1[i] * x2[j], "outer"),
    ),
    OpDef(
        relay="nn.dense",
        doc="Multiply by a transposed weight: `data @ weight.T`.",
        source="Relay's Dense relation and TOPI's dense of TVM 0.18",
        inputs=("data", "weight"),
        attrs=DenseAttrs,
        infer=dense_type,
        operands=dense_operands,
        numpy=dense_numpy,
        compute=dense_compute,
        relax=Expanded(dense_relax),
        layout=layout_rules.dense,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.ALWAYS,
    ),
    OpDef(
        relay="nn.matmul",
        doc="Multiply a stack of rows by one matrix; either operand may be stored transposed.",
        source="Relay's Matmul relation and TOPI's matmul of TVM 0.18",
        inputs=("tensor_a", "tensor_b"),
        attrs=MatmulAttrs,
        infer=matmul_type,
        operands=matmul_operands,
        numpy=matmul_numpy,
        compute=matmul_compute,
        relax=Expanded(matmul_relax),
        layout=layout_rules.dense,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.batch_matmul",
        doc="Multiply two stacks of matrices, one by one; either operand may be stored transposed.",
        source="Relay's BatchMatmul relation and TOPI's batch_matmul of TVM 0.18",
        inputs=("tensor_a", "tensor_b"),
        attrs=BatchMatmulAttrs,
        infer=batch_matmul_type,
        numpy=matmul_numpy,
        compute=matmul_compute,
        relax=Expanded(matmul_relax),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.ALWAYS,
    ),
    OpDef(
        script=Script("matmul", "x1, x2, out_dtype=None", limits=(_OPEN_BATCHES,), spread=Spread.MATMUL),
        doc="Multiply as numpy does: vectors count as a row or a column, leading axes broadcast.",
        source="R.matmul of TVM 0.25-0.27; numpy.matmul",
        inputs=("x1", "x2"),
        attrs=RelaxMatmulAttrs,
        infer=relax_matmul_type,
        numpy=relax_matmul_numpy,
        compute=relax_matmul_compute,
    ),
    OpDef(
        relay="nn.bias_add",
        doc="Add a vector along one axis.",
        source="Relay's BiasAdd relation of TVM 0.18",
        inputs=("data", "bias"),
        attrs=BiasAddAttrs,
        infer=bias_add_type,
        operands=bias_add_operands,
        numpy=bias_add_numpy,
        compute=bias_add_compute,
        relax=Expanded(bias_add_relax),
        fusion=Fusion(OpPattern.BROADCAST),
        precision=Precision.FOLLOW,
    ),
    OpDef(
        relay="nn.batch_flatten",
        doc="Join all axes but the first.",
        source="Relay's BatchFlatten relation of TVM 0.18",
        inputs=("data",),
        infer=batch_flatten_type,
        relax_type=batch_flatten_relax_type,
        numpy=batch_flatten_numpy,
        compute=batch_flatten_compute,
        relax=Expanded(batch_flatten_relax),
        script=Script("nn.batch_flatten", "data", since="0.24"),
        fusion=Fusion(OpPattern.INJECTIVE, reshapes=True),
        precision=Precision.FOLLOW,
    ),
    OpDef(
        script=Script("flatten", "x"),
        doc="Join all axes.",
        source="R.flatten of TVM 0.25-0.27",
        inputs=("x",),
        infer=flatten_type,
        numpy=lambda attrs, data: data.reshape(-1),
        compute=flatten_compute,
    ),
)
